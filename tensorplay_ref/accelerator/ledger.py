"""The ledger: which storages live in a memory, what they are for, and who asked for them."""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager

from . import events
from .clock import Clock
from .events import Event, Kind, Stream
from .guard import LOCK
from .out_of_memory import OutOfMemoryError, Owner

# The categories the package itself uses; a program may name others.
CATEGORIES = ("parameters", "gradients", "saved for backward", "temporaries")


class Allocation:
    """One storage in the books of one ledger.

    Attributes:
        ledger: the ledger that counts it, also after another one has taken the device's place.
        clock: the clock that its times belong to.
        number: 0, 1, 2, … in the order of allocation on its ledger.
        nbytes, operation, category, pinned: as asked for; `Ledger.relabel` changes the category.
        ready_at: simulated nanosecond at which its content is written.
        last_use: simulated nanosecond at which nothing reads or writes it any more.
        live: whether its bytes are counted now.
    """

    __slots__ = (
        "category",
        "clock",
        "last_use",
        "ledger",
        "live",
        "nbytes",
        "number",
        "operation",
        "pinned",
        "ready_at",
    )

    def __init__(
        self, ledger: Ledger, nbytes: int, operation: str, category: str, pinned: bool
    ) -> None:
        self.ledger = ledger
        self.clock = ledger.clock
        self.number = ledger.issued
        self.nbytes = nbytes
        self.operation = operation
        self.category = category
        self.pinned = pinned
        self.ready_at = 0
        self.last_use = 0
        self.live = False

    def __repr__(self) -> str:
        state = "" if self.live else ", not live"
        return (
            f"Allocation({self.nbytes:,} bytes on {self.ledger.name} for {self.operation}, "
            f"{self.category}{state})"
        )


