"""Recomputation: the second run of a region, which collects what the first one would have saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from ..autograd.kept import Kept, require_version
from ..autograd.node import Node
from ..autograd.packing import operation_name, packing_operation
from ..autograd.saved import SavedTensor
from ..tensor_base import TensorBase, detached

if TYPE_CHECKING:
    from .region import Region


class CheckpointError(RuntimeError):
    """The second run of a checkpointed region saved other tensors than the first."""


class StopRecomputation(BaseException):
    """Ends a second run when everything is collected.

    No Exception, so that a function that catches those does not catch this one.
    """


class Record:
    """What a region remembers of a tensor that it packed, to recognize it in the second run."""

    __slots__ = ("operation", "shape", "dtype", "device", "version", "_storage", "_node", "_kept")

    def __init__(self, tensor: TensorBase, node: Node | None, kept: Any) -> None:
        self.operation = operation_name(node)
        self.shape, self.dtype, self.device = tensor.shape, tensor.dtype, tensor.device
        self.version = tensor._version
        self._storage = ref(tensor._storage)
        self._node = None if node is None else ref(node)
        self._kept = ref(kept)

    def awaited(self) -> bool:
        """Whether a slot still holds the holder, so that a backward may ask for the tensor."""
        kept = self._kept()
        return kept is not None and type(kept) is not SavedTensor

    def slot(self) -> str:
        """The name of the saved slot, such as "other" of Mul; "a tensor" when it is gone."""
        node, kept = None if self._node is None else self._node(), self._kept()
        if node is not None and kept is not None:
            for position, slot in enumerate(node.saved_slots):
                if type(slot) is SavedTensor and slot._value is kept:
                    names = type(node).saves
                    name = names[position] if names else f"saved_tensors[{position}]"
                    return f"{name!r} of {self.operation}"
        return f"a tensor saved by {self.operation}"

    def check_version(self, tensor: TensorBase) -> None:
        """Refuse a tensor that both runs share and that was written in place between them."""
        if tensor._storage is self._storage():
            require_version(tensor, self.version, saved_by(self.operation))


def saved_by(operation: str) -> str:
    """Who keeps a tensor, as `Kept` tells it."""
    return f"saved by {operation} in a checkpointed region"


class Recomputation:
    """Collects the wanted tensors of a second run, in packing order.

    Args:
        region: the region that runs again.
        wanted: the indices to collect; nothing else is kept.
    """

    def __init__(self, region: Region, wanted: set[int]) -> None:
        self._region = region
        self._wanted = wanted
        self._values: dict[int, Kept] = {}
        self._count = 0
        # Kept, because the function may catch what a hook raises.
        self.error: RuntimeError | None = None

    def pack(self, tensor: TensorBase) -> TensorBase:
        """Compare with the first run, keep the tensor if it is wanted, stop after the last one.

        Returns a detached alias: the graph of the second run stays usable while the function runs,
        which may differentiate inside, and is dropped afterwards.
        """
        index = self._count
        self._count += 1
        value = detached(tensor)
        if self.error is not None:
            return value
        try:
            self._check(index, tensor)
        except RuntimeError as error:
            self.error = error
            raise
        if index in self._wanted:
            self._values[index] = Kept(tensor, saved_by(packing_operation()))
            if self._region.early_stop and len(self._values) == len(self._wanted):
                raise StopRecomputation
        return value

    def _check(self, index: int, tensor: TensorBase) -> None:
        records = self._region.records
        if index >= len(records):
            # Without early stop the function may differentiate inside; then its first run is not
            # complete when its saved tensors are read, and the second goes on beyond that point.
            if self._region.complete:
                raise CheckpointError(
                    "checkpoint: a different number of tensors was saved in the recomputation: "
                    f"the forward pass saved {len(records)}, the recomputation at least "
                    f"{index + 1}; the first too many is saved by {packing_operation()}, "
                    f"{_metadata(tensor)}. The function must do the same in every run."
                )
            return
        record = records[index]
        operation = packing_operation()
        same = (
            record.shape == tensor.shape
            and record.dtype == tensor.dtype
            and record.device is tensor.device
            and record.operation == operation
        )
        if self._region.compare and not same:
            by = "" if operation == record.operation else f", saved by {operation}"
            raise CheckpointError(
                f"checkpoint: the recomputation differs from the forward pass at {record.slot()} "
                f"(tensor {index + 1} of {len(records)}): saved {_metadata(record)}; recomputed "
                f"{_metadata(tensor)}{by}. The function must do the same in every run."
            )
        record.check_version(tensor)

    def finish(self) -> dict[int, Kept]:
        """The collected tensors.

        Errors: CheckpointError when not all have come, or what was found wrong before.
        """
        if self.error is not None:
            raise self.error
        records = self._region.records
        ran_to_the_end = len(self._values) < len(self._wanted) or not self._region.early_stop
        if ran_to_the_end and self._count < len(records):
            record = records[self._count]
            raise CheckpointError(
                "checkpoint: a different number of tensors was saved in the recomputation: the "
                f"forward pass saved {len(records)}, the recomputation {self._count}; the first "
                f"missing one is {record.slot()}, {_metadata(record)}. The function must do the "
                "same in every run."
            )
        return self._values


def _metadata(of: TensorBase | Record) -> str:
    return f"shape {of.shape}, dtype {of.dtype}, on {of.device}"
