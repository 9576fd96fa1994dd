"""Large buffers are used again, and never while somebody can see them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref import buffers

SIDE = 512  # 512 x 512 float32 elements are a megabyte


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    buffers.forget()
    yield
    buffers.forget()


def large(value: float = 1.0, *, requires_grad: bool = False) -> tp.Tensor:
    return tp.full((SIDE, SIDE), value, requires_grad=requires_grad)


def address(tensor: tp.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def test_the_memory_of_a_result_serves_the_next_one() -> None:
    x = large()
    result = x + x
    where = address(result)
    del result
    assert buffers.bytes_waiting() == SIDE * SIDE * 4
    again = x * x
    assert address(again) == where
    assert buffers.bytes_waiting() == 0
    assert (again.numpy() == 1).all()


def test_small_results_do_not_wait() -> None:
    x = tp.ones(8)
    y = x + x
    del y
    assert buffers.bytes_waiting() == 0


@pytest.mark.parametrize(
    "keep",
    [
        lambda tensor: tensor.numpy(),
        lambda tensor: tensor.numpy()[1:, ::2],
        lambda tensor: memoryview(tensor.numpy()),
        lambda tensor: tensor[3:],
        lambda tensor: tensor.detach(),
        lambda tensor: tensor.T,
        lambda tensor: weakref.ref(tensor.numpy()),
        lambda tensor: np.frombuffer(tensor.numpy()),
    ],
    ids=["array", "slice", "memoryview", "view", "detach", "transpose", "weakref", "frombuffer"],
)
def test_memory_that_somebody_can_see_is_not_used_again(keep) -> None:
    x = large()
    result = x + x
    kept = keep(result)
    del result
    assert buffers.bytes_waiting() == 0
    other = x * 5
    assert (other.numpy() == 5).all()
    seen = kept if not isinstance(kept, weakref.ref) else None
    if isinstance(seen, np.ndarray) and seen.dtype == np.float32:
        assert (seen == 2).all()


def test_an_array_of_the_callers_stays_the_callers() -> None:
    array = np.ones((SIDE, SIDE), np.float32)
    tensor = tp.from_numpy(array)
    del tensor
    assert buffers.bytes_waiting() == 0
    part = np.ones((SIDE + 1, SIDE), np.float32)[1:]
    tensor = tp.from_numpy(part)
    del part, tensor
    assert buffers.bytes_waiting() == 0


def test_what_a_graph_saves_is_not_used_again_before_backward() -> None:
    x = large(0.5, requires_grad=True)
    y = x.exp()
    loss = (y.tanh() * y).sum()
    saved = y.detach().numpy().copy()
    del y
    for _ in range(5):
        large() * 3  # takes whatever waits and writes into it
    loss.backward()
    t = np.tanh(saved)
    expected = ((1 - t * t) * saved + t) * saved
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)


def test_a_backward_writes_into_what_it_frees(monkeypatch: pytest.MonkeyPatch) -> None:
    x = large(0.1, requires_grad=True)
    y = x
    for _ in range(10):
        y = y.tanh()
    loss = y.sum()
    del y
    fresh = []
    empty = np.empty

    def counting(shape, *args, **kwargs):
        fresh.append(shape)
        return empty(shape, *args, **kwargs)

    monkeypatch.setattr(np, "empty", counting)
    loss.backward()
    # Ten gradients: the first needs new memory, since nothing has been freed before it is made, and
    # so does the second, whose predecessor is read while it is made.
    assert 1 <= fresh.count((SIDE, SIDE)) <= 2


def test_gradients_are_the_same_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradients() -> list[bytes]:
        generator = np.random.default_rng(0)
        w, v = (
            tp.tensor(generator.standard_normal((SIDE, SIDE)) / 20, dtype=tp.float32)
            for _ in range(2)
        )
        w.requires_grad = v.requires_grad = True
        for _ in range(3):
            h = (w @ v).relu() * v
            h = (h.sigmoid() + h.tanh()).softmax(-1)
            (h * w).sum().backward()
        return [t.grad.numpy().tobytes() for t in (w, v)]

    used = gradients()
    assert buffers.bytes_waiting() > 0
    buffers.forget()
    monkeypatch.setattr(buffers, "KEPT_AT_MOST", 0)
    assert gradients() == used
    assert buffers.bytes_waiting() == 0


def test_no_more_waits_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "KEPT_AT_MOST", 3 * SIDE * SIDE * 4 + 1)
    x = large()
    results = [x + x for _ in range(10)]
    assert len({address(result) for result in results}) == 10
    del results
    assert buffers.bytes_waiting() == 3 * SIDE * SIDE * 4


def test_read_only_and_foreign_memory_is_left_alone() -> None:
    class Holder:
        buffer: np.ndarray

    for array in (
        np.broadcast_to(np.float32(1), (SIDE, SIDE)),
        np.ones((SIDE, SIDE), order="F")[:, 1:],
        np.asfortranarray(np.ones((SIDE, SIDE))),
        np.full((SIDE, SIDE), None),
    ):
        holder = Holder()
        holder.buffer = array
        del array
        buffers.give_back(holder)
        assert buffers.bytes_waiting() == 0


def test_threads_never_share_a_buffer() -> None:
    wrong = []

    def work(number: int) -> None:
        x = large(float(number))
        for _ in range(30):
            y = x + x
            if not (y.numpy() == 2 * number).all():
                wrong.append(number)
            del y

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert buffers.bytes_waiting() <= buffers.KEPT_AT_MOST


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x @ x[0],
        lambda x: x @ x,
        lambda x: x * 2.0,
        lambda x: x + 1,
    ],
    ids=["rows of a batch", "batch", "times a number", "plus a number"],
)
def test_products_of_batches_and_numbers_use_what_waits(operation: Any) -> None:
    x = tp.rand(2, SIDE, SIDE)
    expected = operation(x.numpy())
    used = x + x
    where = address(used)
    del used
    result = operation(x)
    assert address(result) == where
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4)


def test_nobody_waits_for_the_list() -> None:
    x = large()
    with buffers.lock:
        result = x + x
        del result
    assert buffers.bytes_waiting() == 0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what other C libraries keep differs")
def test_smaller_arrays_are_made_in_memory_that_the_process_has_kept() -> None:
    program = (
        "import resource, numpy as np, tensorplay_ref as tp\n"
        "def step():\n"
        "    arrays = [np.ones(1 << 15, np.float32) for _ in range(8)]\n"
        "def faults():\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(5): step()\n"
        "before = faults()\n"
        "for _ in range(100): step()\n"
        "print(faults() - before)\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    # A page fault for each page of each array would be 25,600.
    assert int(done.stdout) < 1_000, done.stderr