class Ledger:
    """Counts every live storage of one memory once, by category and by operation.

    Safe to use from several threads; `free` may also be called by a finalizer at any moment.
    """

    def __init__(self, name: str, clock: Clock, capacity: int | None = None) -> None:
        self.name = name
        self.clock = clock
        self.capacity = capacity
        self.issued = 0
        self._live = 0
        self._peak = 0
        # (operation, category) -> [bytes, storages]
        self._owners: dict[tuple[str, str], list[int]] = {}
        # Freed and still in the books; a deque, because its append cannot be interrupted.
        self._released: deque[Allocation] = deque()
        # Kept here because a module's globals may be gone when the last tensor dies at exit.
        self._lock = LOCK

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.memory_allocated():,} bytes live)"

    def allocate(
        self,
        nbytes: int,
        operation: str,
        category: str = "temporaries",
        *,
        pinned: bool = False,
        stream: Stream = "compute",
    ) -> Allocation:
        """Enter a new storage of `nbytes` bytes (zero is fine) that `operation` asks for.

        `stream` is the one that will write it first: "to device" for the target of a non-blocking
        copy from pinned memory, which may begin before the work queued on the compute stream ends.

        Errors:
            OutOfMemoryError: beyond the capacity; live bytes, peak, owners and clock are as before.
            ValueError: `nbytes` is negative.
        """
        if nbytes < 0:
            raise ValueError(
                f"{operation} asked {self.name} for {nbytes} bytes; expected 0 or more"
            )
        with self._lock:
            self._settle()
            allocation = Allocation(self, nbytes, operation, category, pinned)
            if self.capacity is not None and self._live + nbytes > self.capacity:
                if events.RECORDERS:
                    self._tell("refuse", allocation, self.clock.position, stream)
                raise OutOfMemoryError(
                    self.name, operation, nbytes, self._live, self.capacity, self.largest(3)
                )
            self.issued += 1
            start = self._take(nbytes, stream)
            allocation.ready_at = allocation.last_use = start
            allocation.live = True
            self._count(allocation, 1)
            self._peak = max(self._peak, self._live)
            if events.RECORDERS:
                self._tell("allocate", allocation, start, stream)
            return allocation

    def free(self, allocation: Allocation) -> None:
        """Take a storage out of the books of the ledger that counts it; a second time does nothing.

        Never waits: if the books are in use, their user takes the storage out before going on.
        """
        ledger = allocation.ledger
        ledger._released.append(allocation)
        if ledger._lock.try_outermost():
            try:
                ledger._settle()
            finally:
                ledger._lock.release()

    def relabel(self, allocation: Allocation, category: str) -> None:
        """Say what a live storage is for now; a freed one stays as it was."""
        ledger = allocation.ledger
        with ledger._lock:
            ledger._settle()
            previous = allocation.category
            if previous == category or not allocation.live:
                return
            ledger._count(allocation, -1)
            allocation.category = category
            ledger._count(allocation, 1)
            if events.RECORDERS:
                ledger._tell("relabel", allocation, ledger.clock.position, previous=previous)

    def memory_allocated(self) -> int:
        """Bytes that live now."""
        with self._lock:
            self._settle()
            return self._live

    def max_memory_allocated(self) -> int:
        """The most bytes that lived at once since the start or since the last reset."""
        with self._lock:
            self._settle()
            return self._peak

    def reset_peak_memory_stats(self) -> None:
        """Let the peak begin again at the bytes that live now."""
        with self._lock:
            self._settle()
            self._peak = self._live

    def owners(self) -> list[Owner]:
        """Everything that lives, by operation and category: most bytes first, then by name."""
        with self._lock:
            self._settle()
            listed = [Owner(*key, *counted) for key, counted in self._owners.items()]
        return sorted(listed, key=lambda owner: (-owner.nbytes, owner.operation, owner.category))

    def largest(self, count: int = 3) -> list[Owner]:
        """The `count` owners with the most bytes."""
        return self.owners()[:count]

    def live_by_category(self) -> dict[str, int]:
        """Live bytes of every category that has a live storage, in alphabetical order."""
        totals: dict[str, int] = {}
        for owner in self.owners():
            totals[owner.category] = totals.get(owner.category, 0) + owner.nbytes
        return dict(sorted(totals.items()))

    def recording(self) -> AbstractContextManager[list[Event]]:
        """Record the events of this ledger alone: `with ledger.recording() as events:`."""
        return events.recording(self)

    def _take(self, nbytes: int, stream: Stream) -> int:
        """Simulated time from which a new storage holds its bytes."""
        return self.clock.position

    def _give_back(self, allocation: Allocation) -> int:
        """Simulated time from which a freed storage holds its bytes no more."""
        position = self.clock.position
        return max(position, allocation.last_use) if allocation.clock is self.clock else position

    def _settle(self) -> None:
        """Take the released storages out of the books; called with the lock held."""
        while self._released:
            allocation = self._released.popleft()
            if not allocation.live:
                continue
            allocation.live = False
            end = self._give_back(allocation)
            self._count(allocation, -1)
            if events.RECORDERS:
                self._tell("free", allocation, end)

    def _count(self, allocation: Allocation, sign: int) -> None:
        self._live += sign * allocation.nbytes
        key = (allocation.operation, allocation.category)
        counted = self._owners.setdefault(key, [0, 0])
        counted[0] += sign * allocation.nbytes
        counted[1] += sign
        if not counted[1]:
            del self._owners[key]

    def _tell(
        self,
        kind: Kind,
        allocation: Allocation,
        time: int,
        stream: Stream = "compute",
        previous: str | None = None,
    ) -> None:
        event = Event(
            sequence=events.next_sequence(),
            kind=kind,
            device=self.name,
            stream="host" if self.capacity is None else stream,
            start=time,
            end=time,
            nbytes=allocation.nbytes,
            category=allocation.category,
            previous=allocation.category if previous is None else previous,
            operation=allocation.operation,
            allocation=allocation.number,
            live=self._live,
            pinned=allocation.pinned,
        )
        events.publish(self, event)
