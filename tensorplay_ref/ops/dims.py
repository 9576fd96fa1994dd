"""Dimensions as the caller names them, negative ones counted from the end, made into axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ..arguments import shown
from ..tensor_base import TensorBase


def axis_of(operation: str, dim: Any, ndim: int) -> int:
    """The axis that `dim` names among `ndim` axes; a tensor without axes is treated as having one.

    Errors: IndexError outside [-ndim, ndim - 1]; TypeError for what is no integer.
    """
    try:
        axis = operator.index(dim)
    except TypeError:
        axis = None
    if axis is None or isinstance(dim, (bool, TensorBase)):
        raise TypeError(f"{operation}: dim must be an int, found {type(dim).__name__}")
    length = ndim or 1
    if not -length <= axis < length:
        raise IndexError(
            f"{operation}: dimension out of range: expected one in [{-length}, {length - 1}] for a "
            f"tensor with {ndim} axes, found {axis}"
        )
    return axis % length


def axes_of(operation: str, dims: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes that `dims` names; None for all of them, which an empty sequence means, too.

    Errors: as `axis_of`; RuntimeError when a dimension is named twice.
    """
    return None if dims is None else named_axes(operation, dims, ndim) or None


def named_axes(operation: str, dims: Any, ndim: int) -> tuple[int, ...]:
    """The axes that `dims` names, none for an empty sequence; a tensor without axes has none.

    Errors: as `axes_of`.
    """
    named = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    axes = tuple(axis_of(operation, dim, ndim) for dim in named)
    if len(set(axes)) < len(axes):
        twice = next(axis for axis in axes if axes.count(axis) > 1)
        raise RuntimeError(f"{operation}: dim {twice} appears more than once in {named}")
    return axes if ndim else ()


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The key that takes `part` of an axis, and all of the axes before it."""
    return (*(slice(None),) * axis, part)


def sequence(operation: str, values: tuple[Any, ...]) -> tuple[int, ...]:
    """The lengths or axes that `f(2, 3)` and `f((2, 3))` both mean.

    Errors: TypeError for what is no whole number; a float is none, whatever its value.
    """
    apart = len(values) != 1 or hasattr(values[0], "__index__")
    named = values if apart else values[0]
    try:
        return tuple(operator.index(number) for number in named)
    except TypeError:
        raise TypeError(
            f"{operation}: expected whole numbers as lengths or axes, found {shown(named)}"
        ) from None


def require_axes(operation: str, shape: tuple[int, ...], least: int) -> None:
    """Refuse a tensor with too few axes, with a RuntimeError."""
    if len(shape) < least:
        raise RuntimeError(f"{operation}: expected at least {least} axes, found shape {shape}")


def require_counts(operation: str, counts: Sequence[int], least: int = 0) -> None:
    """Refuse numbers of elements or repetitions that are too small, with a RuntimeError."""
    if counts and min(counts) < least:
        raise RuntimeError(f"{operation}: expected no number below {least}, found {tuple(counts)}")


def kept(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[int, ...]:
    """`shape` with length 1 at the reduced axes: the shape of the result with keepdim=True."""
    return tuple(1 if axes is None or i in axes else n for i, n in enumerate(shape))
