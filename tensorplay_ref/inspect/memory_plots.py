"""Drawing live bytes: stacked by category, with the capacity and the owners of the peak."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..accelerator import CATEGORIES
from .figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    YELLOW,
    byte_axis,
    bytes_text,
    figure_of,
    finish,
    new_figure,
    time_axis,
    whole_numbers,
)
from .memory_series import Peak, Series

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

COLOURS = dict(zip(CATEGORIES, (BLUE, YELLOW, ORANGE, SKY), strict=True))
OTHERS = (GREEN, PURPLE)
# A capacity further above the peak than this would press the bytes into the bottom of the picture.
FAR_ABOVE = 3


def colour_of(category: str, position: int) -> str:
    """The colour of a category, the same in every picture; others by their position."""
    return COLOURS.get(category) or OTHERS[position % len(OTHERS)]


def draw_memory(
    ax: Axes,
    series: Series,
    capacity: int | None,
    peak: Peak | None,
    over_time: bool = False,
    legend: str = "below",
) -> Axes:
    """Stacked steps, the capacity as a line, and the peak with what lived then."""
    points = [*series.points, series.points[-1] + max(1, series.points[-1] // 50)]
    columns = [[*column, column[-1]] for column in series.by_category.values()]
    colours = [colour_of(name, position) for position, name in enumerate(series.by_category)]
    if columns:
        ax.stackplot(points, columns, labels=list(series.by_category), colors=colours, step="post")
    most = max(series.totals)
    if capacity is not None and capacity <= FAR_ABOVE * most:
        ax.axhline(capacity, color=RED, linestyle="--", label=f"capacity {bytes_text(capacity)}")
        most = max(most, capacity)
    elif capacity is not None:
        label = f"capacity {bytes_text(capacity)}, above the picture"
        ax.plot((), (), color=RED, linestyle="--", label=label)
    unit = byte_axis(ax.yaxis, most)
    ax.set_ylim(0, 1.1 * most or 1)
    if peak is not None:
        ax.set_ylim(0, 1.45 * most or 1)
        _mark_peak(ax, series, peak)
    if over_time:
        x_label = f"simulated time ({time_axis(ax.xaxis, points[-1])})"
    else:
        x_label = "event number"
        whole_numbers(ax.xaxis)
    ax.set_xlim(points[0], points[-1])
    simulated = "" if capacity is None else " (simulated)"
    return finish(
        ax, f"Memory of {series.device}{simulated}", x_label, f"bytes live ({unit})", legend
    )


def _mark_peak(ax: Axes, series: Series, peak: Peak) -> None:
    position = series.peak_position
    x, y = series.points[position], series.totals[position]
    ax.plot(x, y, "v", color=BLACK, markersize=8, label=f"peak {bytes_text(y)}", clip_on=False)
    owners = [
        f"{bytes_text(owner.nbytes)}  {owner.operation}, {owner.category}"
        for owner in peak.owners[:3]
    ]
    rest = sum(owner.nbytes for owner in peak.owners[3:])
    if rest:
        owners.append(f"{bytes_text(rest)}  others")
    on_the_right = x < (series.points[0] + series.points[-1]) / 2
    ax.annotate(
        "\n".join(["lives at the peak:", *owners]),
        (0.99 if on_the_right else 0.01, 0.98),
        xycoords="axes fraction",
        ha="right" if on_the_right else "left",
        va="top",
        fontsize=8,
        linespacing=1.3,
    )


class HasMemory(Protocol):
    """What `gallery` draws: a Timeline, or a recorder of the reader's own that answers likewise."""

    def series(self) -> Series:
        """Live bytes by category of the first device."""

    def capacity_of(self) -> int | None:
        """Bytes that it has."""


def gallery(timelines: Mapping[str, HasMemory], columns: int = 3) -> list[Axes]:
    """Several timelines side by side on one scale, each under its title, without their peaks."""
    rows = math.ceil(len(timelines) / columns)
    figure = new_figure(3.1 * columns, 2.5 * rows + 0.5)
    grid = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
    axes: list[Axes] = []
    most = max((max(t.series().totals) for t in timelines.values()), default=1)
    capacities = [t.capacity_of() for t in timelines.values()]
    for ax, (title, timeline), capacity in zip(grid, timelines.items(), capacities, strict=False):
        draw_memory(ax, timeline.series(), capacity, None, legend="")
        ax.set_title(title, loc="left")
        byte_axis(ax.yaxis, most)
        axes.append(ax)
    for ax in grid[len(axes) :]:
        ax.set_axis_off()
    near = [c for c in capacities if c is not None and c <= FAR_ABOVE * most]
    axes[0].set_ylim(0, 1.15 * max([most, *near]))
    _common_legend(axes)
    return axes


def _common_legend(axes: Sequence[Axes]) -> None:
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure_of(axes[0]).legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=4, frameon=False
    )
