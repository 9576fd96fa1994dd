"""quantize: keep saved tensors as small integers with a scale for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import Array
from ..tensor_base import TensorBase
from .placement import Layout, computed, dense, restored
from .policy import Packed, Policy


class quantize(Policy):
    """Keep floating tensors as integers of 8 or 4 bits, with one scale for each row.

    Contract: bounded error. The step of a row is its largest magnitude divided by 127 (8 bits) or
    7 (4 bits); each element comes back within half a step, or within one step where rounding would
    make zero of it: a non-zero element never becomes zero and never changes its sign. So the mask
    that relu's backward reads off its result is exact; plain rounding makes gradients through relu
    many times as wrong. Zero stays zero. Left as they are: tensors with an infinity or NaN, with a
    row so small that its step is no normal number, or with one at the very end of the range;
    integers, booleans, complex numbers; and what would not become smaller.

    Args:
        bits: 8 or 4; two elements of 4 bits share a byte.
        axis: a row runs along this axis and has one scale; None, and any axis that a tensor does
            not have, means one scale for the tensor.
        options: see `Policy`.

    Saves: the integers and the scales, on the same device.

    Errors: ValueError for another number of bits; TypeError for an axis that is no int.
    """

    def __init__(self, bits: int = 8, axis: int | None = -1, **options: Any) -> None:
        super().__init__(**options)
        if bits not in (4, 8):
            raise ValueError(f"quantize: bits must be 8 or 4, found {bits!r}")
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise TypeError(f"quantize: axis must be an int or None, found {axis!r}")
        self._half_bytes = bits == 4
        self._levels = 7 if bits == 4 else 127
        self._axis = axis

    def pack(self, tensor: TensorBase) -> Any:
        """The codes, the scales, and the layout."""
        array = tensor._array
        if array.dtype.kind != "f" or not array.size:
            return tensor
        axis = self._axis
        if axis is not None and not -array.ndim <= axis < array.ndim:
            axis = None
        values = array.astype(np.float32) if array.dtype == np.float16 else array
        largest = np.maximum(
            values.max(axis=axis, keepdims=True), -values.min(axis=axis, keepdims=True)
        )
        scale = largest / values.dtype.type(self._levels)
        codes_nbytes = (array.size + 1) // 2 if self._half_bytes else array.size
        too_large = codes_nbytes + scale.nbytes >= array.nbytes
        if too_large or not _usable(scale, largest, self._levels):
            return tensor
        codes, layout = dense(_codes(values, scale))
        if self._half_bytes:
            codes = _pairs(codes.reshape(-1))
        note = Layout(layout.shape, array.dtype, layout.axes)
        parts = (computed(codes, tensor, "quantize"), computed(scale, tensor, "quantize"))
        return Packed(parts, note)

    def unpack(self, packed: Packed) -> TensorBase:
        """The codes times their scales, in the original dtype."""
        (codes, scale), layout = packed
        elements = codes._array
        if self._half_bytes:
            elements = _unpaired(elements, int(np.prod(layout.shape, dtype=np.int64)))
        steps = restored(elements, layout)
        array = np.multiply(steps, scale._array, dtype=scale.dtype).astype(layout.dtype, copy=False)
        return computed(array, codes, "quantize")


def _usable(scale: Array, largest: Array, levels: int) -> bool:
    """Whether every row is finite, has a normal step, and comes back finite."""
    with np.errstate(over="ignore"):
        # The step is rounded, so the largest float may come back as infinity.
        finite = np.isfinite(scale * scale.dtype.type(levels))
    subnormal = (scale < np.finfo(scale.dtype).smallest_normal) & (largest != 0)
    return bool(finite.all()) and not subnormal.any()


def _codes(values: Array, scale: Array) -> Array:
    """The nearest multiples of the scale, as int8; the nearest but zero for what is not zero."""
    steps = values * np.reciprocal(np.where(scale == 0, scale.dtype.type(1), scale))
    np.rint(steps, out=steps)
    codes = steps.astype(np.int8)
    zero = codes == 0
    if zero.any():
        lost = zero & (values != 0)
        codes[lost] = np.copysign(1, values[lost])
    return codes


def _pairs(codes: Array) -> Array:
    """Two codes from -7 to 7 in each byte."""
    shifted = np.zeros(codes.size + codes.size % 2, np.uint8)
    np.add(codes, 8, out=shifted[: codes.size], casting="unsafe")
    return shifted[0::2] | (shifted[1::2] << 4)


def _unpaired(pairs: Array, count: int) -> Array:
    codes = np.empty(2 * pairs.size, np.int8)
    codes[0::2] = pairs & 15
    codes[1::2] = pairs >> 4
    codes -= 8
    return codes[:count]
