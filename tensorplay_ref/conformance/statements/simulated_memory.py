"""What the ledger of the simulated accelerator counts."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement

TOPIC = "devices"

CAPACITY = 100_000
BLOCK = 8_000
"""Bytes of a thousand float64."""


def _block(api: Api, device: Any) -> Any:
    return api.zeros(1_000, dtype=api.float64, device=device)


@statement(TOPIC, "devices")
def live_bytes_are_counted_exactly(api: Api) -> None:
    """memory_allocated is the bytes of the live storages, and falls when one is dropped."""
    with api.simulated().simulate(CAPACITY) as device:
        counts = [api.cuda.memory_allocated()]
        a = _block(api, device)
        b = _block(api, device)
        counts.append(api.cuda.memory_allocated())
        del a
        counts.append(api.cuda.memory_allocated())
        del b
        counts.append(api.cuda.memory_allocated())
    same(counts, [0, 2 * BLOCK, BLOCK, 0], "live bytes")


@statement(TOPIC, "devices")
def a_view_costs_no_bytes(api: Api) -> None:
    """A view adds nothing to the live bytes, and keeps those of its base alive."""
    with api.simulated().simulate(CAPACITY) as device:
        a = _block(api, device)
        view = a[0:1]
        same(api.cuda.memory_allocated(), BLOCK, "live bytes with a view")
        del a
        same(api.cuda.memory_allocated(), BLOCK, "live bytes with the view alone")
        del view
        same(api.cuda.memory_allocated(), 0, "live bytes")


@statement(TOPIC, "devices")
def the_peak_is_remembered(api: Api) -> None:
    """max_memory_allocated is the most that lived at once, until it is reset."""
    with api.simulated().simulate(CAPACITY) as device:
        a, b = _block(api, device), _block(api, device)
        del a, b
        same(api.cuda.max_memory_allocated(), 2 * BLOCK, "the peak")
        api.cuda.reset_peak_memory_stats()
        same(api.cuda.max_memory_allocated(), 0, "the peak after the reset")


@statement(TOPIC, "devices")
def free_bytes_and_capacity_can_be_asked(api: Api) -> None:
    """mem_get_info gives the free bytes and the capacity."""
    with api.simulated().simulate(CAPACITY) as device:
        a = _block(api, device)
        same(tuple(api.cuda.mem_get_info()), (CAPACITY - BLOCK, CAPACITY), "free, capacity")
        del a


@statement(TOPIC, "devices")
def saved_tensors_keep_their_bytes_until_backward(api: Api) -> None:
    """An intermediate that was saved counts until the backward has released it."""
    with api.simulated().simulate(CAPACITY) as device:
        x = _block(api, device).requires_grad_()
        y = (x * 1.0).sin().sum()
        before = api.cuda.memory_allocated()
        y.backward()
        x.grad = None
        after = api.cuda.memory_allocated()
    same(before - after, BLOCK, "bytes released by the backward")


@statement(TOPIC, 13)
def save_on_cpu_frees_device_bytes(api: Api) -> None:
    """Under save_on_cpu a saved intermediate costs no bytes of the accelerator."""

    def live(offload: bool) -> int:
        with api.simulated().simulate(CAPACITY) as device:
            x = _block(api, device).requires_grad_()
            if offload:
                with api.graph.save_on_cpu():
                    y = (x * 1.0).sin().sum()
            else:
                y = (x * 1.0).sin().sum()
            found = int(api.cuda.memory_allocated())
            y.backward()
            equal(api, x.grad[0], 1.0)
        return found

    same(live(offload=False) - live(offload=True), BLOCK, "bytes saved by offloading")


@statement(TOPIC, "checkpoint")
def a_checkpoint_frees_device_bytes(api: Api) -> None:
    """A checkpointed region of three operations keeps none of their saved tensors."""

    def region(x: Any) -> Any:
        return x.sin().sin().sin().sum()

    def live(again: bool) -> int:
        with api.simulated().simulate(CAPACITY) as device:
            x = _block(api, device).requires_grad_()
            y = api.checkpoint(region, x) if again else region(x)
            found = int(api.cuda.memory_allocated())
            y.backward()
            equal(api, x.grad[0], 1.0)
        return found

    same(live(again=False) - live(again=True), 2 * BLOCK, "bytes saved by recomputing")


@statement(TOPIC, "devices")
def beyond_the_capacity_is_an_error(api: Api) -> None:
    """An allocation beyond the capacity raises OutOfMemoryError with the bytes asked and live."""
    with api.simulated().simulate(2 * BLOCK + 100) as device:
        x = _block(api, device)
        y = _block(api, device)
        error = str(raises(api.cuda.OutOfMemoryError, lambda: x + y))
        same(api.cuda.memory_allocated(), 2 * BLOCK, "live bytes after the error")
    for fragment in ("add", f"{BLOCK:,}", f"{2 * BLOCK:,}"):
        true(fragment in error.lower(), f"the message lacks {fragment!r}: {error}")


@statement(TOPIC, "bad input")
def after_running_out_of_memory_the_graph_works(api: Api) -> None:
    """After an OutOfMemoryError the graph recorded before it can be walked."""
    with api.simulated().simulate(5 * BLOCK + 100) as device:
        x = _block(api, device).requires_grad_()
        y = x.sin()
        waste = [_block(api, device) for _ in range(3)]
        raises(api.cuda.OutOfMemoryError, lambda: y * 2.0)
        waste.clear()
        y.backward(api.ones(1_000, dtype=api.float64, device=device))
        equal(api, x.grad[0], 1.0)


@statement(TOPIC, "devices")
def nothing_of_a_dropped_graph_is_left_on_the_device(api: Api) -> None:
    """After a training step and dropping everything, no byte is left."""
    with api.simulated().simulate(CAPACITY) as device:
        x = _block(api, device).requires_grad_()
        y = (x.sin().exp() * x).sum()
        y.backward()
        del x, y
        same(api.cuda.memory_allocated(), 0, "live bytes")


@statement(TOPIC, "devices")
def simulated_time_is_the_same_every_time(api: Api) -> None:
    """The simulated time of one program is positive and equal in two runs."""

    def run() -> float:
        with api.simulated().simulate(CAPACITY) as device:
            x = _block(api, device)
            for _ in range(3):
                x = x * 2.0
            x.to("cpu")
            return float(api.cuda.simulated_time())

    first, second = run(), run()
    true(first > 0.0, "no time passed")
    same(first, second, "simulated seconds")


@statement(TOPIC, 13)
def pinned_offloading_is_faster(api: Api) -> None:
    """Offloading to pinned memory takes less simulated time than to pageable memory."""

    def run(pin: bool) -> float:
        with api.simulated().simulate(10 * CAPACITY) as device:
            x = _block(api, device).requires_grad_()
            y = x
            with api.graph.save_on_cpu(pin_memory=pin):
                for _ in range(5):
                    y = y.sin()
            y.sum().backward()
            api.cuda.synchronize()
            return float(api.cuda.simulated_time())

    pinned, pageable = run(pin=True), run(pin=False)
    true(pinned < pageable, f"pinned took {pinned} s, pageable {pageable} s")


@statement(TOPIC, "devices")
def the_accelerator_says_that_it_is_simulated(api: Api) -> None:
    """is_simulated() is True, and the error of a full memory says so, too."""
    same(api.simulated().is_simulated(), True, "is_simulated()")
    with api.simulated().simulate(10) as device:
        raises(api.cuda.OutOfMemoryError, lambda: _block(api, device), "simulated")
