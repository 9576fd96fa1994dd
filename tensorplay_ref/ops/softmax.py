"""softmax, log_softmax and logsumexp: exponentials that share a sum, safe from overflow.

The largest element is subtracted first, so no exponential is larger than 1. Integers give float32.
In the formulas g is the gradient of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic import Mul
from .dims import axis_of
from .operation import Operation
from .promotion import require_real
from .reduction import Reduction, Sum, total
from .temporaries import afresh, floating, reuse
from .unary import GradientOf

SHORT = 20  # elements; longer rows are not worth the copy


class Softmax(Operation):
    """Softmax.apply(self, dim): exp(self) / sum of exp(self) along `dim`.

    Gradient: result * (g - sum of g * result).

    Saves: result.
    """

    saves = ("result",)
    fresh = True

    @staticmethod
    def forward(x: Any, dim: int) -> Any:
        axes = axes_along("softmax", dim, x)
        with np.errstate(all="ignore"):
            out = shifted(floating(x), axes)
            np.exp(out, out=out)
            return np.asarray(np.divide(out, sum_along(out, axes), out=out), order="C")

    def backward(self, grad: Any) -> Any:
        return SoftmaxBackward.at(self, grad)


class LogSoftmax(Operation):
    """LogSoftmax.apply(self, dim): self - log of the sum of exp(self) along `dim`.

    Gradient: g - exp(result) * sum of g.

    Saves: result.
    """

    saves = ("result",)
    fresh = True

    @staticmethod
    def forward(x: Any, dim: int) -> Any:
        axes = axes_along("log_softmax", dim, x)
        with np.errstate(all="ignore"):
            out = shifted(floating(x), axes)
            shared = np.log(sum_along(np.exp(out), axes))
            return np.asarray(np.subtract(out, shared, out=out), order="C")

    def backward(self, grad: Any) -> Any:
        return LogSoftmaxBackward.at(self, grad)


class LogSumExp(Reduction):
    """LogSumExp.apply(self, dims, keepdim): log of the sum of exp(self); -inf of nothing.

    Gradient: g * exp(self - result).

    Saves: self and result.
    """

    saves = ("self", "result")

    @staticmethod
    def forward(x: Any, axes: Any, keepdim: bool = False) -> Any:
        x = floating(x)
        with np.errstate(all="ignore"):
            largest = np.maximum.reduce(x, axis=axes, keepdims=True, initial=-np.inf)
            # An infinite largest element must not be subtracted: inf - inf is NaN.
            largest = np.where(np.isfinite(largest), largest, x.dtype.type(0))
            out = np.log(total(np.exp(x - largest), axes, True)) + largest
            out = np.asarray(out if keepdim else np.squeeze(out, axes))
            return out.astype(x.dtype, copy=False)

    def backward(self, grad: Any) -> Any:
        x, result = self.read()
        weights = (x - self.spread(result, x.shape)).exp()
        return reuse(Mul, weights, self.spread(grad, x.shape))


class SoftmaxBackward(GradientOf):
    """The gradient of softmax: result * (g - sum of g * result).

    Saves: result, and grad if result needs a gradient.
    """

    @staticmethod
    def forward(grad: Any, result: Any, dim: int) -> Any:
        if result.ndim == 0:
            return np.zeros_like(result)
        # A sum of products needs no array of products, and no pass over it.
        vecdot: Any = np.vecdot  # the type stubs of NumPy know no axis of it
        shared = vecdot(grad, result, axis=dim, keepdims=True)
        out = afresh(np.subtract, grad, shared)
        return np.multiply(out, result, out=out)

    def backward(self, outer: Any) -> Any:
        grad, result = self.read()
        (dim,) = self.params
        of_grad = of_result = None
        if self.input_nodes[0] is not None:
            of_grad = SoftmaxBackward.apply(outer, result, dim)
        if self.input_nodes[1] is not None:
            shared = Sum.apply(grad * result, dim, True)
            of_result = outer * (grad - shared) - grad * Sum.apply(outer * result, dim, True)
        return of_grad, of_result


class LogSoftmaxBackward(GradientOf):
    """The gradient of log_softmax: g - exp(result) * sum of g.

    Saves: result, and grad if result needs a gradient.
    """

    @staticmethod
    def forward(grad: Any, result: Any, dim: int) -> Any:
        out = afresh(np.exp, result)
        np.multiply(out, sum_along(grad, (dim % grad.ndim,) if grad.ndim else ()), out=out)
        return np.subtract(grad, out, out=out)

    def backward(self, outer: Any) -> Any:
        grad, result = self.read()
        (dim,) = self.params
        shares = result.exp() * outer
        of_grad = of_result = None
        if self.input_nodes[0] is not None:
            of_grad = outer - Sum.apply(shares, dim, True)
        if self.input_nodes[1] is not None:
            of_result = -shares * Sum.apply(grad, dim, True)
        return of_grad, of_result


def axes_along(operation: str, dim: int, x: Any) -> tuple[int, ...]:
    """The axis that `dim` names, as NumPy's reductions take it; none of an array without axes.

    Errors: RuntimeError for complex numbers, of which none is the largest.
    """
    require_real(operation, x.dtype)
    axis = axis_of(operation, dim, x.ndim)
    return (axis,) if x.ndim else ()


def shifted(x: Any, axes: tuple[int, ...]) -> Any:
    """x minus its largest element along `axes`, in new memory."""
    if x.ndim == 2 and axes == (1,) and x.shape[1] <= SHORT and len(x) > SHORT:
        # NumPy works row by row, and what it does between them is most of the work if they are
        # short. In this order it works column by column.
        x = x.copy(order="F")
    largest = np.maximum.reduce(x, axis=axes, keepdims=True, initial=-np.inf)
    return afresh(np.subtract, x, largest)


def sum_along(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum along `axes`, which stay with length 1, of exponentials and of gradients.

    Not for all sums: NumPy adds long rows pairwise, which loses less.
    """
    if axes == (x.ndim - 1,) and x.ndim > 1 and x.dtype.char in "fd" and x.flags.c_contiguous:
        # Over rows, as a product with ones, which BLAS makes several times faster.
        return np.matmul(x, np.ones(x.shape[-1], x.dtype))[..., None]
    return total(x, axes, True)
