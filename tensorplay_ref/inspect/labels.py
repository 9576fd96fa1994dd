"""Labels of points, placed so that all of them can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .figures import GREY, figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Place = tuple[float, float]
# Left, lower, right and upper edge. All lengths are points of type, as offsets of texts are.
Box = tuple[float, float, float, float]

_MARK = 5.0
# From a point to the middle of its text's nearer side: right and up, nearer ones are tried first.
_BESIDE = [(right, up) for up in (0, 9, -9) for right in (7, -7)]
_FURTHER = [
    (far * right, far * up)
    for far in (20, 32, 44, 56, 68)
    for right, up in ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
]
_TIE = {"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkA": 0, "shrinkB": _MARK}


def label_points(ax: Axes, points: Mapping[str, Place], lines: Sequence[float] = ()) -> None:
    """Write each text near its point, where it covers no other text, no point and no line.

    A text that finds no room just beside its point stands further away, tied to it by a thin line.
    To be called when limits, title and legend are there, since they decide how much room there is.

    Args:
        ax: the axes that the points are drawn in.
        points: for each text its point, in the units of the axes.
        lines: heights of horizontal lines, in the units of the axes.
    """
    figure_of(ax).draw_without_rendering()
    dots = figure_of(ax).dpi / 72
    box: Any = ax.bbox
    room: Any = box.extents / dots
    places: list[Any] = [ax.transData.transform(point) / dots for point in points.values()]
    taken = [_around(place, _MARK) for place in places]
    for line in lines:
        y = ax.transData.transform((0, line))[1] / dots
        taken.append((room[0], y - 1, room[2], y + 1))
    from_the_top = sorted(zip(points.items(), places, strict=True), key=lambda row: -row[1][1])
    for (text, point), place in from_the_top:
        size = _size(ax, text) / dots
        boxes = {step: _box(place, step, size) for step in (*_BESIDE, *_FURTHER)}
        free = [step for step, box in boxes.items() if _is_free(box, room, taken)] or _BESIDE[:1]
        step = next((step for step in free if _reaches(place, step, taken)), free[0])
        taken.append(boxes[step])
        _write(ax, text, point, step)


def _size(ax: Axes, text: str) -> Any:
    measured = ax.text(0, 0, text, fontsize=8)
    size = measured.get_window_extent().size
    measured.remove()
    return size


def _is_free(box: Box, room: Box, taken: Sequence[Box]) -> bool:
    inside = room[0] <= box[0] and room[1] <= box[1] and box[2] <= room[2] and box[3] <= room[3]
    return inside and not any(_meet(box, other) for other in taken)


def _reaches(place: Place, step: tuple[int, int], taken: Sequence[Box]) -> bool:
    """Whether the line from a point to its text runs through nothing else."""
    if step in _BESIDE:
        return True
    (x, y), (right, up) = place, step
    length = max(abs(right), abs(up))
    spots = [(x + right * part / length, y + up * part / length) for part in range(length)]
    # What lies around the point itself cannot be avoided by a line that begins there.
    others = [other for other in taken if not _meet(_around(place, _MARK), other)]
    return not any(_meet(_around(spot, 0.5), other) for spot in spots for other in others)


def _write(ax: Axes, text: str, point: Place, step: tuple[int, int]) -> None:
    right, _ = step
    ax.annotate(
        text,
        point,
        xytext=step,
        textcoords="offset points",
        fontsize=8,
        ha="left" if right > 0 else "right" if right < 0 else "center",
        va="center",
        arrowprops=None if step in _BESIDE else _TIE,
    )


def _box(place: Place, step: Place, size: Place) -> Box:
    """The box of a text one step from the place."""
    (x, y), (right, up), (width, height) = place, step, size
    left = x + right - (0 if right > 0 else width if right < 0 else width / 2)
    return left, y + up - height / 2, left + width, y + up + height / 2


def _around(place: Place, far: float) -> Box:
    x, y = place
    return x - far, y - far, x + far, y + far


def _meet(one: Box, other: Box) -> bool:
    return not (
        one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    )
