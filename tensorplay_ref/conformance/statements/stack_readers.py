"""Reading the hook stack, telling a native engine about it, and switching hooks off."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..api import Api
from ..expect import equal, raises, raises_itself, same, true
from ..functions import square
from ..instruments import Recorder
from ..statement import statement, tensorplay_lacks, torch_lacks

TOPIC = "hooks: stack and contexts"


@torch_lacks("autograd.graph._current_pair")
@statement(TOPIC, 1)
def the_current_pair_is_none_outside(api: Api) -> None:
    """_current_pair() is None when no context is open."""
    same(api.graph._current_pair(), None, "_current_pair()")


@torch_lacks("autograd.graph._current_pair")
@statement(TOPIC, 1)
def the_current_pair_is_the_innermost(api: Api) -> None:
    """_current_pair() gives the innermost pack and unpack, and the outer ones after leaving."""
    outer, inner = Recorder(), Recorder()
    with api.hooks(outer.pack, outer.unpack):
        with api.hooks(inner.pack, inner.unpack):
            same(tuple(api.graph._current_pair()), (inner.pack, inner.unpack), "inside both")
        same(tuple(api.graph._current_pair()), (outer.pack, outer.unpack), "inside the outer")


@torch_lacks("autograd.graph._current_pair")
@statement(TOPIC, 1)
def save_on_cpu_is_an_entry_of_the_same_stack(api: Api) -> None:
    """Inside save_on_cpu the current pair is that of save_on_cpu, not the one around it."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        with api.graph.save_on_cpu():
            pair = api.graph._current_pair()
            true(pair is not None and pair[0] != recorder.pack, "the outer pair is still current")


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def disabling_refuses_to_enter_hooks(api: Api) -> None:
    """Inside disable_saved_tensors_hooks(message), entering hooks raises that message."""
    recorder = Recorder()
    with api.graph.disable_saved_tensors_hooks("no hooks here"):
        context = api.hooks(recorder.pack, recorder.unpack)
        raises(RuntimeError, context.__enter__, "no hooks here")


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def plain_saving_goes_on_while_hooks_are_disabled(api: Api) -> None:
    """While hooks are disabled, operations save and differentiate as without hooks."""
    x = api.leaf([3.0])
    with api.graph.disable_saved_tensors_hooks("no hooks here"):
        y = square(api).apply(x)
    y.sum().backward()
    equal(api, x.grad, [6.0])


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def disabling_ends_with_its_context(api: Api) -> None:
    """After the context of disable_saved_tensors_hooks, entering hooks works again."""
    recorder = Recorder()
    with api.graph.disable_saved_tensors_hooks("no hooks here"):
        pass
    with api.hooks(recorder.pack, recorder.unpack):
        api.leaf([2.0]).sin()
    same(len(recorder.packed), 1, "packs")


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def disabling_nests_and_restores_the_message(api: Api) -> None:
    """A nested disable has its own message; the outer message is back when it is left."""
    context = api.hooks(lambda tensor: tensor, lambda packed: packed)
    with api.graph.disable_saved_tensors_hooks("outer message"):
        with api.graph.disable_saved_tensors_hooks("inner message"):
            raises(RuntimeError, context.__enter__, "inner message")
        raises(RuntimeError, context.__enter__, "outer message")


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def disabling_inside_active_hooks_is_refused(api: Api) -> None:
    """Disabling while a pair is active raises the message at once; the pair works on."""
    recorder = Recorder()
    x = api.leaf([2.0])
    with api.hooks(recorder.pack, recorder.unpack):
        disabled = api.graph.disable_saved_tensors_hooks("too late")
        raises(RuntimeError, disabled.__enter__, "too late")
        x.sin()
    same(len(recorder.packed), 1, "packs")


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def disabling_refuses_save_on_cpu_as_well(api: Api) -> None:
    """save_on_cpu is a pair of hooks, so it cannot be entered while hooks are disabled."""
    with api.graph.disable_saved_tensors_hooks("no hooks here"):
        raises(RuntimeError, lambda: api.graph.save_on_cpu().__enter__(), "no hooks here")


def _recording_engine(push: Callable[[], None] = lambda: None) -> tuple[list[str], Any]:
    """A stand-in for the native engine of autograd.graph, and the list of what it was told."""
    events: list[str] = []

    def record_push(pack: Any, unpack: Any) -> None:
        events.append("push")
        push()

    engine = SimpleNamespace(
        _push_saved_tensors_hooks=record_push,
        _pop_saved_tensors_hooks=lambda: events.append("pop"),
    )
    return events, engine


@torch_lacks("autograd.graph._native_autograd")
@statement(TOPIC, 3)
def a_native_engine_is_told_about_entry_and_exit(api: Api) -> None:
    """A native engine with the two functions gets a push on entering and a pop on leaving."""
    events, engine = _recording_engine()
    with api.graph.replaced("_native_autograd", engine):
        with api.hooks(lambda tensor: tensor, lambda packed: packed):
            events.append("body")
    same(events, ["push", "body", "pop"], "events")


@torch_lacks("autograd.graph._native_autograd")
@statement(TOPIC, 3)
def a_native_engine_is_told_about_an_exit_by_exception(api: Api) -> None:
    """A native engine gets its pop, too, when the context is left by an exception."""
    events, engine = _recording_engine()
    with api.graph.replaced("_native_autograd", engine):
        try:
            with api.hooks(lambda tensor: tensor, lambda packed: packed):
                raise KeyError("body")
        except KeyError:
            events.append("caught")
    same(events, ["push", "pop", "caught"], "events")


@torch_lacks("autograd.graph._native_autograd")
@statement(TOPIC, 3)
def the_pair_is_current_before_the_native_push(api: Api) -> None:
    """The Python stack gets the pair first: while the native push runs, it is current."""
    found: list[bool] = []

    def look() -> None:
        found.append(api.graph._current_pair() is not None)

    _, engine = _recording_engine(look)
    with api.graph.replaced("_native_autograd", engine):
        with api.hooks(lambda tensor: tensor, lambda packed: packed):
            pass
    same(found, [True], "a pair was current during the push")


@torch_lacks("autograd.graph._native_autograd")
@statement(TOPIC, 3)
def a_push_that_raises_leaves_the_stack_clean(api: Api) -> None:
    """When the native push raises, entering raises it; no pop follows and no pair is left."""
    error = KeyError("native")

    def refuse() -> None:
        raise error

    events, engine = _recording_engine(refuse)
    with api.graph.replaced("_native_autograd", engine):
        raises_itself(error, api.hooks(lambda tensor: tensor, lambda packed: packed).__enter__)
    same((events, api.graph._current_pair()), (["push"], None), "events, the current pair")


@torch_lacks("autograd.graph._native_autograd")
@statement(TOPIC, 3)
def without_the_two_functions_nothing_changes(api: Api) -> None:
    """An engine without push and pop is left alone, and the Python stack works."""
    with api.graph.replaced("_native_autograd", SimpleNamespace()):
        with api.hooks(lambda tensor: tensor, lambda packed: packed):
            true(api.graph._current_pair() is not None, "no pair is current")
    same(api.graph._current_pair(), None, "the current pair afterwards")
