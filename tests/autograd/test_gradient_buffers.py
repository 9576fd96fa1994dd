"""Whose buffer a gradient is: nobody else's."""

from __future__ import annotations

from typing import Any

import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, equal, function, leaf

graph = tp.autograd.graph


@pytest.mark.parametrize("create_graph", [False, True])
def test_no_gradient_shares_a_buffer(create_graph: bool) -> None:
    a, b, given = leaf([1.0, 2.0]), leaf([3.0, 4.0]), constant([5.0, 6.0])
    c = a + b
    d = c + 0.0
    c.retain_grad()
    d.retain_grad()
    d.backward(given, create_graph=create_graph)
    buffers = [t.grad._storage for t in (a, b, c, d)] + [given._storage]
    assert len({id(storage) for storage in buffers}) == 5
    for tensor in (a, b, c, d):
        equal(tensor.grad, [5.0, 6.0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_returns_buffers_of_their_own(create_graph: bool) -> None:
    a, b, given = leaf([1.0]), leaf([3.0]), constant([5.0])
    first, second = tp.autograd.grad(a + b, [a, b], given, create_graph=create_graph)
    assert len({id(t._storage) for t in (first, second, given)}) == 3


def test_a_recorded_copy_has_a_history_whatever_the_mode_of_the_caller() -> None:
    a, b, given = leaf([1.0]), leaf([3.0]), leaf([5.0])
    c = a + b
    with tp.no_grad():
        first, second = tp.autograd.grad(c, [a, b], given, create_graph=True)
    (found,) = tp.autograd.grad(first + second, given)
    equal(found, [2.0])


def test_a_gradient_that_a_function_keeps_is_not_the_leafs() -> None:
    kept: list[Any] = []

    def backward(ctx: Any, grad: Any) -> Any:
        kept.append(grad * 2.0)
        return kept[0]

    x = leaf([1.0])
    f = function(lambda ctx, x: x * 2.0, backward)
    f.apply(x).backward()
    f.apply(x).backward()
    equal(kept[0], [2.0])
    equal(x.grad, [4.0])


def test_a_gradient_that_a_hook_has_seen_is_not_the_leafs() -> None:
    kept: list[Any] = []
    x = leaf([1.0])
    x.register_hook(kept.append)
    (x * 2.0 + x * 3.0).backward()
    (x * 2.0).backward()
    assert [float(g) for g in kept] == [5.0, 2.0]
    equal(x.grad, [7.0])


def test_a_gradient_that_a_node_hook_has_seen_is_not_the_leafs() -> None:
    kept: list[Any] = []
    x = leaf([1.0])
    for _ in range(2):
        y = x * 2.0
        y.grad_fn.register_hook(lambda inputs, outputs: kept.append(inputs[0]))
        y.backward()
    assert [float(g) for g in kept] == [2.0, 2.0]


def test_a_gradient_of_a_sum_is_dense_and_can_be_written() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    x.sum().backward()
    with tp.no_grad():
        x.grad[0, 0] = 9.0
    equal(x.grad, [[9.0, 1.0], [1.0, 1.0]])


def test_an_expanded_tensor_assigned_as_gradient_is_added_to() -> None:
    x = leaf([1.0, 2.0])
    x.grad = constant([1.0]).expand(2)
    (x * 2.0).sum().backward()
    equal(x.grad, [3.0, 3.0])


def test_a_gradient_kept_by_a_hook_that_takes_itself_off_is_not_the_leafs() -> None:
    x, kept = leaf([1.0, 2.0]), []

    def hook(grad: Any) -> None:
        kept.append(grad)
        handle.remove()

    handle = x.register_hook(hook)
    x.tanh().sum().backward()
    assert kept[0]._storage is not x.grad._storage
