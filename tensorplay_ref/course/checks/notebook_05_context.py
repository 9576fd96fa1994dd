"""The check of the context manager of notebook 05, beside the package's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.graph import saved_tensor_hooks
from ..check import Exercise
from ..compare import Difference, raises, same_trace
from .programs import Pair, constant, package_slot

context_manager = Exercise(
    "05.context_manager",
    "`with SavedTensorHooks(pack, unpack):` puts the pair on `hook_stack` for the body and takes "
    "it off afterwards, also when the body raises; what cannot be called is a `TypeError` on "
    "entering that names `pack` or `unpack`, and nothing is put on the stack then.",
    takes=("SavedTensorHooks", "SavedTensor"),
    difficulty=2,
    minutes=15,
)

# A program gets the class of the context, the way to save, and a list of events to fill.
Program = Callable[[Any, Callable[[Any], Any], list[str]], None]


def same_events(program: Program, hooks: Any, slot_of: Any, what: str) -> None:
    """Run the program with the reader's context and slot, and with the package's."""
    found: list[str] = []
    expected: list[str] = []
    program(hooks, slot_of, found)
    program(saved_tensor_hooks, package_slot, expected)
    same_trace(found, expected, what)


def on(hooks: Any, name: str, events: list[str]) -> Any:
    pair = Pair(name, events)
    return hooks(pair.pack, pair.unpack)


def note(save_it: Callable[[Any], Any], events: list[str], place: str) -> None:
    """Save in this place and tell which pair packed."""
    before = len(events)
    save_it(constant(1.0))
    packed = events[before:] or ["nobody packs"]
    events[before:] = [f"{place}: {', '.join(packed)}"]


@context_manager.case
def the_pair_is_on_in_the_body(hooks: Any, slot_of: Any) -> None:
    """saving before, in and after the body"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        context = on(hooks, "the pair", events)
        note(save_it, events, "before the body")
        with context:
            note(save_it, events, "in the body")
        note(save_it, events, "after the body")

    same_events(program, hooks, slot_of, "one context")


@context_manager.case
def the_slot_is_read_after_the_body(hooks: Any, slot_of: Any) -> None:
    """reading after the body what was saved in it"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        with on(hooks, "the pair", events):
            slot = save_it(constant(1.0))
        events.append("left")
        slot.unpack()
        with on(hooks, "another pair", events):
            slot.unpack()

    same_events(program, hooks, slot_of, "reading after the body")


@context_manager.case
def an_outer_pair_comes_back(hooks: Any, slot_of: Any) -> None:
    """one context inside another"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        with on(hooks, "the outer pair", events):
            with on(hooks, "the inner pair", events):
                note(save_it, events, "inside")
            note(save_it, events, "between the two ends")
        note(save_it, events, "outside")

    same_events(program, hooks, slot_of, "two contexts")


@context_manager.case
def it_can_be_entered_again(hooks: Any, slot_of: Any) -> None:
    """entering one object a second time, inside itself, and inside another pair"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        context = on(hooks, "the pair", events)
        with context:
            note(save_it, events, "the first time")
        with context:
            with context:
                note(save_it, events, "inside itself")
            note(save_it, events, "left once")
        note(save_it, events, "left twice")
        with context, on(hooks, "another pair", events):
            with context:
                pass
            note(save_it, events, "back in another pair")

    same_events(program, hooks, slot_of, "one object entered again and again")


@context_manager.case
def an_error_takes_it_off(hooks: Any, slot_of: Any) -> None:
    """a body that raises"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        with on(hooks, "the outer pair", events):
            try:
                with on(hooks, "the inner pair", events):
                    raise KeyError("in the body")
            except KeyError:
                events.append("the error reaches the caller")
            note(save_it, events, "after the error")
        note(save_it, events, "at the end")

    same_events(program, hooks, slot_of, "an error in the body")


@context_manager.case
def only_functions_are_taken(hooks: Any, slot_of: Any) -> None:
    """hooks that cannot be called"""
    events: list[str] = []
    pair = Pair("a refused pair", events)
    for name, pack, unpack in (("pack", 3, pair.unpack), ("unpack", pair.pack, None)):

        def enter(pack: Any = pack, unpack: Any = unpack) -> None:
            with hooks(pack, unpack):
                pass

        raises(TypeError, enter, f"on entering with a wrong {name}", saying=[name])
        try:
            note(slot_of, events, f"after a wrong {name}")
        except TypeError as error:
            raise Difference(f"after a wrong {name} the refused pair is on hook_stack") from error
    expected = [f"after a wrong {name}: nobody packs" for name in ("pack", "unpack")]
    same_trace(events, expected, "a refused context")


@context_manager.case
def making_it_is_not_entering_it(hooks: Any, slot_of: Any) -> None:
    """objects that are made and never entered, and one left before another"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        first, second = on(hooks, "the first pair", events), on(hooks, "the second pair", events)
        note(save_it, events, "made")
        with first:
            note(save_it, events, "in the first")
        with second:
            note(save_it, events, "in the second")

    same_events(program, hooks, slot_of, "two objects")
