"""Comparing programs: curves over a size, bytes against error, and the scoreboard of a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .figures import (
    BLUE,
    GREY,
    LINES,
    MARKERS,
    ORANGE,
    PALETTE,
    RED,
    byte_axis,
    bytes_text,
    finish,
    new_axes,
    time_axis,
    whole_numbers,
)
from .labels import label_points
from .tables import NOTHING, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Curves:
    """Several measures over one size: visits against n, or bytes against the length of a segment.

    Attributes:
        title, x_label, y_label: what stands at the picture; "bytes" as y_label chooses its unit.
        x: the sizes.
        curves: for each measure its values, one for each size.
        logarithmic: a logarithmic y axis, on which 2**n is a straight line.
    """

    title: str
    x_label: str
    y_label: str
    x: Sequence[int]
    curves: Mapping[str, Sequence[float]]
    logarithmic: bool = False

    def minimum(self, name: str) -> int:
        """The size at which a measure is smallest; the first one of several."""
        values = list(self.curves[name])
        return self.x[values.index(min(values))]

    def __repr__(self) -> str:
        columns = list(self.curves.values())
        rows = [
            (f"{size:,}", *(_number(column[position]) for column in columns))
            for position, size in enumerate(self.x)
        ]
        return text_table((self.x_label, *self.curves), rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line with markers for each measure."""
        ax = new_axes() if ax is None else ax
        for position, (name, values) in enumerate(self.curves.items()):
            ax.plot(
                self.x,
                values,
                label=name,
                color=PALETTE[position % len(PALETTE)],
                marker=MARKERS[position % len(MARKERS)],
                linestyle=LINES[position % len(LINES)],
            )
        y_label = self.y_label
        if self.logarithmic:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, position: f"{value:,.6g}")
            y_label += ", logarithmic"
        elif y_label == "bytes":
            most = max((max(values) for values in self.curves.values()), default=0)
            y_label = f"bytes ({byte_axis(ax.yaxis, most)})"
            ax.set_ylim(bottom=0)
        whole_numbers(ax.xaxis)
        return finish(ax, self.title, self.x_label, y_label)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


@dataclass(frozen=True)
class Tradeoff:
    """What each way of saving costs and how exact its gradients are.

    Attributes:
        points: for each way (bytes kept, largest relative error of a gradient); 0 is exact.
    """

    points: Mapping[str, tuple[int, float]]

    def __repr__(self) -> str:
        rows = [
            (name, f"{nbytes:,}", "exact" if error == 0 else f"{error:.1e}")
            for name, (nbytes, error) in self.points.items()
        ]
        return text_table(("way of saving", "bytes", "gradient error"), rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Bytes to the right, error upwards (logarithmic); what is exact stands on the ground."""
        ax = new_axes() if ax is None else ax
        errors = [error for _, error in self.points.values() if error > 0]
        ground = min(errors, default=1e-8) / 100
        for position, (name, (nbytes, error)) in enumerate(self.points.items()):
            ax.plot(
                nbytes,
                error or ground,
                MARKERS[position % len(MARKERS)],
                markersize=9,
                color=PALETTE[position % len(PALETTE)],
                label=name if error else f"{name} (exact)",
            )
        ax.set_yscale("log")
        # The line of what is exact is no place on the logarithmic axis, so no tick stands there.
        powers = [math.log10(error) for error in errors] or [0.0]
        ends = math.floor(min(powers)), math.ceil(max(powers))
        ax.set_yticks([10.0**power for power in range(ends[0], ends[1] + 1)])
        ax.minorticks_off()
        ax.set_ylim(ground / 2, 10 * max(errors, default=ground))
        ax.axhline(ground, color=GREY, linewidth=0.8, zorder=0)
        ax.annotate(
            "error 0",
            (0.99, ground),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
        most = max((nbytes for nbytes, _ in self.points.values()), default=0)
        ax.set_xlim(0, 1.1 * most or 1)
        unit = byte_axis(ax.xaxis, most)
        return finish(
            ax,
            "Bytes kept against error of the gradient",
            f"kept for backward ({unit})",
            "relative error, logarithmic",
            "below",
        )


@dataclass(frozen=True)
class Score:
    """One run: the peak in bytes, simulated nanoseconds, and accuracy between 0 and 1."""

    policy: str
    peak: int
    nanoseconds: int
    accuracy: float


@dataclass(frozen=True)
class Scoreboard:
    """Runs of one program under several policies.

    Attributes:
        scores: one `Score` for each policy.
        budget: bytes that a run may use at most.
        least_accuracy: what a run must reach to count.
    """

    scores: Sequence[Score]
    budget: int
    least_accuracy: float

    def passes(self, score: Score) -> bool:
        """Whether a run stays within the budget and is accurate enough."""
        return score.peak <= self.budget and score.accuracy >= self.least_accuracy

    def ranking(self) -> list[Score]:
        """The runs that pass, fastest first, then the others; equal times by peak."""
        return sorted(self.scores, key=lambda s: (not self.passes(s), s.nanoseconds, s.peak))

    def __repr__(self) -> str:
        rows = []
        for place, score in enumerate(self.ranking(), 1):
            passed = self.passes(score)
            rows.append(
                (
                    str(place) if passed else NOTHING,
                    score.policy,
                    f"{score.peak:,}",
                    "yes" if score.peak <= self.budget else "no",
                    f"{score.nanoseconds:,}",
                    f"{score.accuracy:.3f}",
                )
            )
        headers = ("place", "policy", "peak bytes", "within budget", "simulated ns", "accuracy")
        return (
            f"{text_table(headers, rows)}\n"
            f"budget {self.budget:,} bytes, accuracy at least {self.least_accuracy:.3f}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Simulated time to the right, peak upwards, the budget as a line, the accuracy beside."""
        ax = new_axes(height=4.2) if ax is None else ax
        for passed, colour, marker, label in (
            (True, BLUE, "o", "within budget and accurate"),
            (False, ORANGE, "X", "over budget or inaccurate"),
        ):
            own = [score for score in self.scores if self.passes(score) is passed]
            if own:
                ax.plot(
                    [s.nanoseconds for s in own],
                    [s.peak for s in own],
                    marker,
                    markersize=9,
                    color=colour,
                    label=label,
                )
        ax.axhline(
            self.budget, color=RED, linestyle="--", label=f"budget {bytes_text(self.budget)}"
        )
        most = max([self.budget, *(score.peak for score in self.scores)])
        longest = max((score.nanoseconds for score in self.scores), default=1)
        ax.set_ylim(0, 1.15 * most)
        ax.set_xlim(0, 1.35 * longest)
        peak_unit, time_unit = byte_axis(ax.yaxis, most), time_axis(ax.xaxis, longest)
        finish(ax, "Scoreboard", f"simulated time ({time_unit})", f"peak ({peak_unit})", "below")
        points: dict[str, tuple[float, float]] = {
            f"{score.policy}\naccuracy {score.accuracy:.3f}": (score.nanoseconds, score.peak)
            for score in self.scores
        }
        label_points(ax, points, [self.budget])
        return ax
