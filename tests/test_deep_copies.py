"""copy.deepcopy of tensors: what shared a storage shares the copy of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp

VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "a row": lambda x: x[1],
    "a slice": lambda x: x[::2, 1:],
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1],
    "expanded": lambda x: x.expand(2, 4, 3),
    "a new axis": lambda x: x[:, None],
    "one number": lambda x: x[1, 2],
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "data of a row": lambda x: x[2].data,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_copied_with_its_base_still_looks_into_it(name: str) -> None:
    x = tp.tensor(np.arange(12.0).reshape(4, 3))
    view = VIEWS[name](x)
    twin, other = copy.deepcopy((x, view))
    assert other.tolist() == view.tolist() and other.stride() == view.stride()
    assert other.storage_offset() == view.storage_offset()
    twin.fill_(7.0)
    assert set(np.ravel(other.tolist())) == {7.0}
    assert x.tolist() == np.arange(12.0).reshape(4, 3).tolist()
    assert not np.shares_memory(twin.numpy(), x.numpy())


def test_a_write_counts_for_both_and_not_for_the_original() -> None:
    x = tp.ones(3)
    twin, view, data = copy.deepcopy([x, x[:2], x.data])
    view.mul_(2.0)
    assert (twin._version, view._version, x._version) == (1, 1, 0)
    # What .data is has a version of its own, in the copy as well.
    assert data.tolist() == [2.0, 2.0, 1.0] and data._version == 0


def test_a_leaf_and_what_was_detached_from_it() -> None:
    x = tp.tensor([1.0, 2.0], requires_grad=True)
    x.grad = tp.tensor([3.0, 4.0])
    twin, other = copy.deepcopy([x, x.detach()[:1]])
    assert twin.requires_grad and twin.is_leaf and not other.requires_grad
    assert twin.grad is not x.grad and twin.grad.tolist() == [3.0, 4.0]
    with tp.no_grad():
        twin.add_(1.0)
    assert other.tolist() == [2.0] and x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_the_memory_of_an_array_with_strides_is_copied(step: int) -> None:
    array = np.arange(10.0)[::step]
    x = tp.from_numpy(array)
    twin, view = copy.deepcopy([x, x[1:]])
    assert twin.tolist() == array.tolist() and view.tolist() == array[1:].tolist()
    twin.zero_()
    assert view.tolist() == [0.0] * len(view) and array.any()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
def test_small_and_empty_tensors(shape: tuple[int, ...]) -> None:
    x = tp.ones(shape)
    twin, again = copy.deepcopy([x, x])
    assert twin is again and twin.shape == shape and twin.tolist() == x.tolist()


def test_two_copies_share_nothing() -> None:
    x = tp.ones(3)
    first, second = copy.deepcopy(x), copy.deepcopy(x)
    assert not np.shares_memory(first.numpy(), second.numpy())


def test_the_bytes_of_an_accelerator_are_counted_once() -> None:
    with tp.cuda.simulate(1_000) as device:
        x = tp.ones(10, device=device)
        before = tp.cuda.memory_allocated()
        twins = copy.deepcopy([x, x[:5], x.data])
        assert tp.cuda.memory_allocated() == 2 * before
        assert {twin.device for twin in twins} == {x.device}
        del twins
        assert tp.cuda.memory_allocated() == before
