"""Figures: where matplotlib is loaded, the colours, units on axes, and showing a picture.

Plots draw into the axes that they are given, or into a figure of their own that no window and no
global state knows of, and return the axes. Nothing here is needed by the text forms of the reports.
"""

from __future__ import annotations

import base64
import importlib
import io
import sys
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Eight colours that the colour-blind tell apart: M. Okabe, K. Ito, "Color Universal Design", 2008.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
RED = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#BBBBBB"
# The first six stay apart for every kind of colour blindness; the last two are like some of them.
PALETTE = (BLUE, ORANGE, SKY, RED, BLACK, YELLOW, GREEN, PURPLE)
# Those that white text can be read on.
DARK = (BLUE, RED, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
# Stored notebooks hold the pictures, so they are as small as a sharp picture can be.
DOTS_PER_INCH = 120


def load(module: str) -> Any:
    """A module of matplotlib, loaded when the first picture is drawn.

    Errors: ModuleNotFoundError that says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(
            "drawing needs matplotlib, which is not installed: pip install matplotlib (or conda "
            "install matplotlib-base). All reports can be read as text without it.",
            name=error.name,
        ) from None


def new_axes(width: float = 7.0, height: float = 3.4) -> Axes:
    """The axes of a new figure, inches wide and high, that matplotlib's pyplot does not know of."""
    axes: Axes = new_figure(width, height).subplots()
    return axes


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, inches wide and high, whose parts make room for each other."""
    make: type[Figure] = load("matplotlib.figure").Figure
    return make(figsize=(width, height), layout="constrained")


def figure_of(ax: Axes) -> Figure:
    """The figure that holds the axes, also when they lie in a part of it."""
    figure: Any = ax.get_figure()
    while figure is not None and figure.get_figure() not in (None, figure):
        figure = figure.get_figure()
    return cast("Figure", figure)


def finish(ax: Axes, title: str, x_label: str, y_label: str, legend: Any = "best") -> Axes:
    """Title, labels, and a legend at `legend` if anything has a label; returns the axes."""
    ax.set_title(title, loc="left")
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    handles, labels = ax.get_legend_handles_labels()
    if handles and legend == "below":
        # Below the label of the axis, which is about as far down in every picture.
        inches = ax.get_position().height * figure_of(ax).get_size_inches()[1]
        below = (0.5, -0.5 / max(inches, 0.1))
        ax.legend(handles, labels, loc="upper center", bbox_to_anchor=below, ncols=3, frameon=False)
    elif handles and legend:
        ax.legend(handles, labels, loc=legend, frameon=False)
    return ax


def whole_numbers(axis: Axis) -> None:
    """Let the ticks of an axis that counts stand at whole numbers."""
    locator: Any = axis.get_major_locator()
    locator.set_params(integer=True)


_BYTES = ((1, "bytes"), (10**3, "kB"), (10**6, "MB"), (10**9, "GB"))
_TIMES = ((1, "ns"), (10**3, "µs"), (10**6, "ms"), (10**9, "s"))


def _unit(largest: float, units: tuple[tuple[int, str], ...]) -> tuple[int, str]:
    # Up to 10,000 of a unit are easier to read than tenths of the next one.
    return next((unit for unit in reversed(units) if largest >= 10 * unit[0]), units[0])


def _scaled(axis: Axis, factor: int, unit: str) -> str:
    axis.set_major_formatter(lambda value, position: f"{value / factor:,.6g}")
    return unit


def byte_axis(axis: Axis, largest: float) -> str:
    """Let an axis of bytes count in the unit that suits its largest value; returns the unit."""
    return _scaled(axis, *_unit(largest, _BYTES))


def time_axis(axis: Axis, largest: float) -> str:
    """The same for an axis of nanoseconds."""
    return _scaled(axis, *_unit(largest, _TIMES))


def bytes_text(nbytes: int) -> str:
    """A rounded size for a label in a picture, such as "12.3 kB"."""
    factor, unit = _unit(nbytes, _BYTES)
    return f"{nbytes / factor:,.4g} {unit}" if factor > 1 else f"{nbytes:,} bytes"


class Picture:
    """A figure as an image, with an alternative text and the numbers it shows. Made by `show`.

    In a notebook the image is followed by both texts, which nbval compares; elsewhere they are its
    repr.
    """

    def __init__(self, png: bytes, alt: str, table: str, width: int) -> None:
        self.png = png
        self.alt = alt
        self.table = table
        self.width = width

    def __repr__(self) -> str:
        return f"[picture: {self.alt}]" + (f"\n{self.table}" if self.table else "")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        data = {
            "image/png": base64.b64encode(self.png).decode("ascii"),
            "text/plain": f"[picture: {self.alt}]",
        }
        return data, {"image/png": {"alt": self.alt, "width": self.width}}

    def _ipython_display_(self) -> None:
        # Two outputs, because a viewer shows only the richest form of each. JupyterLab and most
        # exports give an image no alternative text, so it stands below as a caption.
        data, metadata = self._repr_mimebundle_()
        importlib.import_module("IPython.display").display(data, metadata=metadata, raw=True)
        print(self)


def show(drawn: Axes | Figure, alt: str = "", table: Any = "") -> Picture:
    """A picture to end a cell with: an image, its alternative text, and its numbers as text.

    matplotlib's own way of showing a figure stores a text that says nothing; this one can be
    compared. A figure made by pyplot is closed, so that it is not shown a second time.

    Args:
        drawn: axes or a figure, as every plot here returns them.
        alt: what the picture shows, for those who cannot see it; made from the titles and the
            labels when left out.
        table: the numbers that it shows: text, or anything whose str is a text.
    """
    found: Any = drawn
    if not hasattr(found, "savefig") and not hasattr(found, "get_figure"):
        raise TypeError(f"show: expected axes or a figure, found {type(found).__name__}")
    figure: Figure = found if hasattr(found, "savefig") else figure_of(found)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    file = io.BytesIO()
    # A figure without a layout of its own would cut off what stands outside of its axes.
    tight = None if figure.get_layout_engine() else "tight"
    figure.savefig(
        file, format="png", dpi=DOTS_PER_INCH, bbox_inches=tight, metadata={"Software": None}
    )
    png = file.getvalue()
    # The width stands in the first chunk of every PNG.
    width = int.from_bytes(png[16:20], "big") * 100 // DOTS_PER_INCH
    return Picture(png, alt or description(figure), str(table), width)


def description(figure: Figure) -> str:
    """An alternative text from what is written on a figure: titles, axis labels, legend entries."""
    parts = []
    for ax in figure.axes:
        title = ax.get_title(loc="left") or ax.get_title()
        words = f"{title or 'a plot'}: {ax.get_ylabel() or 'y'} against {ax.get_xlabel() or 'x'}"
        labels = ax.get_legend_handles_labels()[1]
        parts.append(words + (f"; {', '.join(labels)}" if labels else ""))
    return ". ".join(parts)
