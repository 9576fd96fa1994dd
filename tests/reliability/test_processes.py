"""Other processes and copies: fork, spawn, pickle, copy."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref import buffers
from tensorplay_ref.accelerator import LOCK
from tensorplay_ref.autograd import multi_grad
from tensorplay_ref.saving import on_disk, policy
from tensorplay_ref.tensor_base import leaf_lock
from tests.autograd.tools import Recorder, constant, equal, leaf

graph = tp.autograd.graph
ROOT = Path(__file__).resolve().parents[2]
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "pickle protocol 2": lambda t: pickle.loads(pickle.dumps(t, protocol=2)),
    "deepcopy": copy.deepcopy,
}


def work(value: float, device: str = "cpu") -> float:
    """A small training step with hooks, run in another process."""
    x = tp.tensor([value], dtype=tp.float64, device=device, requires_grad=True)
    recorder = Recorder()
    with recorder.hooks():
        y = (x * x).sin()
    y.backward()
    assert recorder.unpacked == 3
    with on_disk(min_bytes=0):
        again = x * x
    tp.autograd.graph.register_multi_grad_hook((x, again), len)
    again.backward()
    return float(x.grad)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is not available")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_works_and_leaves_the_parent_alone() -> None:
    x = leaf([2.0])
    recorder = Recorder()
    with recorder.hooks():
        y = (x * x).sin()

        def body() -> tuple[bool, float, float]:
            y.backward()
            return graph._current_pair() is not None, float(x.grad), work(3.0)

        answer = in_child(body)
    assert answer == repr((True, float(4 * np.cos(4.0)), work(3.0)))
    assert x.grad is None and recorder.unpacked == 0
    y.backward()
    equal(x.grad, [4 * np.cos(4.0)])


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "lock",
    [leaf_lock, LOCK, buffers.lock, policy.lock, multi_grad.lock],
    ids=["leaves", "accelerator", "buffers", "policies", "multi_grad"],
)
def test_a_child_forked_while_a_thread_holds_a_lock_does_not_wait_for_it(lock: Any) -> None:
    done = threading.Event()

    def hold() -> None:
        while not done.is_set():
            with lock:
                time.sleep(0.001)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(lambda: work(3.0, "cuda")) == repr(work(3.0, "cuda"))
    finally:
        done.set()
        thread.join(20.0)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_while_a_thread_draws_draws_itself() -> None:
    state, done = tp.random.get_rng_state(), threading.Event()

    def draw() -> None:
        while not done.is_set():
            tp.randn(20_000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(10):
            assert in_child(lambda: tp.randn(3).shape) == "(3,)"
    finally:
        done.set()
        thread.join(20.0)
        tp.random.set_rng_state(state)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_writes_into_a_directory_of_its_own(tmp_path: Path) -> None:
    x = leaf([2.0])
    saving = on_disk(tmp_path, min_bytes=0)
    with saving:
        y = x.exp()
    dropped_read, dropped_write = os.pipe()

    def body() -> float:
        with saving:
            z = x.exp().sin()
        os.write(dropped_write, b"ready")
        time.sleep(0.5)  # the parent drops its graph, and with it its directory
        z.backward()
        return float(x.grad)

    dropper = threading.Thread(target=lambda: (os.read(dropped_read, 5), graphs.clear()))
    graphs = [y]
    del y
    dropper.start()
    answer = in_child(body)
    dropper.join(20.0)
    assert answer == repr(float(np.exp(2.0) * np.cos(np.exp(2.0))))
    assert list(tmp_path.iterdir()) == []


def in_child(body: Callable[[], Any]) -> str:
    """What the body answers in a forked child; empty when it fails or takes 20 seconds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, repr(body()).encode())
        finally:
            os._exit(0)
    os.close(write)
    waiting = threading.Timer(20.0, lambda: os.kill(child, signal.SIGKILL))
    waiting.start()
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    waiting.cancel()
    os.waitpid(child, 0)
    return answer


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_pool_of_forked_processes() -> None:
    work(1.0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, [1.0, 2.0, 3.0]) == [work(1.0), work(2.0), work(3.0)]


