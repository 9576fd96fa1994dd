"""Sums, means and the like over some or all dimensions.

`Op.apply(self, dims, ..., keepdim)`: dims is an int, a tuple, or None for all; with keepdim the
reduced axes stay, with length 1. In the formulas g is the gradient of the result, expanded back to
the shape of self.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..storage import Array
from ..tensor_base import wrap
from .arithmetic import Mul
from .dims import axes_of, axis_of, kept
from .operation import Operation
from .shape import Expand, Reshape
from .temporaries import reuse


class Reduction(Operation):
    """Base: `apply(self, dims=None, ..., keepdim=False)` hands axes to forward(x, axes, ...).

    Saves: nothing.
    """

    @classmethod
    def apply(cls, *args: Any) -> Any:
        x, dims, *rest = args if len(args) > 1 else (*args, None)
        if dims is not None:
            dims = axes_of(cls.__name__, dims, x.ndim)
        return super().apply(x, dims, *rest)

    def spread(self, tensor: Any, shape: tuple[int, ...]) -> Any:
        """A tensor of the result's shape with the reduced axes back: it broadcasts to shape."""
        axes = self.params[0]
        if axes is None and tensor._array.ndim == 0:
            return tensor
        shape = kept(shape, axes)
        return tensor if tensor._array.shape == shape else Reshape.apply(tensor, shape)


class Sum(Reduction):
    """Sum.apply(self, dims, keepdim): the sum; 0 of nothing; booleans and integers give int64.

    Gradient: g, expanded without a copy.

    Saves: nothing but a shape.
    """

    @staticmethod
    def forward(x: Any, axes: Any, keepdim: bool = False) -> Any:
        with np.errstate(all="ignore"):
            out = total(x, axes, keepdim)
            return out.astype(x.dtype) if x.itemsize == 2 and x.dtype.kind == "f" else out

    def save(self, result: Any, x: Any) -> None:
        self.params = (self.params[0], x._array.shape)

    def backward(self, grad: Any) -> Any:
        shape = self.params[1]
        return Expand.apply(self.spread(grad, shape), shape)


class Mean(Sum):
    """Mean.apply(self, dims, keepdim): the arithmetic mean of a floating tensor; NaN of nothing.

    Gradient: g / count.

    Saves: nothing but a shape.

    Errors: RuntimeError for integers and booleans.
    """

    @staticmethod
    def forward(x: Any, axes: Any, keepdim: bool = False) -> Any:
        require_floating("mean", x)
        with np.errstate(all="ignore"):
            out = total(x, axes, keepdim)
            return (out / out.dtype.type(count(x.shape, axes))).astype(x.dtype, copy=False)

    def backward(self, grad: Any) -> Any:
        axes, shape = self.params
        share = grad / max(count(shape, axes), 1)
        return Expand.apply(self.spread(share, shape), shape)


class Prod(Reduction):
    """Prod.apply(self, dim, keepdim): the product of all or along one dimension; 1 of nothing.

    Integers and booleans give int64. Gradient: g times the product of the other elements, which is
    result / self where nothing is 0.

    Saves: self and result.

    Errors: RuntimeError for more than one dimension.
    """

    saves = ("self", "result")

    @staticmethod
    def forward(x: Any, axes: Any, keepdim: Any = False) -> Any:
        if axes is not None and len(axes) > 1:
            raise RuntimeError(f"prod: expected one dimension or none, found {axes}")
        with np.errstate(all="ignore"):
            if x.dtype.kind in "biu":
                return np.multiply.reduce(x, axis=axes, keepdims=keepdim, dtype=np.int64)
            return np.multiply.reduce(x, axis=axes, keepdims=keepdim)

    def backward(self, grad: Any) -> Any:
        x, result = self.read()
        grad = self.spread(grad, x.shape)
        if x._array.all():
            return reuse(Mul, self.spread(result, x.shape) / x, grad)
        if self.params[0] is None:
            others = Reshape.apply(OtherFactors.apply(Reshape.apply(x, (-1,)), 0), x.shape)
        else:
            others = OtherFactors.apply(x, *self.params[0])
        return others * grad


class OtherFactors(Operation):
    """OtherFactors.apply(self, axis): for each element the product of the others along the axis.

    It divides by nothing, so zeros do no harm. Gradient: the sum over the others of g times the
    product without both; a matrix with one row for each element of the axis is made for it.

    Saves: self.
    """

    saves = ("self",)

    @staticmethod
    def forward(x: Any, axis: int) -> Any:
        x = np.moveaxis(x, axis, -1)
        out = np.ones_like(x)
        np.multiply.accumulate(x[..., :-1], axis=-1, out=out[..., 1:])
        after = np.multiply.accumulate(x[..., :0:-1], axis=-1)[..., ::-1]
        out[..., :-1] *= after
        return np.moveaxis(out, -1, axis)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        (axis,) = self.params
        length = x.shape[axis]
        eye = np.eye(length, dtype=bool).reshape(length, length, *(1,) * (x.ndim - axis - 1))
        same = wrap(type(grad), eye, x.device, "eye")
        rows = x.unsqueeze(axis).masked_fill(same, 1.0)
        without_both = OtherFactors.apply(rows, axis + 1).masked_fill(same, 0.0)
        return Sum.apply(without_both * grad.unsqueeze(axis + 1), axis, False)


class Cumsum(Operation):
    """Cumsum.apply(self, dim): the sums of the elements up to each one along `dim`.

    Booleans and integers give int64. Gradient: the sums of g from each element to the end.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, dim: int, backwards: bool = False) -> Any:
        axis = axis_of("cumsum", dim, x.ndim)
        out = np.empty(x.shape, np.int64 if x.dtype.kind in "biu" else x.dtype)
        if x.ndim == 0:
            out[...] = x
            return out
        order = (*(slice(None),) * axis, slice(None, None, -1 if backwards else 1))
        np.add.accumulate(x[order], axis=axis, out=out[order])
        return out

    def backward(self, grad: Any) -> Any:
        dim, *backwards = self.params
        return Cumsum.apply(grad, dim, not any(backwards))


def count(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> int:
    """How many elements of an array of `shape` meet in one element of the result."""
    return math.prod(shape if axes is None else (shape[axis] for axis in axes))


def total(x: Array, axes: tuple[int, ...] | None, keepdim: Any) -> Any:
    """The sum, booleans and integers added up as int64, half precision in single precision."""
    dtype: Any = np.float32 if x.itemsize == 2 else None
    if x.dtype.kind in "biu":
        dtype = np.int64
    return np.add.reduce(x, axis=axes, keepdims=keepdim, dtype=dtype)


def require_elements(operation: str, x: Array, axes: tuple[int, ...] | None) -> None:
    """Refuse to look for the largest of no elements.

    Errors: RuntimeError when all of none are asked for, IndexError when a dimension is empty.
    """
    if axes is None and x.size == 0:
        raise RuntimeError(
            f"{operation}: the tensor of shape {x.shape} has no elements; name a dimension to "
            "reduce that is not empty"
        )
    for axis in axes or ():
        if x.shape[axis] == 0:
            raise IndexError(
                f"{operation}: expected dimension {axis} to have elements, found shape {x.shape}"
            )


def require_floating(operation: str, x: Array) -> None:
    """Refuse integers and booleans."""
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            f"{operation}: expected a floating tensor, found {x.dtype}; convert it first, for "
            "example with .to(float32)"
        )
