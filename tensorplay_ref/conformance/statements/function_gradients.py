"""The gradients that a Function's backward returns: count, shape, type, and which arguments."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "Function and ctx"


@statement(TOPIC, "Function")
def too_few_gradients_are_an_error(api: Api) -> None:
    """One gradient for two tensors is an error that names the function and both counts."""
    function = api.function(lambda ctx, a, b: a * b, lambda ctx, gradient: gradient, name="F")
    a, b = api.leaf([2.0]), api.leaf([3.0])
    raises(
        RuntimeError,
        lambda: function.apply(a, b).sum().backward(),
        "function FBackward returned an incorrect number of gradients (expected 2, got 1)",
    )
    same([a.grad is None, b.grad is None], [True, True], "no gradient of a, of b")


@statement(TOPIC, "Function")
def too_many_gradients_are_an_error(api: Api) -> None:
    """Two gradients for one tensor are an error."""
    function = api.function(lambda ctx, x: x * 2.0, lambda ctx, gradient: (gradient, gradient))
    raises(
        RuntimeError,
        lambda: function.apply(api.leaf([2.0])).sum().backward(),
        "(expected 1, got 2)",
    )


@statement(TOPIC, "Function")
def surplus_nones_are_allowed(api: Api) -> None:
    """Trailing None gradients beyond the number of arguments are allowed."""
    x = api.leaf([2.0])
    function = api.function(lambda ctx, x: x * 2.0, lambda ctx, g: (g * 2.0, None, None))
    function.apply(x).sum().backward()
    equal(api, x.grad, [2.0])


@tensorplay_1_0("becomes the gradient", shows="nothing was raised")
@statement(TOPIC, "Function")
def a_gradient_of_the_wrong_shape_is_an_error(api: Api) -> None:
    """A gradient of shape (3,) for an input of shape (2,) is an error that names both shapes."""
    x = api.leaf([2.0, 3.0])
    wrong = api.constant([1.0, 1.0, 1.0])
    y = api.function(lambda ctx, x: x * 2.0, lambda ctx, gradient: wrong).apply(x)
    error = str(raises(RuntimeError, lambda: y.sum().backward()))
    true("3" in error and "2" in error, f"the message is {error!r}")
    true(x.grad is None, "x got a gradient")


@tensorplay_1_0("becomes the gradient", shows="nothing was raised")
@statement(TOPIC, "Function")
def a_gradient_that_would_broadcast_is_an_error(api: Api) -> None:
    """A gradient of shape (1,) for an input of shape (2,) is an error."""
    x = api.leaf([2.0, 3.0])
    wrong = api.constant([1.0])
    y = api.function(lambda ctx, x: x * 2.0, lambda ctx, gradient: wrong).apply(x)
    raises(RuntimeError, lambda: y.sum().backward())
    true(x.grad is None, "x got a gradient")


@statement(TOPIC, "Function")
def a_broadcast_gradient_is_summed(api: Api) -> None:
    """A gradient of shape (2, 2) for an input of shape (2,) is summed to it."""
    x = api.leaf([2.0, 3.0])
    wide = api.constant([[1.0, 2.0], [10.0, 20.0]])
    y = api.function(lambda ctx, x: x * 1.0, lambda ctx, gradient: wide).apply(x)
    y.sum().backward()
    equal(api, x.grad, [11.0, 22.0])


@statement(TOPIC, "Function")
def a_gradient_that_is_no_tensor_is_an_error(api: Api) -> None:
    """A Python number as a gradient is an error that names its type."""
    y = api.function(lambda ctx, x: x * 2.0, lambda ctx, gradient: 3.5).apply(api.leaf([2.0]))
    raises((RuntimeError, TypeError), lambda: y.sum().backward(), "float")


@statement(TOPIC, "Function")
def a_gradient_of_another_float_is_cast(api: Api) -> None:
    """A float64 gradient for a float32 leaf becomes float32."""
    x = api.leaf([2.0], api.float32)
    wide = api.constant([3.0])
    api.function(lambda ctx, x: x * 3.0, lambda ctx, g: wide).apply(x).sum().backward()
    true(x.grad.dtype == api.float32, f"the gradient has dtype {x.grad.dtype}")
    equal(api, x.grad, [3.0])


@statement(TOPIC, "Function")
def a_gradient_for_a_constant_is_dropped(api: Api) -> None:
    """A gradient returned for a tensor that needs none is dropped."""
    a, c = api.leaf([2.0]), api.constant([3.0])
    function = api.function(lambda ctx, a, c: a * c, lambda ctx, g: (g * 3.0, g * 2.0))
    function.apply(a, c).sum().backward()
    equal(api, a.grad, [3.0])
    true(c.grad is None, "the constant got a gradient")


@tensorplay_1_0("drops it", shows="nothing was raised")
@statement(TOPIC, "Function")
def a_gradient_for_a_number_is_an_error(api: Api) -> None:
    """A gradient other than None for an argument that is no tensor is an error."""
    function = api.function(lambda ctx, x, number: x * number, lambda ctx, g: (g, g))
    y = function.apply(api.leaf([2.0]), 3.0)
    raises(RuntimeError, lambda: y.sum().backward(), "None")


@statement(TOPIC, "Function")
def none_for_a_needed_gradient_leaves_grad_none(api: Api) -> None:
    """None for an input that requires grad leaves its .grad None."""
    x = api.leaf([2.0])
    api.function(lambda ctx, x: x * 2.0, lambda ctx, gradient: None).apply(x).sum().backward()
    same(x.grad, None, "x.grad")


@statement(TOPIC, "Function")
def none_for_a_needed_gradient_is_unused_for_grad(api: Api) -> None:
    """For autograd.grad an input whose gradient came back None is unused: an error, or None."""
    x = api.leaf([2.0])
    function = api.function(lambda ctx, x: x * 2.0, lambda ctx, gradient: None)
    raises(RuntimeError, lambda: api.grad(function.apply(x).sum(), x), "used")
    same(api.grad(function.apply(x).sum(), x, allow_unused=True), (None,), "with allow_unused")


@statement(TOPIC, "Function")
def unused_outputs_have_zero_gradients(api: Api) -> None:
    """The gradient of an output that was not used arrives in backward as zeros of its shape."""
    seen: list[Any] = []

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append(second if second is None else (tuple(second.shape), second.tolist()))
        return first * 2.0

    x = api.leaf([1.0, 2.0])
    first, _ = api.function(lambda ctx, x: (x * 2.0, x[0:1] * 3.0), backward).apply(x)
    first.sum().backward()
    same(seen, [((1,), [0.0])], "the second gradient")
    equal(api, x.grad, [2.0, 2.0])


@statement(TOPIC, "Function")
def unused_outputs_can_have_no_gradients(api: Api) -> None:
    """After set_materialize_grads(False) the gradient of an unused output arrives as None."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2.0, x * 3.0

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append(second)
        return first * 2.0

    x = api.leaf([1.0])
    first, _ = api.function(forward, backward).apply(x)
    first.sum().backward()
    same(seen, [None], "the second gradient")