def test_a_new_interpreter_with_a_pickled_leaf() -> None:
    x = tp.tensor([[1.5, -2.0]], dtype=tp.float64, requires_grad=True)
    program = (
        "import pickle, sys; x = pickle.load(sys.stdin.buffer); (x * x).sum().backward(); "
        "pickle.dump(x.grad, sys.stdout.buffer)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(x),
        capture_output=True,
        check=True,
        env=environment,
        timeout=120,
    )
    equal(pickle.loads(finished.stdout), [[3.0, -4.0]])


# -- copies ------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [tp.float16, tp.float32, tp.float64])
def test_a_leaf_is_copied(dtype: Any, shape: Any, requires_grad: bool, way: str) -> None:
    x = tp.ones(shape, dtype=dtype, requires_grad=requires_grad)
    twin = COPIES[way](x)
    assert type(twin) is type(x) and twin.requires_grad is requires_grad and twin.is_leaf
    assert twin.dtype == dtype and twin.shape == shape and twin.device == x.device
    assert twin._storage is not x._storage and twin._version == 0
    with tp.no_grad():
        twin.mul_(3.0)
    equal(x, np.ones(shape, dtype))
    if requires_grad:
        (twin * 2.0).sum().backward(tp.ones((), dtype=dtype))
        assert x.grad is None and twin.grad.shape == shape


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("dtype", [tp.bool, tp.int64, tp.uint8])
def test_integers_are_copied(dtype: Any, way: str) -> None:
    equal(COPIES[way](tp.tensor([0, 1], dtype=dtype)), [0, 1])


@pytest.mark.parametrize("way", COPIES)
def test_a_view_of_a_constant_is_copied_alone(way: str) -> None:
    base = constant(np.arange(12.0).reshape(3, 4))
    twin = COPIES[way](base.T[1:3])
    equal(twin, base.T[1:3].numpy())
    assert twin._base is None
    twin.fill_(0.0)
    equal(base, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("way", COPIES)
def test_the_device_is_kept(way: str) -> None:
    x = tp.ones(3, device="cuda", requires_grad=True)
    twin = COPIES[way](x)
    assert twin.device == x.device and twin.requires_grad


def test_a_deep_copy_takes_the_gradient_along_and_keeps_identities() -> None:
    x = leaf([2.0])
    (x * x).backward()
    model = {"x": x, "same": x, "grad": x.grad}
    twin = copy.deepcopy(model)
    assert twin["x"] is twin["same"] and twin["x"] is not x
    equal(twin["x"].grad, [4.0])
    assert twin["x"].grad._storage is not x.grad._storage
    with tp.no_grad():
        twin["x"].grad.zero_()
    equal(x.grad, [4.0])


@pytest.mark.parametrize("way", COPIES)
def test_a_result_with_a_graph_is_refused_and_the_way_out_works(way: str) -> None:
    x = leaf([2.0])
    y = x * x
    with pytest.raises(RuntimeError, match=r"only leaf tensors .*MulBackward.*detach"):
        COPIES[way](y)
    equal(COPIES[way](y.detach()), [4.0])
    y.backward()
    equal(x.grad, [4.0])


def test_a_shallow_copy_is_another_name_for_the_same_place() -> None:
    x = leaf([2.0])
    twin = copy.copy(x)
    assert twin.shape == x.shape and twin.requires_grad
    # One storage, so one version counter and one count of bytes.
    assert twin.storage() is x.storage() and twin is not x and twin.is_leaf


def test_a_write_through_a_shallow_copy_is_noticed_by_slots_of_the_original() -> None:
    x, factor = leaf([2.0]), constant([3.0])
    y = (x * factor).sum()
    copy.copy(factor).fill_(100.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_shallow_copy_of_a_transposed_tensor_shares_its_memory_too() -> None:
    x = constant([[1.0, 2.0], [3.0, 4.0]]).T
    copy.copy(x).fill_(0.0)
    equal(x, [[0.0, 0.0], [0.0, 0.0]])


def test_a_shallow_copy_takes_no_memory_of_the_accelerator() -> None:
    with tp.cuda.simulate(1_000):
        x = tp.ones(10, device="cuda")
        before = tp.cuda.memory_allocated()
        twin = copy.copy(x)
        assert tp.cuda.memory_allocated() == before
        del twin, x


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_belongs_to_a_graph_is_not_copied(copier: Callable[[Any], Any]) -> None:
    node = leaf([2.0]).exp().grad_fn
    assert node is not None
    for part in (node, node.next_functions[0][0], node.saved_slots[0]):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copier(part)
