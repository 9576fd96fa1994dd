"""When pack runs, when it does not, and in which state."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, same, true
from ..functions import square
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0

TOPIC = "hooks: packing"


@tensorplay_1_0("grad is on in pack of a built-in operation", shows="found [True, False]")
@statement(TOPIC, 5)
def pack_runs_with_grad_off(api: Api) -> None:
    """pack runs with grad off, though the operation that saves is being recorded."""
    modes: list[bool] = []

    def pack(tensor: Any) -> Any:
        modes.append(api.is_grad_enabled())
        return tensor

    x = api.leaf([2.0, 3.0])
    with api.hooks(pack, lambda packed: packed):
        x.sin()
        square(api).apply(x)
    same(modes, [False, False], "grad mode in pack, built-in and custom")


@statement(TOPIC, 5)
def grad_mode_is_on_again_after_pack(api: Api) -> None:
    """The caller's grad mode is as before when a pack that switches it off itself has run."""

    def pack(tensor: Any) -> Any:
        with api.no_grad():
            return tensor.clone()

    with api.hooks(pack, lambda packed: packed):
        y = api.leaf([2.0, 3.0]).sin()
    true(api.is_grad_enabled(), "grad mode is off after the operation")
    true((y * 2.0).requires_grad, "the next operation is not recorded")


@tensorplay_1_0("pack calls itself until the stack is full", shows="pack calls itself")
@statement(TOPIC, 5)
def operations_inside_pack_do_not_pack(api: Api) -> None:
    """An operation inside pack is not recorded, so pack does not call itself."""
    calls: list[int] = []

    def pack(tensor: Any) -> Any:
        calls.append(1)
        if len(calls) > 20:
            raise RecursionError("pack calls itself")
        tensor * tensor
        return tensor

    with api.hooks(pack, lambda packed: packed):
        api.leaf([2.0, 3.0]).sin()
    same(len(calls), 1, "calls of pack")


@tensorplay_1_0("records what pack computes", shows="found True")
@statement(TOPIC, 5)
def what_pack_computes_carries_no_graph(api: Api) -> None:
    """A tensor that pack computes from its argument does not require grad."""
    recorder = Recorder(lambda tensor: tensor * 3.0)
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.leaf([2.0, 3.0]).sin()
    y.sum().backward()
    same(recorder.unpacked[0].requires_grad, False, "requires_grad of the packed product")


@statement(TOPIC, 5)
def nothing_is_packed_by_built_in_operations_under_no_grad(api: Api) -> None:
    """Under no_grad a built-in operation packs nothing."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack), api.no_grad():
        y = x * x
    same((recorder.counts, y.requires_grad), ((0, 0), False), "calls, requires_grad of the result")


@tensorplay_1_0("packs", shows="found ((1, 0), False)")
@statement(TOPIC, 5)
def nothing_is_packed_by_a_function_under_no_grad(api: Api) -> None:
    """Under no_grad a custom Function packs nothing, though it calls save_for_backward."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack), api.no_grad():
        y = square(api).apply(x)
    same((recorder.counts, y.requires_grad), ((0, 0), False), "calls, requires_grad of the result")


@statement(TOPIC, 5)
def nothing_is_packed_for_constants_by_built_in_operations(api: Api) -> None:
    """A built-in operation packs nothing when no input requires grad."""
    recorder = Recorder()
    c = api.constant([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        c * c
    same(recorder.counts, (0, 0), "calls of pack and unpack")


@tensorplay_1_0("packs", shows="found (1, 0)")
@statement(TOPIC, 5)
def nothing_is_packed_for_constants_by_a_function(api: Api) -> None:
    """A custom Function packs nothing when no input requires grad."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        square(api).apply(api.constant([2.0, 3.0]))
    same(recorder.counts, (0, 0), "calls of pack and unpack")


@statement(TOPIC, 5)
def none_keeps_its_place_and_meets_no_hook(api: Api) -> None:
    """None given to save_for_backward stays None in its place; pack and unpack never see it."""
    recorder = Recorder()
    found: list[bool] = []

    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, None, b)
        return a * b

    def backward(ctx: Any, gradient: Any) -> Any:
        a, nothing, b = ctx.saved_tensors
        found.append(nothing is None)
        return gradient * b, gradient * a

    a, b = api.leaf([2.0]), api.leaf([5.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.function(forward, backward).apply(a, b)
    y.sum().backward()
    same((found, recorder.counts), ([True], (2, 2)), "None read back, calls of pack and unpack")
    equal(api, a.grad, [5.0])


@statement(TOPIC, 4)
def python_numbers_are_never_packed(api: Api) -> None:
    """A Python number that a backward formula needs is kept, and no hook sees it."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = x * 3.0 / 4.0 + 1.0 - 2.0
    y.sum().backward()
    same(recorder.counts, (0, 0), "calls of pack and unpack")
    equal(api, x.grad, [0.75, 0.75])


@statement(TOPIC, 4)
def a_tensor_of_no_dimensions_is_packed(api: Api) -> None:
    """A tensor with no dimensions is a tensor: as the constant partner of x it is packed."""
    recorder = Recorder()
    x, c = api.leaf([2.0, 3.0]), api.constant(4.0)
    with api.hooks(recorder.pack, recorder.unpack):
        x * c
    true(any(tuple(each.shape) == () for each in recorder.packed), "the scalar was not packed")


@statement(TOPIC, 6)
def views_are_packed_as_they_are(api: Api) -> None:
    """A transposed view is packed with its own shape and strides, sharing the base's memory."""
    recorder = Recorder()
    x = api.leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with api.hooks(recorder.pack, recorder.unpack):
        x.transpose(0, 1).sin()
    packed = recorder.packed[-1]
    same(tuple(packed.shape), (3, 2), "shape of the packed view")
    true(api.same_memory(packed, x), "the packed view has memory of its own")


@statement(TOPIC, 5)
def empty_tensors_are_packed_like_others(api: Api) -> None:
    """A tensor without elements is packed and unpacked like any other."""
    recorder = Recorder()
    x = api.leaf([])
    with api.hooks(recorder.pack, recorder.unpack):
        y = x.sin()
    y.sum().backward()
    same(recorder.counts, (1, 1), "calls of pack and unpack")
    same(tuple(x.grad.shape), (0,), "shape of the gradient")


@statement(TOPIC, 5)
def setup_context_saves_through_the_hooks(api: Api) -> None:
    """What setup_context saves is packed like what forward saves."""
    recorder = Recorder()

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx: Any, gradient: Any) -> Any:
        x, _ = ctx.saved_tensors
        return gradient * x * 2.0

    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.function(lambda x: x * x, backward, setup_context=setup_context).apply(x)
    y.sum().backward()
    same(recorder.counts, (2, 2), "calls of pack and unpack")
    equal(api, x.grad, [4.0, 6.0])


@statement(TOPIC, 5)
def operations_inside_forward_are_not_packed(api: Api) -> None:
    """forward runs with grad off, so the built-in operations inside it pack nothing."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        api.function(lambda ctx, x: (x * x).exp()).apply(api.leaf([2.0]))
    same(recorder.counts, (0, 0), "calls of pack and unpack")
