"""on_disk: who may read the files, and how long they live."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.saving import on_disk
from tests.saving.on_disk_tools import chain, files

pytestmark = pytest.mark.usefixtures("no_gc")


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
