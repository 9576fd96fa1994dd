"""Checks of notebook 11: reading the events of a ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...accelerator import Event
from ...inspect.memory_series import MEMORY_KINDS, over_events, owners_at
from .. import timelines
from ..check import Exercise
from ..compare import Difference, a_mapping, a_sequence, same, same_trace

DEVICE = "cuda:0"

live = Exercise(
    "11.live",
    contract="`live(events)` is a list with one dictionary for each event that changes memory "
    "(`allocate`, `free`, `relabel`): the live bytes of each category after it, without zeros.",
    difficulty=2,
    minutes=15,
    takes=("live",),
)

owners = Exercise(
    "11.owners",
    contract="`owners(events)` is a dictionary from (operation, category) to the bytes that live "
    "at the peak, the first moment at which the most bytes live in all.",
    difficulty=3,
    minutes=15,
    takes=("owners",),
)

policies = Exercise(
    "11.policies",
    contract="`prediction` names the way of saving behind each of the six timelines.",
    difficulty=3,
    minutes=15,
    takes=("prediction",),
)

leak = Exercise(
    "11.leak",
    contract="`leaked(events)` is a dictionary from (operation, category) to the bytes that were "
    "allocated and not freed, the category being the last one.",
    difficulty=2,
    minutes=10,
    takes=("leaked",),
)


def rows(events: list[Event]) -> list[dict[str, int]]:
    """Live bytes by category after each event that changes memory."""
    series = over_events(DEVICE, (), events)
    return [
        {name: column[place] for name, column in series.by_category.items() if column[place]}
        for place in range(1, len(series.points))
    ]


def held(events: list[Event], number: int) -> dict[tuple[str, str], int]:
    """What lives after so many events."""
    return {
        (owner.operation, owner.category): owner.nbytes
        for owner in owners_at(DEVICE, (), events, number)
        if owner.nbytes
    }


def live_of(name: str) -> Callable[[Callable[[list[Event]], Any]], None]:
    def case(live: Callable[[list[Event]], Any]) -> None:
        events = timelines.program(name)
        rows_found = a_sequence(live(list(events)), "what live(events) returned")
        found = [dict(a_mapping(row, "a row of live(events)")) for row in rows_found]
        expected = rows(events)
        changing = [event for event in events if event.kind in MEMORY_KINDS]
        for number, (mine, right) in enumerate(zip(found, expected, strict=False), 1):
            if mine != right:
                event = changing[number - 1]
                raise Difference(
                    f"after event {number} that changes memory, {event.kind!r} of {event.nbytes:,} "
                    f"bytes in the program {name!r}: {mine}, expected {right}"
                )
        same(len(found), len(expected), f"the number of rows for the program {name!r}")

    case.__doc__ = f"the program {name!r}"
    return case


def dictionary_of(
    what: str, name: str, expected_of: Callable[[list[Event]], dict[tuple[str, str], int]]
) -> Callable[[Callable[[list[Event]], Any]], None]:
    def case(function: Callable[[list[Event]], Any]) -> None:
        events = timelines.program(name)
        found = dict(a_mapping(function(list(events)), "what the function returned"))
        expected = expected_of(events)
        for key in sorted(expected.keys() | found.keys(), key=str):
            mine, right = found.get(key, 0), expected.get(key, 0)
            if mine != right:
                raise Difference(
                    f"{what} in the program {name!r}: {mine} bytes for {key}, expected {right}"
                )

    case.__doc__ = f"the program {name!r}"
    return case


def at_peak(events: list[Event]) -> dict[tuple[str, str], int]:
    series = over_events(DEVICE, (), events)
    return held(events, series.points[series.peak_position])


def at_end(events: list[Event]) -> dict[tuple[str, str], int]:
    return held(events, len(events))


for name in timelines.PROGRAMS:
    live.case(live_of(name))
    owners.case(dictionary_of("at the peak", name, at_peak))
    leak.case(dictionary_of("left", name, at_end))


@policies.case
def each_letter(prediction: Mapping[str, str]) -> None:
    """the six names"""
    answers = timelines.answers()
    a_mapping(prediction, "prediction")
    same_trace(sorted(prediction), sorted(answers), "the letters of the prediction")
    for letter, name in prediction.items():
        if name not in timelines.WAYS:
            known = ", ".join(map(repr, timelines.WAYS))
            raise Difference(f"{letter}: {name!r} is no way of saving; expected one of {known}")
    names = list(prediction.values())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Difference(f"{twice[0]!r} is named more than once; each way has one timeline")
    wrong = [letter for letter in sorted(answers) if prediction[letter] != answers[letter]]
    if wrong:
        raise Difference(
            f"{len(wrong)} of 6 are wrong; look again at the heights and at where the peak lies"
        )
