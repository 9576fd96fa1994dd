"""The checks of notebook 07 for packing the same values once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ...inspect import timeline
from ...saving import offload
from ..check import Exercise
from ..compare import (
    Difference,
    alive,
    freed,
    reference_counting,
    same,
    same_count,
    same_gradient,
    same_object,
    same_values,
    shown,
)
from .notebook_07 import PROGRAMS, Offload, both, gradient, layers, matrix, parameter

# -- the same values once ------------------------------------------------------------------------
once = Exercise(
    "07.deduplicate",
    "`Deduplicate(hooks).pack(tensor)` returns a `Shared` that holds what `hooks.pack` made of the "
    "tensor, and the same `Shared` again for another slot with the same values: the same storage "
    "at the same version, seen through the same offset, shape, strides and dtype. It keeps neither "
    "a storage nor a `Shared` alive.",
    takes=("Deduplicate", "Shared"),
    difficulty=4,
    minutes=25,
)


@once.case
def packs_the_same_values_once(deduplicate: Any, kind: Any) -> None:
    """one tensor and a detached alias of it"""
    with tp.cuda.simulate():
        inner = Offload()
        hooks = deduplicate(inner)
        x = matrix(3, 3)
        first, second, alias = hooks.pack(x), hooks.pack(x), hooks.pack(x.detach())
        if not isinstance(first, kind):
            raise Difference(f"pack returned {shown(first)}, expected a Shared")
        same_object(second, first, "the second Shared of a tensor")
        same_object(alias, first, "the Shared of a detached alias")
        same_count("hooks.pack", len(inner.packed), 1, "one tensor in three slots")
        same_values(hooks.unpack(first), x, "what was packed")


@once.case
def tells_tensors_apart(deduplicate: Any, kind: Any) -> None:
    """two tensors of one shape, with equal values and with others"""
    with tp.cuda.simulate():
        inner = Offload()
        hooks = deduplicate(inner)
        tensors = [matrix(3, 3), matrix(3, 3, first=5.0), matrix(3, 3)]
        packed = [hooks.pack(tensor) for tensor in tensors]
        same_count("hooks.pack", len(inner.packed), 3, "three tensors")
        for tensor, each in zip(tensors, packed, strict=True):
            same_values(hooks.unpack(each), tensor, "one of three tensors")


@once.case
def tells_views_apart(deduplicate: Any, kind: Any) -> None:
    """views of one storage"""
    with tp.cuda.simulate():
        hooks = deduplicate(Offload())
        x = matrix(3, 3)
        views = {
            "x": x,
            "x.T": x.T,
            "x[0]": x[0],
            "x[1]": x[1],
            "x[:, 0]": x[:, 0],
            "x.reshape(9)": x.reshape(9),
        }
        packed = {name: hooks.pack(view) for name, view in views.items()}
        for name, view in views.items():
            same_values(hooks.unpack(packed[name]), view, f"{name}, packed beside other views,")


@once.case
def tells_versions_apart(deduplicate: Any, kind: Any) -> None:
    """a tensor that is written to between two slots"""
    with tp.cuda.simulate():
        hooks = deduplicate(Offload())
        x = matrix(2, 2)
        before, copy = hooks.pack(x), x.clone()
        x.mul_(3.0)
        after = hooks.pack(x)
        same_values(hooks.unpack(before), copy, "what was packed before a write")
        same_values(hooks.unpack(after), x, "what was packed after a write")


# Three ways of making tensors of one value. Each makes few objects that stay, so the next ones get
# what those that are gone have left: the id of a tensor, the id of a storage, the memory.
NEW: tuple[Callable[[Any], Any], ...] = (
    lambda tensor: tensor.detach(),
    lambda tensor: tensor.data,
    lambda tensor: tensor.clone(),
)
GONE, NEWCOMERS = 100, 1_000


@once.case
def a_newcomer_is_not_mistaken(deduplicate: Any, kind: Any) -> None:
    """tensors that get the ids and addresses of others that are gone"""
    with tp.cuda.simulate():
        two, five = tp.full((1,), 2.0, device="cuda"), tp.full((1,), 5.0, device="cuda")
        for new in NEW:
            hooks = deduplicate(Offload())
            for tensor in [new(two) for _ in range(GONE)]:
                hooks.pack(tensor)
            del tensor
            for tensor in [new(five) for _ in range(NEWCOMERS)]:
                if hooks.unpack(hooks.pack(tensor)).item() != 5.0:
                    raise Difference(
                        "a tensor came back with the data of another, which was gone before it "
                        "was made: a key must notice the end of what it stands for"
                    )


@once.case
def keeps_no_storage(deduplicate: Any, kind: Any) -> None:
    """a tensor that is dropped while the hooks and its Shared are kept"""
    with tp.cuda.simulate(), reference_counting():
        hooks = deduplicate(Offload())
        x = matrix(2, 2)
        reference = weakref.ref(x.untyped_storage())
        shared = hooks.pack(x)
        del x
        freed(reference, "a storage that only the hooks can still hold")
        same(hooks.unpack(shared).shape, (2, 2), "the shape of what its Shared gives back")


@once.case
def keeps_no_copy(deduplicate: Any, kind: Any) -> None:
    """slots that are released while the hooks and the tensor live on"""
    with tp.cuda.simulate(), reference_counting():
        hooks = deduplicate(Offload())
        x = matrix(2, 2)
        before = tp.cuda.host_memory_allocated()
        first, second = hooks.pack(x), hooks.pack(x)
        reference = weakref.ref(first)
        del first
        alive(reference, "the Shared of a slot that is still there")
        del second
        freed(reference, "the Shared of slots that are all gone")
        same(tp.cuda.host_memory_allocated() - before, 0, "bytes that are left on the host")
        again = hooks.pack(x)
        same_values(hooks.unpack(again), x, "what was packed once more")


def copied(program: Callable[[Any], Any], hooks: Any) -> dict[str, int]:
    with tp.cuda.simulate(), timeline() as record:
        gradient(program, hooks)
    return record.copied()


@once.case
def moves_what_the_package_moves(deduplicate: Any, kind: Any) -> None:
    """the bytes over the link in a step"""
    policy = offload(min_bytes=0, skip_leaves=False)
    for name, program in PROGRAMS.items():
        found = copied(program, both(deduplicate(Offload())))
        expected = copied(program, (policy.pack_hook, policy.unpack_hook))
        for direction in ("to host", "to device"):
            same(found[direction], expected[direction], f"{name}: bytes copied {direction}")


@once.case
def gradients_are_the_same(deduplicate: Any, kind: Any) -> None:
    """gradients of several steps with the same hooks"""
    with tp.cuda.simulate():
        hooks = deduplicate(Offload())
        for _ in range(3):
            for program in PROGRAMS.values():
                same_gradient(gradient(program, both(hooks)), gradient(program), "x")


@once.case
def a_slot_can_be_read_again(deduplicate: Any, kind: Any) -> None:
    """two backwards through one graph"""
    with tp.cuda.simulate():
        found, plain = parameter(3, 5), parameter(3, 5)
        hooks = deduplicate(Offload())
        with saved_tensor_hooks(hooks.pack, hooks.unpack):
            loss = layers(found)
        for each in (loss, layers(plain)):
            each.backward(retain_graph=True)
            each.backward()
        same_gradient(found.grad, plain.grad, "x")
