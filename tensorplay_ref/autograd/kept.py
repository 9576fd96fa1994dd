"""Kept: a tensor that a hook keeps as it is, protected like one that was saved without hooks."""

from __future__ import annotations

from typing import Any

from ..storage import CountedStorage, SlotCount
from ..tensor_base import TensorBase, detached


class Kept:
    """A tensor and the version at which it was kept.

    On the accelerator the ledger calls it "saved for backward" as long as this object lives.

    Args:
        tensor: kept as an alias without history, so that a result does not keep its own node.
        by: who keeps it, for the error, such as "kept as it is by a saving policy".
    """

    __slots__ = ("tensor", "version", "_by", "_counted")

    def __init__(self, tensor: TensorBase, by: str) -> None:
        self.tensor = detached(tensor)
        self.version = tensor._version
        self._by = by
        storage = tensor._storage
        self._counted = SlotCount(storage) if isinstance(storage, CountedStorage) else None

    def value(self) -> TensorBase:
        """The tensor. Errors: RuntimeError when it was changed in place since it was kept."""
        require_version(self.tensor, self.version, self._by)
        return self.tensor

    def __repr__(self) -> str:
        return f"Kept({self.tensor.dtype} {self.tensor.shape}, version {self.version})"


def require_version(tensor: TensorBase, version: int, by: str) -> None:
    """Refuse a tensor that was changed in place since that version, with a RuntimeError."""
    if tensor._version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: {tensor.dtype} tensor of shape {tensor.shape}, {by}, is at version "
            f"{tensor._version}; expected version {version} instead. Hint: save a copy with "
            ".clone(), or write the change out of place."
        )


def place_of(tensor: TensorBase) -> tuple[Any, ...]:
    """What tells apart the views of one storage: where they begin, shape, strides and dtype."""
    array = tensor._array
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
