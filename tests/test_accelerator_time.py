"""Simulated time: what waits for what, to the nanosecond, and what overlaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tensorplay_ref.accelerator import (
    A100,
    GH200,
    HOST,
    LESSON,
    PROFILES,
    Accelerator,
    Clock,
    Event,
    recording,
)


def accelerator(capacity: int = 10**6, **changes: int) -> Accelerator:
    return Accelerator("cuda:0", replace(LESSON, capacity=capacity, **changes))


def spans(events: Iterable[Event]) -> list[tuple[str, int, int]]:
    return [
        (event.operation, event.start, event.end)
        for event in events
        if event.kind in ("compute", "copy")
    ]


def test_an_operation_takes_the_time_of_its_bytes_or_of_its_arithmetic() -> None:
    assert LESSON.compute_time(bytes_moved=1_000, flops=0) == 1_000
    assert LESSON.compute_time(bytes_moved=1_000, flops=10_000) == 1_000
    assert LESSON.compute_time(bytes_moved=1_000, flops=10_001) == 1_001
    assert LESSON.compute_time(bytes_moved=0, flops=0) == 0
    assert replace(LESSON, launch_latency=50).compute_time(1_000, 0) == 1_050


def test_a_copy_takes_latency_and_the_time_of_its_bytes() -> None:
    assert LESSON.copy_time(500, pinned=True) == 1_000 + 2 * 500
    assert LESSON.copy_time(500, pinned=False) == 1_000 + 4 * 500
    assert LESSON.copy_time(0, pinned=True) == 1_000


def test_the_real_devices_have_the_numbers_of_their_data_sheets() -> None:
    gigabyte = 10**9
    assert (A100.capacity, A100.memory_bandwidth) == (80 * gigabyte, 1_935 * gigabyte)
    assert A100.flops_per_second == 19.5e12
    assert 2 * A100.pinned_bandwidth == 64 * gigabyte
    assert (GH200.capacity, GH200.memory_bandwidth) == (96 * gigabyte, 4_000 * gigabyte)
    assert GH200.flops_per_second == 67e12
    assert 2 * GH200.pinned_bandwidth == 900 * gigabyte
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert profile.pageable_bandwidth < profile.pinned_bandwidth < profile.memory_bandwidth


def test_moving_a_gigabyte_takes_an_a100_as_long_as_its_link_says() -> None:
    assert A100.copy_time(32 * 10**9, pinned=True) == 6_000 + 10**9
    assert GH200.copy_time(450 * 10**9, pinned=True) == 6_000 + 10**9


@pytest.mark.parametrize("name", ["flops_per_second", "pinned_bandwidth", "queue_depth"])
def test_a_speed_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} .* must be at least 1; found 0"):
        replace(LESSON, **{name: 0})


@pytest.mark.parametrize("value", [1.5, "1 MiB", True])
def test_a_size_is_a_whole_number(value: object) -> None:
    with pytest.raises(TypeError, match="capacity .* must be a whole number"):
        replace(LESSON, capacity=value)
    with pytest.raises(ValueError, match="capacity .* at least 0; found -1"):
        replace(LESSON, capacity=-1)


def test_operations_run_one_after_the_other_while_the_host_goes_on() -> None:
    device = accelerator()
    with device.recording() as events:
        device.compute("a", 10_000, 0)
        device.compute("b", 5_000, 0)
    assert spans(events) == [("a", 0, 10_000), ("b", 10_000, 15_000)]
    assert device.clock.host == 0
    assert device.elapsed() == 15_000
    device.synchronize()
    assert device.clock.host == 15_000
    device.compute("c", 1, 0)
    assert device.elapsed() == 15_001


def offload_between_two_operations(pinned: bool, non_blocking: bool) -> tuple[Accelerator, list]:
    device = accelerator()
    saved = device.allocate(5_000, "a")
    kept = HOST.allocate(5_000, "to", pinned=pinned)
    with device.recording() as events:
        device.compute("a", 10_000, 0, writes=saved)
        device.copy(5_000, "to host", pinned, non_blocking, source=saved, target=kept)
        device.compute("b", 10_000, 0)
    HOST.free(kept)
    return device, spans(events)


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_pageable_copy_makes_host_and_device_wait_whatever_was_asked(non_blocking: bool) -> None:
    device, work = offload_between_two_operations(pinned=False, non_blocking=non_blocking)
    assert work == [("a", 0, 10_000), ("copy", 10_000, 31_000), ("b", 31_000, 41_000)]
    assert device.clock.host == 31_000
    assert device.elapsed() == 41_000


def test_a_blocking_pinned_copy_waits_too_but_less() -> None:
    device, work = offload_between_two_operations(pinned=True, non_blocking=False)
    assert work == [("a", 0, 10_000), ("copy", 10_000, 21_000), ("b", 21_000, 31_000)]
    assert device.clock.host == 21_000


def test_a_non_blocking_pinned_copy_runs_beside_the_next_operation() -> None:
    device, work = offload_between_two_operations(pinned=True, non_blocking=True)
    assert work == [("a", 0, 10_000), ("copy", 10_000, 21_000), ("b", 10_000, 20_000)]
    assert device.clock.host == 0
    assert device.elapsed() == 21_000


def test_a_copy_to_the_host_begins_when_the_work_issued_before_it_has_ended() -> None:
    device = accelerator()
    saved = device.allocate(5_000, "tensor")
    with device.recording() as events:
        device.compute("a", 10_000, 0)
        device.copy(5_000, "to host", True, True, source=saved, operation="offload")
    assert spans(events) == [("a", 0, 10_000), ("offload", 10_000, 21_000)]


def test_an_operation_waits_for_the_copy_that_brings_what_it_reads() -> None:
    device = accelerator()
    with device.recording() as events:
        device.compute("a", 10_000, 0)
        target = device.allocate(5_000, "to", stream="to device")
        device.copy(5_000, "to device", True, True, target=target, operation="to")
        device.compute("unrelated", 500, 0)
        device.compute("reader", 100, 0, reads=[target])
    assert spans(events) == [
        ("a", 0, 10_000),
        ("to", 0, 11_000),
        ("unrelated", 10_000, 10_500),
        ("reader", 11_000, 11_100),
    ]
    assert (target.ready_at, target.last_use) == (11_000, 11_100)


def test_the_way_back_waits_for_the_way_out() -> None:
    device = accelerator()
    out = device.allocate(5_000, "a")
    HOST.clock, former = device.clock, HOST.clock
    try:
        host = HOST.allocate(5_000, "to", pinned=True)
    finally:
        HOST.clock = former
    device.compute("a", 1_000, 0, writes=out)
    device.copy(5_000, "to host", True, True, source=out, target=host)
    assert host.ready_at == 12_000
    back = device.allocate(5_000, "to", stream="to device")
    device.copy(5_000, "to device", True, True, source=host, target=back)
    assert (back.ready_at, host.last_use) == (23_000, 23_000)
    HOST.free(host)


def test_the_two_directions_of_the_link_do_not_wait_for_each_other() -> None:
    device = accelerator()
    with device.recording() as events:
        device.copy(5_000, "to host", True, True, operation="out 1")
        device.copy(5_000, "to device", True, True, operation="in 1")
        device.copy(5_000, "to host", True, True, operation="out 2")
    assert spans(events) == [("out 1", 0, 11_000), ("in 1", 0, 11_000), ("out 2", 11_000, 22_000)]


def test_a_write_waits_until_the_copy_that_reads_the_storage_has_ended() -> None:
    device = accelerator()
    storage = device.allocate(5_000, "a")
    device.copy(5_000, "to host", True, True, source=storage)
    with device.recording() as events:
        device.compute("other", 100, 0, writes=device.allocate(10, "other"))
        device.compute("add_", 100, 0, reads=[storage], writes=storage)
    assert spans(events) == [("other", 0, 100), ("add_", 11_000, 11_100)]


def test_several_results_are_ready_together() -> None:
    device = accelerator()
    results = [device.allocate(10, "max") for _ in range(2)]
    device.compute("max", 40, 0, writes=results)
    assert [result.ready_at for result in results] == [40, 40]


def test_freed_memory_is_free_for_others_when_the_copy_that_reads_it_has_ended() -> None:
    def forward(capacity: int) -> list[tuple[str, int, int]]:
        device = accelerator(capacity)
        with device.recording() as events:
            first = device.allocate(5_000, "a")
            device.compute("a", 10_000, 0, writes=first)
            device.copy(5_000, "to host", True, True, source=first, operation="offload")
            device.free(first)
            assert device.memory_allocated() == 0
            device.compute("b", 1_000, 0, writes=device.allocate(5_000, "b"))
        return spans(events)

    assert forward(10_000)[1:] == [("offload", 10_000, 21_000), ("b", 10_000, 11_000)]
    assert forward(9_999)[1:] == [("offload", 10_000, 21_000), ("b", 21_000, 22_000)]


def test_what_is_brought_back_early_needs_room_to_spare() -> None:
    def backward(capacity: int) -> list[tuple[str, int, int]]:
        device = accelerator(capacity)
        with device.recording() as events:
            grad = device.allocate(5_000, "loss")
            device.compute("loss", 20_000, 0, writes=grad)
            device.free(grad)
            target = device.allocate(5_000, "to", stream="to device")
            device.copy(5_000, "to device", True, True, target=target, operation="back")
        return spans(events)

    assert backward(10_000)[1] == ("back", 0, 11_000)
    assert backward(9_999)[1] == ("back", 20_000, 31_000)


def test_memory_is_not_free_before_the_program_gives_it_back() -> None:
    device = accelerator(5_000)
    held = device.allocate(5_000, "a")
    with recording(device, HOST) as events:
        device.compute("a", 100, 0, writes=held)
        device.compute("b", 20_000, 0)
        device.free(held)
        target = device.allocate(5_000, "to", stream="to device")
        device.copy(5_000, "to device", True, True, target=target, operation="back")
    assert spans(events)[2] == ("back", 20_100, 31_100)
    assert [event.start for event in events if event.kind in ("free", "allocate")] == [20_100] * 2


def test_the_host_waits_when_the_queue_of_a_stream_is_full() -> None:
    device = accelerator(queue_depth=2)
    device.compute("a", 100, 0)
    device.compute("b", 100, 0)
    assert device.clock.host == 0
    device.compute("c", 100, 0)
    assert device.clock.host == 100
    device.compute("d", 100, 0)
    assert device.clock.host == 200
    device.copy(0, "to device", True, True)
    assert device.clock.host == 200


def test_storages_of_another_clock_count_as_ready() -> None:
    former = accelerator()
    storage = former.allocate(10, "a")
    former.compute("a", 10_000, 0, writes=storage)
    device = accelerator()
    device.compute("b", 100, 0, reads=[storage], writes=storage)
    assert device.elapsed() == 100
    assert (storage.ready_at, storage.last_use) == (10_000, 10_000)
    device.free(storage)
    assert (former.memory_allocated(), former.elapsed(), device.elapsed()) == (0, 10_000, 100)


def test_accelerators_of_one_machine_share_the_host() -> None:
    clock = Clock()
    first, second = (Accelerator(f"cuda:{index}", LESSON, clock) for index in range(2))
    first.compute("a", 10_000, 0)
    second.compute("b", 5_000, 0)
    assert (first.elapsed(), second.elapsed()) == (10_000, 5_000)
    first.synchronize()
    second.compute("c", 1, 0)
    assert second.elapsed() == 10_001
