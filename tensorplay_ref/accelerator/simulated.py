"""The simulated accelerator: a ledger with a capacity, three streams and a link to the host."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from . import events
from .clock import Clock, FreeMemory
from .events import Direction, Event, Stream
from .ledger import Allocation, Ledger
from .profile import Profile


class Accelerator(Ledger):
    """A device that computes in NumPy, and whose memory and time are counted.

    Work runs on three streams, each in its own order and beside the others: "compute", and the
    copies "to host" and "to device" (a real device has a copy engine for each direction). The host
    issues work without waiting. An operation begins when the compute stream has done what was
    issued before, what it reads is ready, and the memory it writes is free. What a copy waits for
    stands at `copy`.

    Simplified against a real device: an operation uses the whole device, host work costs no time,
    and non-blocking copies have streams of their own without the program asking for one.
    """

    def __init__(self, name: str, profile: Profile, clock: Clock | None = None) -> None:
        super().__init__(name, Clock() if clock is None else clock, profile.capacity)
        self.profile = profile
        self._memory = FreeMemory(profile.capacity)
        self._ends: dict[Stream, int] = {"compute": 0, "to host": 0, "to device": 0}
        self._queues: dict[Stream, deque[int]] = {
            stream: deque(maxlen=profile.queue_depth) for stream in self._ends
        }

    def __repr__(self) -> str:
        return (
            f"Accelerator({self.name}, simulated, profile {self.profile.name}, "
            f"{self.memory_allocated():,} of {self.capacity:,} bytes live)"
        )

    def compute(
        self,
        operation: str,
        bytes_moved: int,
        flops: int,
        reads: Iterable[Allocation] = (),
        writes: Allocation | Iterable[Allocation] | None = None,
    ) -> None:
        """Run an operation on the compute stream.

        Args:
            operation: its name.
            bytes_moved: bytes it reads from and writes to the device's memory.
            flops: its floating-point operations.
            reads: the storages it waits for; one of another clock counts as ready.
            writes: the storage or storages that are ready when it ends.
        """
        sources = tuple(reads)
        targets = _as_tuple(writes)
        with self._lock:
            self._settle()
            start = max(self._issue("compute"), self._ends["compute"])
            start = self._after(start, sources, targets)
            end = start + self.profile.compute_time(bytes_moved, flops)
            self._finish("compute", end, sources, targets)
            self.clock.front = max(self.clock.front, end)
            if events.RECORDERS:
                self._tell_work(
                    "compute", operation, bytes_moved, flops, start, end, sources, targets
                )

    def copy(
        self,
        nbytes: int,
        direction: Direction,
        pinned: bool,
        non_blocking: bool,
        source: Allocation | None = None,
        target: Allocation | None = None,
        operation: str = "copy",
    ) -> None:
        """Move bytes over the link, on the stream named after the direction.

        A non-blocking copy with pinned host memory runs beside the compute stream: "to host" it
        begins when the work issued before it has ended, "to device" as soon as its source is ready
        and its target's memory is free (allocate that with `stream="to device"`). Every other copy
        waits for the compute stream and makes it and the host wait: the driver must read pageable
        memory itself, whatever `non_blocking` says.

        Args:
            nbytes: how many.
            direction: "to host" or "to device".
            pinned: whether the host memory is pinned; it sets the bandwidth.
            non_blocking: whether the host may go on before the copy ends.
            source, target: the storages read and written, None for memory that nobody counts.
            operation: who asked for the copy.
        """
        sources = () if source is None else (source,)
        targets = () if target is None else (target,)
        blocking = not (pinned and non_blocking)
        with self._lock:
            self._settle()
            start = max(self._issue(direction), self._ends[direction])
            if blocking or direction == "to host":
                start = max(start, self._ends["compute"])
            start = self._after(start, sources, targets)
            end = start + self.profile.copy_time(nbytes, pinned)
            self._finish(direction, end, sources, targets)
            if blocking:
                # Nothing can be issued before the host goes on, so every stream waits with it.
                self.clock.host = max(self.clock.host, end)
            if events.RECORDERS:
                self._tell_work(
                    direction, operation, nbytes, 0, start, end, sources, targets, pinned, blocking
                )

    def synchronize(self) -> None:
        """Let the host wait until every stream has done its work."""
        with self._lock:
            self.clock.host = self.elapsed()

    def elapsed(self) -> int:
        """Simulated nanoseconds from the start of the clock to the end of all work issued here."""
        with self._lock:
            return max(self.clock.host, *self._ends.values())

    def mem_get_info(self) -> tuple[int, int]:
        """Bytes that are free and bytes that there are."""
        return self.profile.capacity - self.memory_allocated(), self.profile.capacity

    def _issue(self, stream: Stream) -> int:
        """The earliest start for new work: the host waits while the stream's queue is full."""
        queue = self._queues[stream]
        if len(queue) == queue.maxlen:
            self.clock.host = max(self.clock.host, queue[0])
        return self.clock.host

    def _after(
        self, start: int, sources: Iterable[Allocation], targets: Iterable[Allocation]
    ) -> int:
        """The start, put off until the sources are written and nobody uses the targets."""
        for source in sources:
            if source.clock is self.clock:
                start = max(start, source.ready_at)
        for target in targets:
            if target.clock is self.clock:
                start = max(start, target.last_use)
        return start

    def _finish(
        self,
        stream: Stream,
        end: int,
        sources: Iterable[Allocation],
        targets: Iterable[Allocation],
    ) -> None:
        self._ends[stream] = end
        self._queues[stream].append(end)
        for source in sources:
            if source.clock is self.clock:
                source.last_use = max(source.last_use, end)
        for target in targets:
            if target.clock is self.clock:
                target.ready_at = end
                target.last_use = max(target.last_use, end)

    def _take(self, nbytes: int, stream: Stream) -> int:
        available = self._memory.take(nbytes, self.clock.host)
        return max(self.clock.host, self._ends[stream], available)

    def _give_back(self, allocation: Allocation) -> int:
        time = super()._give_back(allocation)
        self._memory.give_back(allocation.nbytes, time)
        return time

    def _tell_work(
        self,
        stream: Stream,
        operation: str,
        nbytes: int,
        flops: int,
        start: int,
        end: int,
        sources: tuple[Allocation, ...],
        targets: tuple[Allocation, ...],
        pinned: bool = False,
        blocking: bool = False,
    ) -> None:
        category = targets[0].category if targets else ""
        event = Event(
            sequence=events.next_sequence(),
            kind="compute" if stream == "compute" else "copy",
            device=self.name,
            stream=stream,
            start=start,
            end=end,
            nbytes=nbytes,
            category=category,
            previous=category,
            operation=operation,
            allocation=targets[0].number if targets else None,
            reads=tuple(source.number for source in sources),
            live=self._live,
            flops=flops,
            pinned=pinned,
            blocking=blocking,
        )
        events.publish(self, event)


def _as_tuple(writes: Allocation | Iterable[Allocation] | None) -> tuple[Allocation, ...]:
    if writes is None:
        return ()
    return (writes,) if isinstance(writes, Allocation) else tuple(writes)


class HostLedger(Ledger):
    """Host memory that offloading uses, pinned and pageable: counted, without a limit.

    Ordinary host tensors are not in it.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__("host", clock)
        self._pinned = 0

    def __repr__(self) -> str:
        return (
            f"HostLedger({self.pinned_allocated():,} bytes pinned, "
            f"{self.pageable_allocated():,} bytes pageable)"
        )

    def pinned_allocated(self) -> int:
        """Live bytes of pinned (page-locked) host memory."""
        with self._lock:
            self._settle()
            return self._pinned

    def pageable_allocated(self) -> int:
        """Live bytes of ordinary host memory that hold offloaded copies."""
        with self._lock:
            return self.memory_allocated() - self._pinned

    def _count(self, allocation: Allocation, sign: int) -> None:
        super()._count(allocation, sign)
        if allocation.pinned:
            self._pinned += sign * allocation.nbytes


DEFAULT_CLOCK = Clock()
HOST = HostLedger(DEFAULT_CLOCK)
