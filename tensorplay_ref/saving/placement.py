"""Where packed values live: arrays in a fixed layout, the ledgers, and the way to the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..buffers import Array
from ..device import CPU, Device
from ..storage import CountedStorage, Storage, host_storage
from ..tensor_base import TensorBase, new_tensor
from ..transfer import copy_to


class Layout(NamedTuple):
    """How a dense array lies in memory: what `dense` took away and `restored` gives back.

    The order of the axes is kept, because a product of matrices may round differently for a matrix
    that is stored by columns, and an exact policy must give the very same gradients.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    axes: tuple[int, ...]


def dense(array: Array) -> tuple[Array, Layout]:
    """The elements in the order of memory, as a C-contiguous array, and the layout they had.

    Shares memory when the array has no gaps; else it is a copy.
    """
    axes = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
    ordered = np.ascontiguousarray(array.transpose(axes)).reshape([array.shape[a] for a in axes])
    return ordered, Layout(array.shape, array.dtype, axes)


def restored(elements: Array, layout: Layout) -> Array:
    """The array of which `dense` gave `elements` (of any shape) and `layout`."""
    ordered = elements.reshape([layout.shape[axis] for axis in layout.axes])
    return ordered.transpose(np.argsort(layout.axes))


def computed(array: Array, source: TensorBase, operation: str) -> TensorBase:
    """A tensor over a new array on the device of `source`, from which it was computed.

    On the simulated accelerator its bytes are counted as "saved for backward", and its clock moves.
    """
    device = source.device
    accelerator = device.accelerator
    if accelerator is None:
        return new_tensor(type(source), array, host_storage(array, device))
    storage = CountedStorage(array, device, operation, "saved for backward")
    read = source._storage.allocation
    accelerator.compute(
        operation,
        source.nbytes + int(array.nbytes),
        source._array.size,
        [] if read is None else [read],
        storage.allocation,
    )
    return new_tensor(type(source), array, storage)


def on_host(tensor: TensorBase, operation: str, pinned: bool = False) -> TensorBase:
    """The tensor itself on the host, or a copy that crosses the link from its device."""
    if tensor.device is CPU:
        return tensor
    return copy_to(
        tensor,
        CPU,
        pinned=pinned,
        non_blocking=pinned,
        operation=operation,
        category="saved for backward",
    )


def host_bytes(array: Array, source: TensorBase, operation: str) -> TensorBase:
    """A tensor on the host over a new array; counted as offloaded if `source` is elsewhere."""
    storage: Storage
    if source.device is CPU:
        storage = host_storage(array)
    else:
        storage = CountedStorage(array, CPU, operation, "saved for backward")
    return new_tensor(type(source), array, storage)


def from_host(array: Array, kind: type[TensorBase], device: Device, operation: str) -> TensorBase:
    """A tensor of class `kind` over a new array on the host, or a copy of it on `device`."""
    tensor = new_tensor(kind, array, host_storage(array))
    return tensor if device is CPU else copy_to(tensor, device, operation=operation)