@statement(TOPIC, "Function")
def one_tensor_for_two_arguments_gets_both_gradients(api: Api) -> None:
    """apply(x, x) adds the gradients of both arguments."""
    x = api.leaf([2.0])
    api.function(lambda ctx, a, b: a * b, lambda ctx, g: (g * 3.0, g * 5.0)).apply(x, x).backward()
    equal(api, x.grad, [8.0])


@torch_2_13("does not look into lists", shows="does not require grad")
@statement(TOPIC, "Function")
def tensors_in_a_list_are_differentiated(api: Api) -> None:
    """Tensors inside a list argument get gradients, one slot for each."""
    a, b = api.leaf([2.0]), api.leaf([3.0])
    function = api.function(
        lambda ctx, pair: pair[0] * 5.0 + pair[1] * 7.0, lambda ctx, g: (g * 5.0, g * 7.0)
    )
    y = function.apply([a, b])
    true(y.requires_grad, "the result does not require grad")
    y.sum().backward()
    equal(api, a.grad, [5.0], "the gradient of a")
    equal(api, b.grad, [7.0], "the gradient of b")


@torch_2_13("does not look into dicts", shows="does not require grad")
@statement(TOPIC, "Function")
def tensors_in_a_dict_are_differentiated(api: Api) -> None:
    """Tensors inside a dict argument get gradients, in the order of the dict."""
    a, b = api.leaf([2.0]), api.leaf([3.0])
    function = api.function(
        lambda ctx, table: table["a"] * 5.0 + table["b"] * 7.0, lambda ctx, g: (g * 5.0, g * 7.0)
    )
    y = function.apply({"a": a, "b": b})
    true(y.requires_grad, "the result does not require grad")
    y.sum().backward()
    equal(api, a.grad, [5.0], "the gradient of a")
    equal(api, b.grad, [7.0], "the gradient of b")


@torch_2_13("does not look into tuples", shows="(expected 2, got 3)")
@statement(TOPIC, "Function")
def tensors_in_a_tuple_are_counted_flat(api: Api) -> None:
    """needs_input_grad has one entry for each tensor inside a tuple argument."""
    seen: list[Any] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        seen.append(tuple(ctx.needs_input_grad))
        return gradient, None, gradient

    a, c, b = api.leaf([2.0]), api.constant([1.0]), api.leaf([3.0])
    function = api.function(lambda ctx, pair, b: pair[0] + pair[1] + b, backward)
    function.apply((a, c), b).sum().backward()
    same(seen, [(True, False, True)], "needs_input_grad")


@torch_2_13("takes no keyword arguments", shows="unexpected keyword argument")
@statement(TOPIC, "Function")
def keyword_arguments_take_no_gradient_slot(api: Api) -> None:
    """A keyword argument reaches forward and takes no place among the gradients."""
    x = api.leaf([2.0])
    function = api.function(lambda ctx, x, *, scale: x * scale, lambda ctx, g: g * 3.0)
    function.apply(x, scale=3.0).sum().backward()
    equal(api, x.grad, [3.0])
