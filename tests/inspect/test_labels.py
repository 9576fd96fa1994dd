"""Labels of points: each can be read, and each stands with its own point."""

import itertools

import numpy as np
import pytest
from matplotlib.text import Text

from tensorplay_ref.inspect import Score, Scoreboard, new_axes
from tensorplay_ref.inspect.figures import figure_of
from tensorplay_ref.inspect.labels import label_points

CROWD = {
    "first of four": (2.00, 2.00),
    "second": (2.04, 2.10),
    "the third of them": (1.97, 2.06),
    "fourth": (2.03, 1.94),
    "far away": (4.0, 3.0),
}


def boxes(ax):
    figure_of(ax).draw_without_rendering()
    return {text.get_text(): Text.get_window_extent(text) for text in ax.texts}


def axes_with(points):
    ax = new_axes()
    ax.plot(*zip(*points.values(), strict=True), "o")
    ax.set_xlim(0, 5)
    ax.set_ylim(0, 4)
    return ax


def test_no_label_covers_another_one_a_point_or_a_line():
    ax = axes_with(CROWD)
    label_points(ax, CROWD, [2.3])
    found = boxes(ax)
    assert set(found) == set(CROWD)
    for one, other in itertools.combinations(found.values(), 2):
        assert not one.overlaps(other)
    line = ax.transData.transform((0, 2.3))[1]
    for box in found.values():
        assert not box.y0 < line < box.y1
        assert ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
        for point in CROWD.values():
            assert not box.contains(*ax.transData.transform(point))


def test_a_label_with_room_stands_beside_its_point():
    ax = axes_with(CROWD)
    label_points(ax, {"far away": CROWD["far away"]})
    (label,) = ax.texts
    assert label.arrow_patch is None
    x, y = ax.transData.transform(CROWD["far away"])
    box = boxes(ax)["far away"]
    assert 0 < box.x0 - x < 20
    assert box.y0 < y < box.y1


def test_a_label_that_stands_further_away_is_tied_to_its_point():
    crowd = {f"point {number}": (2.0 + number / 100, 2.0) for number in range(9)}
    ax = axes_with(crowd)
    label_points(ax, crowd)
    assert any(label.arrow_patch is not None for label in ax.texts)
    for one, other in itertools.combinations(boxes(ax).values(), 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize("apart", [0.0, 0.01, 0.05])
def test_the_labels_of_a_scoreboard_can_be_read(apart):
    rng = np.random.default_rng(0)
    scores = [
        Score(f"policy {number}", 2_400_000 + int(peak), 2_800_000_000 + int(time), 0.967)
        for number, (peak, time) in enumerate(apart * rng.normal(size=(4, 2)) * 3e6)
    ]
    scores.append(Score("plain", 5_508_872, 2_191_574_160, 0.967))
    ax = Scoreboard(scores, 3_250_000, 0.95).plot()
    for one, other in itertools.combinations(boxes(ax).values(), 2):
        assert not one.overlaps(other)
