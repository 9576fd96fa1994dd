"""trace(): everything that happens to operations, saved tensors and memory, in order."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..accelerator import listening
from ..autograd.observer import watching
from ..tensor_base import TensorBase
from .figures import new_axes
from .swim_lanes import draw_lanes, draw_order, draw_saved_bytes
from .tables import text_table
from .trace_event import HEADERS, TraceEvent
from .trace_listener import Listener
from .walk import Names, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Trace:
    """The events of the code that ran inside `with trace() as events:`. Made by `trace`.

    Its repr is a table of all events. It keeps names, shapes and numbers, never a tensor, so what
    would have been freed without it is freed with it.
    """

    def __init__(self, names: Names | None = None, all_threads: bool = False) -> None:
        self._listener: Listener | None = None
        self._asked = (named("names", names or {}), all_threads)
        self._contexts = ExitStack()

    def __enter__(self) -> Trace:
        if self._listener is not None:
            raise RuntimeError("a trace is opened once; call trace() again for another one")
        listener = self._listener = Listener(*self._asked)
        self._asked = ({}, False)
        self._contexts.enter_context(watching(listener.watch))
        self._contexts.enter_context(listening(listener.hear))
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.close()
        assert self._listener is not None
        self._listener.forget()
        self.events.sort(key=lambda event: event.number)

    @property
    def events(self) -> list[TraceEvent]:
        """One event for each thing that happened, in order."""
        return [] if self._listener is None else self._listener.events

    def memory_number(self, tensor: TensorBase) -> int | None:
        """The number of a tensor's storage in the events; None when none of them concerns it."""
        return None if self._listener is None else self._listener.memories.known(tensor._storage)

    # -- what happened -----------------------------------------------------------------------------
    def count(self, kind: str, operation: str = "") -> int:
        """How many events of a kind there were, of one operation if named (as "Mul" or "3 Mul").

        Errors: ValueError for a kind that does not exist.
        """
        return len(self.of(kind, operation))

    def of(self, kind: str, operation: str = "") -> list[TraceEvent]:
        """The events of a kind, of one operation if named; see `count`."""
        TraceEvent.check_kind(kind)
        return [
            event
            for event in self.events
            if event.kind == kind
            and (not operation or operation in (event.operation, event.operation_name))
        ]

    def saved_bytes(self) -> list[int]:
        """After each event the bytes that slots saved during the trace keep, each storage once."""
        holders: dict[int, set[int]] = {}
        sizes: dict[int, int] = {}
        holding: dict[int, tuple[int, ...]] = {}
        live, series = 0, []
        for event in self.events:
            slot = event.slot_number
            if slot is not None and event.kind in ("save", "pack", "release", "drop"):
                for memory in holding.pop(slot, ()):
                    holders[memory].discard(slot)
                    if not holders[memory]:
                        live -= sizes[memory]
                for memory, nbytes in event.memories:
                    if not holders.setdefault(memory, set()):
                        live += nbytes
                    sizes[memory] = nbytes
                    holders[memory].add(slot)
                holding[slot] = tuple(memory for memory, _ in event.memories)
            series.append(live)
        return series

    def text(self) -> str:
        """All events as an aligned table."""
        if not self.events:
            return "no events"
        return text_table(HEADERS, [event.cells() for event in self.events])

    def order(self) -> str:
        """The slots in the order in which they were packed, and in that of their unpacking."""
        packed = ", ".join(event.slot_label for event in self.of("pack"))
        unpacked = ", ".join(event.slot_label for event in self.of("unpack"))
        return f"packed:   {packed or 'nothing'}\nunpacked: {unpacked or 'nothing'}"

    def __repr__(self) -> str:
        return self.text()

    # -- pictures ----------------------------------------------------------------------------------
    def plot(self, ax: Axes | None = None) -> Axes:
        """Swim lanes: one lane for each kind of event; lines join the pack and unpack of a slot."""
        width = min(13.0, max(7.0, 0.26 * len(self.events) + 1.5))
        lanes = len({event.kind for event in self.events})
        return draw_lanes(new_axes(width, 1.4 + 0.42 * lanes) if ax is None else ax, self.events)

    def plot_order(self, ax: Axes | None = None) -> Axes:
        """The order of packing on the left, that of unpacking on the right, lines between them."""
        packs = len(self.of("pack"))
        return draw_order(new_axes(6.0, 1.2 + 0.3 * packs) if ax is None else ax, self.events)

    def plot_saved_bytes(self, ax: Axes | None = None) -> Axes:
        """The bytes that saved slots keep alive after each event: rising forward, then falling."""
        ax = new_axes() if ax is None else ax
        return draw_saved_bytes(ax, self.events, self.saved_bytes())


def trace(names: Names | None = None, all_threads: bool = False) -> Trace:
    """Record what happens while a `with` block runs.

    After `with trace() as t: ...` look at `t`, `t.count("pack")` or `t.plot()`.

    The kinds of events:
        forward: an operation has computed its result.
        save: a tensor enters a slot; pack: its hook has packed it.
        write: a storage was written in place.
        backward: an operation is about to compute gradients.
        unpack: a hook has restored a tensor.
        conflict: a saved tensor was read that had been written since.
        accumulate: a leaf got its gradient.
        release: backward is done with a slot; drop: a slot went with its graph.
        allocate, copy, free, refuse: what the ledgers of the simulated accelerators tell.

    Args:
        names: what to call leaves, such as `{"w": w}`.
        all_threads: record every thread, not only the one that opened the trace.
    """
    return Trace(names, all_threads)
