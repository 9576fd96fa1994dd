"""Live bytes of one memory, read off its ledger's events: by category, over events or over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..accelerator import CATEGORIES, Event, Owner

MEMORY_KINDS = ("allocate", "free", "relabel")


@dataclass(frozen=True)
class Series:
    """Live bytes of one memory at a row of points.

    Attributes:
        device: which memory.
        points: event numbers (0 is before the first event), or simulated nanoseconds since the
            timeline was opened.
        by_category: for each category the live bytes at every point; the package's own first.
    """

    device: str
    points: tuple[int, ...]
    by_category: dict[str, tuple[int, ...]]

    @property
    def totals(self) -> tuple[int, ...]:
        """Live bytes of all categories at every point."""
        columns = tuple(self.by_category.values())
        return tuple(map(sum, zip(*columns, strict=True))) if columns else (0,) * len(self.points)

    @property
    def peak_position(self) -> int:
        """Where the most bytes live for the first time, as an index of `points`."""
        totals = self.totals
        return totals.index(max(totals))


@dataclass(frozen=True)
class Peak:
    """The moment of a program at which the most bytes of one memory live.

    Attributes:
        device, nbytes: which memory, and how many bytes.
        event: number of the event that made it; 0 when it was so before the first.
        time: simulated nanoseconds from the opening of the timeline to that event.
        owners: everything that lives then, by operation and category, most bytes first.
        capacity: bytes that there are; None when nobody limits them.
    """

    device: str
    nbytes: int
    event: int
    time: int
    owners: tuple[Owner, ...]
    capacity: int | None

    def __str__(self) -> str:
        largest = "; ".join(str(owner) for owner in self.owners[:3])
        return f"peak of {self.device}: {self.nbytes:,} bytes at event {self.event}: {largest}"


def over_events(device: str, start: Sequence[Owner], events: Sequence[Event]) -> Series:
    """Live bytes before the first event and after each one that changes this memory."""
    live = _by_category(start)
    rows = {0: dict(live)}
    for number, event, category, sign in _changes(device, events):
        live[category] += sign * event.nbytes
        rows[number] = dict(live)
    return _series(device, rows)


def over_time(device: str, start: Sequence[Owner], begin: int, events: Sequence[Event]) -> Series:
    """Live bytes from simulated time `begin` on, which counts as 0, at each instant of a change.

    In simulated time a storage holds its bytes from the start of its allocation to its release,
    and the host runs ahead of the device, so this is another order than that of the program.
    """
    change = {0: _by_category(start)}
    since: dict[int | None, int] = {}
    for _, event, category, sign in _changes(device, events):
        # A storage may be relabelled or given up before the time from which it holds its bytes.
        time = max(event.start, since.get(event.allocation, event.start))
        since[event.allocation] = time
        change.setdefault(time - begin, Counter())[category] += sign * event.nbytes
    live: Counter[str] = Counter()
    rows = {}
    for time in sorted(change):
        live.update(change[time])
        rows[time] = dict(live)
    return _series(device, rows)


def _by_category(owners: Sequence[Owner]) -> Counter[str]:
    live: Counter[str] = Counter()
    for owner in owners:
        live[owner.category] += owner.nbytes
    return live


def _changes(device: str, events: Sequence[Event]) -> Iterator[tuple[int, Event, str, int]]:
    """Number, event and category of each change of a memory, and 1 for a gain, -1 for a loss."""
    for number, event in enumerate(events, 1):
        if event.device == device and event.kind in MEMORY_KINDS:
            if event.kind == "relabel":
                yield number, event, event.previous, -1
            yield number, event, event.category, -1 if event.kind == "free" else 1


def _series(device: str, rows: dict[int, dict[str, int]]) -> Series:
    used = {category for row in rows.values() for category, nbytes in row.items() if nbytes}
    ordered = [c for c in CATEGORIES if c in used] + sorted(used.difference(CATEGORIES))
    columns = {c: tuple(row.get(c, 0) for row in rows.values()) for c in ordered}
    return Series(device, tuple(rows), columns)


def owners_at(
    device: str, start: Sequence[Owner], events: Sequence[Event], number: int
) -> tuple[Owner, ...]:
    """Everything that lives after event `number`, by operation and category, most bytes first."""
    held = {(owner.operation, owner.category): [owner.nbytes, owner.count] for owner in start}
    for _, event, category, sign in _changes(device, events[:number]):
        entry = held.setdefault((event.operation, category), [0, 0])
        entry[0] += sign * event.nbytes
        entry[1] += sign
    listed = [Owner(*key, *entry) for key, entry in held.items() if entry[1]]
    return tuple(sorted(listed, key=lambda o: (-o.nbytes, o.operation, o.category)))


def turning_points(values: Sequence[int], at_most: int) -> list[int]:
    """Positions of the first, the last, the largest, and the largest swings between them.

    Where all swings are alike, which would be too many, points at equal distances take their place.
    """
    kept = {0, len(values) - 1, values.index(max(values))}
    step = float(max(values) - min(values))
    while step >= 1:
        found = kept | _swings(values, step)
        if len(found) > at_most:
            break
        kept = found
        step *= 0.8
    if len(kept) < at_most // 2:
        spread = at_most // 2
        kept |= {part * (len(values) - 1) // spread for part in range(spread)}
    return sorted(kept)


def _swings(values: Sequence[int], step: float) -> set[int]:
    """Positions at which the direction turns, for swings of at least `step`."""
    found: set[int] = set()
    low = high = 0
    rising: bool | None = None
    for position, value in enumerate(values):
        if value > values[high]:
            high = position
        if value < values[low]:
            low = position
        if rising is not False and values[high] - value >= step:
            found.add(high)
            rising, low = False, position
        elif rising is not True and value - values[low] >= step:
            found.add(low)
            rising, high = True, position
    return found
