"""on_disk: what becomes of every accident to a file, a directory, or a disk."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.saving import on_disk
from tests.saving.on_disk_tools import chain, files

pytestmark = pytest.mark.usefixtures("no_gc")


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


def test_a_write_that_numpy_ends_early_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*args: Any, **options: Any) -> None:
        raise OSError("3000 requested and 1218 written")

    x = tp.linspace(-1.0, 1.0, 2000).requires_grad_()
    with monkeypatch.context() as patch:
        patch.setattr(np, "save", short)
        with on_disk(tmp_path), pytest.raises(OSError, match=r"\.npy; is the disk full\? \(3000"):
            x.exp()
    assert list(tmp_path.iterdir()) == []


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
