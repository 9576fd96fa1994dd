"""on_disk: who may read the files, how long they live, and what becomes of every accident."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.saving import on_disk


@pytest.fixture(autouse=True)
def no_gc() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def files(parent: Path) -> list[Path]:
    return sorted(path for path in parent.rglob("*") if path.is_file())


def chain(policy: Any, size: int = 2000, layers: int = 3) -> tuple[Any, Any]:
    """A leaf and the sum of a chain of tanh over it, its results in files of their own."""
    x = tp.linspace(-1.0, 1.0, size).requires_grad_()
    y = x
    with policy:
        for _ in range(layers):
            y = y.tanh()
    return x, y.sum()


# -- what stands there -----------------------------------------------------------------------------
def test_each_saved_tensor_has_a_file_with_a_random_name_in_a_private_directory(
    tmp_path: Path,
) -> None:
    policy = on_disk(tmp_path)
    assert policy.directory is None
    x, y = chain(policy)
    found = files(tmp_path)
    assert len(found) == 3
    assert {path.parent for path in found} == {Path(str(policy.directory))}
    assert all(len(path.stem) == 32 and path.suffix == ".npy" for path in found)
    values = sorted(float(np.load(path, allow_pickle=False)[-1]) for path in found)
    assert np.allclose(values, sorted([np.tanh(1), np.tanh(np.tanh(1)), 0.5]), atol=0.2)
    if os.name == "posix":
        assert stat.S_IMODE(os.stat(str(policy.directory)).st_mode) == 0o700


def test_nothing_big_stays_in_memory(tmp_path: Path) -> None:
    x = tp.rand(2000)
    packed = on_disk(tmp_path).pack_hook(x)
    assert packed.packed.parts == ()


def test_small_tensors_stay_in_memory(tmp_path: Path) -> None:
    chain(on_disk(tmp_path), size=1023)
    held = chain(on_disk(tmp_path, min_bytes=4093), size=1023)
    assert files(tmp_path) == []
    held = chain(on_disk(tmp_path), size=1024)
    assert len(files(tmp_path)) == 3
    del held


# -- lifetimes -------------------------------------------------------------------------------------
def test_files_go_one_by_one_as_backward_uses_them(tmp_path: Path) -> None:
    counts: list[int] = []
    policy = on_disk(tmp_path)
    x = tp.linspace(-1.0, 1.0, 2000).requires_grad_()
    y = x
    with policy:
        for _ in range(3):
            y = y.tanh()
            y.register_hook(lambda grad: counts.append(len(files(tmp_path))))
    y.sum().backward()
    assert counts == [3, 2, 1]
    assert list(tmp_path.iterdir()) == []
    assert policy.directory is None


def test_dropping_the_graph_drops_the_files(tmp_path: Path) -> None:
    x, y = chain(on_disk(tmp_path))
    del y
    assert list(tmp_path.iterdir()) == []


def test_files_outlive_the_policy_and_serve_every_backward(tmp_path: Path) -> None:
    x, y = chain(on_disk(tmp_path))
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    y.backward()
    assert np.array_equal(x.grad.numpy(), 2 * first)
    assert list(tmp_path.iterdir()) == []


def test_two_graphs_under_one_policy_do_not_disturb_each_other(tmp_path: Path) -> None:
    policy = on_disk(tmp_path)
    one, two = chain(policy), chain(policy, size=3000)
    assert len(files(tmp_path)) == 6
    one[1].backward()
    assert len(files(tmp_path)) == 3
    two[1].backward()
    plain = chain(on_disk(tmp_path, min_bytes=10**9), size=3000)
    plain[1].backward()
    assert np.array_equal(two[0].grad.numpy(), plain[0].grad.numpy())
    assert list(tmp_path.iterdir()) == []


def test_a_tensor_saved_twice_has_one_file_until_its_last_reader_is_done(tmp_path: Path) -> None:
    x = tp.linspace(-1.0, 1.0, 2000).requires_grad_()
    with on_disk(tmp_path):
        h = x.tanh()
        y = (h * h).sum()
    assert len(files(tmp_path)) == 1
    y.backward()
    assert files(tmp_path) == []


def test_an_exception_in_the_body_leaves_no_files(tmp_path: Path) -> None:
    def body() -> None:
        with on_disk(tmp_path):
            h = tp.linspace(-1.0, 1.0, 2000).requires_grad_().tanh()
            assert len(files(tmp_path)) == 1
            raise KeyError(h.shape)

    try:
        body()
    except KeyError:
        pass
    assert list(tmp_path.iterdir()) == []


def run_python(program: str) -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_files_are_gone_after_the_interpreter(tmp_path: Path) -> None:
    run_python(
        f"""
        import pathlib
        import tensorplay_ref as tp
        from tensorplay_ref.saving import on_disk

        parent = pathlib.Path({str(tmp_path)!r})
        with on_disk(parent):
            kept = tp.ones(5000, requires_grad=True).tanh()
        assert len(list(parent.rglob("*.npy"))) == 1
        """
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_leaves_the_files_of_its_parent_alone(tmp_path: Path) -> None:
    run_python(
        f"""
        import os, pathlib, sys
        import tensorplay_ref as tp
        from tensorplay_ref.saving import on_disk

        x = tp.ones(5000, requires_grad=True)
        with on_disk({str(tmp_path)!r}):
            y = x.tanh().sum()
        child = os.fork()
        if not child:
            del y
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        y.backward()
        assert x.grad is not None
        """
    )
    assert list(tmp_path.iterdir()) == []


# -- accidents -------------------------------------------------------------------------------------
def test_a_deleted_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    x, y = chain(on_disk(tmp_path))
    for path in files(tmp_path):
        path.unlink()
    with pytest.raises(RuntimeError, match=r"deleted before backward read it: .*\.npy"):
        y.backward()
    assert x.grad is None


def flip_last_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def other_array(path: Path) -> None:
    np.save(path, np.ones(7))


def objects(path: Path) -> None:
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize(
    "change",
    [
        flip_last_byte,
        other_array,
        objects,
        lambda path: path.write_bytes(path.read_bytes()[:-4]),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x93NUMPY\x01\x00\x05\x00junk("),
        lambda path: path.write_bytes(os.urandom(1000)),
    ],
    ids=["bit", "array", "objects", "shorter", "longer", "empty", "header", "noise"],
)
def test_a_changed_file_is_an_error_that_names_it(change: Any, tmp_path: Path) -> None:
    x, y = chain(on_disk(tmp_path))
    for path in files(tmp_path):
        change(path)
    with pytest.raises(RuntimeError, match=r"file of a saved tensor .*\.npy"):
        y.backward()
    assert x.grad is None


class FullDisk:
    """np.save that writes half of the array and then finds no space."""

    def __init__(self) -> None:
        self.save = np.save

    def __call__(self, file: Any, array: Any, allow_pickle: bool) -> None:
        self.save(file, array[: len(array) // 2], allow_pickle=allow_pickle)
        raise OSError(28, "No space left on device")


def test_on_a_full_disk_the_operation_fails_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tp.linspace(-1.0, 1.0, 2000).requires_grad_()
    h = x.exp()
    with monkeypatch.context() as patch:
        patch.setattr(np, "save", FullDisk())
        try:
            with on_disk(tmp_path):
                h.tanh()
        except OSError as error:
            # Gone at once, although the traceback still holds what was going on.
            assert error.errno == 28
            assert list(tmp_path.iterdir()) == []
        else:
            raise AssertionError("the disk was not full")
    h.sum().backward()
    assert np.allclose(x.grad.numpy(), np.exp(x.detach().numpy()))


def test_a_full_disk_spares_the_files_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = on_disk(tmp_path)
    x, y = chain(policy)
    with monkeypatch.context() as patch:
        patch.setattr(np, "save", FullDisk())
        with pytest.raises(OSError, match="No space"):
            chain(policy)
    assert len(files(tmp_path)) == 3
    y.backward()
    assert x.grad is not None


def test_a_directory_that_cannot_be_used_fails_the_operation(tmp_path: Path) -> None:
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.touch()
    x = tp.linspace(-1.0, 1.0, 2000).requires_grad_()
    for parent in (missing, file):
        with on_disk(parent), pytest.raises(OSError):
            x.tanh()
    assert x.sum().item() == pytest.approx(0.0, abs=1e-3)
    assert not missing.exists() and file.read_bytes() == b""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_fails_the_operation(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with on_disk(locked), pytest.raises(PermissionError):
        tp.linspace(-1.0, 1.0, 2000).requires_grad_().tanh()


def test_threads_share_one_directory_and_clean_up(tmp_path: Path) -> None:
    policy = on_disk(tmp_path)
    failures: list[BaseException] = []

    def work(size: int) -> None:
        try:
            for _ in range(10):
                x, y = chain(policy, size=size)
                y.backward()
                assert x.grad is not None
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(2000 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert list(tmp_path.iterdir()) == []


def test_tensors_of_the_accelerator_pass_through_the_host(tmp_path: Path) -> None:
    before = tp.cuda.host_memory_allocated()
    with tp.cuda.simulate(capacity=100_000) as device:
        x = tp.ones(2000, device=device, requires_grad=True)
        with on_disk(tmp_path):
            y = x.tanh().exp().sum()
        assert len(files(tmp_path)) == 2
        assert tp.cuda.memory_allocated() == x.nbytes + y.nbytes
        assert tp.cuda.host_memory_allocated() == before
        y.backward()
        assert str(x.grad.device) == "cuda:0"
        x.grad = None
        del x, y
