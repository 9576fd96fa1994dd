"""Simulated time: how far the host and the program have got, and when freed memory is free."""

from __future__ import annotations

import heapq


class Clock:
    """The simulated time of a host and its accelerators, in whole nanoseconds.

    Attributes:
        host: until when the host has waited. Issuing work costs it nothing, so it runs ahead of the
            device and waits only for blocking copies, `synchronize`, and a full queue.
        front: the end of the latest work that was issued to a compute stream.
    """

    __slots__ = ("front", "host")

    def __init__(self) -> None:
        self.host = 0
        self.front = 0

    @property
    def position(self) -> int:
        """Where the program stands in simulated time: the end of what it has issued so far."""
        return max(self.host, self.front)

    def __repr__(self) -> str:
        return f"Clock(at {self.position:,} ns)"


class FreeMemory:
    """The free bytes of a device and the simulated time at which each of them became free.

    The host frees and allocates ahead of the device. A byte that a copy still reads is free in the
    ledger, yet whoever gets it must wait for that copy. With room to spare nobody waits; in a full
    memory, copies hide behind arithmetic only as far as the room allows.
    """

    def __init__(self, nbytes: int) -> None:
        self._idle = nbytes
        self._freed_at: dict[int, int] = {}
        self._times: list[int] = []

    def take(self, nbytes: int, host: int) -> int:
        """Take the bytes that are free for longest; returns when the last of them became free.

        Nothing can be issued before `host`, so what was free by then needs no memory of its time.
        """
        while self._times and self._times[0] <= host:
            self._idle += self._freed_at.pop(heapq.heappop(self._times))
        from_idle = min(nbytes, self._idle)
        self._idle -= from_idle
        nbytes -= from_idle
        available = 0
        while nbytes and self._times:
            available = self._times[0]
            taken = min(nbytes, self._freed_at[available])
            nbytes -= taken
            self._freed_at[available] -= taken
            if not self._freed_at[available]:
                del self._freed_at[heapq.heappop(self._times)]
        return available

    def give_back(self, nbytes: int, time: int) -> None:
        """Let `nbytes` become free at `time`."""
        if time not in self._freed_at:
            self._freed_at[time] = 0
            heapq.heappush(self._times, time)
        self._freed_at[time] += nbytes
