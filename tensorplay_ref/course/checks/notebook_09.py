"""The checks of notebook 09: an owner of a file, and when its slots go."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...saving import on_disk
from ..check import Exercise
from ..compare import (
    Difference,
    a_mapping,
    freed,
    raises,
    reference_counting,
    same,
    same_values,
    shown,
)
from .programs import variable

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
def does_not_hold_the_array(saved_file: Any) -> None:
    """an array that is dropped while its file is kept"""
    with empty_folder() as folder, reference_counting():
        array = np.arange(3.0)
        reference = weakref.ref(array)
        file = saved_file(folder, array)
        del array
        freed(reference, "an array that is in a file")
        same_values(file.read(), np.arange(3.0), "an array that was dropped")
        freed(reference, "an array that is in a file")
        del file


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
        if name not in a_mapping(programs, "programs"):
            raise Difference(f"there is no program {name!r}")
        if name not in a_mapping(prediction, "prediction"):
            raise Difference(f"there is no prediction for {name!r}")
        # A bool is an int; nobody predicts True files.
        if not isinstance(prediction[name], int) or isinstance(prediction[name], bool):
            raise Difference(f"{name}: {shown(prediction[name])} is no whole number")
        left = files_after(programs[name])
        if prediction[name] != left:
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
