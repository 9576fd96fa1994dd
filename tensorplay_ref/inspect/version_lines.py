"""Versions of storages over a trace: saved, written, used by backward, in conflict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..tensor_base import TensorBase
from .figures import BLACK, GREEN, LINES, ORANGE, PALETTE, RED, finish, new_axes, whole_numbers
from .hook_trace import Trace
from .tables import text_table
from .walk import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How each kind of event is called and drawn.
MARKS = {
    "save": ("saved", "o", ORANGE),
    "write": ("written in place", "s", BLACK),
    "backward": ("backward of who saved it", "^", GREEN),
    "conflict": ("conflict", "X", RED),
}
HEADERS = ("event", "storage", "what happened", "operation", "version")


@dataclass(frozen=True)
class VersionEvent:
    """What happened to one storage: number and kind of the trace's event, version afterwards."""

    number: int
    storage: str
    kind: str
    operation: str
    version: int


@dataclass(frozen=True)
class VersionLines:
    """What `version_lines` found: the events of each storage, in order."""

    events: tuple[VersionEvent, ...]

    def __repr__(self) -> str:
        rows = [
            (str(e.number), e.storage, MARKS[e.kind][0], e.operation, str(e.version))
            for e in self.events
        ]
        return text_table(HEADERS, rows) if rows else "no storage was saved or written"

    def of(self, storage: str) -> list[VersionEvent]:
        """The events of one storage."""
        return [event for event in self.events if event.storage == storage]

    def plot(self, ax: Axes | None = None) -> Axes:
        """The version of each storage as a step line; a write lifts it, a conflict is crossed."""
        ax = new_axes() if ax is None else ax
        names = list(dict.fromkeys(event.storage for event in self.events))
        last = max((event.number for event in self.events), default=1)
        for position, name in enumerate(names):
            own = self.of(name)
            numbers = [event.number for event in own]
            versions = [event.version for event in own]
            ax.step(
                [*numbers, last],
                [*versions, versions[-1]],
                where="post",
                color=PALETTE[position % len(PALETTE)],
                linestyle=LINES[position % len(LINES)],
                label=f"version of {name}",
            )
        for kind, (words, marker, colour) in MARKS.items():
            found = [event for event in self.events if event.kind == kind]
            if found:
                ax.plot(
                    [event.number for event in found],
                    [event.version for event in found],
                    marker,
                    markersize=10 if kind == "conflict" else 7,
                    color=colour,
                    label=words,
                    zorder=3,
                )
        for axis in (ax.xaxis, ax.yaxis):
            whole_numbers(axis)
        highest = max((event.version for event in self.events), default=0)
        ax.set_ylim(-0.3, highest + 0.5)
        return finish(ax, "Versions of storages", "event number", "version (writes)", "below")


def version_lines(trace: Trace, tensors: Mapping[str, TensorBase]) -> VersionLines:
    """What a trace saw of the storages of `tensors`: saves, writes, uses by backward, conflicts.

    Args:
        trace: open or closed.
        tensors: what to call the storages, by any tensor that looks into them; one that shares the
            storage of an earlier one adds its name.
    """
    names: dict[int, list[str]] = {}
    for name, tensor in named("tensors", tensors).items():
        number = trace.memory_number(tensor)
        if number is not None:
            names.setdefault(number, []).append(name)
    found: list[VersionEvent] = []
    for event in trace.events:
        if event.kind in MARKS:
            found.extend(
                VersionEvent(
                    event.number, ", ".join(names[memory]), event.kind, event.operation, version
                )
                for memory, version in dict.fromkeys(event.versions)
                if memory in names
            )
    return VersionLines(tuple(found))
