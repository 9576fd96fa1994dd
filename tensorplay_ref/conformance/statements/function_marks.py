"""What a Function may mark, and hooks registered on its ctx."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, tensorplay_lacks

TOPIC = "Function and ctx"


@tensorplay_1_0("outputs are leaves in forward, so marking fails", shows="Only non-leaf tensors")
@statement(TOPIC, "Function")
def a_marked_output_does_not_require_grad(api: Api) -> None:
    """An output given to mark_non_differentiable does not require grad; the others do."""

    def forward(ctx: Any, x: Any) -> Any:
        values, mask = x * 2.0, x * 0.0
        ctx.mark_non_differentiable(mask)
        return values, mask

    function = api.function(forward, lambda ctx, gradient, unused: gradient * 2.0)
    x = api.leaf([2.0])
    values, mask = function.apply(x)
    same((values.requires_grad, mask.requires_grad), (True, False), "requires_grad")
    values.sum().backward()
    equal(api, x.grad, [2.0])


@tensorplay_1_0("outputs are leaves in forward, so marking fails", shows="Only non-leaf tensors")
@statement(TOPIC, "Function")
def a_marked_output_has_a_zero_gradient(api: Api) -> None:
    """The gradient of an output that was marked as non-differentiable arrives as zeros."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        first, second = x * 2.0, x * 0.0
        ctx.mark_non_differentiable(second)
        return first, second

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append(second if second is None else second.tolist())
        return first * 2.0

    y, _ = api.function(forward, backward).apply(api.leaf([2.0]))
    y.sum().backward()
    same(seen, [[0.0]], "the gradient of the marked output")


def _doubling_in_place(api: Api) -> Any:
    """Doubles its input in place and marks it dirty."""

    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2.0)
        ctx.mark_dirty(x)
        return x

    return api.function(forward, lambda ctx, gradient: gradient * 2.0)


@statement(TOPIC, "Function")
def a_dirty_input_is_returned_itself(api: Api) -> None:
    """An input that forward changed, marked dirty and returned comes back as the same object."""
    x = api.leaf([2.0])
    h = x * 3.0
    y = _doubling_in_place(api).apply(h)
    true(y is h, "another object was returned")
    equal(api, h, [12.0], "h")
    h.sum().backward()
    equal(api, x.grad, [6.0])


@statement(TOPIC, "Function")
def marking_dirty_counts_as_a_write(api: Api) -> None:
    """A tensor saved before a Function changed it in place is an error in backward."""
    h = api.leaf([2.0]) * 3.0
    y = h.square()
    _doubling_in_place(api).apply(h)
    raises(RuntimeError, lambda: y.sum().backward(), "inplace")


@statement(TOPIC, "Function")
def a_write_behind_the_back_counts_when_marked(api: Api) -> None:
    """A write through NumPy is not seen, but mark_dirty counts it in the version."""

    def forward(ctx: Any, x: Any) -> Any:
        x.detach().numpy()[:] = 7.0
        ctx.mark_dirty(x)
        return x

    h = api.leaf([2.0]) * 3.0
    y = h.square()
    api.function(forward, lambda ctx, gradient: gradient * 0.0).apply(h)
    raises(RuntimeError, lambda: y.sum().backward(), "inplace")


@tensorplay_1_0("the leaf becomes a result", shows="nothing was raised")
@statement(TOPIC, "Function")
def a_leaf_cannot_be_dirty(api: Api) -> None:
    """Changing a leaf that requires grad in a Function and marking it dirty is an error."""
    x = api.leaf([2.0])
    raises(RuntimeError, lambda: _doubling_in_place(api).apply(x), "leaf")
    same((x.is_leaf, x.grad_fn is None), (True, True), "is_leaf, no grad_fn")


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "Function")
def a_dirty_input_must_be_returned(api: Api) -> None:
    """Marking an input dirty and not returning it is an error."""

    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2.0)
        ctx.mark_dirty(x)
        return x * 1.0

    function = api.function(forward, lambda ctx, gradient: gradient)
    raises(RuntimeError, lambda: function.apply(api.leaf([2.0]) * 1.0), "dirty")


@statement(TOPIC, "Function")
def a_hook_on_the_node_sees_both_gradients(api: Api) -> None:
    """A hook registered on the ctx gets grad_inputs and grad_outputs after backward, as tuples."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.register_hook(
            lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist()))
        )
        return x * 3.0

    x = api.leaf([1.0])
    api.function(forward, lambda ctx, gradient: gradient * 3.0).apply(x).sum().backward()
    same(seen, [([3.0], [1.0])], "grad_inputs and grad_outputs")


@statement(TOPIC, "Function")
def a_hook_on_the_node_can_replace_the_gradients(api: Api) -> None:
    """What a hook registered on the ctx returns replaces grad_inputs."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.register_hook(lambda inputs, outputs: (inputs[0] * 100.0,))
        return x * 3.0

    x = api.leaf([1.0])
    api.function(forward, lambda ctx, gradient: gradient * 3.0).apply(x).backward()
    equal(api, x.grad, [300.0])


@tensorplay_lacks("a handle to remove a hook")
@statement(TOPIC, "Function")
def a_hook_on_the_node_can_be_removed(api: Api) -> None:
    """ctx.register_hook returns a handle, and remove() takes the hook off."""
    seen: list[int] = []
    handles: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        handles.append(ctx.register_hook(lambda inputs, outputs: seen.append(1)))
        return x * 3.0

    y = api.function(forward, lambda ctx, gradient: gradient * 3.0).apply(api.leaf([1.0]))
    api.remove(handles[0])
    y.backward()
    same(seen, [], "calls of the removed hook")


@tensorplay_1_0("the tuple is inside another tuple", shows="can't multiply sequence")
@statement(TOPIC, "Function")
def a_prehook_on_the_node_sees_and_replaces_grad_outputs(api: Api) -> None:
    """A prehook registered on the ctx gets the tuple of grad_outputs and may replace it."""
    seen: list[Any] = []

    def prehook(outputs: Any) -> Any:
        seen.append((type(outputs), len(outputs), api.array(outputs[0]).tolist()))
        return (outputs[0] * 10.0,)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.register_prehook(prehook)
        return x * 3.0

    x = api.leaf([1.0])
    api.function(forward, lambda ctx, gradient: gradient * 3.0).apply(x).backward()
    same(seen, [(tuple, 1, [1.0])], "what the prehook got")
    equal(api, x.grad, [30.0])
