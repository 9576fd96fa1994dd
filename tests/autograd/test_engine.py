"""backward and grad: what arrives where, what is refused, and whose buffers gradients are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, equal, function, gradients, leaf

graph = tp.autograd.graph


# -- sums --------------------------------------------------------------------------------------
def test_a_node_runs_once_after_all_its_users() -> None:
    runs: list[str] = []
    x = leaf([3.0])
    b = x + x
    b.grad_fn.register_hook(lambda grads, outputs: runs.append("b"))
    (b * b * b + b).backward()
    assert runs == ["b"]
    equal(x.grad, [2 * (3 * 36.0 + 1.0)])


def test_users_of_different_ages_are_all_waited_for() -> None:
    x = leaf([1.0])
    h = x * 1.0
    old = h * 2.0
    young = (old.sin() * 0.0 + h * 3.0) * 1.0
    (young + old).backward()
    equal(x.grad, [5.0])


def test_gradients_of_several_backwards_add_up() -> None:
    x = leaf([2.0])
    y = x * x
    y.backward(retain_graph=True)
    held = x.grad
    y.backward()
    equal(x.grad, [8.0])
    assert x.grad is held and held._version == 1


def test_several_outputs_with_their_gradients() -> None:
    x = leaf([1.0, 2.0])
    y, z = x * 3.0, x * x
    tp.autograd.backward([y, z], [constant([1.0, 1.0]), constant([10.0, 0.0])])
    equal(x.grad, [23.0, 3.0])


def test_one_output_given_twice_counts_twice() -> None:
    x = leaf([2.0])
    y = x * 3.0
    tp.autograd.backward([y, y], [constant([1.0]), constant([10.0])])
    equal(x.grad, [33.0])


def test_broadcast_operands_get_gradients_of_their_own_shape() -> None:
    for first, second in itertools.product([(), (1,), (3,), (2, 1), (2, 3), (4, 1, 3)], repeat=2):
        a, b = (tp.ones(shape, dtype=tp.float64, requires_grad=True) for shape in (first, second))
        y = a * b
        y.sum().backward()
        assert a.grad.shape == first and b.grad.shape == second
        for tensor in (a, b):
            equal(tensor.grad, np.full(tensor.shape, y.numel() / max(tensor.numel(), 1)))


def test_a_gradient_takes_the_dtype_of_its_tensor() -> None:
    x = tp.tensor([2.0], dtype=tp.float16, requires_grad=True)
    w = leaf([3.0])
    (x.to(tp.float64) * w).backward()
    assert x.grad.dtype == tp.float16 and w.grad.dtype == tp.float64


def test_results_of_one_node_get_their_own_gradients() -> None:
    f = function(lambda ctx, x: (x * 1.0, x * 2.0), lambda ctx, a, b: a * 1.0 + b * 2.0)
    x = leaf([1.0])
    first, second = f.apply(x)
    (second * 10.0 + second).backward(retain_graph=True)
    equal(x.grad, [22.0])
    (first * 100.0).backward()
    equal(x.grad, [122.0])


# -- whose buffers -----------------------------------------------------------------------------
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


# -- grad --------------------------------------------------------------------------------------
def test_grad_touches_no_grad_and_reaches_results() -> None:
    x = leaf([2.0])
    h = x * 3.0
    y = h * h
    to_h, to_x, to_y = tp.autograd.grad(y, [h, x, y])
    equal(to_h, [12.0])
    equal(to_x, [36.0])
    equal(to_y, [1.0])
    assert x.grad is None and h.grad is None


def test_grad_walks_only_where_it_must() -> None:
    runs: list[str] = []
    x, w = leaf([2.0]), leaf([3.0])
    left, right = x.sin(), w.sin()
    for name, tensor in (("left", left), ("right", right)):
        tensor.grad_fn.register_hook(lambda grads, outputs, name=name: runs.append(name))
    y = left * right
    tp.autograd.grad(y, x, retain_graph=True)
    assert runs == ["left"]
    tp.autograd.grad(y, left)
    assert runs == ["left"]


def test_unused_inputs() -> None:
    x, w = leaf([2.0]), leaf([3.0])
    y = x * 2.0
    with pytest.raises(RuntimeError, match="not used in the graph: input 1.*allow_unused"):
        tp.autograd.grad(y, [x, w], retain_graph=True)
    assert tp.autograd.grad(y, [w], retain_graph=True, allow_unused=True) == (None,)
    equal(tp.autograd.grad(y, w, materialize_grads=True)[0], [0.0])
    with pytest.raises(ValueError, match="materialize_grads"):
        tp.autograd.grad(y, w, allow_unused=False, materialize_grads=True)


def test_derivatives_of_derivatives() -> None:
    x = leaf([2.0])
    value = x**5
    for factor, power in ((5, 4), (20, 3), (60, 2), (120, 1), (120, 0)):
        (value,) = tp.autograd.grad(value, x, create_graph=True)
        equal(value, [factor * 2.0**power])


def test_create_graph_works_whatever_the_grad_mode_of_the_caller() -> None:
    x = leaf([2.0])
    y = x**3
    with tp.no_grad():
        y.backward(create_graph=True)
        (again,) = tp.autograd.grad(y, x, create_graph=True)
    (second,) = tp.autograd.grad(x.grad + again, x)
    equal(second, [24.0])
    x.grad = None


def test_an_edge_stands_for_its_tensor() -> None:
    x = leaf([2.0])
    h = x * 3.0
    y = h * h
    edge = graph.get_gradient_edge(h)
    (found,) = tp.autograd.grad(graph.get_gradient_edge(y), edge, retain_graph=True)
    equal(found, [12.0])
    tp.autograd.backward(y, inputs=[graph.get_gradient_edge(x)], retain_graph=True)
    equal(x.grad, [36.0])
    with pytest.raises(RuntimeError, match=r"inputs\[0\] is the GradientEdge of a result"):
        y.backward(inputs=[edge])


# -- inputs, retain_grad -----------------------------------------------------------------------
def test_backward_with_inputs_reaches_only_those() -> None:
    x, w = leaf([2.0]), leaf([3.0])
    h = x * w
    y = h * w
    y.backward(inputs=[h, h, x])
    equal(h.grad, [3.0])
    equal(x.grad, [9.0])
    assert w.grad is None


def test_a_retained_gradient_is_not_counted_twice() -> None:
    x = leaf([2.0])
    h = x * 3.0
    h.retain_grad()
    (h * 2.0).backward(inputs=[h])
    equal(h.grad, [2.0])


def test_retain_grad_adds_up_and_sees_what_hooks_made_of_it() -> None:
    x = leaf([2.0])
    h = x * 3.0
    h.retain_grad()
    h.register_hook(lambda grad: grad * 10.0)
    y = h * 2.0
    y.backward(retain_graph=True)
    y.backward()
    equal(h.grad, [40.0])
    assert h.retains_grad and not x.retains_grad


def test_retain_grad_follows_an_in_place_write() -> None:
    x = leaf([2.0])
    h = x * 3.0
    h.retain_grad()
    h.mul_(5.0)
    (h * 2.0).backward()
    equal(h.grad, [2.0])
    assert h.retains_grad
    base = leaf([1.0, 2.0]) * 1.0
    base.retain_grad()
    base[0].mul_(5.0)
    (base * 2.0).sum().backward()
    equal(base.grad, [2.0, 2.0])


# -- what is refused changes nothing -----------------------------------------------------------
def boom(*anything: Any) -> Any:
    raise KeyError("boom")


def by_hook(x: Any, w: Any) -> Any:
    h = x.sin()
    h.register_hook(boom)
    return h * w


def by_function(x: Any, w: Any) -> Any:
    return function(lambda ctx, x: x * 1.0, boom).apply(x) * w


def by_unpack(x: Any, w: Any) -> Any:
    with graph.saved_tensor_hooks(lambda t: t, boom):
        h = x.sin()
    return h * w


def by_leaf_hook(x: Any, w: Any) -> Any:
    x.register_hook(boom)
    return x.sin() * w


@pytest.mark.parametrize("way", [by_hook, by_function, by_unpack, by_leaf_hook])
def test_a_backward_that_raises_changes_no_gradient(way: Callable[..., Any]) -> None:
    x, w = leaf([2.0]), leaf([3.0])
    (x * w).backward()
    before = gradients([x, w])
    y = way(x, w)
    with pytest.raises(KeyError, match="boom"):
        y.backward()
    assert gradients([x, w]) == before and tp.is_grad_enabled()


def test_when_memory_ends_while_gradients_are_put_down_none_is() -> None:
    leaves = [tp.ones(1000, device="cuda", requires_grad=True) for _ in range(4)]
    y = leaves[0] + leaves[1] + leaves[2] + leaves[3]
    gradient = tp.ones(1000, device="cuda")
    with pytest.MonkeyPatch.context() as patch:
        # There is room for two of the four gradients, of 4,000 bytes each.
        accelerator = gradient.device.accelerator
        patch.setattr(accelerator, "capacity", tp.cuda.memory_allocated() + 10_000)
        with pytest.raises(tp.cuda.OutOfMemoryError):
            y.backward(gradient)
    assert [t.grad for t in leaves] == [None] * 4


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: (x * 2.0).backward(), RuntimeError, r"scalar outputs.*\(2,\)"),
        (lambda x: x.detach().sum().backward(), RuntimeError, "does not require grad"),
        (lambda x: (x * 2.0).backward(constant([1.0])), RuntimeError, "Mismatch in shape"),
        (lambda x: (x * 2.0).backward(3.0), TypeError, "float"),
        (lambda x: tp.autograd.backward([]), RuntimeError, "at least one tensor"),
        (lambda x: tp.autograd.backward([x.sum()], [None, None]), RuntimeError, "must match"),
        (lambda x: x.sum().backward(inputs=[]), RuntimeError, "inputs cannot be empty"),
        (lambda x: x.sum().backward(inputs=[constant([1.0])]), RuntimeError, "does not require"),
        (lambda x: x.sum().backward(inputs=[3]), TypeError, "int"),
        (lambda x: tp.autograd.grad(x.sum(), []), RuntimeError, "at least one input"),
        (lambda x: tp.autograd.grad([], x), RuntimeError, "at least one output"),
        (lambda x: tp.autograd.backward([3.0]), TypeError, "float"),
    ],
)
def test_wrong_use_says_so(call: Callable[[Any], Any], error: Any, text: str) -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(error, match=text):
        call(x)
    assert x.grad is None


def test_a_graph_that_was_freed_is_not_walked_silently() -> None:
    x = leaf([2.0])
    h = x * x
    h.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        (h * 3.0).backward()
    equal(x.grad, [4.0])
    h = x * x
    (first,) = tp.autograd.grad(h * h, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="a second time"):
        first.backward()


def test_nothing_saved_may_be_walked_again() -> None:
    x = leaf([2.0])
    y = (x + 1.0).sum()
    y.backward()
    y.backward()
    equal(x.grad, [2.0])
