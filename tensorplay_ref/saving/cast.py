"""cast: keep saved tensors in half precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import Array
from ..dtypes import DTypeLike, numpy_dtype
from ..tensor_base import TensorBase
from .placement import computed
from .policy import Packed, Policy


class cast(Policy):
    """Keep floating tensors in a narrower dtype.

    Contract: bounded error. Of float32, "float16" keeps each element within 2**-11 of itself
    (0.05 percent) from 6.1e-5 to 65504, and "bfloat16" within 2**-8 (0.4 percent) in the whole
    range; smaller elements of float16 within 2**-24. A non-zero element never becomes zero, so the
    mask that relu's backward reads off its result is exact. Infinities and NaN stay what they are.
    A tensor with a finite element that would become infinite is left as it is; so are tensors of
    integers, booleans, complex numbers, and of dtypes that are not wider.

    Args:
        dtype: "float16", "float32" (for float64), or "bfloat16", which NumPy does not have: it is
            kept as the upper half of float32 in a uint16 tensor, several times faster.
        options: see `Policy`.

    Saves: the tensor in the narrow dtype, on the same device.

    Errors: TypeError for a dtype that is not floating.
    """

    def __init__(self, dtype: DTypeLike, **options: Any) -> None:
        super().__init__(**options)
        self._upper_half = isinstance(dtype, str) and dtype == "bfloat16"
        kept_as = np.uint16 if self._upper_half else dtype
        self._dtype: np.dtype[Any] = numpy_dtype("cast", kept_as)
        if not self._upper_half and self._dtype.kind != "f":
            raise TypeError(f"cast: dtype must be floating, found {self._dtype}")

    def pack(self, tensor: TensorBase) -> Any:
        """The narrow tensor and the original dtype."""
        array = tensor._array
        if array.dtype.kind != "f" or array.itemsize <= self._dtype.itemsize or not array.size:
            return tensor
        narrow = upper_half(array) if self._upper_half else narrowed(array, self._dtype)
        if narrow is None:
            return tensor
        return Packed((computed(narrow, tensor, "cast"),), array.dtype)

    def unpack(self, packed: Packed) -> TensorBase:
        """The tensor in its original dtype."""
        (narrow,), dtype = packed
        array = narrow._array
        if self._upper_half:
            array = (array.astype(np.uint32) << 16).view(np.float32)
        return computed(array.astype(dtype, copy=False), narrow, "cast")


def narrowed(array: Array, dtype: np.dtype[Any]) -> Array | None:
    """The array in a narrower floating dtype, zeros where it has zeros; None if it does not fit."""
    with np.errstate(all="ignore"):
        narrow = array.astype(dtype)
    # Half precision has no arithmetic of its own; comparing bits is many times faster.
    unsigned = np.dtype(f"u{dtype.itemsize}")
    magnitude = narrow.view(unsigned) & (np.iinfo(unsigned).max >> 1)
    not_finite = magnitude >= np.array(np.inf, dtype).view(unsigned)
    if not_finite.any() and not np.array_equal(not_finite, ~np.isfinite(array)):
        return None
    zero = magnitude == 0
    if zero.any():
        lost = zero & (array != 0)
        smallest = np.finfo(dtype).smallest_subnormal
        narrow[lost] = np.copysign(smallest, array[lost])
    return narrow


def upper_half(array: Array) -> Array | None:
    """The array as bfloat16, rounded to nearest even, in uint16; None if it does not fit."""
    single = array if array.dtype == np.float32 else narrowed(array, np.dtype(np.float32))
    if single is None:
        return None
    # NumPy makes scalars of results without axes, and those cannot be written to.
    single = np.atleast_1d(single)
    bits = single.view(np.uint32)
    # Adding half a unit of the upper half, less one if it is even, makes dropping the lower half
    # round to nearest even.
    odd = bits >> 16
    odd &= 1
    odd += 0x7FFF
    rounded = ((bits + odd) >> 16).astype(np.uint16)
    magnitude = rounded & 0x7FFF
    if np.any(magnitude >= 0x7F80) or not magnitude.all():
        nan = np.isnan(single)
        rounded[nan] = (bits[nan] >> 16) | 0x40
        if not np.array_equal(rounded & 0x7FFF >= 0x7F80, ~np.isfinite(single)):
            return None
        rounded[(rounded & 0x7FFF == 0) & (single != 0)] += 1
    return rounded.reshape(array.shape) if not array.ndim else rounded
