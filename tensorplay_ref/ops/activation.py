"""Activation functions, elementwise. In the formulas g is the gradient of the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..buffers import LARGE, like
from .elementwise import binary
from .error_function import error_function
from .operation import Operation, make_result, unary
from .promotion import require_real
from .selection import Where
from .temporaries import afresh, blockwise, floating, zeros
from .unary import Exp, GradientOf, Tanh

_INTEGERS: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}
LONG = 64  # elements; of shorter rows one number is compared as fast


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
            out = afresh(np.negative, x)
            np.exp(out, out=out)
            np.add(out, 1, out=out)
            return np.reciprocal(out, out=out)

    def backward(self, grad: Any) -> Any:
        return SigmoidBackward.at(self, grad)


class Relu(Operation):
    """The larger of self and 0; keeps integers. Gradient: g where result > 0, else 0.

    Saves: result. Its sign tells where self was positive.
    """

    saves = ("result",)
    fresh = True

    @staticmethod
    def forward(x: Any) -> Any:
        require_real("relu", x.dtype)
        zero: Any = 0
        if x.dtype.kind == "f" and x.ndim and x.shape[-1] >= LONG:
            # NumPy compares two rows twice as fast as a row and one number.
            zero = np.zeros(x.shape[-1], x.dtype)
        return afresh(np.maximum, x, zero)

    def backward(self, grad: Any) -> Any:
        return ReluBackward.at(self, grad)


class Activation(Operation):
    """Base of the activations whose gradient is g * slope(self): two formulas, `value` and `slope`.

    The slope takes the functions that it calls from its first argument, so it serves arrays and,
    when the backward is recorded, tensors. Arrays are computed block by block.

    Saves: self.

    Errors: RuntimeError for complex numbers where `refuses_complex` names the function.
    """

    saves = ("self",)
    fresh = True
    refuses_complex: ClassVar[str | None] = None
    value: ClassVar[Callable[..., Any]]
    slope: ClassVar[Callable[..., Any]]

    @classmethod
    def forward(cls, x: Any, *params: Any) -> Any:
        if cls.refuses_complex is not None:
            require_real(cls.refuses_complex, x.dtype)
        return blockwise(lambda block: cls.value(block, *params), floating(x))

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        cls, params = type(self), self.params
        if grad_enabled.get():
            return cls.slope(TENSORS, x, *params) * grad

        def product(block: Any, grad_block: Any) -> Any:
            return cls.slope(ARRAYS, block, *params) * grad_block

        return make_result(
            cls, (grad,), blockwise(product, x._array, grad._array), grad._storage.device
        )


class LeakyRelu(Activation):
    """LeakyRelu.apply(self, slope): self where positive, else slope * self.

    Gradient: g where positive, else slope * g.

    Saves: self.
    """

    refuses_complex = "leaky_relu"

    @staticmethod
    def value(x: Any, slope: float) -> Any:
        return np.maximum(x, 0) + np.minimum(x, 0) * slope

    @staticmethod
    def slope(f: Any, x: Any, slope: float) -> Any:
        return f.where(x > 0, f.one(x), slope)


class Erf(Activation):
    """The error function 2/sqrt(pi) * integral of exp(-t**2) from 0 to self.

    Gradient: g * 2/sqrt(pi) * exp(-self**2).

    Saves: self.
    """

    refuses_complex = "erf"
    value = error_function

    @staticmethod
    def slope(f: Any, x: Any) -> Any:
        return f.exp(x * x * -1.0) * (2.0 / math.sqrt(math.pi))


class Gelu(Activation):
    """Gelu.apply(self, approximate): self times the normal distribution function of self.

    `approximate` is "none", or "tanh" for the approximation of Hendrycks and Gimpel (2016),
    self / 2 * (1 + tanh(sqrt(2/pi) * (self + 0.044715 * self**3))).
    Gradient: g times the distribution function plus self times its derivative.

    Saves: self.

    Errors: ValueError for another `approximate`.
    """

    refuses_complex = "gelu"

    @classmethod
    def forward(cls, x: Any, *params: Any) -> Any:
        if params not in (("none",), ("tanh",)):
            raise ValueError(f"gelu: approximate must be 'none' or 'tanh', found {params[0]!r}")
        return super().forward(x, *params)

    @staticmethod
    def value(x: Any, approximate: str) -> Any:
        if approximate == "none":
            return x * (error_function(x * math.sqrt(0.5)) * 0.5 + 0.5)
        return x * (np.tanh(x * (x * x * _TANH_CUBIC + 1.0) * _TANH_SCALE) * 0.5 + 0.5)

    @staticmethod
    def slope(f: Any, x: Any, approximate: str) -> Any:
        square = x * x
        if approximate == "none":
            density = f.exp(square * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
            return f.erf(x * math.sqrt(0.5)) * 0.5 + 0.5 + x * density
        inner = f.tanh(x * (square * _TANH_CUBIC + 1.0) * _TANH_SCALE)
        growth = (square * (3.0 * _TANH_CUBIC) + 1.0) * (0.5 * _TANH_SCALE)
        return inner * 0.5 + 0.5 + x * (1.0 - inner * inner) * growth


class Silu(Activation):
    """self * sigmoid(self). Gradient: g * s * (1 + self * (1 - s)) with s = sigmoid(self).

    Saves: self.
    """

    @staticmethod
    def value(x: Any) -> Any:
        return x * Sigmoid.forward(x)

    @staticmethod
    def slope(f: Any, x: Any) -> Any:
        share = f.sigmoid(x)
        return share * ((1.0 - share) * x + 1.0)


class Softplus(Activation):
    """Softplus.apply(self, beta, threshold): log(1 + exp(beta * self)) / beta, a smooth relu.

    Where beta * self > threshold it is self. Gradient: g * sigmoid(beta * self), or g.

    Saves: self.
    """

    refuses_complex = "softplus"

    @staticmethod
    def value(x: Any, beta: float, threshold: float) -> Any:
        return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)

    @staticmethod
    def slope(f: Any, x: Any, beta: float, threshold: float) -> Any:
        return f.where(x * beta > threshold, 1.0, f.sigmoid(x * beta))


class SigmoidBackward(GradientOf):
    """The gradient of sigmoid: g * result * (1 - result).

    Saves: result, and grad if result needs a gradient.
    """

    @staticmethod
    def forward(grad: Any, result: Any) -> Any:
        out = np.subtract(1, result, out=like(result))
        np.multiply(out, result, out=out)
        return np.multiply(out, grad, out=out)

    def backward(self, outer: Any) -> Any:
        grad, result = self.read()
        of_grad = None if self.input_nodes[0] is None else binary(SigmoidBackward, outer, result)
        return of_grad, None if grad is None else outer * grad * (1.0 - result * 2.0)


class ReluBackward(GradientOf):
    """The gradient of relu: g where the result is positive (or NaN), else 0, in one buffer.

    Saves: result.
    """

    saves = ("result",)

    @staticmethod
    def forward(grad: Any, result: Any) -> Any:
        # A mask of bits selects without branches, many times faster than np.where on random signs,
        # and unlike a product with 0 it turns an infinite gradient into 0.
        keep = np.asarray(result <= 0).view(np.int8)
        np.subtract(keep, 1, out=keep)
        integers = _INTEGERS[result.itemsize]
        if result.nbytes < LARGE:
            bits = keep.astype(integers)
        else:
            bits = like(result).view(integers)
            bits[...] = keep
        np.bitwise_and(bits, grad.view(integers), out=bits)
        return bits.view(result.dtype)

    def save(self, result: Any, *inputs: Any) -> None:
        self.saved_slots = (self.keep(inputs[1]),)

    def backward(self, outer: Any) -> Any:
        (result,) = self.read()
        of_grad = None if self.input_nodes[0] is None else binary(ReluBackward, outer, result)
        return of_grad, None if self.input_nodes[1] is None else zeros(outer)


_TANH_SCALE = math.sqrt(2.0 / math.pi)
_TANH_CUBIC = 0.044715

ARRAYS = SimpleNamespace(
    exp=np.exp,
    tanh=np.tanh,
    where=np.where,
    erf=error_function,
    sigmoid=Sigmoid.forward,
    one=lambda x: x.dtype.type(1),
)
TENSORS = SimpleNamespace(
    exp=partial(unary, Exp),
    tanh=partial(unary, Tanh),
    where=Where.apply,
    erf=partial(unary, Erf),
    sigmoid=partial(unary, Sigmoid),
    one=lambda x: x.new_ones(()),
)
