"""Copies between devices: the memory, the ledger and the simulated link. No recording.

`Tensor.to` and `save_on_cpu` both move tensors through `copy_to`.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from .accelerator import Stream
from .device import Device
from .storage import CountedStorage, host_storage
from .tensor_base import TensorBase, new_tensor

T = TypeVar("T", bound=TensorBase)


def copy_to(
    tensor: T,
    device: Device,
    *,
    pinned: bool = False,
    non_blocking: bool = False,
    operation: str = "to",
    category: str = "temporaries",
) -> T:
    """A detached copy of `tensor` on `device`, in the same order of axes, dense.

    Args:
        pinned: put a host copy into pinned memory; only such memory is copied beside the computing.
        non_blocking: do not wait for the copy; without pinned host memory it waits all the same.
        operation, category: what the ledger calls the copy.

    Errors: OutOfMemoryError when the accelerator is full.
    """
    source = tensor._storage
    array = np.array(tensor._array, order="K", copy=True)
    from_accelerator, to_accelerator = source.device.accelerator, device.accelerator
    if from_accelerator is None and to_accelerator is None and not pinned:
        return new_tensor(type(tensor), array, host_storage(array))
    pinned_host = pinned or source.pinned
    beside = non_blocking and pinned_host and to_accelerator is not None
    stream: Stream = "to device" if beside else "compute"
    storage = CountedStorage(array, device, operation, category, pinned=pinned, stream=stream)
    nbytes = int(array.nbytes)
    if from_accelerator is not None and to_accelerator is not None:
        if from_accelerator is to_accelerator:
            reads = [source.allocation] if source.allocation is not None else []
            to_accelerator.compute(operation, 2 * nbytes, 0, reads, storage.allocation)
        else:
            # There is no link between two accelerators here: the bytes pass through the host.
            from_accelerator.copy(nbytes, "to host", False, False, source.allocation, None)
            to_accelerator.copy(nbytes, "to device", False, False, None, storage.allocation)
    elif (accelerator := from_accelerator or to_accelerator) is not None:
        accelerator.copy(
            nbytes,
            "to device" if from_accelerator is None else "to host",
            pinned_host,
            non_blocking,
            source.allocation,
            storage.allocation,
            operation,
        )
    return new_tensor(type(tensor), array, storage)
