"""Bars of the bytes that each operation keeps alive for backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .figures import BLUE, GREY, byte_axis, bytes_text, finish
from .tables import listing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# For each operation: bytes that it is the first to keep, and bytes kept by an earlier one already.
Bars = Mapping[str, tuple[int, int]]
# More operations than this are summed up by their names.
MOST_BARS = 24


def by_name(bars: Bars) -> dict[str, tuple[int, int]]:
    """The operations of one name together, such as "Tanh × 30", in the order of the first."""
    counts: Counter[str] = Counter()
    totals: dict[str, tuple[int, int]] = {}
    for label, (new, shared) in bars.items():
        name = label.partition(" ")[2]
        counts[name] += 1
        before = totals.get(name, (0, 0))
        totals[name] = (before[0] + new, before[1] + shared)
    return {listing([(name, counts[name])]): total for name, total in totals.items()}


def draw_bars(ax: Axes, bars: Bars) -> Axes:
    """A bar for each entry from the top down, with its bytes at its end."""
    new, shared = [n for n, _ in bars.values()], [s for _, s in bars.values()]
    positions = range(len(bars))
    drawn = ax.barh(positions, new, color=BLUE, label="kept by this operation")
    ends = ["" if s else bytes_text(n) for n, s in bars.values()]
    ax.bar_label(drawn, ends, padding=3, fontsize=8)
    if any(shared):
        label = "kept by an operation above already"
        drawn = ax.barh(positions, shared, left=new, color=GREY, label=label)
        ends = [f"{bytes_text(n)} + {bytes_text(s)}" if s else "" for n, s in bars.values()]
        ax.bar_label(drawn, ends, padding=3, fontsize=8)
    ax.set_yticks(positions, list(bars))
    ax.invert_yaxis()
    most = max((n + s for n, s in bars.values()), default=0)
    ax.set_xlim(0, 1.3 * most or 1)
    unit = byte_axis(ax.xaxis, most)
    return finish(ax, "Saved for backward", f"kept alive ({unit})", "operation", "below")
