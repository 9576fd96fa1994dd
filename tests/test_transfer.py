"""Copies between devices: values, layout, ledger, and which stream they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.device import CPU, as_device
from tensorplay_ref.transfer import copy_to

DEVICE = as_device("cuda")
LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: a.T,
    "every second": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], (5, *a.shape)),
    "empty": lambda a: a[:0],
    "no axes": lambda a: a[0, 0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [tp.float32, tp.float64, tp.int8, tp.bool, tp.complex64])
def test_there_and_back_every_element_is_the_same(dtype: Any, layout: str) -> None:
    array = LAYOUTS[layout](np.arange(12).reshape(3, 4).astype(dtype))
    source = tp.from_numpy(np.array(array)) if array.ndim == 0 else tp.tensor(array)
    there = copy_to(source, DEVICE)
    back = copy_to(there, CPU)
    assert there.device is DEVICE and back.device is CPU
    assert back.dtype == dtype and back.shape == array.shape
    np.testing.assert_array_equal(back.numpy(), array)
    back.fill_(1)
    np.testing.assert_array_equal(source.numpy(), array)


def test_a_copy_is_cut_from_the_graph_and_shares_nothing() -> None:
    x = tp.ones(3, requires_grad=True)
    for copy in (copy_to(x, CPU), copy_to(x * 1.0, CPU), copy_to(x, CPU, pinned=True)):
        assert not copy.requires_grad and copy.grad_fn is None and copy._base is None
        assert copy._storage is not x._storage and copy._version == 0


def test_bytes_are_counted_under_the_name_that_was_given() -> None:
    before = tp.cuda.memory_allocated()
    copy = copy_to(tp.ones(1000), DEVICE, operation="mine", category="activations")
    assert tp.cuda.memory_allocated() - before == 4000
    assert DEVICE.accelerator is not None
    owners = {(owner.operation, owner.category) for owner in DEVICE.accelerator.owners()}
    assert ("mine", "activations") in owners
    del copy
    assert tp.cuda.memory_allocated() == before


def streams(source: Any, device: Any, **options: Any) -> list[tuple[str, str]]:
    """What one copy makes the device do, and on which stream."""
    assert DEVICE.accelerator is not None
    with DEVICE.accelerator.recording() as events:
        copy_to(source, device, **options)
    return [(event.kind, event.stream) for event in events if event.kind in ("allocate", "copy")]


def test_only_a_non_blocking_copy_from_pinned_memory_goes_beside_the_computing() -> None:
    pageable = tp.ones(1000)
    pinned = pageable.pin_memory()
    assert pinned.is_pinned() and not pageable.is_pinned()
    waiting = [("allocate", "compute"), ("copy", "to device")]
    beside = [("allocate", "to device"), ("copy", "to device")]
    assert streams(pageable, DEVICE) == waiting
    assert streams(pageable, DEVICE, non_blocking=True) == waiting
    assert streams(pinned, DEVICE) == waiting
    assert streams(pinned, DEVICE, non_blocking=True) == beside


def test_the_host_waits_unless_memory_is_pinned_and_the_copy_non_blocking() -> None:
    there = copy_to(tp.ones(100_000), DEVICE)
    assert DEVICE.accelerator is not None
    clock = DEVICE.accelerator.clock
    waits = {}
    for pinned in (False, True):
        for non_blocking in (False, True):
            tp.cuda.synchronize()
            start = clock.host
            copy_to(there, CPU, pinned=pinned, non_blocking=non_blocking)
            waits[pinned, non_blocking] = clock.host - start
    assert waits[True, True] < waits[True, False] < waits[False, False]
    assert waits[False, True] == waits[False, False]


def test_between_two_accelerators_bytes_pass_through_the_host() -> None:
    there = copy_to(tp.ones(10), DEVICE)
    assert streams(there, as_device("cuda:1")) == [("copy", "to host")]
    other = copy_to(there, as_device("cuda:1"))
    assert other.device is as_device("cuda:1")
    np.testing.assert_array_equal(copy_to(other, CPU).numpy(), np.ones(10, np.float32))


def test_only_host_memory_can_be_pinned() -> None:
    with pytest.raises(RuntimeError, match=r"only host memory can be pinned.*cuda:0.*\.cpu\(\)"):
        tp.ones(3, device="cuda").pin_memory()


def test_when_the_device_is_full_nothing_is_counted() -> None:
    before = tp.cuda.memory_allocated()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DEVICE.accelerator, "capacity", before + 10)
        with pytest.raises(tp.cuda.OutOfMemoryError, match="to"):
            copy_to(tp.ones(1000), DEVICE)
    assert tp.cuda.memory_allocated() == before
