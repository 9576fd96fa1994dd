"""Dirty inputs, outputs without gradient, and ctx as a node."""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import constant, equal, function, leaf, square

Function = tp.autograd.Function


def adding(marked: bool = True, returned: bool = True) -> Any:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        a.add_(b)
        if marked:
            ctx.mark_dirty(a)
        return a if returned else b * 1.0

    return function(forward, lambda ctx, grad: (grad, grad * 10.0))


def test_a_dirty_input_comes_back_as_the_result() -> None:
    x, w = leaf([1.0]), leaf([5.0])
    h = x * 2.0
    version = h._version
    y = adding().apply(h, w)
    assert y is h and h._version > version and h.grad_fn.name() == "FnBackward"
    (h * 3.0).backward()
    equal(x.grad, [6.0])
    equal(w.grad, [30.0])


def test_a_dirty_leaf_or_a_dirty_tensor_that_is_kept_back_is_refused() -> None:
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        adding().apply(x, constant([1.0]))
    with pytest.raises(RuntimeError, match="not returned as"):
        adding(returned=False).apply(constant([1.0]), leaf([1.0]))
    with pytest.raises(TypeError, match="argument 0 is of type int"):
        function(lambda ctx, x: ctx.mark_dirty(3)).apply(x)


def test_a_dirty_view_is_refused() -> None:
    h = leaf([1.0, 2.0]) * 1.0
    with pytest.raises(RuntimeError, match="view cannot be changed in place by a Function"):
        adding().apply(h[:1], constant([1.0]))
    with pytest.raises(RuntimeError, match="view cannot be changed in place by a Function"):
        adding().apply(constant([1.0, 2.0])[:1], leaf([1.0]))
    with tp.no_grad():
        adding().apply(h[:1], constant([1.0]))


def test_a_dirty_tensor_that_retains_its_gradient_goes_on_retaining() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        return a.mul_(2.0)

    h = leaf([1.0]) * 2.0
    h.retain_grad()
    function(forward, lambda ctx, grad: grad * 2.0).apply(h)
    (h * 3.0).backward()
    equal(h.grad, [3.0])


def test_non_differentiable_outputs() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y, z = x * 1.0, x * 2.0
        ctx.mark_non_differentiable(z)
        return y, z

    x = leaf([1.0])
    y, z = function(forward, lambda ctx, a, b: a).apply(x)
    assert y.requires_grad and not z.requires_grad and z.grad_fn is None
    y.backward()
    equal(x.grad, [1.0])


def test_an_output_that_is_a_view_of_its_input_may_not_be_written() -> None:
    h = leaf([1.0, 2.0]) * 1.0
    y = function(lambda ctx, x: x[:1], lambda ctx, grad: tp.cat([grad, grad * 0.0])).apply(h)
    with pytest.raises(RuntimeError, match="a view made under no_grad or in a Function.*clone"):
        y.mul_(2.0)
    y.clone().mul_(2.0).backward()


def test_an_output_that_is_a_view_inside_forward_may_not_be_written_either() -> None:
    x = leaf([1.0, 2.0])
    y = function(lambda ctx, x: (x * 2.0).reshape(-1), lambda ctx, grad: grad * 2.0).apply(x)
    with pytest.raises(RuntimeError, match="a view made under no_grad or in a Function.*clone"):
        y.add_(1.0)
    y.sum().backward()
    equal(x.grad, [2.0, 2.0])


def test_an_input_that_comes_back_as_it_is_may_not_be_written_through_the_result() -> None:
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0]) * 1.0
    same = function(lambda ctx, x: x, lambda ctx, grad: grad * 10.0)
    for given in (x, y, y[:1]):
        result = same.apply(given)
        why = "a view of a leaf" if given is x else "a view made under no_grad or in a Function"
        with pytest.raises(RuntimeError, match=why):
            result.mul_(2.0)
        assert result._base is (y if given is not x else x)
    equal(x, [1.0, 2.0])


