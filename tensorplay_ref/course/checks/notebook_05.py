"""The check of the slot that notebook 05 builds: the same programs as for the package's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ..check import Step
from ..compare import raises, same, same_count, same_object, same_trace, same_values, shown
from .programs import Pair, constant, package_slot, variable

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
