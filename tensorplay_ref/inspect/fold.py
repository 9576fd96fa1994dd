"""Folding what repeats: a network of a hundred equal layers is one layer, times a hundred.

The operations stand in a row, in the order in which they ran. Two of them count as equal when they
do the same to inputs that lie equally far back. A piece of the row that comes three times or more
in immediate succession is folded, and the piece itself is folded in the same way.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

# A piece that is longer than this is not looked for.
LONGEST = 256
FEWEST = 3
# How many pieces back it is looked for a better beginning.
NAMES_BACK = 4


@dataclass(frozen=True)
class One:
    """One operation of the row, by its position."""

    position: int


@dataclass(frozen=True)
class Repeat:
    """A piece of `length` operations, `count` times in succession; `parts` is its first time."""

    start: int
    length: int
    count: int
    parts: tuple[Part, ...]

    @property
    def times(self) -> str:
        """How often, in words."""
        return f"{self.count:,} times"


@dataclass(frozen=True)
class Rest:
    """Operations from the middle of a row that does not repeat, summed up."""

    start: int
    length: int


Part = One | Repeat | Rest


def fold(
    keys: Sequence[Hashable], longest_row: int, names: Sequence[Hashable] | None = None
) -> tuple[Part, ...]:
    """The row of `keys` with repeats folded; beyond `longest_row` parts its middle is summed up.

    Where a repeat could begin at several places, it begins where `names`, which tell less than the
    keys, have begun to repeat: a layer whose first time is special still begins at its beginning.
    """
    row = _codes(keys)
    parts = _fold(row, row if names is None else _codes(names), 0)
    if _size(parts) <= longest_row:
        return parts
    return _without_middle(parts, longest_row)


def _codes(keys: Sequence[Hashable]) -> np.ndarray:
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    return np.array([codes[key] for key in keys], dtype=np.int64)


def unfolded(count: int) -> tuple[Part, ...]:
    """The row as it is."""
    return tuple(One(position) for position in range(count))


def representatives(parts: Sequence[Part]) -> dict[int, int]:
    """For each position of the row the one that stands for it in the folded row."""
    found: dict[int, int] = {}
    for part in parts:
        if isinstance(part, One):
            found[part.position] = part.position
        elif isinstance(part, Rest):
            for position in range(part.start, part.start + part.length):
                found[position] = part.start
        else:
            inner = representatives(part.parts)
            for offset in range(part.length * part.count):
                found[part.start + offset] = inner[part.start + offset % part.length]
    return found


def _size(parts: Sequence[Part]) -> int:
    return sum(_size(part.parts) if isinstance(part, Repeat) else 1 for part in parts)


def _fold(row: np.ndarray, names: np.ndarray, offset: int) -> tuple[Part, ...]:
    """Fold a row that begins at position `offset`, always taking what covers the most."""
    total = len(row)
    longest = min(LONGEST, total // FEWEST)
    best_length = np.zeros(total, dtype=np.int64)
    best_covered = np.zeros(total, dtype=np.int64)
    for length in range(1, longest + 1):
        times = 1 + _run_lengths(row[length:] == row[:-length]) // length
        covered = np.zeros(total, dtype=np.int64)
        covered[: total - length] = np.where(times >= FEWEST, times * length, 0)
        better = covered > best_covered
        best_length[better], best_covered[better] = length, covered[better]
    parts: list[Part] = []
    position = 0
    while position < total:
        length, covered_here = int(best_length[position]), int(best_covered[position])
        if length:
            shift = _to_beginning(names, position, length)
            later = position + shift
            if shift and best_length[later] == length:
                # One repetition less is no loss if the others begin where a reader expects it.
                length = 0 if best_covered[later] >= covered_here - length else length
        if not length:
            parts.append(One(offset + position))
            position += 1
            continue
        end = position + length
        piece = _fold(row[position:end], names[position:end], offset + position)
        parts.append(Repeat(offset + position, length, covered_here // length, piece))
        position += covered_here
    return tuple(parts)


def _to_beginning(names: np.ndarray, position: int, length: int) -> int:
    """How far it is from `position` to the next beginning of a piece, as the names repeat."""
    first, earliest = position, position - NAMES_BACK * length
    while first > 0 and names[first - 1] == names[first - 1 + length]:
        first -= 1
        if first < earliest:
            return 0
    return (first - position) % length


def _run_lengths(equal: np.ndarray) -> np.ndarray:
    """For each position how many True follow each other from there on."""
    count = len(equal)
    stops = np.where(equal, count, np.arange(count))
    # The next False at or after each position: a minimum taken from the right.
    following = np.minimum.accumulate(stops[::-1])[::-1]
    return np.asarray(following - np.arange(count))


def _without_middle(parts: tuple[Part, ...], longest_row: int) -> tuple[Part, ...]:
    """The first and the last parts, with everything between them in one `Rest`."""
    half = max(1, longest_row // 2)
    first: list[Part] = []
    last: list[Part] = []
    for source, kept in ((parts, first), (parts[::-1], last)):
        room = half
        for part in source:
            room -= _size((part,))
            if room < 0:
                break
            kept.append(part)
    start = sum(length_of(part) for part in first)
    end = sum(length_of(part) for part in parts) - sum(length_of(part) for part in last)
    return (*first, Rest(start, end - start), *reversed(last))


def length_of(part: Part) -> int:
    """How many operations of the row a part covers."""
    if isinstance(part, One):
        return 1
    return part.length * part.count if isinstance(part, Repeat) else part.length
