"""Variance, standard deviation and norms.

Dimensions and `keepdim` are as in `reduction`; g is the gradient of the result, expanded back to
the shape of self.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from .arithmetic import Mul
from .reduction import (
    Mean,
    Reduction,
    Sum,
    count,
    require_elements,
    require_floating,
    total,
)
from .temporaries import reuse, zeros


class Var(Reduction):
    """Var.apply(self, dims, correction, keepdim): squared deviations summed / (count - correction).

    NaN where count <= correction. Gradient: g * 2 / (count - correction) * (self - mean).

    Saves: self.

    Errors: RuntimeError for integers and booleans.
    """

    saves: ClassVar[tuple[str, ...]] = ("self",)

    @staticmethod
    def forward(x: Any, axes: Any, correction: float = 1, keepdim: bool = False) -> Any:
        require_floating("var and std", x)
        wide = x.astype(np.float32) if x.itemsize == 2 else x
        with np.errstate(all="ignore"):
            deviation = np.asarray(wide - Mean.forward(wide, axes, True))
            out = total(np.square(deviation, out=deviation), axes, keepdim)
            degrees = max(count(x.shape, axes) - correction, 0)
            return (out / out.dtype.type(degrees)).astype(x.dtype, copy=False)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        return self.through_variance(grad, x)

    def through_variance(self, grad: Any, x: Any) -> Any:
        """The gradient of self from the gradient of its variance."""
        axes, correction = self.params[:2]
        degrees = count(x.shape, axes) - correction
        factor = 2.0 / degrees if degrees > 0 else math.inf
        return reuse(Mul, x - Mean.apply(x, axes, True), self.spread(grad * factor, x.shape))


class Std(Var):
    """Std.apply(self, dims, correction, keepdim): the square root of Var.

    Gradient: that of Var for g / (2 * result), 0 where the deviation is 0.

    Saves: self and result.

    Errors: RuntimeError for integers and booleans.
    """

    saves = ("self", "result")

    @staticmethod
    def forward(x: Any, axes: Any, correction: float = 1, keepdim: bool = False) -> Any:
        return np.sqrt(Var.forward(x, axes, correction, keepdim))

    def backward(self, grad: Any) -> Any:
        x, result = self.read()
        safe = result.masked_fill(result == 0, math.inf)
        return self.through_variance(grad * 0.5 / safe, x)


class Norm(Reduction):
    """Norm.apply(self, p, dims, keepdim): (sum of |self|**p) ** (1/p).

    p = inf is the largest |self|, p = -inf the smallest, p = 0 counts what is not 0. Gradient for
    p = 2: g * self / result, 0 where the result is 0; for p = inf: g * sign(self), in equal shares
    for equally large elements.

    Saves: self and result.

    Errors: RuntimeError for integers and booleans.
    """

    saves = ("self", "result")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        x, p, dims, *rest = args
        return super().apply(x, dims, float(p), *rest)

    @staticmethod
    def forward(x: Any, axes: Any, p: float, keepdim: Any = False) -> Any:
        require_floating("norm", x)
        size = np.abs(x)
        with np.errstate(all="ignore"):
            if p == math.inf:
                require_elements("norm", x, axes)
                return np.maximum.reduce(size, axis=axes, keepdims=keepdim)
            if p < 0:
                require_elements("norm", x, axes)
            if p == -math.inf:
                return np.minimum.reduce(size, axis=axes, keepdims=keepdim)
            if p == 0:
                return total(size != 0, axes, keepdim).astype(x.dtype)
            powers = size if p == 1 else np.square(size) if p == 2 else size**p
            out = total(powers, axes, keepdim)
            out = out if p == 1 else np.sqrt(out) if p == 2 else out ** (1.0 / p)
            return out.astype(x.dtype, copy=False)

    def backward(self, grad: Any) -> Any:
        x, result = self.read()
        axes, p = self.params[:2]
        grad, result = self.spread(grad, x.shape), self.spread(result, x.shape)
        if p == 0:
            return zeros(x)
        if p == 1:
            return reuse(Mul, x.sign(), grad)
        if math.isinf(p):
            largest = x.abs() == result
            share = grad / Sum.apply(largest, axes, True)
            return (x.sign() * share).masked_fill(largest.logical_not(), 0.0)
        safe = result.masked_fill(result == 0, math.inf)
        if p == 2:
            return x * (grad / safe)
        scale = grad / safe ** (p - 1) if p > 1 else grad * result ** (1 - p)
        size = x.abs()
        nothing = size == 0
        powers = size.masked_fill(nothing, 1.0) ** (p - 1)
        return (powers * x.sign()).masked_fill(nothing, 0.0) * scale
