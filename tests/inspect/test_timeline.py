"""timeline(): live bytes, peaks and streams, in agreement with the ledger."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorplay_ref as tp
from tensorplay_ref.accelerator import events as ledger_events
from tensorplay_ref.autograd.graph import save_on_cpu
from tensorplay_ref.inspect import timeline
from tensorplay_ref.inspect.memory_series import turning_points
from tests.inspect.programs import FLOAT, loss_of, network


def train(pin_memory=None, capacity=200_000, devices=()):
    """A recorded step: its timeline, the ledger's own peak, and what lives on the host at most."""
    with tp.cuda.simulate(capacity=capacity) as device:
        parts = network(device)
        tp.cuda.reset_peak_memory_stats()
        tp.cuda.reset_peak_host_memory_stats()
        with timeline(*devices) as t:
            if pin_memory is None:
                loss = loss_of(*parts)
            else:
                with save_on_cpu(pin_memory=pin_memory):
                    loss = loss_of(*parts)
            loss.backward()
            del loss
        peaks = tp.cuda.max_memory_allocated(), tp.cuda.max_host_memory_allocated()
        del parts
    return t, *peaks


def test_the_series_follows_the_ledger_event_by_event():
    t, peak, _ = train()
    series = t.series()
    assert series.totals[0] == (64 * 20 + 4 * 20 * 20) * FLOAT
    assert list(series.totals[1:]) == [t.events[n - 1].live for n in series.points[1:]]
    assert max(series.totals) == peak == t.peak.nbytes


def test_the_peak_names_everything_that_lived():
    t, peak, _ = train()
    assert sum(owner.nbytes for owner in t.peak.owners) == peak
    assert t.events[t.peak.event - 1].live == peak
    sizes = [owner.nbytes for owner in t.peak.owners]
    assert sizes == sorted(sizes, reverse=True)
    assert t.peak.capacity == 200_000
    assert str(t.peak).startswith(f"peak of cuda:0: {peak:,} bytes at event {t.peak.event}: ")


def test_the_host_has_a_peak_of_its_own():
    t, _, host_peak = train(pin_memory=True)
    assert host_peak > 0
    assert t.peak_of("host").nbytes == host_peak
    assert t.peak_of("cpu").capacity is None
    assert list(t.series("host").by_category) == ["saved for backward"]


def test_in_simulated_time_the_same_bytes_come_and_go():
    t, _, _ = train(pin_memory=True)
    series = t.series(against="time")
    assert series.points[0] == 0
    assert list(series.points) == sorted(set(series.points))
    assert series.totals[0] >= (64 * 20 + 4 * 20 * 20) * FLOAT
    assert series.totals[-1] == t.series().totals[-1]
    assert all(nbytes >= 0 for column in series.by_category.values() for nbytes in column)
    assert max(series.totals) <= t.capacity_of()


def test_offloading_moves_the_peak_to_the_host():
    plain, peak, _ = train()
    offloaded, lower, _ = train(pin_memory=False)
    assert lower < peak
    assert plain.copied() == {"to host": 0, "to device": 0}
    copied = offloaded.copied()
    assert copied["to host"] == copied["to device"] == offloaded.peak_of("host").nbytes


def test_the_table_shows_the_ends_the_peak_and_what_happened():
    t, peak, _ = train()
    heading, headers, *rows = t.table().splitlines()
    assert heading == (
        f"cuda:0 (simulated), capacity 200,000 bytes: peak {peak:,} bytes "
        f"at event {t.peak.event} of {len(t.events)}"
    )
    assert headers.split("  ")[0] == "event"
    assert rows[0].split()[:2] == ["0", "before"]
    (marked,) = [row for row in rows if row.endswith("peak")]
    assert re.split("  +", marked.strip())[-2] == f"{peak:,}"
    assert 4 <= len(rows) <= 10


def test_the_full_table_has_a_row_for_each_change():
    t, _, _ = train()
    rows = t.table(full=True).splitlines()[2:]
    assert len(rows) == len(t.series().points)


def test_the_text_shows_every_memory_that_changed():
    t, _, _ = train(pin_memory=True)
    assert repr(t) == f"{t.table()}\n\n{t.table('host')}"
    with tp.cuda.simulate(), timeline() as nothing:
        pass
    assert repr(nothing) == "nothing happened on cuda:0, host"
    assert repr(timeline()) == "a timeline that has not been opened"


def test_equal_programs_have_equal_timelines():
    first, second = train(pin_memory=True)[0], train(pin_memory=True)[0]
    assert repr(first) == repr(second)
    assert first.streams() == second.streams()


def test_streams_tell_how_much_ran_beside_the_computing():
    overlapped = train(pin_memory=True)[0].streams()
    waited = train(pin_memory=False)[0].streams()
    beside = {line.split("  ")[0]: line.split()[-1] for line in overlapped.splitlines()[1:4]}
    assert beside["compute"] == "-"
    assert int(beside["to host"].replace(",", "")) > 0
    for line in waited.splitlines()[2:4]:
        assert line.split()[-1] == "0"
    assert overlapped.splitlines()[-1].startswith("from first to last: ")


def test_a_refused_allocation_changes_no_series():
    with tp.cuda.simulate(capacity=1000) as device, timeline() as t:
        with pytest.raises(tp.cuda.OutOfMemoryError):
            tp.zeros(500, device=device)
    assert [event.kind for event in t.events] == ["refuse"]
    assert t.series().totals == (0,)


def test_several_devices_are_kept_apart():
    with tp.cuda.simulate(index=1) as second, timeline("cuda:1", "host") as t:
        x = tp.zeros(8, device=second)
        tp.zeros(8, device="cuda:0")
        del x
    assert {event.device for event in t.events} == {"cuda:1"}
    assert t.peak.nbytes == 8 * FLOAT
    with pytest.raises(ValueError, match="cuda:0 was not recorded; recorded are cuda:1, host"):
        t.series("cuda")


def test_wrong_use_is_refused():
    t = timeline()
    with pytest.raises(RuntimeError, match="has not been opened"):
        t.series()
    with t:
        pass
    with pytest.raises(RuntimeError, match="opened once"), t:
        pass
    with pytest.raises(ValueError, match="against must be 'events' or 'time', found 'bytes'"):
        t.series(against="bytes")
    assert ledger_events.RECORDERS == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(4, 12))
def test_turning_points_hold_the_ends_and_the_largest(values, at_most):
    found = turning_points(values, at_most)
    assert found == sorted(set(found))
    assert {0, len(values) - 1, values.index(max(values))} <= set(found)
    assert len(found) <= at_most + 2


def test_a_large_swing_is_among_the_turning_points():
    values = [0, 100, 90, 100, 5, 100, 95, 100, 0]
    assert 4 in turning_points(values, 6)
