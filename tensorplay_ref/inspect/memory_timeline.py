"""timeline(): how the memory of the simulated accelerator fills and empties over a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

from ..accelerator import HOST, Event, Ledger, Owner, listening
from ..device import CPU, Device
from .figures import new_axes, new_figure
from .memory_plots import draw_memory
from .memory_series import (
    MEMORY_KINDS,
    Peak,
    Series,
    over_events,
    over_time,
    owners_at,
    turning_points,
)
from .stream_plots import copied_bytes, draw_streams, streams_text
from .tables import text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Against = Literal["events", "time"]
# Rows of a table that shows the characteristic points only.
ROWS = 10


class Timeline:
    """Memory and streams during `with timeline() as t:`. Made by `timeline`.

    Attributes:
        events: what the ledgers told, in the order of the program; event number n is at n - 1.
        devices: names of the recorded memories; what is asked without naming one is the first.
    """

    def __init__(self, devices: tuple[Device | str, ...] = ()) -> None:
        self.events: list[Event] = []
        self.devices: tuple[str, ...] = ()
        self._wanted = devices or ("cuda", "host")
        self._start: dict[str, list[Owner]] = {}
        self._begin: dict[str, int] = {}
        self._capacity: dict[str, int | None] = {}
        self._contexts = ExitStack()

    def __enter__(self) -> Timeline:
        if self.devices:
            raise RuntimeError("a timeline is opened once; call timeline() again for another one")
        ledgers = [_ledger(device) for device in self._wanted]
        self.devices = tuple(ledger.name for ledger in ledgers)
        for ledger in ledgers:
            self._start[ledger.name] = ledger.owners()
            self._begin[ledger.name] = ledger.clock.position
            self._capacity[ledger.name] = ledger.capacity
        self._contexts.enter_context(listening(self.events.append, *ledgers))
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.close()

    # -- numbers -----------------------------------------------------------------------------------
    @property
    def peak(self) -> Peak:
        """The peak of the first device, with everything that lived then."""
        return self.peak_of()

    def peak_of(self, device: str = "") -> Peak:
        """The peak of a device (of "host": of the host's copies) in the order of the program."""
        series = self.series(device)
        number = series.points[series.peak_position]
        name = series.device
        time = self.events[number - 1].start - self._begin[name] if number else 0
        owners = owners_at(name, self._start[name], self.events, number)
        nbytes = max(series.totals)
        return Peak(name, nbytes, number, time, owners, self._capacity[name])

    def series(self, device: str = "", against: Against = "events") -> Series:
        """Live bytes by category, over event numbers or over simulated nanoseconds.

        Errors: ValueError for a device that was not recorded, or another `against`.
        """
        name = self._named(device)
        if against == "events":
            return over_events(name, self._start[name], self.events)
        if against == "time":
            return over_time(name, self._start[name], self._begin[name], self.events)
        raise ValueError(f"against must be 'events' or 'time', found {against!r}")

    def capacity_of(self, device: str = "") -> int | None:
        """Bytes that a device has; None for the host."""
        return self._capacity[self._named(device)]

    def copied(self) -> dict[str, int]:
        """Bytes that crossed the link "to host" and "to device"."""
        return copied_bytes(self.events)

    def _named(self, device: str) -> str:
        if not self.devices:
            raise RuntimeError("the timeline has not been opened: use it as a context manager")
        if not device:
            return self.devices[0]
        name = _ledger(device).name
        if name not in self.devices:
            raise ValueError(f"{name} was not recorded; recorded are {', '.join(self.devices)}")
        return name

    # -- text --------------------------------------------------------------------------------------
    def table(self, device: str = "", full: bool = False) -> str:
        """Live bytes by category at the ends, the peak and the largest swings, or at all events."""
        series = self.series(device)
        totals = series.totals
        positions = range(len(totals)) if full else turning_points(totals, ROWS)
        rows = []
        for position in positions:
            number = series.points[position]
            cells = [f"{column[position]:,}" for column in series.by_category.values()]
            mark = "peak" if position == series.peak_position else ""
            rows.append(
                (str(number), self._happened(number), *cells, f"{totals[position]:,}", mark)
            )
        headers = ("event", "what happened", *series.by_category, "bytes live", "")
        return "\n".join([self._heading(series), text_table(headers, rows)])

    def _heading(self, series: Series) -> str:
        capacity = self._capacity[series.device]
        simulated = f"{series.device} (simulated)" if capacity is not None else series.device
        room = "" if capacity is None else f", capacity {capacity:,} bytes"
        return (
            f"{simulated}{room}: peak {max(series.totals):,} bytes at event "
            f"{series.points[series.peak_position]} of {len(self.events)}"
        )

    def _happened(self, number: int) -> str:
        if not number:
            return "before"
        event = self.events[number - 1]
        words = {"allocate": "allocated", "free": "freed", "relabel": f"now {event.category}"}
        return f"{event.operation}: {event.nbytes:,} {words[event.kind]}"

    def streams(self) -> str:
        """For each stream: how much it did, how long, and how long beside the computing."""
        return streams_text(self.events)

    def _parts(self) -> Iterator[str]:
        for device in self.devices:
            if any(e.device == device and e.kind in MEMORY_KINDS for e in self.events):
                yield self.table(device)

    def __repr__(self) -> str:
        if not self.devices:
            return "a timeline that has not been opened"
        return "\n\n".join(self._parts()) or f"nothing happened on {', '.join(self.devices)}"

    # -- pictures ----------------------------------------------------------------------------------
    def plot(self, ax: Axes | None = None, device: str = "", against: Against = "events") -> Axes:
        """Stacked bytes of one device by category, with capacity, the peak and its owners."""
        ax = new_axes(8.0, 4.2) if ax is None else ax
        peak = self.peak_of(device)
        series = self.series(device, against)
        return draw_memory(ax, series, self.capacity_of(device), peak, against == "time")

    def plot_devices(self, against: Against = "events") -> list[Axes]:
        """One such picture for each device that did something, below each other."""
        used = [d for d in self.devices if max(self.series(d).totals)] or [self.devices[0]]
        figure = new_figure(8.0, 3.9 * len(used))
        axes: list[Axes] = list(figure.subplots(len(used), 1, sharex=True, squeeze=False)[:, 0])
        limits = []
        for ax, device in zip(axes, used, strict=True):
            limits.append(self.plot(ax, device, against).get_xlim())
        axes[0].set_xlim(0, max(end for _, end in limits))
        return axes

    def plot_streams(self, ax: Axes | None = None) -> Axes:
        """What ran on the streams "compute", "to host" and "to device" over simulated time."""
        ax = new_axes(8.0, 2.6) if ax is None else ax
        device = self._named("")
        return draw_streams(ax, self.events, device, self._begin[device])


def timeline(*devices: Device | str) -> Timeline:
    """Record memory and streams while a `with` block runs.

    After `with timeline() as t: ...` look at `t`, `t.peak` or `t.plot()`.

    Args:
        devices: which memories; none given means "cuda" and "host", that is the pinned and the
            offloaded memory of the host, for ordinary host tensors are counted nowhere. A device
            that is replaced by `tp.cuda.simulate` is recorded only if that was entered before.
    """
    return Timeline(devices)


def _ledger(device: Device | str) -> Ledger:
    if device == "host" or device is CPU or device == "cpu":
        return HOST
    accelerator = Device(device).accelerator
    assert accelerator is not None
    return accelerator
