"""What ctx keeps for backward, and for how long."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0

TOPIC = "Function and ctx"


@statement(TOPIC, "Function")
def the_context_of_backward_is_that_of_forward(api: Api) -> None:
    """backward gets the ctx of its own forward, with the attributes that were set there."""
    contexts: list[Any] = []

    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        contexts.append(ctx)
        return x * factor

    def backward(ctx: Any, gradient: Any) -> Any:
        contexts.append(ctx)
        return gradient * ctx.factor, None

    function = api.function(forward, backward)
    x = api.leaf([1.0])
    (function.apply(x, 3.0) + function.apply(x, 5.0)).sum().backward()
    equal(api, x.grad, [8.0])
    true(contexts[0] is not contexts[1], "two applications share one ctx")
    same({id(each) for each in contexts[2:]}, {id(each) for each in contexts[:2]}, "contexts")


@tensorplay_1_0("is set after forward", shows="found ['not there']")
@statement(TOPIC, "Function")
def needs_input_grad_can_be_read_in_forward(api: Api) -> None:
    """ctx.needs_input_grad tells in forward, per argument, whether a gradient will be asked for."""
    found: list[Any] = []

    def forward(ctx: Any, a: Any, b: Any, number: float) -> Any:
        found.append(getattr(ctx, "needs_input_grad", "not there"))
        return a * b * number

    api.function(forward).apply(api.leaf([2.0]), api.constant([3.0]), 4.0)
    same(found, [(True, False, False)], "needs_input_grad in forward")


@statement(TOPIC, "Function")
def needs_input_grad_can_be_read_in_backward(api: Api) -> None:
    """ctx.needs_input_grad holds one bool per argument in backward."""
    found: list[Any] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(tuple(ctx.needs_input_grad))
        return None, gradient, None

    function = api.function(lambda ctx, a, b, number: a * b * number, backward)
    function.apply(api.constant([2.0]), api.leaf([3.0]), 4.0).sum().backward()
    same(found, [(False, True, False)], "needs_input_grad in backward")


@statement(TOPIC, "Function")
def needs_input_grad_is_not_narrowed_by_grad(api: Api) -> None:
    """autograd.grad of one input leaves needs_input_grad True for the other."""
    found: list[Any] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(tuple(ctx.needs_input_grad))
        return gradient, gradient

    a, b = api.leaf([2.0]), api.leaf([3.0])
    api.grad(api.function(lambda ctx, a, b: a + b, backward).apply(a, b).sum(), a)
    same(found, [(True, True)], "needs_input_grad")


@statement(TOPIC, "Function")
def without_saving_saved_tensors_is_empty(api: Api) -> None:
    """ctx.saved_tensors is () when nothing was saved."""
    found: list[Any] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(ctx.saved_tensors)
        return gradient

    api.function(lambda ctx, x: x * 1.0, backward).apply(api.leaf([2.0])).sum().backward()
    same(found, [()], "saved_tensors")


@statement(TOPIC, "Function")
def the_last_save_counts(api: Api) -> None:
    """When save_for_backward is called twice, ctx.saved_tensors holds the last set."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x * 10.0)
        return x * 1.0

    x = api.leaf([2.0])
    function = api.function(forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    function.apply(x).sum().backward()
    equal(api, x.grad, [20.0])


@tensorplay_1_0("a Function keeps them for ever", shows="nothing was raised")
@statement(TOPIC, 11)
def saved_tensors_are_gone_after_backward(api: Api) -> None:
    """After a backward without retain_graph, reading the saved tensors is an error."""
    contexts: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * x

    x = api.leaf([2.0])
    function = api.function(forward, lambda ctx, gradient: gradient * 2.0 * ctx.saved_tensors[0])
    function.apply(x).sum().backward()
    raises(RuntimeError, lambda: contexts[0].saved_tensors, "second time", "retain_graph")


@statement(TOPIC, 11)
def saved_tensors_stay_under_retain_graph(api: Api) -> None:
    """After a backward with retain_graph the saved tensors can still be read."""
    contexts: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * x

    x = api.leaf([2.0])
    function = api.function(forward, lambda ctx, gradient: gradient * 2.0 * ctx.saved_tensors[0])
    y = function.apply(x).sum()
    y.backward(retain_graph=True)
    equal(api, contexts[0].saved_tensors[0], [2.0], "the saved tensor")
