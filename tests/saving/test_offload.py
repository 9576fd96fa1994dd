"""offload: what is moved, when it is moved, and what the ledgers say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.saving import offload


@pytest.fixture
def device() -> Iterator[Any]:
    with tp.cuda.simulate(capacity=1_000_000) as device:
        yield device


def moved(device: Any, function: Any, **options: Any) -> tuple[int, int]:
    """Bytes copied to the host and back by a forward and a backward pass under offload."""
    with device.accelerator.recording() as events:
        with offload(**options):
            loss = function()
        loss.backward()
    copies = [event for event in events if event.kind == "copy"]
    return (
        sum(event.nbytes for event in copies if event.stream == "to host"),
        sum(event.nbytes for event in copies if event.stream == "to device"),
    )


def test_each_refinement_can_be_switched_off(device: Any) -> None:
    w = tp.ones(100, 10, device=device, requires_grad=True)
    small = tp.ones(10, device=device, requires_grad=True)

    def function() -> Any:
        return (w.exp() * w.exp().relu() * (small * 2.0).exp()).sum()

    def loss() -> Any:
        h = w.tanh()
        return (h * w).sum() + (h * h).sum() + small.exp().sum()

    assert function().item() > 0
    # tanh saves h; h * w saves both; h * h saves h twice; exp saves its small result.
    everything = {"min_bytes": 0, "skip_leaves": False, "deduplicate": False}
    assert moved(device, loss, **everything)[0] == 5 * 4000 + 40
    assert moved(device, loss, **{**everything, "min_bytes": 1024})[0] == 5 * 4000
    assert moved(device, loss, **{**everything, "skip_leaves": True})[0] == 4 * 4000 + 40
    assert moved(device, loss, **{**everything, "deduplicate": True})[0] == 2 * 4000 + 40
    assert moved(device, loss)[0] == 4000


def test_the_way_back_is_one_copy_for_each_reader(device: Any) -> None:
    x = tp.ones(1000, device=device, requires_grad=True)

    def loss() -> Any:
        h = x.tanh()
        return (h * h).sum()

    assert moved(device, loss) == (4000, 3 * 4000)


def test_one_host_copy_serves_two_graphs_and_goes_with_the_last(device: Any) -> None:
    before = tp.cuda.host_memory_allocated()
    policy = offload()
    h = tp.ones(1000, device=device, requires_grad=True) * 2.0
    with policy:
        one, two = (h * h).sum(), (h * h).sum()
    assert tp.cuda.host_memory_allocated() == before + 4000
    one.backward()
    assert tp.cuda.host_memory_allocated() == before + 4000
    two.backward()
    assert tp.cuda.host_memory_allocated() == before


def test_a_device_copy_is_written_after_its_host_copy_was_made(device: Any) -> None:
    x = tp.ones(1000, device=device, requires_grad=True)
    h = x * 2.0
    policy = offload()
    with policy:
        one = (h * h).sum()
        with tp.no_grad():
            h.mul_(2.0)
        two = (h * h).sum()
    (first,) = tp.autograd.grad(one, x)
    (second,) = tp.autograd.grad(two, x)
    assert np.allclose(first.cpu().numpy(), 8.0)
    assert np.allclose(second.cpu().numpy(), 16.0)


def test_host_copies_are_called_saved_for_backward_and_pinned_when_asked_for(device: Any) -> None:
    x = tp.ones(1000, device=device)
    for pinned in (False, True):
        packed = offload(pin_memory=pinned).pack_hook(x)
        host = packed.packed.parts[0]
        assert host.is_pinned() is pinned
        assert host._storage.allocation.category == "saved for backward"
        assert host._storage.allocation.operation == "offload"


def test_host_tensors_are_kept_without_a_copy() -> None:
    x = tp.ones(1000)
    policy = offload()
    unpacked = policy.unpack_hook(policy.pack_hook(x))
    assert np.shares_memory(unpacked.numpy(), x.numpy())


def test_out_of_memory_on_the_way_back_can_be_tried_again(device: Any) -> None:
    x = tp.ones(50_000, device=device, requires_grad=True)
    with offload():
        y = x.tanh().exp().sum()
    ballast = tp.ones(150_000, device=device)
    live = tp.cuda.memory_allocated()
    with pytest.raises(tp.cuda.OutOfMemoryError):
        y.backward()
    assert tp.cuda.memory_allocated() == live
    assert x.grad is None
    del ballast
    y.backward()
    assert x.grad is not None
