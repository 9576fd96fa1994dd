"""The streams of the simulated accelerator: what ran when, what was copied, what overlapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..accelerator import Event
from .figures import BLUE, GREY, ORANGE, SKY, byte_axis, bytes_text, finish, new_axes, time_axis
from .tables import text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STREAMS = ("compute", "to host", "to device")
COLOURS = dict(zip(STREAMS, (BLUE, ORANGE, SKY), strict=True))
# A bar narrower than this part of the picture has no room for a name.
NARROW = 0.06


def _work(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind in ("compute", "copy")]


def draw_streams(ax: Axes, events: Sequence[Event], device: str, begin: int) -> Axes:
    """One lane a stream, a bar for each operation or copy; blocking copies are hatched.

    The axis counts simulated nanoseconds from `begin`.
    """
    work = _work(events)
    length = max((event.end for event in work), default=begin + 1) - begin
    seen: set[str] = set()
    for event in work:
        hatch = "///" if event.blocking else ""
        label = event.stream if event.kind == "compute" else f"copy {event.stream}"
        label += ", waited for" if event.blocking else ""
        ax.barh(
            STREAMS.index(event.stream),
            event.end - event.start,
            left=event.start - begin,
            height=0.7,
            color=COLOURS[event.stream],
            edgecolor="white",
            linewidth=0.5,
            hatch=hatch,
            label="" if label in seen else label,
        )
        seen.add(label)
        if event.end - event.start > NARROW * length:
            ax.annotate(
                event.operation,
                ((event.start + event.end) / 2 - begin, STREAMS.index(event.stream)),
                ha="center",
                va="center",
                fontsize=7,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
            )
    ax.set_yticks(range(len(STREAMS)), STREAMS)
    ax.set_ylim(len(STREAMS) - 0.5, -0.5)
    ax.set_xlim(min((event.start - begin for event in work), default=0), length)
    unit = time_axis(ax.xaxis, length)
    title = f"Streams of {device} (simulated)"
    return finish(ax, title, f"simulated time ({unit})", "stream", "below")


def streams_text(events: Sequence[Event]) -> str:
    """For each stream: pieces of work, bytes, busy time, and the part of it beside computing."""
    work = _work(events)
    computing = [(e.start, e.end) for e in work if e.stream == "compute"]
    rows = []
    for stream in STREAMS:
        own = [event for event in work if event.stream == stream]
        busy = sum(event.end - event.start for event in own)
        beside = "-" if stream == "compute" else f"{_overlap(own, computing):,}"
        rows.append((stream, str(len(own)), f"{sum(e.nbytes for e in own):,}", f"{busy:,}", beside))
    elapsed = max((e.end for e in work), default=0) - min((e.start for e in work), default=0)
    headers = ("stream", "pieces of work", "bytes", "busy ns", "beside computing ns")
    return f"{text_table(headers, rows)}\nfrom first to last: {elapsed:,} ns of simulated time"


def _overlap(own: Sequence[Event], computing: Sequence[tuple[int, int]]) -> int:
    """Time in which both run; both lists are in order, for a stream does one thing at a time."""
    total, first = 0, 0
    for event in own:
        while first < len(computing) and computing[first][1] <= event.start:
            first += 1
        for start, end in computing[first:]:
            if start >= event.end:
                break
            total += min(end, event.end) - max(start, event.start)
    return total


def copied_bytes(events: Sequence[Event]) -> dict[str, int]:
    """Bytes copied over the link, by direction."""
    copied = {"to host": 0, "to device": 0}
    for event in events:
        if event.kind == "copy":
            copied[event.stream] += event.nbytes
    return copied


class HasCopies(Protocol):
    """What `plot_copied` draws: a Timeline, or anything that knows what was copied."""

    def copied(self) -> dict[str, int]:
        """Bytes "to host" and "to device"."""


def plot_copied(policies: Mapping[str, HasCopies], ax: Axes | None = None) -> Axes:
    """Bars of the bytes that each policy moved to the host and back."""
    ax = new_axes(7.0, 1.3 + 0.6 * len(policies)) if ax is None else ax
    copied = [policy.copied() for policy in policies.values()]
    most = max((max(c.values()) for c in copied), default=0)
    for place, direction in ((-0.2, "to host"), (0.2, "to device")):
        values = [c[direction] for c in copied]
        positions = [position + place for position in range(len(values))]
        bars = ax.barh(
            positions, values, height=0.38, color=COLOURS[direction], label=f"copied {direction}"
        )
        ax.bar_label(bars, [bytes_text(value) for value in values], padding=3, fontsize=8)
    ax.set_yticks(range(len(policies)), list(policies))
    ax.invert_yaxis()
    ax.set_xlim(0, 1.2 * most or 1)
    ax.axvline(0, color=GREY)
    unit = byte_axis(ax.xaxis, most)
    return finish(ax, "Bytes over the link (simulated)", f"copied ({unit})", "policy", "below")
