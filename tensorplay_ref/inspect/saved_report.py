"""saved(y): which tensors a graph keeps for backward, why, and how many bytes that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..arguments import hook_name
from ..autograd.node import Node
from ..autograd.saved import SavedTensor
from .figures import new_axes
from .kept import Kept, kept_by
from .saved_bars import MOST_BARS, by_name, draw_bars
from .tables import NOTHING, html_table, plural, text_table
from .walk import Names, Roots, Walk, operation_name, slot_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADERS = (
    "row",
    "operation",
    "slot",
    "is",
    "shape",
    "dtype",
    "bytes",
    "device",
    "version",
    "unpacked by",
    "keeps",
    "shares with",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRecord:
    """One saved slot.

    Attributes:
        row: 1, 2, 3, … in the order of the operations, then of their slots.
        number, operation: which operation saved it; numbers as in `graph`.
        slot: the name under which it is read, as in `grad_fn._saved_<slot>`.
        role: "result" of the operation; "leaf" or "input" (made by another operation) when a
            gradient goes there; "constant" when none does; "" when freed without hooks.
        name: the name given to the tensor by `names`; else of a leaf "leaf 1", …, of an input what
            made it, as "from 1 MatMul"; else "".
        shape, dtype, device: of the tensor that was saved; None and "" when no longer known.
        nbytes: bytes of its elements.
        version: of its storage when it was saved; counts writes.
        version_now: the same now; None for a packed slot, where the hook answers for the values.
        unpacked_by: name of the unpack hook, which is what a slot keeps of its pair, or of what
            defines it; None without hooks.
        packed_as: type of what pack returned; "" without hooks.
        keeps: bytes that the slot keeps alive: the whole storage, or the memory found in what pack
            returned. Rows that share a storage each say all of it.
        kept_on: the devices of that memory, comma-separated.
        shares_with: the first row that keeps the same storage; None for that row itself.
        freed: whether the slot has been released.
    """

    row: int
    number: int
    operation: str
    slot: str
    role: str
    name: str
    shape: tuple[int, ...] | None
    dtype: str
    device: str
    nbytes: int
    version: int
    version_now: int | None
    unpacked_by: str | None
    packed_as: str
    keeps: int
    kept_on: str
    shares_with: int | None
    freed: bool

    @property
    def description(self) -> str:
        """What the saved tensor is, in words."""
        if self.role == "leaf" and self.name.startswith("leaf "):
            return self.name
        return f"{self.role} {self.name}".strip()

    def cells(self) -> tuple[str, ...]:
        """The entries of the table, in the order of its headers."""
        packed = NOTHING if self.unpacked_by is None else f"{self.unpacked_by}: {self.packed_as}"
        changed = self.version_now not in (None, self.version)
        version = f"{self.version}, now {self.version_now}" if changed else str(self.version)
        return (
            str(self.row),
            f"{self.number} {self.operation}",
            self.slot,
            "freed" if self.freed else self.description,
            NOTHING if self.shape is None else str(self.shape),
            self.dtype or NOTHING,
            NOTHING if self.shape is None else f"{self.nbytes:,}",
            self.device or NOTHING,
            version if self.unpacked_by is None else NOTHING,
            packed,
            f"{self.keeps:,}",
            NOTHING if self.shares_with is None else f"row {self.shares_with}",
        )


@dataclass(frozen=True)
class SavedReport:
    """What `saved` found. Holds numbers and words only, so it keeps no tensor alive.

    Attributes:
        records: one `SavedRecord` for each slot, in the order of the operations.
        nbytes: bytes that all slots together keep alive, every storage counted once.
        leaf_nbytes: how many of them are storages of leaves, which live anyway.
        storages: how many storages (or packed pieces of memory) that is.
        operations: how many operations the graph has.
    """

    records: list[SavedRecord]
    nbytes: int
    leaf_nbytes: int
    storages: int
    operations: int
    _new: dict[int, int] = field(repr=False)

    def bytes_by_operation(self) -> dict[str, tuple[int, int]]:
        """For each operation that saves: bytes it is the first to keep, bytes kept already.

        Operations that keep one storage twice count it once.
        """
        totals: dict[str, tuple[int, int]] = {}
        for record in self.records:
            label = f"{record.number} {record.operation}"
            new, shared = totals.get(label, (0, 0))
            own = self._new[record.row]
            totals[label] = (new + own, shared + record.keeps - own)
        return totals

    def summary(self) -> str:
        """One line: slots, storages and bytes."""
        freed = sum(record.freed for record in self.records)
        if not self.records:
            return f"{plural(self.operations, 'operation')}, nothing saved"
        kept = f"{plural(self.storages, 'storage')} of together {plural(self.nbytes, 'byte')}"
        line = (
            f"{plural(len(self.records), 'slot')} of {plural(self.operations, 'operation')} "
            f"keep {kept if self.storages else 'no storage'}"
        )
        if self.leaf_nbytes:
            line += f", of which {self.leaf_nbytes:,} are the leaves' own"
        return line + (f"; {plural(freed, 'slot')} freed" if freed else "")

    def table(self) -> str:
        """The rows as aligned text."""
        return text_table(HEADERS, [record.cells() for record in self.records])

    def __repr__(self) -> str:
        return f"{self.table()}\n{self.summary()}" if self.records else self.summary()

    def _repr_html_(self) -> str:
        if not self.records:
            return f"<p>{self.summary()}</p>"
        return html_table(HEADERS, [r.cells() for r in self.records], self.summary())

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar for each operation that saves: the bytes it keeps alive, shared ones in grey."""
        bars = self.bytes_by_operation()
        if len(bars) > MOST_BARS:
            bars = by_name(bars)
        return draw_bars(new_axes(7.0, 1.6 + 0.32 * len(bars)) if ax is None else ax, bars)


