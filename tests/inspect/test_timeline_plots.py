"""The data of the pictures of memory and streams: stacks, lines, bars, units, legends."""

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.inspect import gallery, new_axes, plot_copied, timeline
from tensorplay_ref.inspect.figures import figure_of
from tests.inspect.test_timeline import train


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def top_of(collection):
    """The upper edge of a stack: for each x the largest y."""
    top = {}
    for x, y in collection.get_paths()[0].vertices:
        top[x] = max(top.get(x, 0), y)
    return top


def test_stacks_reach_the_bytes_of_their_categories():
    t = train()[0]
    series = t.series()
    ax = t.plot()
    columns = np.cumsum([*series.by_category.values()], axis=0)
    for drawn, column in zip(ax.collections, columns, strict=True):
        top = top_of(drawn)
        # At a step both values stand above one x, so the larger one is the top.
        for position, point in enumerate(series.points):
            before = column[position - 1] if position else 0
            assert top[point] == max(column[position], before)
    assert legend_of(ax)[: len(series.by_category)] == list(series.by_category)


def test_capacity_and_peak_are_marked():
    t, peak, _ = train(capacity=100_000)
    ax = t.plot()
    assert "capacity 100 kB" in legend_of(ax)
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines["capacity 100 kB"].get_ydata()) == [100_000, 100_000]
    (mark,) = [line for line in ax.lines if line.get_marker() == "v"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (t.peak.event, peak)
    (words,) = [text.get_text() for text in ax.texts]
    assert words.startswith("lives at the peak:")
    assert t.peak.owners[0].operation in words


def test_a_capacity_far_above_is_named_and_not_drawn():
    t, peak, _ = train(capacity=10_000_000)
    ax = t.plot()
    assert "capacity 10 MB, above the picture" in legend_of(ax)
    assert ax.get_ylim()[1] < 2 * peak


def test_units_and_titles():
    t = train()[0]
    ax = t.plot()
    assert ax.get_title(loc="left") == "Memory of cuda:0 (simulated)"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("event number", "bytes live (kB)")
    assert ax.yaxis.get_major_formatter()(20_000) == "20"
    ax = t.plot(against="time")
    assert ax.get_xlabel() == "simulated time (µs)"
    assert ax.xaxis.get_major_formatter()(150_000) == "150"
    assert t.plot(device="host").get_title(loc="left") == "Memory of host"


def test_devices_stand_below_each_other_on_one_axis():
    t = train(pin_memory=True)[0]
    axes = t.plot_devices()
    assert [ax.get_title(loc="left") for ax in axes] == [
        "Memory of cuda:0 (simulated)",
        "Memory of host",
    ]
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert axes[0].get_xlim()[1] >= max(t.series(d).points[-1] for d in t.devices)
    assert len(train()[0].plot_devices()) == 1


def test_streams_have_a_bar_for_each_piece_of_work():
    t = train(pin_memory=True)[0]
    ax = t.plot_streams()
    work = [event for event in t.events if event.kind in ("compute", "copy")]
    begin = t._begin["cuda:0"]
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [
        (event.start - begin, event.end - event.start) for event in work
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "compute",
        "to host",
        "to device",
    ]
    assert legend_of(ax) == ["compute", "copy to host", "copy to device"]
    assert "copy to host, waited for" in legend_of(train(pin_memory=False)[0].plot_streams())
    assert ax.get_xlabel() == "simulated time (µs)"


def test_copied_bytes_are_bars_for_each_policy():
    policies = {"keep": train()[0], "save_on_cpu": train(pin_memory=False)[0]}
    ax = plot_copied(policies)
    to_host, to_device = ax.containers
    assert [bar.get_width() for bar in to_host] == [
        t.copied()["to host"] for t in policies.values()
    ]
    assert [bar.get_width() for bar in to_device] == [
        t.copied()["to device"] for t in policies.values()
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(policies)
    assert legend_of(ax) == ["copied to host", "copied to device"]


def test_a_gallery_shares_its_scale_and_gives_nothing_away():
    timelines = {"A": train()[0], "B": train(pin_memory=True)[0], "C": train()[0], "D": train()[0]}
    axes = gallery(timelines)
    assert [ax.get_title(loc="left") for ax in axes] == list("ABCD")
    assert len({ax.get_ylim() for ax in axes}) == 1
    assert not any(ax.texts or ax.get_legend() for ax in axes)
    (legend,) = figure_of(axes[0]).legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels)) and "saved for backward" in labels


def test_every_plot_draws_into_the_axes_it_is_given():
    t = train(pin_memory=True)[0]
    for plot in (t.plot, t.plot_streams, lambda ax: plot_copied({"one": t}, ax)):
        ax = new_axes()
        assert plot(ax) is ax
        assert ax.has_data()


@pytest.mark.parametrize("against", ["events", "time"])
def test_an_empty_timeline_can_be_drawn(against):
    with tp.cuda.simulate(), timeline() as t:
        pass
    assert t.plot(against=against).get_ylim()[1] > 0
    assert t.plot_streams() is not None
    assert len(t.plot_devices()) == 1
