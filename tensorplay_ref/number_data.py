"""From Python's numbers, nested lists and lengths to NumPy arrays, numbers and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import DTypeLike, complex64, float32, supported_dtype
from .ops.dims import sequence
from .ops.promotion import NUMBERS, number_as
from .storage import Array
from .tensor_base import TensorBase


def array_of(data: Any, dtype: DTypeLike | None) -> Array:
    """A new, dense NumPy array of the data in the dtype that a tensor of them has.

    Errors: ValueError for nested lists of different lengths; TypeError for what is no number;
    OverflowError for a number that the dtype does not hold.
    """
    wanted = None if dtype is None else supported_dtype("tensor", dtype)
    if isinstance(data, (np.ndarray, np.generic)):
        convertible = wanted is not None and data.dtype.kind in "biufc"
        kind = wanted if convertible else supported_dtype("tensor", data.dtype)
        return np.array(data, kind, order="C", subok=False)
    try:
        array = np.array(data)
    except ValueError as error:
        raise ValueError(
            f"tensor: the nested lists must have equal lengths on every level ({error})"
        ) from None
    if array.dtype.kind not in "biufc" or array.dtype == np.uint64:
        _refuse_stranger(data, array, wanted is None or wanted.kind not in "fc")
    kind = wanted or supported_dtype("tensor", array.dtype)
    if wanted is None and not _holds_array(data):
        kind = {"f": float32, "c": complex64}.get(array.dtype.kind, kind)
    _refuse_narrow(array, kind)
    with np.errstate(over="ignore"):
        return array.astype(kind, copy=False)


def number_of(operation: str, value: Any, dtype: DTypeLike | None) -> Any:
    """One number in a dtype, by default the one that a tensor of it has.

    Errors: as `array_of`; TypeError for several numbers.
    """
    if isinstance(value, TensorBase) and value.ndim == 0:
        value = value._array.item()
    if not isinstance(value, NUMBERS):
        raise TypeError(f"{operation}: expected a number, found {type(value).__name__}")
    if dtype is None:
        return array_of(value, None)[()]
    return number_as(value, supported_dtype(operation, dtype))


def sizes(operation: str, values: tuple[Any, ...]) -> tuple[int, ...]:
    """The lengths that `f(2, 3)` and `f((2, 3))` both mean.

    Errors: TypeError for what is no whole number, RuntimeError for a negative one.
    """
    lengths = sequence(operation, values)
    if lengths and min(lengths) < 0:
        raise RuntimeError(f"{operation}: expected no number below 0, found {lengths} as shape")
    return lengths


def require_tensor(operation: str, input: Any) -> None:
    """Refuse an input that is no tensor. Errors: TypeError naming the operation."""
    require_tensors(operation, input=input)


def require_tensors(operation: str, **arguments: Any) -> None:
    """Refuse arguments that are no tensors. Errors: TypeError naming the first of them."""
    for name, value in arguments.items():
        if not isinstance(value, TensorBase):
            raise TypeError(f"{operation}: {name} must be a Tensor, found {type(value).__name__}")


def shape_of(operation: str, other: Any) -> tuple[int, ...]:
    """The shape of a tensor whose shape is taken. Errors: as `require_tensors`."""
    require_tensors(operation, other=other)
    shape: tuple[int, ...] = other.shape
    return shape


def _holds_array(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic, TensorBase))


def _refuse_stranger(data: Any, array: Array, whole: bool) -> None:
    """Name the first thing in the nested lists that is no number, or `whole` and not of int64."""
    for element in array.reshape(-1).tolist() if array.dtype.kind == "O" else [data]:
        while isinstance(element, (list, tuple)) and element:
            element = element[0]
        if not isinstance(element, int):
            if not isinstance(element, NUMBERS):
                raise TypeError(f"tensor: expected numbers, found {type(element).__name__}")
        elif whole and not -(2**63) <= element < 2**63:
            raise OverflowError(
                f"tensor: {element} is too large for int64, the dtype of whole numbers; give a "
                "float"
            )


def _refuse_narrow(array: Array, dtype: np.dtype[Any]) -> None:
    """Refuse a cast in which Python's numbers would become others."""
    if array.dtype.kind == "c" and dtype.kind in "iuf":
        raise TypeError(f"tensor: complex numbers cannot be stored as {dtype}")
    if dtype.kind in "iu" and array.dtype.kind in "iuf" and array.size:
        limits = np.iinfo(dtype)
        least, most = array.min().item(), array.max().item()
        if not limits.min <= least <= most <= limits.max:
            raise OverflowError(
                f"tensor: numbers from {least} to {most} cannot be stored as {dtype}, which holds "
                f"{limits.min} to {limits.max}"
            )
