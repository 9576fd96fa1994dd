"""backward and grad: what arrives where, what is refused, and whose buffers gradients are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, equal, function, leaf

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


def test_zeros_for_an_unused_input_can_be_differentiated_again() -> None:
    x, w = leaf([2.0]), leaf([3.0])
    for create_graph in (False, True):
        (zeros,) = tp.autograd.grad(x * 2.0, w, create_graph=create_graph, materialize_grads=True)
        assert zeros.requires_grad is create_graph and zeros.is_leaf
    second = tp.autograd.grad(zeros.sum(), [x, w], materialize_grads=True)
    equal(second[0], [0.0])
    equal(second[1], [0.0])


def test_an_unused_edge_has_no_shape_for_zeros() -> None:
    x, w = leaf([2.0]), leaf([3.0])
    edge = tp.autograd.graph.get_gradient_edge(w * 1.0)
    with pytest.raises(
        RuntimeError, match=r"inputs\[0\] is a GradientEdge that the outputs do not"
    ):
        tp.autograd.grad(x * 2.0, [edge], materialize_grads=True)


def test_derivatives_of_derivatives() -> None:
    x = leaf([2.0])
    value = x**5
    for factor, power in ((5, 4), (20, 3), (60, 2), (120, 1), (120, 0)):
        (value,) = tp.autograd.grad(value, x, create_graph=True)
        equal(value, [factor * 2.0**power])


def test_many_contributions_to_a_gradient_that_is_differentiated_again() -> None:
    x = leaf([2.0])
    h = x * 1.0
    for source in (x, h):
        y = source**2 + source**3 + source**4 + source**5
        (first,) = tp.autograd.grad(y, source, create_graph=True)
        (second,) = tp.autograd.grad(first, source, retain_graph=True)
        equal(first, [4.0 + 12.0 + 32.0 + 80.0])
        equal(second, [2.0 + 12.0 + 48.0 + 160.0])


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
