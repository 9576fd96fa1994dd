"""Who keeps what alive: everything here is freed by reference counting alone."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..functions import exponential, square
from ..instruments import Parcel, Parcels, collector_off
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "lifetimes and memory"


@statement(TOPIC, 11)
def dropping_a_result_frees_what_was_packed(api: Api) -> None:
    """Dropping the last result of a graph frees its packed objects at once."""
    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            y = api.leaf([2.0]).sin().exp()
        same(parcels.alive, 2, "packed objects alive")
        del y
        same(parcels.alive, 0, "packed objects alive after dropping the result")


@tensorplay_1_0("leaks: ctx and output hold each other", shows="found 1")
@statement(TOPIC, 11)
def dropping_a_functions_result_frees_what_was_packed(api: Api) -> None:
    """Dropping the result of a custom Function frees its packed objects at once."""
    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            y = square(api).apply(api.leaf([2.0]))
        same(parcels.alive, 1, "packed objects alive")
        del y
        same(parcels.alive, 0, "packed objects alive after dropping the result")


@torch_2_13("leaks it: a cycle that no collector can see", shows="found 1")
@tensorplay_1_0("leaks it", shows="found 1")
@statement(TOPIC, 11)
def an_identity_packed_output_is_no_cycle(api: Api) -> None:
    """A saved output that pack hands through unchanged does not keep its graph alive."""
    with collector_off():
        parcels = Parcels(api, detach=False)
        with parcels.context:
            y = api.leaf([2.0]).exp()
        same(parcels.alive, 1, "packed objects alive")
        del y
        same(parcels.alive, 0, "packed objects alive after dropping the result")


@tensorplay_1_0("leaks: the saved output is a cycle", shows="below exp: expected 0, found 1")
@statement(TOPIC, 11)
def a_saved_output_is_no_cycle(api: Api) -> None:
    """Operations that save their output without hooks are freed with their result."""
    for name in ("exp", "sqrt", "tanh", "sigmoid", "relu"):
        with collector_off():
            parcels = Parcels(api)
            with parcels.context:
                h = api.leaf([2.0]).sin()
            y = getattr(h, name)()
            del h, y
            same(parcels.alive, 0, f"packed objects alive below {name}")


@tensorplay_1_0("leaks: ctx and output hold each other", shows="found 1")
@statement(TOPIC, 11)
def a_function_that_saves_its_output_is_no_cycle(api: Api) -> None:
    """A Function that saves its output, without hooks, is freed with its result."""
    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            h = api.leaf([2.0]).sin()
        y = exponential(api).apply(h)
        del h, y
        same(parcels.alive, 0, "packed objects alive below the Function")


@torch_2_13("leaks it: a cycle that no collector can see", shows="found 1")
@tensorplay_1_0("leaks it", shows="found 1")
@statement(TOPIC, 11)
def an_identity_packed_output_of_a_function_is_no_cycle(api: Api) -> None:
    """An output saved by a Function under identity hooks does not keep its graph alive."""
    with collector_off():
        parcels = Parcels(api, detach=False)
        with parcels.context:
            y = exponential(api).apply(api.leaf([2.0]))
        same(parcels.alive, 1, "packed objects alive")
        del y
        same(parcels.alive, 0, "packed objects alive after dropping the result")


@statement(TOPIC, 11)
def backward_frees_what_was_packed(api: Api) -> None:
    """After a backward the packed objects are gone, though the result is still there."""
    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            y = api.leaf([2.0]).sin().exp().sum()
        y.backward()
        same(parcels.alive, 0, "packed objects alive")
        true(y.requires_grad, "the result is gone")


@tensorplay_1_0("keeps them", shows="found 1")
@statement(TOPIC, 11)
def backward_frees_what_a_function_packed(api: Api) -> None:
    """After a backward the packed objects of a custom Function are gone."""
    with collector_off():
        parcels = Parcels(api)
        x = api.leaf([2.0])
        with parcels.context:
            y = square(api).apply(x)
        y.sum().backward()
        same(parcels.alive, 0, "packed objects alive")
        equal(api, x.grad, [4.0])


@statement(TOPIC, 11)
def retain_graph_keeps_what_was_packed(api: Api) -> None:
    """Packed objects live through a backward with retain_graph and end with the last one."""
    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            y = api.leaf([2.0]).sin()
        y.backward(retain_graph=True)
        same(parcels.alive, 1, "packed objects alive after retaining")
        y.backward()
        same(parcels.alive, 0, "packed objects alive after the last backward")


@statement(TOPIC, 11)
def backward_frees_as_it_goes(api: Api) -> None:
    """When a node is unpacked, the slots of the nodes that ran before it are already free."""
    alive: list[int] = []
    with collector_off():
        parcels = Parcels(api)

        def unpack(parcel: Any) -> Any:
            alive.append(parcels.alive)
            return parcel.content

        with api.hooks(parcels.pack, unpack):
            y = api.leaf([2.0]).sin().sin().sin()
        y.backward()
    same(alive, [3, 2, 1], "packed objects alive at each unpack")


@statement(TOPIC, 11)
def an_exception_in_forward_frees_what_was_packed(api: Api) -> None:
    """When forward raises after saving, what it packed is freed."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        raise KeyError("forward")

    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            try:
                api.function(forward).apply(api.leaf([2.0]))
            except KeyError:
                pass
        same(parcels.alive, 0, "packed objects alive")


