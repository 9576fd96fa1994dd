"""TraceEvent: one thing that happened while a trace was open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..tensor_base import TensorBase
from .tables import NOTHING, tensor_text

LEDGER_KINDS = ("allocate", "copy", "free", "refuse")
KINDS = (
    "forward",
    "save",
    "pack",
    "write",
    "backward",
    "unpack",
    "conflict",
    "accumulate",
    "release",
    "drop",
    *LEDGER_KINDS,
)
HEADERS = ("event", "kind", "operation", "slot", "tensor", "bytes", "device", "detail")


@dataclass(slots=True, kw_only=True)
class TraceEvent:
    """One thing that happened; words and numbers only.

    Attributes:
        number: 1, 2, 3, … in the order of the program.
        kind: see `trace`.
        operation: number and name, such as "3 Mul"; numbers count the operations of the trace. Of
            an accumulation the leaf, of a memory event who asked for the memory.
        slot: name of the saved slot, such as "self".
        slot_number: 1, 2, … in the order of saving; the same in all events of one slot.
        shape, dtype, device, nbytes: of the tensor concerned; of a memory event its bytes.
        detail: which hook and what it returned; category of memory; direction of a copy.
        memories: number and bytes of each piece of memory that the slot keeps from now on.
        versions: number and version of each storage that is saved, written, or about to be read by
            a backward.
    """

    number: int
    kind: str
    operation: str = ""
    slot: str = ""
    slot_number: int | None = None
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    device: str = ""
    nbytes: int = 0
    detail: str = ""
    memories: tuple[tuple[int, int], ...] = ()
    versions: tuple[tuple[int, int], ...] = ()

    @property
    def operation_name(self) -> str:
        """The operation without its number."""
        number, _, name = self.operation.partition(" ")
        return name if number.isdigit() else self.operation

    @property
    def slot_label(self) -> str:
        """Operation and slot, such as "3 Mul.self"."""
        return f"{self.operation}.{self.slot}" if self.operation else self.slot

    def describe(self, tensor: TensorBase) -> None:
        """Take shape, dtype, device and bytes from a tensor."""
        for what, value in form_of(tensor).items():
            setattr(self, what, value)

    def cells(self) -> tuple[str, ...]:
        """The entries of the table, in the order of its headers."""
        known = self.shape is not None or self.kind in LEDGER_KINDS
        return (
            str(self.number),
            self.kind,
            self.operation or NOTHING,
            self.slot or NOTHING,
            tensor_text(self.shape, self.dtype),
            f"{self.nbytes:,}" if known else NOTHING,
            self.device or NOTHING,
            self.detail or NOTHING,
        )

    @staticmethod
    def check_kind(kind: str) -> None:
        """Refuse a kind that no event has. Errors: ValueError naming the kinds."""
        if kind not in KINDS:
            raise ValueError(f"no event is of kind {kind!r}; expected one of {', '.join(KINDS)}")


def form_of(tensor: TensorBase) -> dict[str, Any]:
    """Shape, dtype, device and bytes of a tensor, as an event tells them."""
    dtype, device = str(tensor.dtype), str(tensor.device)
    return {"shape": tensor.shape, "dtype": dtype, "device": device, "nbytes": tensor.nbytes}
