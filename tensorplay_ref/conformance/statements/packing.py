"""What pack is given, and what becomes of what it returns."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, same, true
from ..functions import product, square
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "hooks: packing"


@statement(TOPIC, 5)
def a_built_in_operation_packs_what_it_saves(api: Api) -> None:
    """A built-in operation calls pack for what it saves: a * b packs twice."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        api.leaf([2.0, 3.0]) * api.leaf([5.0, 7.0])
    same(recorder.counts, (2, 0), "calls of pack and unpack")


@statement(TOPIC, 5)
def save_for_backward_packs_each_tensor(api: Api) -> None:
    """A custom Function calls pack once for each tensor given to save_for_backward."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        product(api).apply(api.leaf([2.0]), api.leaf([5.0]))
    same(recorder.counts, (2, 0), "calls of pack and unpack")


@statement(TOPIC, 5)
def one_tensor_in_two_slots_is_packed_twice(api: Api) -> None:
    """pack runs once per slot, not once per tensor: x * x packs x twice."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        x * x
    same(len(recorder.packed), 2, "packs of x * x")


@statement(TOPIC, 5)
def two_operations_pack_their_common_input_twice(api: Api) -> None:
    """Two operations that save one tensor each pack it: sin(x) + cos(x) packs x twice."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        x.sin() + x.cos()
    same(len(recorder.packed), 2, "packs of sin(x) + cos(x)")


@statement(TOPIC, 5)
def save_for_backward_packs_in_argument_order(api: Api) -> None:
    """save_for_backward packs its arguments from first to last."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        product(api).apply(api.leaf([2.0]), api.leaf([5.0]))
    same([tensor.item() for tensor in recorder.packed], [2.0, 5.0], "values in order of packing")


@torch_2_13("packs after forward has returned", shows="found ['saving', 'saved', 'packed 3.0']")
@statement(TOPIC, 5)
def save_for_backward_packs_at_once(api: Api) -> None:
    """A custom Function packs inside save_for_backward, before the next line of forward runs."""
    events: list[str] = []

    def pack(tensor: Any) -> Any:
        events.append(f"packed {tensor.item()}")
        return tensor

    def forward(ctx: Any, x: Any) -> Any:
        events.append("saving")
        ctx.save_for_backward(x)
        events.append("saved")
        return x * 2.0

    with api.hooks(pack, lambda packed: packed):
        api.function(forward, lambda ctx, gradient: gradient * 2.0).apply(api.leaf(3.0))
    same(events, ["saving", "packed 3.0", "saved"], "events")


@torch_2_13("packs the last set only, after forward", shows="expected 3, found 2")
@statement(TOPIC, 5)
def saving_twice_packs_both_sets(api: Api) -> None:
    """Each call of save_for_backward packs its tensors, though only the last set is kept."""
    recorder = Recorder()

    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a)
        ctx.save_for_backward(a, b)
        return a * b

    with api.hooks(recorder.pack, recorder.unpack):
        api.function(forward).apply(api.leaf([2.0]), api.leaf([5.0]))
    same(len(recorder.packed), 3, "packs")


@torch_2_13("uses the pair that is active after forward", shows="expected [1, 0]")
@statement(TOPIC, 5)
def hooks_opened_inside_forward_are_used(api: Api) -> None:
    """A pair opened inside forward around save_for_backward is the one that packs."""
    inner, outer = Recorder(), Recorder()

    def forward(ctx: Any, x: Any) -> Any:
        with api.hooks(inner.pack, inner.unpack):
            ctx.save_for_backward(x)
        return x * 2.0

    with api.hooks(outer.pack, outer.unpack):
        api.function(forward).apply(api.leaf([2.0]))
    same([len(inner.packed), len(outer.packed)], [1, 0], "packs by the inner and the outer pair")


