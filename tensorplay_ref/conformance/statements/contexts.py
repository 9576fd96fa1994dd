"""The hook stack: entering, nesting, leaving."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "hooks: stack and contexts"


@statement(TOPIC, 1)
def only_the_innermost_pair_packs(api: Api) -> None:
    """Of nested contexts only the innermost packs; the outer one is back when it is left."""
    outer, inner = Recorder(), Recorder()
    x = api.leaf([2.0])
    with api.hooks(outer.pack, outer.unpack):
        x.sin()
        with api.hooks(inner.pack, inner.unpack):
            x.sin()
            x.cos()
        x.sin()
    x.sin()
    same((len(outer.packed), len(inner.packed)), (2, 2), "packs of the outer and the inner pair")


@statement(TOPIC, 1)
def pairs_do_not_compose(api: Api) -> None:
    """Nested pairs do not compose: times 10 inside times 100 gives times 10."""
    x = api.leaf([3.0])
    with api.hooks(lambda tensor: tensor.detach() * 100.0, lambda packed: packed):
        with api.hooks(lambda tensor: tensor.detach() * 10.0, lambda packed: packed):
            y = x.square()
    y.sum().backward()
    equal(api, x.grad, [60.0])


@statement(TOPIC, 1)
def three_levels_are_left_one_by_one(api: Api) -> None:
    """Three nested contexts pack in the order 1 2 3 2 1 as they are entered and left."""
    order: list[int] = []

    def context(number: int) -> Any:
        def pack(tensor: Any) -> Any:
            order.append(number)
            return tensor.detach()

        return api.hooks(pack, lambda packed: packed)

    x = api.leaf([2.0])
    with context(1):
        x.sin()
        with context(2):
            x.sin()
            with context(3):
                x.sin()
            x.sin()
        x.sin()
    same(order, [1, 2, 3, 2, 1], "which context packed")


@statement(TOPIC, 2)
def an_exception_in_the_body_takes_the_pair_off(api: Api) -> None:
    """An exception in the body leaves the context and goes on to the caller."""
    recorder = Recorder()
    x = api.leaf([2.0])

    def body() -> None:
        with api.hooks(recorder.pack, recorder.unpack):
            raise KeyError("body")

    raises(KeyError, body)
    x.sin()
    same(len(recorder.packed), 0, "packs after the exception")


@statement(TOPIC, 2)
def an_exception_in_an_inner_body_keeps_the_outer_pair(api: Api) -> None:
    """An exception that leaves an inner context leaves the outer pair active."""
    outer = Recorder()
    x = api.leaf([2.0])
    with api.hooks(outer.pack, outer.unpack):
        try:
            with api.hooks(lambda tensor: 1, lambda packed: packed):
                raise KeyError("body")
        except KeyError:
            pass
        x.sin()
    same(len(outer.packed), 1, "packs of the outer pair")


@statement(TOPIC, 2)
def entering_gives_none(api: Api) -> None:
    """``with saved_tensors_hooks(pack, unpack) as value`` binds None."""
    with api.hooks(lambda tensor: tensor, lambda packed: packed) as value:
        same(value, None, "the value of as")


@statement(TOPIC, 2)
def a_context_that_is_not_entered_does_nothing(api: Api) -> None:
    """Creating the context installs nothing; entering does."""
    recorder = Recorder()
    context = api.hooks(recorder.pack, recorder.unpack)
    api.leaf([2.0]).sin()
    same(len(recorder.packed), 0, "packs before entering")
    with context:
        api.leaf([2.0]).sin()
    same(len(recorder.packed), 1, "packs inside")


@statement(TOPIC, 2)
def a_context_can_be_entered_by_hand(api: Api) -> None:
    """Calls of __enter__ and __exit__ install and remove the pair like a with statement."""
    recorder = Recorder()
    x = api.leaf([2.0])
    context = api.hooks(recorder.pack, recorder.unpack)
    context.__enter__()
    x.sin()
    context.__exit__(None, None, None)
    x.sin()
    same(len(recorder.packed), 1, "packs")


@torch_2_13("removes the innermost pair, whosever it is", shows="found (1, 0)")
@tensorplay_1_0("removes the innermost pair, whosever it is", shows="found (1, 0)")
@statement(TOPIC, 2)
def leaving_out_of_order_removes_ones_own_pair(api: Api) -> None:
    """Entering A, then B, then leaving A removes A's pair: B packs on."""
    first, second = Recorder(), Recorder()
    x = api.leaf([2.0])
    a = api.hooks(first.pack, first.unpack)
    b = api.hooks(second.pack, second.unpack)
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    x.sin()
    b.__exit__(None, None, None)
    x.sin()
    same((len(first.packed), len(second.packed)), (0, 1), "packs of A and of B")


@statement(TOPIC, 1)
def a_context_may_be_opened_inside_pack(api: Api) -> None:
    """A context opened and left inside pack does not disturb the one that is packing."""
    recorder = Recorder()

    def pack(tensor: Any) -> Any:
        with api.hooks(lambda inner: inner, lambda packed: packed):
            return recorder.pack(tensor)

    x = api.leaf([2.0])
    with api.hooks(pack, recorder.unpack):
        x.sin()
        x.cos()
    same(len(recorder.packed), 2, "packs")
