"""Curves, trade-offs and the scoreboard: the drawn numbers are the given ones."""

import pytest

from tensorplay_ref.inspect import Curves, Score, Scoreboard, Tradeoff, new_axes

VISITS = Curves(
    "Nodes visited",
    "n",
    "visits",
    (1, 2, 3),
    {"recursion": (2, 4, 8), "walk": (1, 2, 3)},
    logarithmic=True,
)
SEGMENTS = Curves("Segments", "length", "bytes", (1, 4, 16), {"peak": (50_000, 20_000, 40_000)})


def test_curves_have_a_line_and_a_column_for_each_measure():
    ax = VISITS.plot()
    drawn = {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines
    }
    assert drawn == {"recursion": ([1, 2, 3], [2, 4, 8]), "walk": ([1, 2, 3], [1, 2, 3])}
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "visits, logarithmic"
    assert len({(line.get_marker(), line.get_linestyle()) for line in ax.lines}) == 2
    assert [line.split() for line in repr(VISITS).splitlines()] == [
        ["n", "recursion", "walk"],
        ["1", "2", "1"],
        ["2", "4", "2"],
        ["3", "8", "3"],
    ]


def test_curves_of_bytes_choose_their_unit_and_know_their_minimum():
    ax = SEGMENTS.plot()
    assert ax.get_ylabel() == "bytes (kB)"
    assert ax.yaxis.get_major_formatter()(20_000) == "20"
    assert SEGMENTS.minimum("peak") == 4
    assert repr(Curves("t", "x", "y", (1,), {"a": (0.125,)})).splitlines()[1].split() == [
        "1",
        "0.125",
    ]


TRADEOFF = Tradeoff({"keep": (40_000, 0.0), "float16": (20_000, 3e-4), "int8": (10_500, 4e-3)})


def test_a_tradeoff_shows_bytes_and_errors_and_what_is_exact():
    ax = TRADEOFF.plot()
    points = {line.get_label(): line for line in ax.lines if line.get_linestyle() == "None"}
    assert list(points) == ["keep (exact)", "float16", "int8"]
    assert [line.get_xdata()[0] for line in points.values()] == [40_000, 20_000, 10_500]
    assert points["float16"].get_ydata()[0] == 3e-4
    assert 0 < points["keep (exact)"].get_ydata()[0] < 3e-4 / 10
    assert ax.get_xlabel() == "kept for backward (kB)"
    assert repr(TRADEOFF).splitlines()[1:] == [
        "keep           40,000  exact",
        "float16        20,000  3.0e-04",
        "int8           10,500  4.0e-03",
    ]


BOARD = Scoreboard(
    [
        Score("keep all", 200_000, 1_000_000, 0.97),
        Score("offload", 90_000, 2_500_000, 0.97),
        Score("int8", 70_000, 1_200_000, 0.955),
        Score("drop", 20_000, 900_000, 0.8),
    ],
    budget=100_000,
    least_accuracy=0.95,
)


def test_the_scoreboard_ranks_what_passes_by_time():
    assert [score.policy for score in BOARD.ranking()] == ["int8", "offload", "drop", "keep all"]
    lines = repr(BOARD).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["1", "2", "-", "-"]
    assert lines[-1] == "budget 100,000 bytes, accuracy at least 0.950"


def test_the_scoreboard_is_drawn_below_its_budget():
    ax = BOARD.plot()
    drawn = {line.get_label(): line for line in ax.lines}
    assert set(drawn) == {
        "within budget and accurate",
        "over budget or inaccurate",
        "budget 100 kB",
    }
    assert list(drawn["budget 100 kB"].get_ydata()) == [100_000, 100_000]
    assert list(drawn["within budget and accurate"].get_ydata()) == [90_000, 70_000]
    assert {text.get_text().splitlines()[0] for text in ax.texts} == {
        score.policy for score in BOARD.scores
    }
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("simulated time (µs)", "peak (kB)")


@pytest.mark.parametrize("report", [VISITS, SEGMENTS, TRADEOFF, BOARD])
def test_every_plot_draws_into_the_axes_it_is_given(report):
    ax = new_axes()
    assert report.plot(ax) is ax
    assert ax.get_title(loc="left") and ax.get_legend() is not None