def saved(y: Roots, names: Names | None = None) -> SavedReport:
    """Every saved slot that the graph of `y` holds: who saved it, what it is, what it keeps alive.

    Calls no hook and changes nothing; slots that backward has released are shown as freed.

    Args:
        y: a tensor, an edge or a node of a graph, or several of them.
        names: what to call tensors, such as `{"x": x, "w": w}`.

    Source: the idea of JAX's `print_saved_residuals`.
    """
    walk = Walk(y, names)
    leaf_memory = {id(leaf.variable._storage) for leaf in walk.leaves}
    first_row: dict[int, int] = {}
    records: list[SavedRecord] = []
    new: dict[int, int] = {}
    total = of_leaves = 0
    for node in walk.operations:
        for slot, name in zip(node.saved_slots, slot_names(node), strict=True):
            if not isinstance(slot, SavedTensor):
                continue
            row = len(records) + 1
            kept = kept_by(slot)
            fresh = [part for part in kept if id(part.memory) not in first_row]
            first_row.update((id(part.memory), row) for part in fresh)
            new[row] = sum(part.nbytes for part in fresh)
            total += new[row]
            of_leaves += sum(part.nbytes for part in fresh if id(part.memory) in leaf_memory)
            earlier = [first_row[id(p.memory)] for p in kept if first_row[id(p.memory)] != row]
            shares = min(earlier, default=None)
            records.append(_record(walk, node, slot, name, row, kept, shares))
    return SavedReport(records, total, of_leaves, len(first_row), len(walk.operations), new)


def _record(
    walk: Walk,
    node: Node,
    slot: SavedTensor,
    name: str,
    row: int,
    kept: list[Kept],
    shares_with: int | None,
) -> SavedRecord:
    freed = slot.freed
    shape, dtype, device = described(slot)
    role, tensor_name = role_of(walk, node, slot)
    hook = slot._unpack_hook
    return SavedRecord(
        row=row,
        number=walk.number(node),
        operation=operation_name(node),
        slot=name,
        role=role,
        name=tensor_name,
        shape=shape,
        dtype="" if dtype is None else str(dtype),
        device="" if device is None else str(device),
        nbytes=0 if shape is None else math.prod(shape) * int(dtype.itemsize),
        version=slot._version,
        version_now=None if slot._storage is None else slot._storage.version,
        unpacked_by=None if hook is None else hook_name(hook),
        packed_as="" if hook is None or freed else type(slot._value).__name__,
        keeps=sum(part.nbytes for part in kept),
        kept_on=", ".join(sorted({part.device for part in kept})),
        shares_with=shares_with,
        freed=freed,
    )


def described(slot: SavedTensor) -> tuple[tuple[int, ...] | None, Any, Any]:
    """Shape, dtype and device of the saved tensor; None each when the slot no longer knows."""
    if slot._unpack_hook is not None:
        shape, dtype, device = slot._form
        return shape, dtype, device
    if slot._storage is None:
        return None, None, None
    return slot._value.shape, slot._value.dtype, slot._storage.device


def result_label(walk: Walk, node: Node, number: int) -> str:
    """An operation, and which of its results is meant if it is not the first."""
    return walk.label(node) + (f", output {number}" if number else "")


def role_of(walk: Walk, node: Node, slot: SavedTensor) -> tuple[str, str]:
    """What the saved tensor is to the graph, and its name; see `SavedRecord`."""
    if slot._is_output:
        return "result", walk.result_name(node, slot._output_nr)
    maker = slot._node
    if maker is not None:
        name = walk.result_name(maker, slot._output_nr)
        return "input", name or f"from {result_label(walk, maker, slot._output_nr)}"
    if slot._leaf is not None:
        return "leaf", walk.variable_name(slot._leaf)
    if slot.freed:
        return "", ""
    return "constant", "" if slot._original is None else walk.name_of(slot._original())