@statement(TOPIC, 11)
def a_failed_backward_leaves_nothing_behind(api: Api) -> None:
    """After a backward that raised, dropping the result frees everything."""

    def refuse(gradient: Any) -> Any:
        raise KeyError("hook")

    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            h = api.leaf([2.0]).sin()
        h.register_hook(refuse)
        y = h.exp().sum()
        raises(KeyError, y.backward)
        del h, y
        same(parcels.alive, 0, "packed objects alive")


@statement(TOPIC, 5)
def a_set_saved_first_is_released_by_the_second(api: Api) -> None:
    """When save_for_backward is called again, the packed objects of the first call are freed."""
    counts: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x)
        return x * 1.0

    with collector_off():
        parcels = Parcels(api)
        with parcels.context:
            y = api.function(forward).apply(api.leaf([2.0]))
        counts.append(parcels.alive)
        del y
    same(counts, [1], "packed objects alive")


@tensorplay_1_0("leaks: ctx and output hold each other", shows="outlives its result")
@statement(TOPIC, 11)
def the_ctx_goes_with_the_result(api: Api) -> None:
    """The ctx of a Function, and what was hung on it, is freed with the Function's result."""
    watched: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.parcel = Parcel(1)
        watched.append(weakref.ref(ctx.parcel))
        y = x * 1.0
        ctx.save_for_backward(x, y)
        return y

    with collector_off():
        y = api.function(forward).apply(api.leaf([2.0]))
        true(watched[0]() is not None, "the ctx is gone while its result lives")
        del y
        true(watched[0]() is None, "the ctx outlives its result")


@statement(TOPIC, 4)
def an_input_that_is_not_saved_is_not_kept(api: Api) -> None:
    """sum and the addition of a number keep no reference to their input."""
    operations: tuple[Callable[[Any], Any], ...] = (lambda h: h.sum(), lambda h: h + 1.0)
    for operation in operations:
        with collector_off():
            h = api.leaf([2.0, 3.0]) * 1.0
            watched = weakref.ref(h)
            y = operation(h)
            del h
            true(watched() is None, "the input is kept alive")
            true(y.requires_grad, "the result was not recorded")


@statement(TOPIC, 11)
def the_hooks_go_with_the_graph(api: Api) -> None:
    """The unpack function is kept by the graph, and freed with it."""

    class Unpack:
        def __call__(self, packed: Any) -> Any:
            return packed

    with collector_off():
        unpack = Unpack()
        watched = weakref.ref(unpack)
        with api.hooks(lambda tensor: tensor.detach(), unpack):
            y = api.leaf([2.0]).sin()
        del unpack
        true(watched() is not None, "the unpack function is gone while the graph lives")
        del y
        true(watched() is None, "the unpack function outlives the graph")


@statement(TOPIC, 11)
def a_leaf_is_not_kept_by_a_dropped_graph(api: Api) -> None:
    """A leaf with a gradient is freed when its graph and it are dropped."""
    with collector_off():
        x = api.leaf([2.0])
        y = x.square().sum()
        y.backward()
        watched = weakref.ref(x)
        del x, y
        true(watched() is None, "the leaf is kept alive")


@statement(TOPIC, 11)
def a_second_order_graph_goes_with_its_gradient(api: Api) -> None:
    """What a backward with create_graph packed is freed with the gradient and the result."""
    with collector_off():
        parcels = Parcels(api)
        x = api.leaf([2.0])
        with parcels.context:
            y = (x * x.sin()).sum()
            (first,) = api.grad(y, x, create_graph=True)
        true(parcels.alive > 2, "the backward packed nothing")
        del y, first
        same(parcels.alive, 0, "packed objects alive")
