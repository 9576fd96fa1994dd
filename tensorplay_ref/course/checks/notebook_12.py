"""Checks of notebook 12: policies that keep within the budget of `course/capstone.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorplay_ref as tp

from .. import capstone
from ..check import Exercise
from ..compare import Difference, same

fits = Exercise(
    "12.fits",
    contract="Training under `policy`, with `segment` blocks in a region, computes some products "
    "again, fits the budget, reads enough of the held-out digits, and leaves nothing on the "
    "device, the host or the disk.",
    difficulty=3,
    minutes=20,
    takes=("policy", "segment"),
)

faster = Exercise(
    "12.faster",
    contract="Training under `faster`, with `faster_segment` blocks in a region or without any, "
    "fits, is accurate and leaves nothing, too, and takes less simulated time than each reference "
    "within the budget, the best known excepted.",
    difficulty=4,
    minutes=25,
    takes=("faster", "faster_segment"),
)


def trained(policy: Any, segment: Any, epochs: int | None = None) -> capstone.Run:
    """A run within the budget; running out of memory and leaving something are differences."""
    try:
        run = capstone.train(policy, segment, epochs=epochs)
    except tp.cuda.OutOfMemoryError as error:
        stays_finite(policy, segment, epochs)
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


def stays_finite(policy: Any, segment: Any, epochs: int | None) -> None:
    """On a larger device, a loss that becomes NaN is a difference: NaN is not rounded, but kept."""
    try:
        run = capstone.train(policy, segment, capacity=capstone.LARGER, epochs=epochs)
    except tp.cuda.OutOfMemoryError:
        return
    finite = np.isfinite(run.losses)
    if run.timeline.peak.nbytes <= capstone.BUDGET.capacity and not finite.all():
        step = int(np.argmin(finite)) + 1
        raise Difference(
            f"the loss is {run.losses[step - 1]} in step {step}, before the device ran out of "
            "memory; numbers that are not finite cannot be rounded, and were kept"
        )


def products_of(run: capstone.Run) -> int:
    """How many products of matrices the first step computed."""
    return sum(
        event.kind == "compute" and event.operation == "Matmul" for event in run.timeline.events
    )


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


@fits.case
def computes_again(policy: Any, segment: Any) -> None:
    """the products of the first step, beside those of plain training"""
    plain = products_of(capstone.train(capacity=capstone.LARGER, epochs=1))
    found = products_of(trained(policy, segment, epochs=1))
    if found <= plain:
        raise Difference(f"nothing is computed again: {found} products of matrices in a step")


@faster.case
def takes_less_time(policy: Any, segment: Any) -> None:
    """three steps, timed beside those of the references"""
    mine = trained(policy, segment, epochs=1)
    fastest: tuple[int, str] | None = None
    for entry in capstone.REFERENCES:
        try:
            theirs = capstone.train(entry.policy, entry.segment, epochs=1).nanoseconds
        except tp.cuda.OutOfMemoryError:
            continue
        if fastest is None or theirs < fastest[0]:
            fastest = theirs, entry.name
    if fastest is not None and mine.nanoseconds >= fastest[0]:
        raise Difference(
            f"three steps take {mine.nanoseconds:,} simulated ns, those of the fastest reference "
            f"within the budget, '{fastest[1]}', {fastest[0]:,}; expected less"
        )
