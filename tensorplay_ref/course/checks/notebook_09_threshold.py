"""The checks of notebook 09 for a size threshold: small tensors in memory, large ones in files."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ..check import Exercise
from ..compare import (
    Difference,
    freed,
    reference_counting,
    same,
    same_gradient,
    same_values,
    shown,
)
from .programs import gradient_of, network, product, selection, variable

threshold = Exercise(
    "09.threshold",
    "`OnDisk(write, min_bytes)` packs a tensor of at least `min_bytes` into the owner that "
    "`write(array)` returns, and a smaller one into a copy of itself in memory; `unpack` makes the "
    "tensor again, at each read.",
    takes=("OnDisk",),
    difficulty=2,
    minutes=10,
)


class Owner:
    """What `write` returns here: it owns an array instead of a file."""

    def __init__(self, array: Any) -> None:
        if not isinstance(array, np.ndarray):
            raise Difference(f"write was given {shown(array)}, expected a NumPy array")
        self.array = array.copy()

    def read(self) -> Any:
        return self.array.copy()


class Writer:
    """A `write` that notes the bytes it was given and how many owners live."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.owners: weakref.WeakSet[Owner] = weakref.WeakSet()

    def __call__(self, array: Any) -> Owner:
        made = Owner(array)
        self.written.append(array.nbytes)
        self.owners.add(made)
        return made


@threshold.case
def writes_what_is_large_enough(on_disk_of: Any) -> None:
    """tensors of 24, 32 and 40 bytes with a threshold of 32"""
    write = Writer()
    hooks = on_disk_of(write, 32)
    for length in (3, 4, 5):
        tensor = tp.tensor(np.arange(float(length)))
        packed = hooks.pack(tensor)
        for _ in range(2):
            same_values(hooks.unpack(packed), tensor, f"a tensor of {tensor.nbytes} bytes")
    same(write.written, [32, 40], "the bytes that were written, of tensors of 24, 32 and 40")


@threshold.case
def the_bytes_count_and_not_the_elements(on_disk_of: Any) -> None:
    """a tensor of 32 elements of one byte each, and a threshold of 64"""
    write = Writer()
    hooks = on_disk_of(write, 64)
    mask = tp.tensor(np.arange(32) % 3 == 0)
    same_values(hooks.unpack(hooks.pack(mask)), mask, "a mask")
    same(write.written, [], "the bytes that were written, of a mask of 32 bytes")


@threshold.case
def the_slot_holds_the_owner(on_disk_of: Any) -> None:
    """owners before backward, during a retained one, and afterwards"""
    write = Writer()
    hooks = on_disk_of(write, 0)
    with reference_counting():
        with saved_tensor_hooks(hooks.pack, hooks.unpack):
            hidden = variable(1.0, 2.0).exp()
            loss = (hidden * hidden).sum()
        same(len(write.owners), 3, "the number of owners between forward and backward")
        loss.backward(retain_graph=True)
        same(len(write.owners), 3, "the number of owners after a retained backward")
        loss.backward()
        same(len(write.owners), 0, "the number of owners after the last backward")


@threshold.case
def a_later_change_does_not_reach_a_small_tensor(on_disk_of: Any) -> None:
    """a small tensor that is changed in place after it was saved"""
    hooks = on_disk_of(Writer(), 1_000)
    x = variable(1.0, 2.0)
    hidden = x * 3.0
    with saved_tensor_hooks(hooks.pack, hooks.unpack):
        loss = (hidden * hidden).sum()
    hidden.zero_()
    loss.backward()
    plain = variable(1.0, 2.0)
    product(plain * 3.0).backward()
    same_gradient(x.grad, plain.grad, "x, whose product was overwritten after saving,")


@threshold.case
def the_tensor_is_not_kept(on_disk_of: Any) -> None:
    """a tensor that is dropped while its packed form is kept"""
    for min_bytes in (0, 1_000):
        with reference_counting():
            hooks = on_disk_of(Writer(), min_bytes)
            tensor = variable(1.0, 2.0) * 2.0
            reference = weakref.ref(tensor)
            packed = hooks.pack(tensor)
            del tensor
            freed(reference, "a tensor that only its packed form can still hold")
            same(hooks.unpack(packed).shape, (2,), "the shape of what comes back")


@threshold.case
def gradients_are_the_same(on_disk_of: Any) -> None:
    """gradients with everything written, with some, and with nothing"""
    for min_bytes in (0, 40, 10_000):
        for program in (product, network, selection):
            hooks = on_disk_of(Writer(), min_bytes)
            found = gradient_of(program, (hooks.pack, hooks.unpack))
            same_gradient(found, gradient_of(program), f"x with a threshold of {min_bytes} bytes")
