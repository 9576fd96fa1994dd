"""What happens when pack raises, writes, or gets something it cannot pack."""

from __future__ import annotations

import weakref
from typing import Any

from ..api import Api
from ..expect import equal, raises, raises_itself, same, true
from ..functions import product, square
from ..instruments import Parcel, Recorder, Refusal, collector_off
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "hooks: packing"


def _refusing(error: Refusal) -> Any:
    def pack(tensor: Any) -> Any:
        raise error

    return pack


@statement(TOPIC, 7)
def an_exception_in_pack_reaches_the_caller_of_a_product(api: Api) -> None:
    """An exception in pack comes out of a * b as the same object."""
    error = Refusal()
    a, b = api.leaf([2.0]), api.leaf([5.0])
    with api.hooks(_refusing(error), lambda packed: packed):
        raises_itself(error, lambda: a * b)


@tensorplay_1_0("a RuntimeError that quotes it", shows="found RuntimeError: Refusal")
@statement(TOPIC, 7)
def an_exception_in_pack_reaches_the_caller_of_exp(api: Api) -> None:
    """An exception in pack comes out of x.exp() as the same object."""
    error = Refusal()
    x = api.leaf([2.0])
    with api.hooks(_refusing(error), lambda packed: packed):
        raises_itself(error, lambda: x.exp())


@statement(TOPIC, 7)
def an_exception_in_pack_reaches_the_caller_of_matmul(api: Api) -> None:
    """An exception in pack comes out of a @ b as the same object."""
    error = Refusal()
    a, b = api.leaf([[2.0]]), api.leaf([[5.0]])
    with api.hooks(_refusing(error), lambda packed: packed):
        raises_itself(error, lambda: a @ b)


@statement(TOPIC, 7)
def an_exception_in_pack_reaches_the_caller_of_apply(api: Api) -> None:
    """An exception in pack comes out of a custom Function's apply as the same object."""
    error = Refusal()
    x = api.leaf([2.0])
    with api.hooks(_refusing(error), lambda packed: packed):
        raises_itself(error, lambda: square(api).apply(x))


@tensorplay_1_0("a RuntimeError that quotes it", shows="found RuntimeError: KeyboardInterrupt")
@statement(TOPIC, 7)
def a_keyboard_interrupt_in_pack_stays_one(api: Api) -> None:
    """KeyboardInterrupt raised while packing comes out of the operation as KeyboardInterrupt."""

    def pack(tensor: Any) -> Any:
        raise KeyboardInterrupt

    x = api.leaf([2.0])
    with api.hooks(pack, lambda packed: packed):
        raises(KeyboardInterrupt, lambda: x.log())


@statement(TOPIC, 7)
def after_an_exception_in_pack_saving_works(api: Api) -> None:
    """After pack has raised, its input can be used again, inside the context and outside."""
    refuse = [True]

    def pack(tensor: Any) -> Any:
        if refuse[0]:
            raise Refusal
        return tensor

    x = api.leaf([3.0])
    with api.hooks(pack, lambda packed: packed):
        raises(Refusal, lambda: square(api).apply(x))
        refuse[0] = False
        y = square(api).apply(x)
    (y + square(api).apply(x)).sum().backward()
    equal(api, x.grad, [12.0])


@tensorplay_1_0("has written already", shows="found [10.]")
@statement(TOPIC, 7)
def an_in_place_operation_whose_pack_raises_writes_nothing(api: Api) -> None:
    """When pack raises in h.mul_(x), h keeps its value and its version."""
    h, x = api.leaf([2.0]) * 1.0, api.leaf([5.0])
    with api.hooks(_refusing(Refusal()), lambda packed: packed):
        raises(Exception, lambda: h.mul_(x))
    equal(api, h, [2.0], "the value of h")
    same(h._version, 0, "the version of h")


@statement(TOPIC, 7)
def an_in_place_operation_whose_pack_raises_is_not_recorded(api: Api) -> None:
    """When pack raises in h.mul_(x), h keeps its grad_fn and its gradient."""
    leaf = api.leaf([2.0])
    h, x = leaf * 3.0, api.leaf([5.0])
    name = api.node_name(h.grad_fn)
    with api.hooks(_refusing(Refusal()), lambda packed: packed):
        raises(Exception, lambda: h.mul_(x))
    same(api.node_name(h.grad_fn), name, "the node of h")
    h.sum().backward()
    equal(api, leaf.grad, [3.0])
    true(x.grad is None, "x got a gradient")


@statement(TOPIC, 7)
def the_first_packed_object_is_released_when_the_second_pack_raises(api: Api) -> None:
    """When the second of two packs raises, what the first returned is freed at once."""
    watched: list[Any] = []

    def pack(tensor: Any) -> Any:
        if watched:
            raise Refusal
        parcel = Parcel(tensor.detach().clone())
        watched.append(weakref.ref(parcel))
        return parcel

    a, b = api.leaf([2.0]), api.leaf([5.0])
    with collector_off():
        with api.hooks(pack, lambda parcel: parcel.content):
            try:
                a * b
            except Refusal:
                pass
        true(watched[0]() is None, "the first packed object is still alive")


@tensorplay_1_0("names neither", shows="only accepts Tensors or None")
@statement(TOPIC, 5)
def saving_a_number_is_a_type_error_that_names_it(api: Api) -> None:
    """save_for_backward of a number is a TypeError that names the position and the type."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, 3)
        return x * 1.0

    raises(TypeError, lambda: api.function(forward).apply(api.leaf([2.0])), "1", "int")


@statement(TOPIC, 5)
def saving_a_number_packs_nothing(api: Api) -> None:
    """When one argument of save_for_backward is no tensor, none of the others is packed."""
    recorder = Recorder()

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, "text")
        return x * 1.0

    with api.hooks(recorder.pack, recorder.unpack):
        raises(TypeError, lambda: api.function(forward).apply(api.leaf([2.0])))
    same(recorder.counts, (0, 0), "calls of pack and unpack")


@torch_2_13("raises after forward has returned", shows="found ['after saving']")
@statement(TOPIC, 5)
def a_wrong_save_stops_forward_where_it_stands(api: Api) -> None:
    """The TypeError comes from the call of save_for_backward, not when forward has returned."""
    events: list[str] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward([x])
        events.append("after saving")
        return x * 1.0

    raises(TypeError, lambda: api.function(forward).apply(api.leaf([2.0])))
    same(events, [], "what ran in forward after save_for_backward")


@torch_2_13(
    "the operator hides it: unsupported operand type(s) for *", shows="unsupported operand type(s)"
)
@statement(TOPIC, 7)
def a_pack_without_parameters_shows_its_own_error(api: Api) -> None:
    """A pack that takes no argument gives the TypeError of its call, also out of a * b."""
    a, b = api.leaf([2.0]), api.leaf([5.0])

    def pack() -> None:
        return None

    with api.hooks(pack, lambda packed: packed):
        raises(TypeError, lambda: a * b, "positional argument")


@statement(TOPIC, 7)
def an_exception_in_pack_changes_no_version(api: Api) -> None:
    """When pack raises, the versions of the inputs are as before."""
    a, b = api.leaf([2.0]) * 1.0, api.leaf([5.0]) * 1.0
    with api.hooks(_refusing(Refusal()), lambda packed: packed):
        raises(Refusal, lambda: product(api).apply(a, b))
        raises(Refusal, lambda: a / b)
    same((a._version, b._version), (0, 0), "versions of the inputs")
