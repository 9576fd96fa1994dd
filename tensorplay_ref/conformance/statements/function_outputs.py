"""What forward may return, and what else a ctx keeps."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "Function and ctx"


@statement(TOPIC, "Function")
def several_outputs_each_have_a_gradient(api: Api) -> None:
    """A Function with two outputs gets both gradients in one call of its backward."""
    calls: list[int] = []

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        calls.append(1)
        return first * 2.0 + second * 3.0

    x = api.leaf([1.0])
    a, b = api.function(lambda ctx, x: (x * 2.0, x * 3.0), backward).apply(x)
    (a * 10.0 + b * 100.0).sum().backward()
    equal(api, x.grad, [320.0])
    same(len(calls), 1, "calls of backward")


@statement(TOPIC, "Function")
def outputs_that_are_no_tensors_pass_through(api: Api) -> None:
    """A number or None among the outputs is handed on, with None as its gradient."""
    seen: list[Any] = []

    def backward(ctx: Any, *gradients: Any) -> Any:
        seen.append(gradients[1:])
        return gradients[0] * 2.0

    x = api.leaf([1.0])
    y, five, nothing = api.function(lambda ctx, x: (x * 2.0, 5, None), backward).apply(x)
    same((five, nothing), (5, None), "outputs")
    y.sum().backward()
    same(seen, [(None, None)], "their gradients")


@torch_2_13("does not look into a list of outputs", shows="do not require grad")
@statement(TOPIC, "Function")
def a_list_of_outputs_is_differentiated(api: Api) -> None:
    """Tensors that forward returns in a list are differentiated like those in a tuple."""
    x = api.leaf([1.0])
    function = api.function(
        lambda ctx, x: [x * 2.0, x * 3.0], lambda ctx, first, second: first * 2.0 + second * 3.0
    )
    a, b = function.apply(x)
    true(a.requires_grad and b.requires_grad, "the outputs do not require grad")
    (a + b).sum().backward()
    equal(api, x.grad, [5.0])


@tensorplay_1_0("it requires grad", shows="found (True, True)")
@statement(TOPIC, "Function")
def an_integer_output_does_not_require_grad(api: Api) -> None:
    """An integer output of a Function does not require grad."""

    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0, api.tensor([1, 2])

    y, index = api.function(forward, lambda ctx, g, unused: g).apply(api.leaf([1.0]))
    same((y.requires_grad, index.requires_grad), (True, False), "requires_grad")


@tensorplay_1_0("returns the leaf, which becomes a result", shows="the input itself")
@statement(TOPIC, "Function")
def returning_an_input_leaves_the_input_alone(api: Api) -> None:
    """A forward that returns its input gives a new tensor; the caller's leaf stays a leaf."""
    x = api.leaf([2.0])
    y = api.function(lambda ctx, x: x, lambda ctx, gradient: gradient * 3.0).apply(x)
    true(y is not x, "the input itself was returned")
    same((x.is_leaf, x.grad_fn is None, y.is_leaf), (True, True, False), "x leaf, no node, y leaf")
    y.sum().backward()
    equal(api, x.grad, [3.0])


@statement(TOPIC, "Function")
def ctx_has_metadata(api: Api) -> None:
    """ctx.metadata is a dict that lives as long as the ctx."""
    found: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.metadata["key"] = 7
        return x * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(dict(ctx.metadata))
        return gradient

    api.function(forward, backward).apply(api.leaf([2.0])).sum().backward()
    same(found, [{"key": 7}], "metadata")


@statement(TOPIC, "Function")
def to_save_holds_what_was_given_to_save(api: Api) -> None:
    """ctx.to_save holds in forward the tensors that were given to save_for_backward."""
    found: list[Any] = []
    x = api.leaf([2.0])

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, None)
        found.append(ctx.to_save[0] is x and ctx.to_save[1] is None)
        return x * 1.0

    api.function(forward).apply(x)
    same(found, [True], "to_save is (x, None)")


@statement(TOPIC, "Function")
def tensors_saved_for_forward_can_be_read(api: Api) -> None:
    """ctx.saved_for_forward gives what save_for_forward was given."""
    found: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        found.append(ctx.saved_for_forward[0] is x)
        return x * 1.0

    api.function(forward).apply(api.leaf([2.0]))
    same(found, [True], "saved_for_forward[0] is x")


@statement(TOPIC, "Function")
def a_function_cannot_be_called(api: Api) -> None:
    """A Function is used by apply; calling an object of it is an error."""
    function = api.function(lambda ctx, x: x * 1.0)
    raises((TypeError, RuntimeError), lambda: function()(api.leaf([2.0])))