@pytest.mark.parametrize("returned", ["itself", "view", "view of the other result", "closed over"])
@pytest.mark.parametrize("written", ["base", "view of it"])
def test_a_result_whose_memory_was_written_meanwhile_is_refused(
    returned: str, written: str
) -> None:
    """Its backward would give the gradient of the values before the write."""
    h, c = leaf([1.0, 2.0]) * 1.0, leaf([3.0, 4.0]) * 1.0

    def forward(ctx: Any, x: Any) -> Any:
        if returned == "view of the other result":
            made = x * 1.0
            return made[:2], made
        return {"itself": x, "view": x[:2], "closed over": c}[returned], x * 1.0

    result, other = function(forward, lambda ctx, grad, _: grad).apply(h)
    base = {"closed over": c, "view of the other result": other}.get(returned, h)
    early = result * 3.0
    (base if written == "base" else base[:1]).mul_(2.0)
    with pytest.raises(RuntimeError, match="shares memory with a tensor that was written in place"):
        result * 3.0
    early.sum().backward()


def test_a_result_stays_usable_when_its_base_was_written_unrecorded_or_detached() -> None:
    x = leaf([1.0, 2.0])
    h = x * 1.0
    result = function(lambda ctx, x: x, lambda ctx, grad: grad * 10.0).apply(h)
    with tp.no_grad():
        h.add_(1.0)
    h.detach_()
    (result * 3.0).sum().backward()
    equal(x.grad, [30.0, 30.0])


@pytest.mark.parametrize("order", ["mark, save", "save, mark"])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_saved_dirty_input_is_differentiated_as_the_result_that_it_is(
    order: str, hooked: bool
) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        x.exp_()
        for step in order.split(", "):
            {"mark": ctx.mark_dirty, "save": ctx.save_for_backward}[step](x)
        return x

    def backward(ctx: Any, grad: Any) -> Any:
        (result,) = ctx.saved_tensors
        return grad * result

    x = leaf([1.0, 2.0])
    copies = tp.autograd.graph.saved_tensor_hooks(lambda t: t.clone(), lambda t: t)
    with copies if hooked else nullcontext():
        y = function(forward, backward).apply(x * 1.0)
    for _ in range(3):
        (y,) = tp.autograd.grad(y.sum(), x, create_graph=True)
        equal(y, np.exp([1.0, 2.0]))


@pytest.mark.parametrize("hooked", [False, True])
def test_what_was_saved_of_an_input_before_it_was_changed_is_no_result(hooked: bool) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x.mul_(x.clone())

    def backward(ctx: Any, grad: Any) -> Any:
        (before,) = ctx.saved_tensors
        return grad * 2.0 * before

    x = leaf([3.0])
    copies = tp.autograd.graph.saved_tensor_hooks(lambda t: t.clone(), lambda t: t)
    with copies if hooked else nullcontext():
        y = function(forward, backward).apply(x * 1.0)
    if not hooked:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
        return
    (first,) = tp.autograd.grad(y, x, create_graph=True)
    equal(first, [6.0])
    equal(tp.autograd.grad(first, x)[0], [2.0])


def test_a_marked_input_that_hooks_hand_through_closes_no_cycle() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x.mul_(2.0))
        ctx.save_for_backward(x)
        return x

    with reference_counting():
        with tp.autograd.graph.saved_tensor_hooks(lambda t: (t,), lambda packed: packed[0]):
            y = function(forward, lambda ctx, grad: grad * 2.0).apply(leaf([1.0]) * 1.0)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None


def test_ctx_is_the_node_with_hooks_and_attributes() -> None:
    x = leaf([2.0])
    y = square().apply(x)
    node = y.grad_fn
    assert node.name() == "SquareBackward" and isinstance(node, tp.autograd.graph.Node)
    node.register_prehook(lambda grads: (grads[0] * 10.0,))
    node.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0],))
    node.metadata["note"] = 1
    y.backward()
    equal(x.grad, [50.0])


def test_an_exception_in_forward_leaves_grad_mode_on() -> None:
    with pytest.raises(ZeroDivisionError):
        function(lambda ctx, x: 1 / 0).apply(leaf([2.0]))
    assert tp.is_grad_enabled()
