"""Storage: one buffer on one device, with ONE version counter shared by every view of it.

Views, slices and detached aliases are different tensors over the same storage. A write through any
of them counts in the storage, so that a saved tensor notices a change made through another name.
"""

from __future__ import annotations

import numpy as np

from .accelerator import HOST, Accelerator, Allocation, HostLedger, Stream
from .buffers import LARGE, give_back
from .device import CPU, Device

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


class Storage:
    """A buffer in ordinary host memory.

    Attributes:
        buffer: the array that owns (or was given) the memory; every view looks into it.
        device: where the buffer lives.
        version: how many times the buffer was written in place since it was made.
    """

    # No __init__: a storage is made for every result, and the attributes are cheaper to set there.
    __slots__ = ("buffer", "device", "version", "__weakref__")
    buffer: Array
    device: Device
    version: int

    def nbytes(self) -> int:
        """Size of the buffer in bytes."""
        return int(self.buffer.nbytes)

    def data_ptr(self) -> int:
        """Address of the buffer: equal for two tensors exactly when they share a storage."""
        return int(self.buffer.__array_interface__["data"][0])

    @property
    def pinned(self) -> bool:
        """Whether it is page-locked host memory, which the accelerator's link reads faster."""
        return False

    @property
    def allocation(self) -> Allocation | None:
        """The entry in a ledger, or None for ordinary host memory, which nobody counts."""
        return None

    def relabel(self, category: str) -> None:
        """Tell the ledger what the bytes are for; ordinary host memory has no ledger."""

    def __repr__(self) -> str:
        kind = "pinned " if self.pinned else ""
        return f"Storage({kind}{self.nbytes()} bytes on {self.device}, version {self.version})"


class LargeStorage(Storage):
    """A large buffer in host memory, which is used again when nobody refers to it any more."""

    __slots__ = ()

    def __del__(self) -> None:
        give_back(self)


class CountedStorage(Storage):
    """A buffer whose bytes stand in a ledger: on an accelerator, pinned, or copied from one.

    The bytes are counted when the storage is made and freed exactly when its last view goes.

    Errors:
        OutOfMemoryError: the accelerator has not that much room; nothing was counted.
    """

    __slots__ = ("_allocation", "_ledger", "_pinned", "_slots")
    _ledger: Accelerator | HostLedger

    def __init__(
        self,
        buffer: Array,
        device: Device,
        operation: str,
        category: str = "temporaries",
        *,
        pinned: bool = False,
        stream: Stream = "compute",
    ) -> None:
        self.buffer, self.device, self.version = buffer, device, 0
        self._pinned = pinned
        self._slots = 0
        self._ledger = device.accelerator or HOST
        self._allocation = self._ledger.allocate(
            int(buffer.nbytes), operation, category, pinned=pinned, stream=stream
        )

    @property
    def pinned(self) -> bool:
        """Whether it is pinned host memory."""
        return self._pinned

    @property
    def allocation(self) -> Allocation:
        """The entry in the ledger."""
        return self._allocation

    def relabel(self, category: str) -> None:
        """Tell the ledger what the bytes are for from now on."""
        self._ledger.relabel(self._allocation, category)

    def count_slot(self, change: int) -> None:
        """One saved slot more or less keeps these bytes alive.

        While there is one, a temporary is called "saved for backward"; a parameter or a gradient
        stays what it is.
        """
        self._slots += change
        if self._slots and self._allocation.category == "temporaries":
            self.relabel("saved for backward")
        elif not self._slots and self._allocation.category == "saved for backward":
            self.relabel("temporaries")

    def __del__(self) -> None:
        # The constructor may have been refused by the ledger, so there may be nothing to free.
        allocation = getattr(self, "_allocation", None)
        if allocation is not None:
            self._ledger.free(allocation)


class SlotCount:
    """Counts one saved slot of a storage in the ledger for as long as it lives."""

    __slots__ = ("_storage",)

    def __init__(self, storage: CountedStorage) -> None:
        self._storage = storage
        storage.count_slot(1)

    def __del__(self) -> None:
        self._storage.count_slot(-1)


def host_storage(buffer: Array, device: Device = CPU) -> Storage:
    """A storage in ordinary host memory, which no ledger counts."""
    storage = Storage() if buffer.nbytes < LARGE else LargeStorage()
    storage.buffer = buffer
    storage.device = device
    storage.version = 0
    return storage


def new_storage(buffer: Array, device: Device, operation: str) -> Storage:
    """A storage for a buffer that an operation has just made on `device`."""
    if device.accelerator is None:
        return host_storage(buffer, device)
    return CountedStorage(buffer, device, operation)


class AliasStorage(Storage):
    """The buffer of another storage, with a version counter of its own: what `.data` is."""

    __slots__ = ("_owner",)
    _owner: Storage

    def __init__(self, owner: Storage) -> None:
        self.buffer, self.device, self.version = owner.buffer, owner.device, 0
        # Holding the owner keeps its bytes in the ledger for as long as they are used.
        self._owner = owner

    @property
    def pinned(self) -> bool:
        """Whether the owner's buffer is pinned."""
        return self._owner.pinned

    @property
    def allocation(self) -> Allocation | None:
        """The owner's entry in a ledger."""
        return self._owner.allocation

    def relabel(self, category: str) -> None:
        """Tell the ledger what the owner's bytes are for."""
        self._owner.relabel(category)
