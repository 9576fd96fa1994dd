"""The dtype in which operands meet, by the rules that TensorPlay and PyTorch share."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

default_float = np.dtype(np.float32)
NUMBERS = (bool, int, float, complex, np.generic)
limits_of = cache(np.iinfo)
_NO_OVERFLOW = 6e4  # less than the largest number of half precision


def promoted(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands in their common dtype, by the rules TensorPlay and PyTorch share.

    A tensor with axes decides over one without, and both over a number, within one kind (bool,
    integer, floating, complex); a higher kind decides over a lower one; integers with floating
    numbers give float32 unless a floating tensor says otherwise.
    """
    dtype = result_type(x, y)
    return _as(x, dtype), _as(y, dtype)


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.dtype == dtype else value.astype(dtype)
    return number_as(value, dtype)


def number_as(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python or NumPy number in a dtype: a float loses its fraction, and overflows to infinity.

    Errors: OverflowError for what an integer dtype does not hold, TypeError for what is no number.
    """
    if type(value) not in (int, float, bool):
        if not isinstance(value, NUMBERS) or isinstance(value, (np.str_, np.bytes_)):
            raise TypeError(f"expected a number, found {type(value).__name__}")
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, complex) and dtype.kind in "iuf":
            raise TypeError(f"{value} cannot be stored as {dtype}: it is a complex number")
    if dtype.kind in "iu":
        limits = limits_of(dtype)
        # A comparison that NaN passes would not refuse it.
        if not limits.min <= value <= limits.max:
            raise OverflowError(
                f"{value} cannot be stored as {dtype}, which holds {limits.min} to {limits.max}; "
                "convert the tensor to a wider dtype first, for example with .to(float32)"
            )
    try:
        if abs(value) > _NO_OVERFLOW:
            with np.errstate(over="ignore"):
                return dtype.type(value)
        return dtype.type(value)
    except OverflowError:
        raise OverflowError(f"{value} cannot be stored as {dtype}: it is too large") from None


def require_real(operation: str, dtype: np.dtype[Any]) -> None:
    """Refuse complex numbers, which have no order and no nearest whole one.

    Errors: RuntimeError naming the operation.
    """
    if dtype.kind == "c":
        raise RuntimeError(
            f"{operation}: expected real numbers, found {dtype}; of complex ones take a real "
            "quantity first, for example x.abs()"
        )


_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def result_type(*operands: Any) -> np.dtype[Any]:
    """The dtype in which arrays (with or without axes) and numbers meet; see `promoted`."""
    groups: tuple[list[np.dtype[Any]], ...] = ([], [], [])
    for value in operands:
        if isinstance(value, np.ndarray):
            groups[0 if value.ndim else 1].append(value.dtype)
        else:
            groups[2].append(_number_dtype(value))
    result: np.dtype[Any] | None = None
    for group in groups:
        if not group:
            continue
        here = group[0]
        for dtype in group[1:]:
            here = _meet(here, dtype)
        if result is None:
            result = here
        elif _RANKS[here.kind] > _RANKS[result.kind]:
            result = _meet(result, here) if group is not groups[2] else _lift(result, here)
    assert result is not None
    return result


def _number_dtype(value: Any) -> np.dtype[Any]:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, int):
        return np.dtype(np.int64)
    return default_float if isinstance(value, float) else np.dtype(np.complex64)


def _lift(tensor: np.dtype[Any], number: np.dtype[Any]) -> np.dtype[Any]:
    # A number of a higher kind lifts the tensor to that kind, keeping the precision of floats.
    if number.kind == "c" and tensor == np.float64:
        return np.dtype(np.complex128)
    return number


def _meet(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    if (a.kind in "fc") != (b.kind in "fc"):
        return a if a.kind in "fc" else b
    return np.promote_types(a, b)
