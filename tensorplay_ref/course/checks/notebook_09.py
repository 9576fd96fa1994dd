"""The checks of notebook 09: an owner of a file, when its slots go, and a size threshold."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ...saving import on_disk
from ..check import Exercise
from ..compare import (
    Difference,
    freed,
    raises,
    reference_counting,
    same,
    same_gradient,
    same_values,
    shown,
)
from .programs import gradient_of, network, product, selection, variable

# -- the owner -----------------------------------------------------------------------------------
owner = Exercise(
    "09.owner",
    "`SavedFile(folder, array)` writes the array to a new file of its own in the folder, `read()` "
    "gives the array as often as it is called, and the file is deleted when the object goes, by "
    "reference counting alone, or when writing it failed.",
    takes=("SavedFile",),
    difficulty=3,
    minutes=20,
)


@contextmanager
def empty_folder() -> Iterator[Path]:
    # What a build leaves behind, or has deleted already, must not become an error of the cleanup.
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        yield Path(name)


def count(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


@owner.case
def gives_the_array_back(saved_file: Any) -> None:
    """reading an array, three times"""
    arrays = {
        "a matrix": np.arange(6.0, dtype=np.float32).reshape(2, 3),
        "a single number": np.array(2.5),
        "an empty array": np.zeros((0, 3)),
        "an index": np.array([3, 1], dtype=np.int64),
        "a mask": np.array([True, False]),
        "a transposed matrix": np.arange(6.0).reshape(2, 3).T,
    }
    with empty_folder() as folder:
        for name, array in arrays.items():
            file = saved_file(folder, array)
            for _ in range(3):
                same_values(file.read(), array, name)
            del file


@owner.case
def is_in_the_folder(saved_file: Any) -> None:
    """what is in the folder while the object lives"""
    array = np.arange(1000.0)
    with empty_folder() as folder:
        file = saved_file(folder, array)
        same(count(folder), 1, "the number of files while one object lives")
        size = sum(path.stat().st_size for path in folder.rglob("*"))
        if size < array.nbytes:
            raise Difference(f"the file of {array.nbytes} bytes has {size}")
        del file


@owner.case
def every_array_has_its_own_file(saved_file: Any) -> None:
    """several objects, some of which go before others are made"""
    with empty_folder() as folder:
        first, second = saved_file(folder, np.array([1.0])), saved_file(folder, np.array([2.0]))
        same(count(folder), 2, "the number of files while two objects live")
        del first
        third = saved_file(folder, np.array([3.0]))
        same_values(second.read(), np.array([2.0]), "the second of three arrays")
        same_values(third.read(), np.array([3.0]), "the third of three arrays")
        del second, third


@owner.case
def goes_with_the_object(saved_file: Any) -> None:
    """dropping an object that was read, and one that was not"""
    with empty_folder() as folder, reference_counting():
        for reads in (0, 2):
            file = saved_file(folder, np.arange(3.0))
            for _ in range(reads):
                file.read()
            same(count(folder), 1, "the number of files before the object goes")
            reference = weakref.ref(file)
            del file
            freed(reference, "an object that nobody holds")
            same(count(folder), 0, "the number of files when the object is gone")


@owner.case
def lives_as_long_as_somebody_needs_it(saved_file: Any) -> None:
    """an object that two names hold, of which one goes"""
    with empty_folder() as folder:
        file = saved_file(folder, np.arange(3.0))
        other = file
        del file
        same_values(other.read(), np.arange(3.0), "an array that a second name still holds")
        del other


@owner.case
def a_failed_write_leaves_nothing(saved_file: Any) -> None:
    """an array of Python objects, which needs pickle and must be refused"""
    with empty_folder() as folder, reference_counting():
        array = np.array([{"a": 1}], dtype=object)
        raises(ValueError, lambda: saved_file(folder, array), "for an array of Python objects")
        same(count(folder), 0, "the number of files after a write that failed")


# -- when slots go -------------------------------------------------------------------------------
files_left = Exercise(
    "09.files_left",
    "For each of the eight programs, `prediction` says how many files are there after it, when "
    "nothing but what it returned is still held.",
    takes=("programs", "prediction"),
    difficulty=3,
    minutes=15,
)

# What to think about again; the answer comes from running the program.
_QUESTIONS = {
    "walked": "what does a node do with its slots when backward has run through it?",
    "retained": "what does retain_graph keep?",
    "dropped": "who holds the slots when nobody holds the loss?",
    "middle": "a tensor holds the node that made it; which nodes does that one need?",
    "half": "through which nodes does the walk from the loss to hidden go?",
    "noted": "does a number have a history, or a detached tensor?",
    "summed": "is the sum a tensor with a history, and what does that history hold?",
    "failed": "did any node run before the error?",
}


def _program(name: str) -> None:
    def predicted(programs: Mapping[str, Callable[..., Any]], prediction: Any) -> None:
        if name not in programs or not isinstance(prediction, Mapping):
            raise Difference(f"there is no program {name!r}, or prediction is not a dict")
        if name not in prediction:
            raise Difference(f"there is no prediction for {name!r}")
        left = files_after(programs[name])
        # A bool is an int; nobody predicts True files.
        if prediction[name] != left or isinstance(prediction[name], bool):
            raise Difference(
                f"{name}: {shown(prediction[name])} is not what is left; {_QUESTIONS[name]}"
            )

    predicted.__doc__ = f"the program {name!r}"
    files_left.case(predicted)


for _name in _QUESTIONS:
    _program(_name)


def files_after(program: Callable[..., Any]) -> int:
    """The files that live when only what the program returned is held."""
    with empty_folder() as folder, reference_counting():
        with on_disk(folder, min_bytes=0, skip_leaves=False, deduplicate=False):
            hidden = variable(1.0, 2.0).exp()
            loss = (hidden * hidden).sum()
        if count(folder) != 3:
            raise AssertionError(f"the graph has {count(folder)} files")
        held = program(loss, hidden)
        del loss, hidden
        left = count(folder)
        del held
        return left


# -- a threshold ---------------------------------------------------------------------------------
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
