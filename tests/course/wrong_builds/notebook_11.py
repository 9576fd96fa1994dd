"""Mistakes in notebook 11: reading events of a ledger, and six timelines."""

from collections import defaultdict
from typing import Any

from tests.course.builds import wrong


def without(kind: str, function: Any) -> Any:
    """The function as if events of one kind had not happened."""
    return (lambda events: function([event for event in events if event.kind != kind]),)


def unmoved(function: Any) -> Any:
    """The function as if a relabelled storage entered its new category and left none."""

    def changed(events: Any) -> Any:
        return function([e._replace(previous=e.category) for e in events])

    return (changed,)


@wrong("11.live", says="'relabel' of 16,384 bytes in the program 'training'")
def does_not_leave_the_former_category(lesson: Any) -> Any:
    return unmoved(lesson.live)


@wrong("11.live", says="expected {")
def leaves_relabelling_out(lesson: Any) -> Any:
    return without("relabel", lesson.live)


@wrong("11.live", says="expected {")
def frees_nothing(lesson: Any) -> Any:
    return without("free", lesson.live)


@wrong("11.live", says="bytes in the program 'too large': {'temporaries': 5204000}, expected {}")
def counts_what_was_refused(lesson: Any) -> Any:
    def live(events: Any) -> Any:
        return lesson.live(
            [e._replace(kind="allocate") if e.kind == "refuse" else e for e in events]
        )

    return (live,)


@wrong("11.live", says="expected {")
def appends_the_same_dictionary(lesson: Any) -> Any:
    def live(events: Any) -> Any:
        rows = lesson.live(events)
        return [rows[-1]] * len(rows)

    return (live,)


@wrong("11.owners", says="at the peak in the program 'training'")
def keeps_the_first_category(lesson: Any) -> Any:
    return without("relabel", lesson.owners)


@wrong("11.owners", says="at the peak in the program 'training'")
def adds_up_all_allocations(lesson: Any) -> Any:
    return without("free", lesson.owners)


@wrong("11.owners", says="at the peak in the program 'training'")
def takes_the_end(lesson: Any) -> Any:
    return (lesson.leaked,)


@wrong("11.owners", says="at the peak in the program 'too large'")
def takes_a_refusal_for_the_peak(lesson: Any) -> Any:
    def owners(events: Any) -> Any:
        return lesson.owners(
            [e._replace(kind="allocate") if e.kind == "refuse" else e for e in events]
        )

    return (owners,)


@wrong("11.policies", says="2 of 6 are wrong")
def takes_one_region_for_plain(lesson: Any) -> Any:
    return (lesson.prediction | {"D": "plain", "F": "checkpoint, all blocks"},)


@wrong("11.policies", says="2 of 6 are wrong")
def takes_offloading_for_no_gradient(lesson: Any) -> Any:
    return (lesson.prediction | {"B": "offload", "E": "no gradient"},)


@wrong("11.policies", says="'plain' is named more than once")
def names_one_twice(lesson: Any) -> Any:
    return (lesson.prediction | {"A": "plain"},)


@wrong("11.policies", says="'disk' is no way of saving")
def names_another_way(lesson: Any) -> Any:
    return (lesson.prediction | {"A": "disk"},)


@wrong("11.leak", says="left in the program 'training'")
def counts_what_was_freed(lesson: Any) -> Any:
    return without("free", lesson.leaked)


@wrong("11.leak", says="left in the program 'evaluation'")
def tells_what_it_was_allocated_for(lesson: Any) -> Any:
    return without("relabel", lesson.leaked)


@wrong("11.leak", says="left in the program 'training'")
def counts_a_relabelled_storage_twice(lesson: Any) -> Any:
    def leaked(events: Any) -> Any:
        held: dict[Any, int] = defaultdict(int)
        for event in events:
            if event.kind in ("allocate", "relabel"):
                held[event.operation, event.category] += event.nbytes
            elif event.kind == "free":
                held[event.operation, event.category] -= event.nbytes
        return held

    return (leaked,)


@wrong("11.leak", says="left in the program 'too large'")
def counts_a_refused_allocation(lesson: Any) -> Any:
    def leaked(events: Any) -> Any:
        found = defaultdict(int, lesson.leaked(events))
        for event in events:
            if event.kind == "refuse":
                found[event.operation, event.category] += event.nbytes
        return found

    return (leaked,)
