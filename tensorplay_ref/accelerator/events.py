"""What happened in memory and on the streams, told to whoever records, and to nobody else.

A timeline of memory, a picture of the streams and a table of copies are all read off these events.
While nobody records, no event is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from .guard import LOCK

Kind = Literal["allocate", "free", "relabel", "refuse", "compute", "copy"]
Stream = Literal["compute", "to host", "to device"]
Direction = Literal["to host", "to device"]


class Event(NamedTuple):
    """One thing that happened to simulated memory or on a simulated stream.

    Two orders run through the events. `sequence` is the order of the program; the bytes `live` and
    all peaks follow it. `start` and `end` are simulated time, in which the host runs ahead of the
    device and copies run beside the arithmetic, so later events may have earlier times.

    Attributes:
        sequence: 0, 1, 2, … in program order over all devices; begins again at 0 when the first
            recording starts.
        kind: "allocate" and "free" of a storage; "relabel" of its category; "refuse", an
            allocation beyond the capacity; "compute", an operation; "copy", bytes over the link.
        device: "cuda:0", … or "host". A copy is an event of the accelerator, not of the host.
        stream: "compute", "to host" or "to device"; "host" for the host's memory.
        start, end: whole simulated nanoseconds. Memory is taken and given back at one instant, so
            there start equals end: a storage holds its bytes from the start of its "allocate" to
            the start of its "free", which is not before the last copy that reads it has ended.
        nbytes: the bytes of the storage, asked for, copied, or moved by the operation.
        category: what the storage is for; of a compute or copy event, the storage written.
        previous: the category before a "relabel", else the same as `category`.
        operation: who asked for the storage, or what ran.
        allocation: number of the storage on its device; of a compute or copy event, of the first
            storage written (of a copy "to host" it is the host's); None where nobody counts it. A
            refused allocation has the number that the next one gets.
        reads: numbers of the storages that a compute or copy event reads.
        live: bytes that live on `device` after the event.
        flops: floating-point operations of a compute event.
        pinned: whether the host memory is pinned; of a copy, whether its host side is.
        blocking: whether the host and the compute stream waited for the copy.
    """

    sequence: int
    kind: Kind
    device: str
    stream: Stream | Literal["host"]
    start: int
    end: int
    nbytes: int
    category: str
    operation: str
    allocation: int | None
    live: int
    previous: str = ""
    reads: tuple[int, ...] = ()
    flops: int = 0
    pinned: bool = False
    blocking: bool = False


class _Recorder:
    """Somebody who is told of events, and the devices it wants to hear of (None: all)."""

    def __init__(self, hear: Callable[[Event], None], sources: tuple[object, ...]) -> None:
        self.hear = hear
        self.sources = sources or None


# Whoever makes an event looks here first: while the list is empty, nothing is built.
RECORDERS: list[_Recorder] = []
_sequence = 0


def next_sequence() -> int:
    """The number of the next event; called with the lock held and somebody recording."""
    global _sequence
    number = _sequence
    _sequence += 1
    return number


def publish(source: object, event: Event) -> None:
    """Hand an event to every recorder that listens to its ledger; called with the lock held."""
    for recorder in RECORDERS:
        if recorder.sources is None or any(source is wanted for wanted in recorder.sources):
            recorder.hear(event)


@contextmanager
def listening(hear: Callable[[Event], None], *sources: object) -> Iterator[None]:
    """Call `hear(event)` for the events of the given ledgers (none given: of all).

    Contexts nest, and each hears everything that its own ledgers do, from any thread. `hear` is
    called with the lock held: it may not allocate on a device, nor raise.
    """
    global _sequence
    recorder = _Recorder(hear, sources)
    with LOCK:
        if not RECORDERS:
            _sequence = 0
        RECORDERS.append(recorder)
    try:
        yield
    finally:
        with LOCK:
            RECORDERS.remove(recorder)


@contextmanager
def recording(*sources: object) -> Iterator[list[Event]]:
    """Record the events of the given ledgers (none given: of every device and of the host).

    Yields the list, which grows while the context is open and stays readable afterwards.
    """
    events: list[Event] = []
    with listening(events.append, *sources):
        yield events
