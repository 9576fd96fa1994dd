"""Checks of notebook 12: policies that keep within the budget of `course/capstone.py`."""

from __future__ import annotations

from typing import Any

import tensorplay_ref as tp

from .. import capstone
from ..check import Exercise
from ..compare import Difference, same

fits = Exercise(
    "12.fits",
    contract="Training under `policy`, with `segment` blocks in a region, fits the budget, reads "
    "enough of the held-out digits, and leaves nothing on the device, the host or the disk.",
    difficulty=3,
    minutes=20,
    takes=("policy", "segment"),
)

faster = Exercise(
    "12.faster",
    contract="Training under `faster`, with `faster_segment` blocks in a region, does that, too, "
    "and takes less simulated time than each reference within the budget, the best known excepted.",
    difficulty=4,
    minutes=25,
    takes=("faster", "faster_segment"),
)


def trained(policy: Any, segment: Any, epochs: int | None = None) -> capstone.Run:
    """A run within the budget; running out of memory and leaving something are differences."""
    try:
        run = capstone.train(policy, segment, epochs=epochs)
    except tp.cuda.OutOfMemoryError as error:
        missing = error.live + error.requested - error.capacity
        owner = f"; the largest owner is {error.owners[0]}" if error.owners else ""
        raise Difference(
            f"{error.operation} runs out of memory, {missing:,} bytes more than the budget of "
            f"{error.capacity:,} are needed there{owner}"
        ) from error
    same(run.left["device"], 0, "bytes left on the device")
    same(run.left["host"], 0, "bytes left on the host")
    same(run.left["disk"], 0, "files left on the disk")
    return run


def stays_within_the_budget(policy: Any, segment: Any) -> None:
    """three steps within the budget, and what is left after them"""
    trained(policy, segment, epochs=1)


def is_accurate(policy: Any, segment: Any) -> None:
    """the whole training"""
    run = trained(policy, segment)
    least = capstone.BUDGET.least_accuracy
    if run.accuracy < least:
        raise Difference(
            f"{run.correct} of {run.total} held-out digits are read rightly, an accuracy of "
            f"{run.accuracy:.3f}; expected at least {least:.3f}"
        )


for exercise in (fits, faster):
    exercise.case(stays_within_the_budget)
    exercise.case(is_accurate)


@faster.case
def takes_less_time(policy: Any, segment: Any) -> None:
    """three steps, timed beside those of the references"""
    mine = trained(policy, segment, epochs=1)
    for entry in capstone.REFERENCES:
        try:
            theirs = capstone.train(entry.policy, entry.segment, epochs=1)
        except tp.cuda.OutOfMemoryError:
            continue
        if mine.nanoseconds >= theirs.nanoseconds:
            raise Difference(
                f"three steps take {mine.nanoseconds:,} simulated ns, those of "
                f"'{entry.name}' {theirs.nanoseconds:,}; expected less"
            )