@tensorplay_1_0("makes a new wrapper object for pack", shows="another object than x")
@statement(TOPIC, 6)
def pack_of_a_built_in_input_gets_the_tensor_itself(api: Api) -> None:
    """For an input of a built-in operation pack gets the very tensor object of the caller."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        x.sin()
    true(recorder.packed[0] is x, "pack got another object than x")


@statement(TOPIC, 6)
def pack_of_a_custom_input_gets_the_tensor_itself(api: Api) -> None:
    """For an input saved by a custom Function pack gets the very tensor object of the caller."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        square(api).apply(x)
    true(recorder.packed[0] is x, "pack got another object than x")


@statement(TOPIC, 6)
def a_packed_input_keeps_its_history(api: Api) -> None:
    """A packed input is as the caller made it: it requires grad and has its grad_fn."""
    recorder = Recorder()
    h = api.leaf([2.0, 3.0]) * 1.0
    with api.hooks(recorder.pack, recorder.unpack):
        h.sin()
    packed = recorder.packed[0]
    true(packed.requires_grad, "the packed input does not require grad")
    true(packed.grad_fn is h.grad_fn, "the packed input has another grad_fn")


@torch_2_13("gives pack the output itself, with its history", shows="found [(True, False)]")
@statement(TOPIC, 6)
def a_packed_output_is_a_detached_alias(api: Api) -> None:
    """For an output pack gets a detached tensor that shares the output's memory."""
    seen: list[tuple[bool, bool]] = []
    recorder = Recorder()

    def pack(tensor: Any) -> Any:
        seen.append((tensor.requires_grad, tensor.grad_fn is None))
        return recorder.pack(tensor)

    with api.hooks(pack, recorder.unpack):
        y = api.leaf([2.0, 3.0]).exp()
    same(seen, [(False, True)], "requires_grad and grad_fn is None in pack")
    true(api.same_memory(recorder.packed[0], y), "the packed output has memory of its own")


@torch_2_13("gives pack the output itself", shows="pack got the output itself")
@tensorplay_1_0("the alias becomes the output itself later", shows="found (True, False)")
@statement(TOPIC, 6)
def a_packed_output_stays_detached(api: Api) -> None:
    """The alias of an output that pack got does not become the output after the operation."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.leaf([2.0, 3.0]).exp()
    packed = recorder.packed[0]
    true(packed is not y, "pack got the output itself")
    same((packed.requires_grad, packed.grad_fn is None), (False, True), "requires_grad, no grad_fn")


@statement(TOPIC, 6)
def a_packed_output_shares_the_version_counter(api: Api) -> None:
    """A write into the output is counted by the version of the alias that pack got."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.leaf([2.0, 3.0]).exp()
    packed = recorder.packed[0]
    before = packed._version
    with api.no_grad():
        y.add_(1.0)
    same(packed._version - before, 1, "change of the packed tensor's version")


def _always(value: Any, argument: Any) -> Any:
    return value


@statement(TOPIC, 6)
def what_pack_returns_reaches_unpack_as_the_same_object(api: Api) -> None:
    """Whatever pack returns is kept as it is and handed to unpack: any object, the very same."""
    x = api.leaf([2.0, 3.0])
    parcels: list[Any] = [object(), 7, "key", (1, [2]), np.ones(2)]
    for parcel in parcels:
        recorder = Recorder(functools.partial(_always, parcel), lambda packed: x.detach())
        with api.hooks(recorder.pack, recorder.unpack):
            y = x.sin()
        y.sum().backward()
        true(recorder.unpacked[0] is parcel, f"unpack got another object than {parcel!r}")


@statement(TOPIC, 6)
def pack_may_return_none(api: Api) -> None:
    """None is a legal packed value; unpack is called with it."""
    x = api.leaf([2.0, 3.0])
    recorder = Recorder(lambda tensor: None, lambda packed: x.detach())
    for operation in (api.Tensor.square, square(api).apply):
        recorder.unpacked.clear()
        with api.hooks(recorder.pack, recorder.unpack):
            y = operation(x)
        (gradient,) = api.grad(y, x, api.constant([1.0, 1.0]))
        same(recorder.unpacked, [None], "what unpack got")
        equal(api, gradient, [4.0, 6.0])
