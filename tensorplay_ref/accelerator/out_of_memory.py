"""The error of a memory that is full, and the owners of the memory that it names."""

from __future__ import annotations

from typing import NamedTuple


class Owner(NamedTuple):
    """Live bytes of one kind: the operation that asked for them and what they are for now."""

    operation: str
    category: str
    nbytes: int
    count: int  # type: ignore[assignment]  # of storages, where a tuple has a method

    def __str__(self) -> str:
        storages = "1 storage" if self.count == 1 else f"{self.count} storages"
        return f"{self.operation} ({self.category}): {self.nbytes:,} bytes in {storages}"


class OutOfMemoryError(RuntimeError):
    """A simulated device has not the room that an operation asked for; nothing was changed.

    Attributes:
        device: name of the device.
        operation: what asked for the memory.
        requested, live, capacity: bytes asked for, bytes live then, bytes there are.
        owners: the three largest `Owner`s, largest first.
    """

    def __init__(
        self,
        device: str,
        operation: str,
        requested: int,
        live: int,
        capacity: int,
        owners: list[Owner],
    ) -> None:
        self.device = device
        self.operation = operation
        self.requested = requested
        self.live = live
        self.capacity = capacity
        self.owners = owners
        listed = "; ".join(str(owner) for owner in owners) or "none"
        super().__init__(
            f"out of memory on {device} (simulated): {operation} asked for {requested:,} bytes, "
            f"but {live:,} of {capacity:,} bytes are live and {capacity - live:,} are free. "
            f"Largest owners: {listed}. "
            "Way out: drop tensors that are no longer needed, use a smaller batch, keep less for "
            "backward (autograd.graph.save_on_cpu, utils.checkpoint), or simulate a larger device "
            "with cuda.simulate(capacity=...)."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (
            type(self),
            (self.device, self.operation, self.requested, self.live, self.capacity, self.owners),
        )
