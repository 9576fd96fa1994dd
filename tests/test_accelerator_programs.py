"""Random programs on the simulated accelerator: simulated time never contradicts the memory."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tensorplay_ref.accelerator import (
    HOST,
    LESSON,
    Accelerator,
    Allocation,
    Event,
    OutOfMemoryError,
    Profile,
    recording,
)


def run(program: list[tuple[int, int, int]], profile: Profile) -> list[Event]:
    """A random program: allocate, free, compute, copy either way, wait; the events of all of it."""
    device = Accelerator("cuda:0", profile)
    on_device: list[Allocation] = []
    on_host: list[Allocation] = []
    with recording(device, HOST) as events:
        HOST.clock, former = device.clock, HOST.clock
        try:
            for kind, size, pick in program:
                try:
                    if kind == 0:
                        on_device.append(device.allocate(size, "op"))
                        device.compute("op", size, 0, on_device[pick % len(on_device) :][:2])
                        device.compute("op", size, 0, on_device[:1], on_device[-1])
                    elif kind == 1 and on_device:
                        device.free(on_device.pop(pick % len(on_device)))
                    elif kind == 2 and on_device:
                        source = on_device[pick % len(on_device)]
                        pinned = bool(size % 3)
                        on_host.append(HOST.allocate(source.nbytes, "to", pinned=pinned))
                        device.copy(
                            source.nbytes, "to host", pinned, bool(pick % 2), source, on_host[-1]
                        )
                    elif kind == 3 and on_host:
                        source = on_host[pick % len(on_host)]
                        target = device.allocate(source.nbytes, "to", stream="to device")
                        on_device.append(target)
                        device.copy(source.nbytes, "to device", source.pinned, True, source, target)
                    elif kind == 4 and on_host:
                        HOST.free(on_host.pop(pick % len(on_host)))
                    elif kind == 5:
                        device.synchronize()
                except OutOfMemoryError:
                    pass
        finally:
            for allocation in on_host:
                HOST.free(allocation)
            HOST.clock = former
    return events


programs = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 400), st.integers(0, 7)), max_size=80
)
profiles = st.builds(
    replace,
    st.just(LESSON),
    capacity=st.integers(0, 1_500),
    latency=st.integers(0, 300),
    launch_latency=st.integers(0, 100),
    queue_depth=st.integers(1, 6),
)


@given(programs, profiles)
def test_no_instant_holds_more_bytes_than_the_device_has(
    program: list[tuple[int, int, int]], profile: Profile
) -> None:
    changes = []
    for event in run(program, profile):
        if event.device == "cuda:0" and event.kind in ("allocate", "free"):
            # What is given back at an instant can be taken at the same instant.
            sign = 1 if event.kind == "allocate" else -1
            changes.append((event.start, sign, sign * event.nbytes))
    occupied = 0
    for _, _, change in sorted(changes):
        occupied += change
        assert occupied <= profile.capacity


@given(programs, profiles)
def test_nothing_is_used_before_it_is_there_or_after_it_is_gone(
    program: list[tuple[int, int, int]], profile: Profile
) -> None:
    ready: dict[tuple[str, int], int] = {}
    used: dict[tuple[str, int], int] = {}
    streams: dict[str, int] = {}
    for event in run(program, profile):
        if event.kind == "allocate":
            ready[event.device, event.allocation] = event.start
            used[event.device, event.allocation] = event.start
        elif event.kind == "free":
            assert event.start >= used[event.device, event.allocation]
        elif event.kind in ("compute", "copy"):
            assert event.start >= streams.get(event.stream, 0)
            streams[event.stream] = event.end
            source = "host" if event.stream == "to device" else "cuda:0"
            target = "host" if event.stream == "to host" else "cuda:0"
            written = None if event.allocation is None else (target, event.allocation)
            if written is not None:
                assert event.start >= used[written]
            for number in event.reads:
                assert event.start >= ready[source, number]
                used[source, number] = max(used[source, number], event.end)
            if written is not None:
                ready[written] = event.end
                used[written] = max(used[written], event.end)


@given(programs, profiles)
def test_the_same_program_has_the_same_events_every_time(
    program: list[tuple[int, int, int]], profile: Profile
) -> None:
    def told() -> list[Event]:
        # Only the host's books go on from one program to the next, and number on.
        return [event._replace(allocation=None, reads=()) for event in run(program, profile)]

    first, second = told(), told()
    assert [e._replace(live=0) for e in first] == [e._replace(live=0) for e in second]
    assert [e.live for e in first if e.device != "host"] == [
        e.live for e in second if e.device != "host"
    ]
