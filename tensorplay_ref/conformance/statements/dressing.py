"""What unpack returns is dressed with the history that was saved: second derivatives and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, same, true
from ..functions import exponential, square
from ..statement import statement, tensorplay_1_0

TOPIC = "hooks: unpacking"


def _second_derivative(
    api: Api,
    operation: Callable[[Any], Any],
    value: float,
    pack: Callable[[Any], Any],
    unpack: Callable[[Any], Any],
) -> Any:
    x = api.leaf([value])
    with api.hooks(pack, unpack):
        y = operation(x).sum()
    (first,) = api.grad(y, x, create_graph=True)
    return api.grad(first.sum(), x)[0]


@tensorplay_1_0("the unpacked tensor has lost its history", shows="does not require grad")
@statement(TOPIC, 9)
def a_detaching_pack_serves_second_derivatives(api: Api) -> None:
    """With a pack that detaches, the second derivative of x**3 at 2 is 12."""
    found = _second_derivative(
        api, lambda x: x**3, 2.0, lambda tensor: tensor.detach(), lambda packed: packed
    )
    equal(api, found, [12.0], "the second derivative")


@statement(TOPIC, 9)
def a_copying_pack_serves_second_derivatives(api: Api) -> None:
    """With a pack that clones, the second derivative of x * x * x at 2 is 12."""
    found = _second_derivative(
        api, lambda x: x * x * x, 2.0, lambda tensor: tensor.clone(), lambda packed: packed
    )
    equal(api, found, [12.0], "the second derivative")


@tensorplay_1_0("the unpacked tensor has lost its history", shows="does not require grad")
@statement(TOPIC, 9)
def an_array_serves_second_derivatives(api: Api) -> None:
    """With values that went through NumPy, the second derivative of x**3 at 2 is 12."""
    found = _second_derivative(
        api, lambda x: x**3, 2.0, lambda tensor: tensor.detach().numpy().copy(), api.tensor
    )
    equal(api, found, [12.0], "the second derivative")


@tensorplay_1_0("the unpacked tensor has lost its history", shows="does not require grad")
@statement(TOPIC, 9)
def a_saved_output_from_an_array_serves_second_derivatives(api: Api) -> None:
    """With exp's output gone through NumPy, the second derivative of exp at 0 is 1."""
    found = _second_derivative(
        api, lambda x: x.exp(), 0.0, lambda tensor: tensor.detach().numpy().copy(), api.tensor
    )
    equal(api, found, [1.0], "the second derivative")


@tensorplay_1_0("the unpacked tensor has lost its history", shows="does not require grad")
@statement(TOPIC, 9)
def a_function_is_differentiated_twice_through_an_array(api: Api) -> None:
    """A custom Function whose input went through NumPy has the second derivative 2."""
    found = _second_derivative(
        api, square(api).apply, 3.0, lambda tensor: tensor.detach().numpy().copy(), api.tensor
    )
    equal(api, found, [2.0], "the second derivative")


@tensorplay_1_0("the unpacked tensor has lost its history", shows="does not require grad")
@statement(TOPIC, 9)
def a_functions_saved_output_is_differentiated_twice(api: Api) -> None:
    """A custom Function that saves its output through NumPy is differentiated twice rightly."""
    found = _second_derivative(
        api, exponential(api).apply, 0.5, lambda tensor: tensor.detach().numpy().copy(), api.tensor
    )
    equal(api, found, [np.exp(0.5)], "the second derivative")


@tensorplay_1_0("silently loses a term", shows="found [40.]")
@statement(TOPIC, 9)
def no_term_is_lost_when_hooked_and_plain_operations_mix(api: Api) -> None:
    """x * x under a detaching pack, times x * x without, is x**4: second derivative 48 at 2."""
    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed):
        a = x * x
    y = (a * x * x).sum()
    (first,) = api.grad(y, x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, second, [48.0], "the second derivative")


@tensorplay_1_0("the unpacked tensor has lost its history", shows="does not require grad")
@statement(TOPIC, 9)
def third_derivatives_pass_through_hooks(api: Api) -> None:
    """Through values kept as arrays the third derivative of x**4 at 2 is 48."""
    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor.detach().numpy().copy(), api.tensor):
        y = x * x * x * x
        (first,) = api.grad(y.sum(), x, create_graph=True)
        (second,) = api.grad(first.sum(), x, create_graph=True)
    (third,) = api.grad(second.sum(), x)
    equal(api, third, [48.0], "the third derivative")


