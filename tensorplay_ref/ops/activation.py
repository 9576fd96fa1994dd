"""Activation functions, elementwise. In the formulas g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..storage import Array
from .arithmetic import Add, Mul
from .elementwise import binary, unary
from .operation import Operation
from .selection import Where
from .temporaries import floating, reuse, zeros
from .unary import GradientOf, Tanh


class Sigmoid(Operation):
    """1 / (1 + exp(-self)). Gradient: g * result * (1 - result).

    Saves: result.
    """

    saves = ("result",)
    fresh = True

    @staticmethod
    def forward(x: Any) -> Any:
        x = floating(x)
        with np.errstate(all="ignore"):
            out = np.negative(x, out=np.empty_like(x))
            np.exp(out, out=out)
            np.add(out, 1, out=out)
            return np.reciprocal(out, out=out)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return binary(SigmoidBackward, grad, result)


class Relu(Operation):
    """The larger of self and 0; keeps integers. Gradient: g where result > 0, else 0.

    Saves: result. Its sign tells where self was positive.
    """

    saves = ("result",)
    fresh = True

    @staticmethod
    def forward(x: Any) -> Any:
        return np.maximum(x, 0)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return binary(ReluBackward, grad, result)


class LeakyRelu(Operation):
    """LeakyRelu.apply(self, slope): self where positive, else slope * self.

    Gradient: g where positive, else slope * g.

    Saves: self.
    """

    saves = ("self",)

    @staticmethod
    def forward(x: Any, slope: float) -> Any:
        x = floating(x)
        return np.where(x > 0, x, x * x.dtype.type(slope))

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        (slope,) = self.params
        return Where.apply(x > 0, grad, grad * slope)


class Erf(Operation):
    """The error function 2/sqrt(pi) * integral of exp(-t**2) from 0 to self.

    Gradient: g * 2/sqrt(pi) * exp(-self**2).

    Saves: self.
    """

    saves = ("self",)

    @staticmethod
    def forward(x: Any) -> Any:
        return error_function(floating(x))

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        slope = reuse(Mul, reuse(Mul, x * x, -1.0).exp(), 2.0 / math.sqrt(math.pi))
        return reuse(Mul, slope, grad)


class Gelu(Operation):
    """Gelu.apply(self, approximate): self times the normal distribution function of self.

    `approximate` is "none", or "tanh" for the approximation of Hendrycks and Gimpel (2016),
    self / 2 * (1 + tanh(sqrt(2/pi) * (self + 0.044715 * self**3))).
    Gradient: g times the distribution function plus self times its derivative.

    Saves: self.

    Errors: ValueError for another `approximate`.
    """

    saves = ("self",)

    @staticmethod
    def forward(x: Any, approximate: str) -> Any:
        if approximate not in ("none", "tanh"):
            raise ValueError(f"Gelu: approximate must be 'none' or 'tanh', found {approximate!r}")
        x = floating(x)
        if approximate == "none":
            out: Any = error_function(x * x.dtype.type(math.sqrt(0.5)))
        else:
            out = np.tanh(_TANH_SCALE * (x + _TANH_CUBIC * x * x * x))
        return x * (0.5 * (out + 1))

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        (approximate,) = self.params
        if approximate == "none":
            share = reuse(Mul, reuse(Add, unary(Erf, x * math.sqrt(0.5)), 1.0), 0.5)
            slope = reuse(Mul, (x * x * -0.5).exp(), 1.0 / math.sqrt(2.0 * math.pi))
        else:
            square = x * x
            inner = unary(Tanh, reuse(Mul, square * _TANH_CUBIC + 1.0, x) * _TANH_SCALE)
            share = inner * 0.5 + 0.5
            slope = (1.0 - inner * inner) * (square * (3.0 * _TANH_CUBIC) + 1.0)
            slope = reuse(Mul, slope, 0.5 * _TANH_SCALE)
        return reuse(Mul, reuse(Add, reuse(Mul, slope, x), share), grad)


class Silu(Operation):
    """self * sigmoid(self). Gradient: g * s * (1 + self * (1 - s)) with s = sigmoid(self).

    Saves: self.
    """

    saves = ("self",)

    @staticmethod
    def forward(x: Any) -> Any:
        x = floating(x)
        out = Sigmoid.forward(x)
        return np.multiply(out, x, out=out)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        share = unary(Sigmoid, x)
        slope = reuse(Add, reuse(Mul, 1.0 - share, x), 1.0)
        return reuse(Mul, reuse(Mul, slope, share), grad)


class Softplus(Operation):
    """Softplus.apply(self, beta, threshold): log(1 + exp(beta * self)) / beta, a smooth relu.

    Where beta * self > threshold it is self. Gradient: g * sigmoid(beta * self), or g.

    Saves: self.
    """

    saves = ("self",)

    @staticmethod
    def forward(x: Any, beta: float, threshold: float) -> Any:
        x = floating(x)
        scaled = x * x.dtype.type(beta)
        with np.errstate(all="ignore"):
            out = np.log1p(np.exp(scaled)) / x.dtype.type(beta)
        return np.where(scaled > threshold, x, out)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        beta, threshold = self.params
        scaled = x * beta
        slope = unary(Sigmoid, scaled).masked_fill(scaled > threshold, 1.0)
        return reuse(Mul, slope, grad)


class SigmoidBackward(GradientOf):
    """The gradient of sigmoid: g * result * (1 - result).

    Saves: result, and grad if result needs a gradient.
    """

    @staticmethod
    def forward(grad: Any, result: Any) -> Any:
        out = np.subtract(1, result, out=np.empty_like(result))
        np.multiply(out, result, out=out)
        return np.multiply(out, grad, out=out)

    def backward(self, outer: Any) -> Any:
        grad, result = self.read()
        of_grad = None if self.inputs[0] is None else binary(SigmoidBackward, outer, result)
        return of_grad, None if grad is None else outer * grad * (1.0 - result * 2.0)


class ReluBackward(Operation):
    """The gradient of relu: g where the result is positive (or NaN), else 0, in one buffer.

    Saves: result.
    """

    arity = 2
    saves = ("result",)

    @staticmethod
    def forward(grad: Any, result: Any) -> Any:
        # A mask of bits selects without branches, many times faster than np.where on random signs,
        # and unlike a product with 0 it turns an infinite gradient into 0.
        bits = f"i{result.itemsize}"
        out = np.asarray(result <= 0).view(np.int8).astype(bits)
        np.subtract(out, 1, out=out)
        return np.bitwise_and(out, grad.view(bits), out=out).view(result.dtype)

    def save(self, result: Any, *inputs: Any) -> None:
        self.saved = (self.keep(inputs[1]),)

    def backward(self, outer: Any) -> Any:
        (result,) = self.read()
        of_grad = None if self.inputs[0] is None else binary(ReluBackward, outer, result)
        return of_grad, None if self.inputs[1] is None else zeros(outer)


_TANH_SCALE = math.sqrt(2.0 / math.pi)
_TANH_CUBIC = 0.044715
_STEPS = 64  # per unit, in the table of the error function
_LIMIT = 6.0  # beyond it the error function is 1 to double precision
_BLOCK = 4096  # elements at a time: temporaries stay small and in the cache


def _taylor_table(order: int) -> Array:
    """The Taylor coefficients of erf at the multiples of 1 / _STEPS up to _LIMIT.

    The derivatives of exp(-x**2) are Hermite polynomials times it, by a recurrence of two terms.
    Shape (order + 1, points), float64.
    """
    columns = []
    for step in range(int(_LIMIT * _STEPS) + 1):
        x = step / _STEPS
        derivatives = [math.erf(x), 2.0 / math.sqrt(math.pi) * math.exp(-x * x)]
        for k in range(1, order):
            derivatives.append(-2.0 * (x * derivatives[k] + (k - 1) * derivatives[k - 1]))
        columns.append([value / math.factorial(k) for k, value in enumerate(derivatives)])
    return np.ascontiguousarray(np.transpose(columns))


_ERF_TABLE = _taylor_table(7)


def error_function(x: Array) -> Array:
    """erf of each element, within 2e-16, in the dtype of `x`: the Taylor series at the next point.

    NumPy has no erf, and calling math.erf for each element is several times slower.
    """
    flat = np.ravel(x)
    out = np.empty_like(flat)
    with np.errstate(all="ignore"):  # NaN has no nearest point; the distance keeps it NaN
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK].astype(np.float64)
            distance = np.minimum(np.abs(block), _LIMIT)
            nearest = np.rint(distance * _STEPS).astype(np.intp)
            distance -= nearest / _STEPS
            total = _ERF_TABLE[-1].take(nearest, mode="clip")
            for row in _ERF_TABLE[-2::-1]:
                total *= distance
                total += row.take(nearest, mode="clip")
            out[start : start + _BLOCK] = np.copysign(total, block)
    return out.reshape(np.shape(x))
