"""The checks of notebook 05: a saved slot, and hooks on it as a context manager.

The slots and contexts of the reader run the same programs as the package's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ..check import Exercise, Step
from ..compare import (
    Difference,
    raises,
    same,
    same_count,
    same_object,
    same_trace,
    same_values,
    shown,
)
from .programs import Pair, constant, package_slot, variable

# -- the slot ----------------------------------------------------------------------------------
saved_tensor = Step(
    "05.saved_tensor",
    "`SavedTensor(tensor)` keeps a tensor, packed by the innermost pair of `hook_stack` if there "
    "is one; `unpack()` reads it.",
    takes=("SavedTensor", "hook_stack"),
)


@saved_tensor.case
def reads_what_was_saved(slot_of: Any, stack: list[Any]) -> None:
    """reading a slot twice, without hooks"""
    same(len(stack), 0, "the number of pairs on hook_stack before the check")
    tensor = constant(1.0, 2.0)
    slot = slot_of(tensor)
    for read in ("the first", "the second"):
        same_values(slot.unpack(), tensor, f"{read} read of a slot")


@saved_tensor.case
def notices_a_change(slot_of: Any, stack: list[Any]) -> None:
    """reading a slot whose tensor was changed in place since"""
    tensor = constant(1.0, 2.0)
    tensor.add_(1.0)
    slot = slot_of(tensor)
    same_values(slot.unpack(), tensor, "a slot of a tensor that was changed before it was saved")
    tensor[0:1].mul_(10.0)
    raises(RuntimeError, slot.unpack, "at a read after a change in place", saying=["version"])


@saved_tensor.case
def packs_now_and_unpacks_at_each_read(slot_of: Any, stack: list[Any]) -> None:
    """saving under a pair, then reading twice"""

    def program(save_it: Callable[[Any], Any], pair: Pair) -> list[str]:
        slot = save_it(constant(1.0))
        pair.events.append("saved")
        for _ in range(2):
            slot.unpack()
        return pair.events

    mine, theirs = Pair("the pair"), Pair("the pair")
    stack.append((mine.pack, mine.unpack))
    try:
        found = program(slot_of, mine)
    finally:
        stack.pop()
    with saved_tensor_hooks(theirs.pack, theirs.unpack):
        expected = program(package_slot, theirs)
    for call in ("packs", "unpacks"):
        event = f"the pair {call}"
        same_count(call.removesuffix("s"), found.count(event), expected.count(event), "one slot")
    same_trace(found, expected, "saving and two reads")


@saved_tensor.case
def the_pair_travels_with_the_slot(slot_of: Any, stack: list[Any]) -> None:
    """reading a slot when its pair is off the stack and another one is on"""
    events: list[str] = []
    outer, inner, later = Pair("outer", events), Pair("inner", events), Pair("later", events)
    stack += [(outer.pack, outer.unpack), (inner.pack, inner.unpack)]
    try:
        slot = slot_of(constant(1.0))
        del stack[:]
        slot.unpack()
        stack.append((later.pack, later.unpack))
        slot.unpack()
    finally:
        del stack[:]
    theirs: list[str] = []
    outer, inner, later = Pair("outer", theirs), Pair("inner", theirs), Pair("later", theirs)
    with (
        saved_tensor_hooks(outer.pack, outer.unpack),
        saved_tensor_hooks(inner.pack, inner.unpack),
    ):
        slot = package_slot(constant(1.0))
    slot.unpack()
    with saved_tensor_hooks(later.pack, later.unpack):
        slot.unpack()
    same_trace(events, theirs, "a slot saved under two pairs and read after both")


@saved_tensor.case
def any_object_may_be_packed(slot_of: Any, stack: list[Any]) -> None:
    """a pack that returns None, a pair or a list"""
    tensor = constant(1.0)
    choices: list[Any] = [None, (1, 2), [], 0]
    for packed in choices:
        seen: list[Any] = []

        def unpack(kept: Any, seen: list[Any] = seen) -> Any:
            seen.append(kept)
            return tensor

        stack.append((lambda _, packed=packed: packed, unpack))
        try:
            slot = slot_of(tensor)
        finally:
            stack.pop()
        same_values(slot.unpack(), tensor, f"the read of a slot packed as {shown(packed)}")
        same_count("unpack", len(seen), 1, f"packed as {shown(packed)}")
        same_object(seen[0], packed, f"what unpack gets for {shown(packed)}")


@saved_tensor.case
def grad_is_off_in_pack(slot_of: Any, stack: list[Any]) -> None:
    """a pack that computes"""
    modes = []

    def pack(tensor: Any) -> Any:
        modes.append(tp.is_grad_enabled())
        return tensor

    stack.append((pack, lambda packed: packed))
    try:
        slot_of(variable(1.0))
    finally:
        stack.pop()
    same(modes, [False], "grad mode inside pack")
    same(tp.is_grad_enabled(), True, "grad mode after pack")


@saved_tensor.case
def the_hooks_decide_about_changes(slot_of: Any, stack: list[Any]) -> None:
    """a tensor that is changed in place after a pack that copied it"""
    tensor = constant(1.0, 2.0)
    stack.append((lambda each: each.clone(), lambda packed: packed))
    try:
        slot = slot_of(tensor)
    finally:
        stack.pop()
    tensor.zero_()
    same_values(slot.unpack(), constant(1.0, 2.0), "the read of a copy")


# -- the context manager -----------------------------------------------------------------------
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
    """entering one object a second time, and inside itself"""

    def program(hooks: Any, save_it: Callable[[Any], Any], events: list[str]) -> None:
        context = on(hooks, "the pair", events)
        with context:
            note(save_it, events, "the first time")
        with context:
            with context:
                note(save_it, events, "inside itself")
            note(save_it, events, "left once")
        note(save_it, events, "left twice")

    same_events(program, hooks, slot_of, "one object entered three times")


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