@tensorplay_1_0("differentiates through unpack", shows="found [20.]")
@statement(TOPIC, 9)
def the_arithmetic_of_unpack_leaves_no_history(api: Api) -> None:
    """What unpack computes with grad on is not differentiated: only the saved edge counts."""
    x = api.leaf([3.0])
    with api.hooks(lambda tensor: tensor, lambda packed: packed * 10.0):
        y = x.square().sum()
    (first,) = api.grad(y, x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, first, [60.0], "the first derivative")
    equal(api, second, [2.0], "the second derivative")


@tensorplay_1_0("differentiates through the foreign history", shows="the stranger got a gradient")
@statement(TOPIC, 9)
def a_foreign_history_is_dropped(api: Api) -> None:
    """When unpack returns a tensor computed from another leaf, that leaf gets no gradient."""
    stranger = api.leaf([5.0])
    x = api.leaf([3.0])
    with api.hooks(lambda tensor: None, lambda packed: stranger * 1.0):
        y = x.square().sum()
    (first,) = api.grad(y, x, create_graph=True)
    first.sum().backward()
    equal(api, first, [10.0], "the first derivative")
    true(stranger.grad is None, "the stranger got a gradient")
    equal(api, x.grad, [2.0], "the second derivative")


@tensorplay_1_0("takes what unpack returned as it is", shows="found ([5.0], True)")
@statement(TOPIC, 9)
def a_saved_constant_stays_constant(api: Api) -> None:
    """A constant factor unpacks as a constant, even if unpack returns what requires grad."""
    stranger = api.leaf([5.0])
    x = api.leaf([3.0])
    with api.hooks(lambda tensor: None, lambda packed: stranger):
        y = (x * api.constant([7.0])).sum()
    (first,) = api.grad(y, x, create_graph=True)
    same((api.array(first).tolist(), first.requires_grad), ([5.0], False), "value, requires_grad")


@tensorplay_1_0("takes what unpack returned as it is", shows="found [False, False]")
@statement(TOPIC, 9)
def an_unpacked_input_requires_grad_as_the_input_did(api: Api) -> None:
    """Read under hooks that detach, a saved leaf requires grad and a saved constant does not."""
    found: list[bool] = []

    def forward(ctx: Any, a: Any, c: Any) -> Any:
        ctx.save_for_backward(a, c)
        return a * c

    def backward(ctx: Any, gradient: Any) -> Any:
        a, c = ctx.saved_tensors
        found.extend([a.requires_grad, c.requires_grad])
        return gradient * c, None

    with api.hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        y = api.function(forward, backward).apply(api.leaf([2.0]), api.constant([5.0]))
    y.sum().backward()
    same(found, [True, False], "requires_grad of the saved leaf and the saved constant")


@tensorplay_1_0("takes what unpack returned as it is", shows="read back is None")
@statement(TOPIC, 9)
def an_unpacked_intermediate_has_its_grad_fn(api: Api) -> None:
    """Read under hooks that detach, a saved result of an operation has that operation's node."""
    found: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(ctx.saved_tensors[0].grad_fn)
        return gradient

    h = api.leaf([2.0]).sin()
    with api.hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        y = api.function(forward, backward).apply(h)
    y.sum().backward()
    true(found[0] is not None and found[0] is h.grad_fn, f"the node read back is {found[0]}")


@tensorplay_1_0("every output of a Function has number 0", shows="found [0, 0]")
@statement(TOPIC, 9)
def each_saved_output_keeps_its_number(api: Api) -> None:
    """Two saved outputs of one Function read back as output 0 and output 1 of its node."""
    found: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * 2.0, x * 3.0
        ctx.save_for_backward(a, b)
        return a, b

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        found.extend(api.output_number(each) for each in ctx.saved_tensors)
        return first * 2.0 + second * 3.0

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        a, b = api.function(forward, backward).apply(x)
    (a + b).sum().backward()
    same(found, [0, 1], "output numbers")
    equal(api, x.grad, [5.0])


@tensorplay_1_0("silently loses a term", shows="found [96.]")
@statement(TOPIC, 9)
def second_derivatives_reach_the_right_output(api: Api) -> None:
    """Two outputs saved as arrays, a = x**2 and b = x**3: d2(a*b)/dx2 by their own edges is 160."""

    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * x, x * x * x
        ctx.save_for_backward(x, a)
        return a, b

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        x, a = ctx.saved_tensors
        return first * 2.0 * x + second * 3.0 * a

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor.detach().numpy().copy(), api.tensor):
        a, b = api.function(forward, backward).apply(x)
    (first,) = api.grad((a * b).sum(), x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, first, [80.0], "the first derivative")
    equal(api, second, [160.0], "the second derivative")
