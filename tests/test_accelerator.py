"""The ledger: every storage counted once, a capacity that holds, events for whoever records."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplay_ref.accelerator import (
    HOST,
    LESSON,
    Accelerator,
    Allocation,
    OutOfMemoryError,
    Owner,
    recording,
)


def accelerator(capacity: int = 1_000) -> Accelerator:
    return Accelerator("cuda:0", replace(LESSON, capacity=capacity))


def books(ledger: Accelerator) -> tuple[object, ...]:
    live, peak = ledger.memory_allocated(), ledger.max_memory_allocated()
    return live, peak, ledger.owners(), ledger.mem_get_info(), ledger.elapsed(), ledger.issued


def test_allocating_and_freeing_counts_the_bytes() -> None:
    ledger = accelerator()
    first = ledger.allocate(300, "matmul")
    second = ledger.allocate(200, "relu", "parameters")
    assert ledger.memory_allocated() == 500
    assert ledger.mem_get_info() == (500, 1_000)
    ledger.free(first)
    assert ledger.memory_allocated() == 200
    assert (first.live, second.live) == (False, True)


def test_freeing_twice_frees_once() -> None:
    ledger = accelerator()
    kept, dropped = ledger.allocate(300, "a"), ledger.allocate(200, "b")
    ledger.free(dropped)
    ledger.free(dropped)
    assert ledger.memory_allocated() == kept.nbytes
    assert ledger.mem_get_info() == (700, 1_000)


def test_a_storage_of_no_bytes_is_an_owner_and_takes_no_room() -> None:
    ledger = accelerator(capacity=0)
    empty = ledger.allocate(0, "zeros", "inputs")
    assert ledger.owners() == [Owner("zeros", "inputs", 0, 1)]
    ledger.free(empty)
    assert ledger.owners() == []


def test_a_negative_size_is_refused() -> None:
    ledger = accelerator()
    before = books(ledger)
    with pytest.raises(ValueError, match="matmul asked cuda:0 for -1 bytes"):
        ledger.allocate(-1, "matmul")
    assert books(ledger) == before


def test_the_peak_remembers_the_most_and_can_begin_again() -> None:
    ledger = accelerator()
    first, second = ledger.allocate(300, "a"), ledger.allocate(200, "b")
    ledger.free(first)
    assert (ledger.memory_allocated(), ledger.max_memory_allocated()) == (200, 500)
    ledger.reset_peak_memory_stats()
    assert ledger.max_memory_allocated() == 200
    ledger.free(second)
    ledger.allocate(250, "c")
    assert ledger.max_memory_allocated() == 250


def test_live_bytes_are_known_by_category_and_by_owner() -> None:
    ledger = accelerator()
    ledger.allocate(300, "matmul", "saved for backward")
    ledger.allocate(100, "matmul", "saved for backward")
    ledger.allocate(100, "matmul")
    ledger.allocate(150, "tensor", "parameters")
    ledger.allocate(20, "relu")
    assert ledger.live_by_category() == {
        "parameters": 150,
        "saved for backward": 400,
        "temporaries": 120,
    }
    assert ledger.largest(2) == [
        Owner("matmul", "saved for backward", 400, 2),
        Owner("tensor", "parameters", 150, 1),
    ]
    assert len(ledger.owners()) == 4


def test_relabelling_moves_the_bytes_and_not_the_peak() -> None:
    ledger = accelerator()
    weight = ledger.allocate(400, "tensor")
    ledger.relabel(weight, "parameters")
    assert weight.category == "parameters"
    assert ledger.live_by_category() == {"parameters": 400}
    assert ledger.memory_allocated() == ledger.max_memory_allocated() == 400
    ledger.free(weight)
    ledger.relabel(weight, "gradients")
    assert weight.category == "parameters"
    assert ledger.live_by_category() == {}


def test_the_last_byte_can_be_used_and_not_one_more() -> None:
    ledger = accelerator(capacity=1_000)
    ledger.allocate(1_000, "all")
    ledger.allocate(0, "nothing")
    with pytest.raises(OutOfMemoryError):
        ledger.allocate(1, "more")


def test_a_refused_allocation_leaves_everything_as_it_was() -> None:
    ledger = accelerator()
    kept = ledger.allocate(700, "matmul")
    ledger.compute("matmul", 100, 0, writes=kept)
    before = books(ledger)
    for _ in range(3):
        with pytest.raises(OutOfMemoryError):
            ledger.allocate(301, "relu")
    assert books(ledger) == before
    ledger.allocate(300, "relu")
    assert ledger.memory_allocated() == 1_000


def test_out_of_memory_names_who_asked_what_lives_and_the_way_out() -> None:
    ledger = accelerator(capacity=1_000_000)
    ledger.allocate(500_000, "matmul", "saved for backward")
    ledger.allocate(100_000, "matmul", "saved for backward")
    ledger.allocate(250_000, "tensor", "parameters")
    ledger.allocate(50_000, "relu")
    ledger.allocate(10_000, "add")
    with pytest.raises(OutOfMemoryError) as caught:
        ledger.allocate(200_000, "softmax")
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert (error.device, error.operation, error.requested) == ("cuda:0", "softmax", 200_000)
    assert (error.live, error.capacity) == (910_000, 1_000_000)
    assert error.owners == ledger.largest(3)
    text = str(error)
    assert "simulated" in text
    assert "softmax asked for 200,000 bytes" in text
    assert "910,000 of 1,000,000 bytes are live and 90,000 are free" in text
    assert "matmul (saved for backward): 600,000 bytes in 2 storages" in text
    assert "tensor (parameters): 250,000 bytes in 1 storage;" in text
    assert "relu (temporaries): 50,000 bytes in 1 storage." in text
    assert "add" not in text
    assert "Way out:" in text and "save_on_cpu" in text and "capacity=" in text


def test_out_of_memory_can_be_sent_to_another_process() -> None:
    ledger = accelerator(capacity=10)
    with pytest.raises(OutOfMemoryError) as caught:
        ledger.allocate(11, "matmul")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert vars(copy) == vars(caught.value)
    assert "Largest owners: none." in str(copy)


def test_an_allocation_is_freed_and_relabelled_where_it_was_counted() -> None:
    former, present = accelerator(), accelerator()
    allocation = former.allocate(300, "a")
    present.relabel(allocation, "parameters")
    assert former.live_by_category() == {"parameters": 300}
    present.free(allocation)
    assert former.memory_allocated() == 0
    assert books(present) == books(accelerator())


def test_pinned_and_pageable_host_memory_are_counted_apart() -> None:
    before = (HOST.pinned_allocated(), HOST.pageable_allocated())
    pinned = HOST.allocate(300, "to", "saved for backward", pinned=True)
    pageable = HOST.allocate(200, "to", "saved for backward")
    HOST.relabel(pinned, "inputs")
    assert (HOST.pinned_allocated(), HOST.pageable_allocated()) == (
        before[0] + 300,
        before[1] + 200,
    )
    HOST.free(pinned)
    HOST.free(pageable)
    assert (HOST.pinned_allocated(), HOST.pageable_allocated()) == before


def test_events_tell_what_happened_in_order() -> None:
    ledger = accelerator(capacity=500)
    early = ledger.allocate(50, "before")
    with ledger.recording() as events:
        kept = ledger.allocate(300, "matmul")
        ledger.relabel(kept, "saved for backward")
        ledger.relabel(kept, "saved for backward")
        ledger.compute("matmul", 120, 7, reads=[early], writes=kept)
        ledger.copy(300, "to host", pinned=False, non_blocking=False, source=kept)
        with pytest.raises(OutOfMemoryError):
            ledger.allocate(151, "relu")
        ledger.free(kept)
        ledger.free(early)
    ledger.allocate(10, "after")
    assert [event.sequence for event in events] == list(range(7))
    assert [(event.kind, event.operation, event.nbytes, event.live) for event in events] == [
        ("allocate", "matmul", 300, 350),
        ("relabel", "matmul", 300, 350),
        ("compute", "matmul", 120, 350),
        ("copy", "copy", 300, 350),
        ("refuse", "relu", 151, 350),
        ("free", "matmul", 300, 50),
        ("free", "before", 50, 0),
    ]
    assert (events[1].previous, events[1].category) == ("temporaries", "saved for backward")
    assert (events[2].reads, events[2].allocation, events[2].flops) == ((0,), 1, 7)
    assert (events[3].reads, events[3].allocation, events[3].blocking) == ((1,), None, True)
    assert {event.device for event in events} == {"cuda:0"}
    assert all(event.start <= event.end for event in events)


def test_recordings_nest_and_each_hears_its_own_ledgers() -> None:
    first, second = accelerator(), accelerator()
    with recording() as everything:
        first.allocate(1, "a")
        with recording(second, HOST) as some:
            first.allocate(2, "b")
            second.allocate(3, "c")
            HOST.free(HOST.allocate(4, "d"))
        second.allocate(5, "e")
    assert [event.nbytes for event in everything] == [1, 2, 3, 4, 4, 5]
    assert [event.nbytes for event in some] == [3, 4, 4]
    assert [event.stream for event in some] == ["compute", "host", "host"]
    assert some == [event for event in everything if event.nbytes in (3, 4)]
    with recording(first) as later:
        first.allocate(6, "f")
    assert [event.sequence for event in later] == [0]


def test_a_recording_ends_with_an_exception_too() -> None:
    ledger = accelerator()
    with pytest.raises(KeyError), ledger.recording() as events:
        raise KeyError
    ledger.allocate(1, "a")
    assert events == []


@given(st.lists(st.one_of(st.integers(0, 400), st.integers(-8, -1)), max_size=60))
def test_the_books_agree_with_a_plain_list(steps: list[int]) -> None:
    ledger = accelerator()
    live: list[Allocation] = []
    peak = 0
    for step in steps:
        if step >= 0:
            total = sum(allocation.nbytes for allocation in live)
            if total + step > 1_000:
                with pytest.raises(OutOfMemoryError):
                    ledger.allocate(step, "op")
            else:
                live.append(ledger.allocate(step, "op", f"kind {step % 3}"))
                peak = max(peak, total + step)
        elif -step <= len(live):
            ledger.free(live.pop(step))
    assert ledger.memory_allocated() == sum(allocation.nbytes for allocation in live)
    assert ledger.max_memory_allocated() == peak
    assert sum(ledger.live_by_category().values()) == ledger.memory_allocated()
    assert sum(owner.count for owner in ledger.owners()) == len(live)
