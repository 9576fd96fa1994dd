"""Function: forward, setup_context, backward, and what ctx offers in them."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..functions import square
from ..statement import statement, tensorplay_1_0

TOPIC = "Function and ctx"


@statement(TOPIC, "Function")
def a_function_has_the_value_of_forward_and_the_gradient_of_backward(api: Api) -> None:
    """apply gives what forward returns, and differentiates by backward, right or wrong."""
    function = api.function(lambda ctx, x: x * x, lambda ctx, gradient: gradient * 7.0)
    x = api.leaf([2.0, 3.0])
    y = function.apply(x)
    equal(api, y, [4.0, 9.0], "the value")
    y.sum().backward()
    equal(api, x.grad, [7.0, 7.0])


@statement(TOPIC, "Function")
def forward_runs_with_grad_off(api: Api) -> None:
    """forward runs with grad off, while its inputs still require grad."""
    found: list[bool] = []

    def forward(ctx: Any, x: Any) -> Any:
        found.extend([api.is_grad_enabled(), x.requires_grad, (x * x).requires_grad])
        return x * 1.0

    api.function(forward).apply(api.leaf([2.0]))
    same(found, [False, True, False], "grad mode, requires_grad of x and of x * x")


@statement(TOPIC, "Function")
def backward_runs_with_grad_off(api: Api) -> None:
    """In a plain backward the backward of a Function runs with grad off."""
    found: list[bool] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(api.is_grad_enabled())
        return gradient

    api.function(lambda ctx, x: x * 1.0, backward).apply(api.leaf([2.0])).sum().backward()
    same(found, [False], "grad mode")


@statement(TOPIC, "Function")
def backward_runs_with_grad_on_under_create_graph(api: Api) -> None:
    """With create_graph the backward of a Function runs with grad on."""
    found: list[bool] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(api.is_grad_enabled())
        return gradient

    x = api.leaf([2.0])
    y = api.function(lambda ctx, x: x * 1.0, backward).apply(x)
    api.grad(y.sum(), x, create_graph=True)
    same(found, [True], "grad mode")


@statement(TOPIC, "Function")
def the_separated_style_works(api: Api) -> None:
    """forward without ctx and setup_context(ctx, inputs, output) work like forward with ctx."""
    seen: list[Any] = []

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((type(inputs), len(inputs), output.requires_grad, api.is_grad_enabled()))
        ctx.save_for_backward(inputs[0])
        ctx.factor = inputs[1]

    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x * 2.0 * ctx.factor, None

    function = api.function(lambda x, factor: x * x * factor, backward, setup_context=setup_context)
    x = api.leaf([3.0])
    function.apply(x, 5.0).sum().backward()
    same(seen, [(tuple, 2, False, False)], "inputs, requires_grad of the output, grad mode")
    equal(api, x.grad, [30.0])


@statement(TOPIC, "Function")
def a_function_without_forward_says_so(api: Api) -> None:
    """apply of a Function without forward is a NotImplementedError that names forward."""
    function: Any = type("Empty", (api.Function,), {})
    raises(NotImplementedError, lambda: function.apply(api.leaf([2.0])), "forward")


@statement(TOPIC, "Function")
def a_function_without_backward_says_so_in_backward(api: Api) -> None:
    """A Function without backward can be applied; the backward is a NotImplementedError."""
    y = api.function(lambda ctx, x: x * 2.0).apply(api.leaf([2.0]))
    equal(api, y, [4.0], "the value")
    raises(NotImplementedError, lambda: y.sum().backward(), "backward")


@tensorplay_1_0("ignores vjp, though its error offers it", shows="NotImplementedError")
@statement(TOPIC, "Function")
def vjp_is_another_name_for_backward(api: Api) -> None:
    """A Function may define vjp instead of backward."""
    x = api.leaf([2.0])
    function = api.function(lambda ctx, x: x * 3.0, vjp=lambda ctx, gradient: gradient * 3.0)
    function.apply(x).sum().backward()
    equal(api, x.grad, [3.0])


@statement(TOPIC, "Function")
def an_exception_in_forward_comes_out_as_it_is(api: Api) -> None:
    """An exception in forward reaches the caller of apply, and grad mode is on again."""
    error = KeyError("forward")

    def forward(ctx: Any, x: Any) -> Any:
        raise error

    found = raises(KeyError, lambda: api.function(forward).apply(api.leaf([2.0])))
    true(found is error, "another exception came out")
    true(api.is_grad_enabled(), "grad mode stays off")


@statement(TOPIC, "Function")
def an_exception_in_backward_comes_out_as_it_is(api: Api) -> None:
    """An exception in backward reaches the caller of backward, and no leaf has a gradient."""
    error = KeyError("backward")

    def backward(ctx: Any, gradient: Any) -> Any:
        raise error

    x = api.leaf([2.0])
    y = api.function(lambda ctx, x: x * 2.0, backward).apply(x)
    found = raises(KeyError, lambda: y.sum().backward())
    true(found is error, "another exception came out")
    true(x.grad is None, "x got a gradient")


@tensorplay_1_0("every such node is called PyNode", shows="found 'PyNode'")
@statement(TOPIC, "Function")
def the_node_is_called_after_the_function(api: Api) -> None:
    """The node of a Function called Square is called SquareBackward."""
    y = square(api).apply(api.leaf([2.0]))
    same(api.node_name(y.grad_fn), "SquareBackward", "the name of the node")


@statement(TOPIC, "Function")
def a_function_is_differentiable_twice(api: Api) -> None:
    """When backward is written in tensor operations, the Function can be differentiated twice."""
    x = api.leaf([3.0])
    (first,) = api.grad((square(api).apply(x) * x).sum(), x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, first, [27.0], "the first derivative")
    equal(api, second, [18.0], "the second derivative")


@statement(TOPIC, "Function")
def under_no_grad_a_function_gives_a_plain_tensor(api: Api) -> None:
    """Under no_grad apply gives a tensor without grad_fn."""
    with api.no_grad():
        y = square(api).apply(api.leaf([3.0]))
    same((y.requires_grad, y.grad_fn is None), (False, True), "requires_grad, no grad_fn")


@statement(TOPIC, "Function")
def once_differentiable_gives_right_first_derivatives(api: Api) -> None:
    """A backward marked once_differentiable runs with grad off, also under create_graph."""
    mark = api._namespace("autograd.function").once_differentiable
    found: list[bool] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(api.is_grad_enabled())
        return gradient * 5.0

    x = api.leaf([2.0])
    y = api.function(lambda ctx, x: x * 5.0, mark(backward)).apply(x)
    (first,) = api.grad(y.sum(), x, create_graph=True)
    same(found, [False], "grad mode in backward")
    equal(api, first, [5.0])
