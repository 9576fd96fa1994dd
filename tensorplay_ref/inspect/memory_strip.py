"""memory_strip(): which bytes of which storage each of several tensors looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..storage import Storage
from ..tensor_base import TensorBase
from .figures import BLACK, DARK, GREY, PALETTE, finish, new_axes
from .tables import html_table, plural, text_table
from .walk import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADERS = ("tensor", "storage", "shape", "dtype", "strides", "first byte", "bytes", "version")
# A cell narrower than this many of the whole strip has no room for a number.
MOST_NUMBERED = 40
MOST_TICKS = 12


@dataclass(frozen=True)
class StripRecord:
    """How one tensor lies in its storage.

    Attributes:
        name: what it is called.
        storage: number of its storage, from 1; equal numbers mean shared memory.
        shape, dtype, nbytes, version: of the tensor; the version is the storage's.
        strides: bytes from one element to the next, for each axis.
        offset: byte of the storage at which its first element lies.
        offsets: for every element in the tensor's own order, the byte at which it begins.
        itemsize: bytes of one element.
    """

    name: str
    storage: int
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    offset: int
    nbytes: int
    version: int
    offsets: tuple[int, ...]
    itemsize: int

    def cells(self) -> tuple[str, ...]:
        """The entries of the table, in the order of its headers."""
        return (
            self.name,
            str(self.storage),
            str(self.shape),
            self.dtype,
            str(self.strides),
            str(self.offset),
            f"{self.nbytes:,}",
            str(self.version),
        )


@dataclass(frozen=True)
class MemoryStrip:
    """What `memory_strip` found; numbers only, it keeps no tensor alive.

    Attributes:
        records: one `StripRecord` for each tensor.
        sizes: bytes of storage 1, 2, …
    """

    records: tuple[StripRecord, ...]
    sizes: tuple[int, ...]

    def summary(self) -> str:
        """One line: how many tensors look into how many bytes."""
        return (
            f"{plural(len(self.records), 'tensor')} in {plural(len(self.sizes), 'storage')} "
            f"of together {plural(sum(self.sizes), 'byte')}"
        )

    def __repr__(self) -> str:
        return f"{text_table(HEADERS, [r.cells() for r in self.records])}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return html_table(HEADERS, [r.cells() for r in self.records], self.summary())

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar for each storage, and below it a row for each tensor with the bytes it looks at.

        The numbers in the cells count the tensor's elements in its own order, from 0.
        """
        rows: list[tuple[str, StripRecord | None, int]] = []
        for number, size in enumerate(self.sizes, 1):
            rows.append((f"storage {number}", None, size))
            rows.extend((r.name, r, size) for r in self.records if r.storage == number)
        ax = new_axes(8.0, 1.3 + 0.42 * len(rows)) if ax is None else ax
        widest = max(self.sizes)
        seen: set[int] = set()
        for y, (_, record, size) in enumerate(rows):
            if record is None:
                label = "bytes of a storage" if y == 0 else ""
                ax.barh(y, size, height=0.8, color=GREY, edgecolor=BLACK, label=label)
                continue
            colour = PALETTE[(record.storage - 1) % len(PALETTE)]
            label = "" if record.storage in seen else f"looks into storage {record.storage}"
            seen.add(record.storage)
            ax.barh(
                [y] * len(record.offsets),
                record.itemsize,
                left=record.offsets,
                height=0.6,
                color=colour,
                edgecolor="white",
                label=label,
            )
            if widest // record.itemsize <= MOST_NUMBERED:
                _number_cells(ax, y, record, colour)
        ax.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlim(0, widest)
        smallest = min((record.itemsize for record in self.records), default=1)
        step = smallest * max(1, widest // smallest // MOST_TICKS)
        ax.set_xticks(range(0, widest + 1, step))
        return finish(ax, "One memory, several tensors", "byte of the storage", "tensor", "below")


def _number_cells(ax: Axes, y: int, record: StripRecord, colour: str) -> None:
    text_colour = "white" if colour in DARK else BLACK
    numbers: dict[int, list[str]] = {}
    for number, offset in enumerate(record.offsets):
        numbers.setdefault(offset, []).append(str(number))
    for offset, here in numbers.items():
        # An expanded tensor has several elements in one place.
        text = here[0] if len(here) == 1 else f"{here[0]}…"
        place = (offset + record.itemsize / 2, y)
        ax.annotate(text, place, ha="center", va="center", fontsize=8, color=text_colour)


def memory_strip(tensors: Mapping[str, TensorBase]) -> MemoryStrip:
    """How tensors lie in their storages: `memory_strip({"x": x, "x[1]": x[1], "x.T": x.T})`.

    Args:
        tensors: what to call them and the tensors, of any shape and dtype.
    """
    numbers: dict[int, int] = {}
    sizes: list[int] = []
    records = []
    for name, tensor in named("tensors", tensors).items():
        storage = tensor._storage
        if id(storage) not in numbers:
            sizes.append(int(storage.buffer.nbytes))
            numbers[id(storage)] = len(sizes)
        offsets = _offsets(tensor._array, storage)
        records.append(
            StripRecord(
                name,
                numbers[id(storage)],
                tensor.shape,
                str(tensor.dtype),
                tensor._array.strides,
                offsets[0] if offsets else 0,
                tensor.nbytes,
                storage.version,
                offsets,
                tensor.itemsize,
            )
        )
    return MemoryStrip(tuple(records), tuple(sizes))


def _offsets(array: np.ndarray[Any, Any], storage: Storage) -> tuple[int, ...]:
    low, _ = np.lib.array_utils.byte_bounds(storage.buffer)
    first = int(array.__array_interface__["data"][0]) - low
    offsets = np.full(array.shape, first, dtype=np.int64)
    for axis, (length, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        along = np.arange(length, dtype=np.int64) * stride
        offsets = offsets + along.reshape((length,) + (1,) * (array.ndim - 1 - axis))
    return tuple(int(offset) for offset in offsets.ravel())
