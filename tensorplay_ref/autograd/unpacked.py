"""What an unpack hook may return: the values that were packed, in the form in which they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import Device
from ..storage import new_storage
from ..tensor_base import TensorBase, new_tensor


def as_saved(
    value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device
) -> TensorBase:
    """The answer of an unpack hook for a tensor of this form, cast back to another float dtype.

    Errors: TypeError for what is no tensor; RuntimeError for another shape, device or kind of
    dtype.
    """
    if not isinstance(value, TensorBase):
        raise TypeError(
            "the output of a saved tensor unpack_hook is expected to be a Tensor "
            f"of shape {shape}, found {type(value).__name__}"
        )
    array = value._array
    if array.shape != shape:
        raise RuntimeError(
            f"unpack_hook returned a tensor of shape {value.shape} for one saved with shape "
            f"{shape}; it must return the values that were packed"
        )
    if value._storage.device is not device:
        raise RuntimeError(
            f"unpack_hook returned a tensor on {value.device} for one saved on {device}; "
            "move it back with .to(device)"
        )
    if array.dtype is dtype or array.dtype == dtype:
        return value
    if array.dtype.kind != dtype.kind or dtype.kind not in "fc":
        raise RuntimeError(
            f"unpack_hook returned dtype {value.dtype} for a tensor saved as {dtype}; "
            "only a change between floating dtypes is undone"
        )
    array = array.astype(dtype)
    return new_tensor(type(value), array, new_storage(array, device, "unpack"))
