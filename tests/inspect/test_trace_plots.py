"""The data of the pictures of a trace: lanes, lines, steps, labels, legends."""

import pytest

from tensorplay_ref.inspect import new_axes, trace
from tests.inspect.programs import leaf, two_layers
from tests.inspect.test_trace import Counting


@pytest.fixture
def traced():
    with trace() as t:
        with Counting():
            y = leaf(3).exp().tanh()
        y.sum().backward()
    return t


def test_lanes_have_a_bar_or_a_mark_for_each_event(traced):
    ax = traced.plot()
    lanes = [label.get_text() for label in ax.get_yticklabels()]
    assert lanes == ["forward", "save", "pack", "backward", "unpack", "accumulate", "release"]
    bars = [patch for patch in ax.patches if patch.get_width() > 0]
    assert len(bars) == traced.count("forward") + traced.count("backward")
    places = {
        (x, lanes[y])
        for line in ax.lines
        if line.get_marker() == "s"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    expected = {(e.number, e.kind) for e in traced.events if e.kind not in ("forward", "backward")}
    assert places == expected


def test_a_line_joins_the_pack_and_the_unpack_of_each_slot(traced):
    ax = traced.plot()
    packs = {e.slot_number: e.number for e in traced.of("pack")}
    expected = sorted((packs[e.slot_number], e.number) for e in traced.of("unpack"))
    joins = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert sorted(join for join in joins if join in set(expected)) == expected


def test_a_forward_bar_lasts_over_its_saves_and_packs(traced):
    ax = traced.plot()
    first = min(ax.patches, key=lambda patch: patch.get_x())
    assert (first.get_x(), first.get_width()) == pytest.approx((0.65, 2.7))


def test_operations_are_named_while_there_is_room(traced):
    names = {text.get_text() for text in traced.plot().texts}
    assert {"1 Exp", "2 Tanh", "3 Sum"} <= names
    with trace() as long:
        for _ in range(30):
            two_layers()
    assert not long.plot().texts


def test_titles_labels_and_legend(traced):
    ax = traced.plot()
    assert ax.get_title(loc="left") == "What happened, in order"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("event number", "kind of event")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["pack and unpack of one slot"]


def test_the_order_picture_crosses_its_lines(traced):
    ax = traced.plot_order()
    lines = [tuple(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert lines == [(2, 1), (1, 2)]
    labels = [text.get_text() for text in ax.texts]
    assert labels == ["1 Exp.result", "2 Tanh.result", "2 Tanh.result", "1 Exp.result"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["pack", "unpack"]


def test_saved_bytes_are_a_step_line(traced):
    ax = traced.plot_saved_bytes()
    line = ax.lines[0]
    assert list(line.get_xdata()) == [0, *(e.number for e in traced.events)]
    assert list(line.get_ydata()) == [0, *traced.saved_bytes()]
    assert line.get_drawstyle() == "steps-post"
    assert ax.get_ylabel() == "kept alive (bytes)"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["kept for backward", "backward"]


def test_every_plot_draws_into_the_axes_it_is_given(traced):
    for plot in (traced.plot, traced.plot_order, traced.plot_saved_bytes):
        ax = new_axes()
        assert plot(ax) is ax
        assert ax.has_data()


def test_a_trace_without_events_can_be_drawn():
    with trace() as t:
        pass
    for plot in (t.plot, t.plot_order, t.plot_saved_bytes):
        assert plot() is not None
