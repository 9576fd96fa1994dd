"""Pictures of a trace: swim lanes, the order of packing and unpacking, saved bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    byte_axis,
    finish,
    whole_numbers,
)
from .trace_event import KINDS, LEDGER_KINDS, TraceEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "forward": BLUE,
    "save": ORANGE,
    "pack": ORANGE,
    "write": BLACK,
    "backward": GREEN,
    "unpack": RED,
    "conflict": BLACK,
    "accumulate": GREEN,
    "release": PURPLE,
    "drop": PURPLE,
    "allocate": SKY,
    "copy": SKY,
    "free": SKY,
    "refuse": BLACK,
}
# What belongs to the operation whose bar it stands below.
PART_OF = {"forward": ("save", "pack"), "backward": ("unpack", "release")}
MOST_LABELS = 60


def draw_lanes(ax: Axes, events: Sequence[TraceEvent]) -> Axes:
    """One lane for each kind that occurs; a bar lasts as long as what belongs to its operation."""
    lanes = [kind for kind in KINDS if any(event.kind == kind for event in events)]
    height = {kind: lane for lane, kind in enumerate(lanes)}
    labelled = len(events) <= MOST_LABELS
    for kind in lanes:
        ax.axhline(height[kind], color=GREY, linewidth=0.5, zorder=0)
        own = [event.number for event in events if event.kind == kind]
        if kind in PART_OF:
            ends = [_end(events, p) for p, event in enumerate(events) if event.kind == kind]
            ax.barh(
                height[kind],
                [end - start + 0.7 for start, end in zip(own, ends, strict=True)],
                left=[start - 0.35 for start in own],
                height=0.5,
                color=COLOURS[kind],
            )
        else:
            ax.plot(
                own,
                [height[kind]] * len(own),
                "s",
                markersize=6 if labelled else 4,
                color=COLOURS[kind],
            )
    for event in events if labelled else ():
        if event.kind in (*PART_OF, "accumulate", "write"):
            ax.annotate(
                event.operation,
                (event.number - 0.35, height[event.kind]),
                xytext=(0, 9),
                textcoords="offset points",
                fontsize=7,
                rotation=30,
            )
    _join_slots(ax, events, height)
    ax.set_yticks(range(len(lanes)), lanes)
    ax.set_ylim(len(lanes) - 0.5, -1.1 if labelled else -0.5)
    ax.set_xlim(0, len(events) + 1)
    whole_numbers(ax.xaxis)
    return finish(ax, "What happened, in order", "event number", "kind of event", "below")


def _end(events: Sequence[TraceEvent], position: int) -> int:
    """Number of the last event that belongs to the operation which begins at `position`."""
    begins = events[position]
    end = begins.number
    for event in events[position + 1 :]:
        if event.kind in LEDGER_KINDS:
            continue
        if event.kind not in PART_OF[begins.kind] or event.operation != begins.operation:
            break
        end = event.number
    return end


def _join_slots(ax: Axes, events: Sequence[TraceEvent], height: dict[str, int]) -> None:
    packs = {event.slot_number: event.number for event in events if event.kind == "pack"}
    joined = [
        (packs[event.slot_number], event.number)
        for event in events
        if event.kind == "unpack" and event.slot_number in packs
    ]
    for position, ends in enumerate(joined):
        ax.plot(
            ends,
            (height["pack"], height["unpack"]),
            color=BLACK,
            linewidth=0.8,
            alpha=0.6,
            label="" if position else "pack and unpack of one slot",
        )


def draw_order(ax: Axes, events: Sequence[TraceEvent]) -> Axes:
    """Slots from top to bottom as they were packed (left) and unpacked (right)."""
    packs = [event for event in events if event.kind == "pack"]
    unpacks = [event for event in events if event.kind == "unpack"]
    place = {event.slot_number: position for position, event in enumerate(packs, 1)}
    for position, event in enumerate(packs, 1):
        ax.plot(0, position, "s", color=ORANGE, label="packed" if position == 1 else "")
        ax.annotate(event.slot_label, (-0.04, position), ha="right", va="center", fontsize=8)
    for position, event in enumerate(unpacks, 1):
        ax.plot(1, position, "o", color=RED, label="unpacked" if position == 1 else "")
        ax.annotate(event.slot_label, (1.04, position), va="center", fontsize=8)
        if event.slot_number in place:
            ax.plot((0, 1), (place[event.slot_number], position), color=GREY, zorder=0)
    ax.set_xlim(-0.6, 1.6)
    ax.set_ylim(max(len(packs), len(unpacks), 1) + 0.5, 0.5)
    ax.set_xticks((0, 1), ("pack", "unpack"))
    whole_numbers(ax.yaxis)
    return finish(ax, "Order of packing and of unpacking", "", "place in the order", "below")


def draw_saved_bytes(ax: Axes, events: Sequence[TraceEvent], series: Sequence[int]) -> Axes:
    """A step line of saved bytes over event numbers; the backward events are marked."""
    numbers = [0, *(event.number for event in events)]
    ax.step(numbers, [0, *series], where="post", color=BLUE, label="kept for backward")
    ax.fill_between(numbers, [0, *series], step="post", color=BLUE, alpha=0.2)
    backward = [event.number for event in events if event.kind == "backward"]
    if backward:
        ax.axvspan(
            backward[0], backward[-1] + 1, color=GREEN, alpha=0.12, label="backward", zorder=0
        )
    unit = byte_axis(ax.yaxis, max(series, default=0))
    ax.set_ylim(bottom=0)
    whole_numbers(ax.xaxis)
    return finish(ax, "Saved bytes", "event number", f"kept alive ({unit})", "below")
