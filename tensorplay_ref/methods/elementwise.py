"""Tensor's methods that act on each element: functions, activations, selection."""

from __future__ import annotations

from typing import Any, Self

from ..ops.activation import Erf, Relu, Sigmoid
from ..ops.arithmetic import Pow
from ..ops.comparison import IsFinite, IsInf, IsNan
from ..ops.elementwise import binary
from ..ops.operation import unary
from ..ops.rounding import Ceil, Floor, Round, Trunc
from ..ops.selection import Clamp, MaskedFill, Where
from ..ops.unary import (
    Abs,
    Clone,
    Cos,
    Exp,
    Expm1,
    Log,
    Log1p,
    Rsqrt,
    Sign,
    Sin,
    Sqrt,
    Tan,
    Tanh,
)
from ..tensor_base import TensorBase


class ElementwiseMethods(TensorBase):
    """One result element for each element. Integer tensors give float32 where needed."""

    __slots__ = ()

    def exp(self) -> Self:
        """e ** self."""
        return unary(Exp, self)

    def expm1(self) -> Self:
        """e ** self - 1, precise near 0."""
        return unary(Expm1, self)

    def log(self) -> Self:
        """The natural logarithm."""
        return unary(Log, self)

    def log1p(self) -> Self:
        """The natural logarithm of 1 + self, precise near 0."""
        return unary(Log1p, self)

    def sqrt(self) -> Self:
        """The square root."""
        return unary(Sqrt, self)

    def rsqrt(self) -> Self:
        """1 / sqrt(self)."""
        return unary(Rsqrt, self)

    def square(self) -> Self:
        """self ** 2."""
        return binary(Pow, self, 2)

    def sin(self) -> Self:
        """The sine; self in radians."""
        return unary(Sin, self)

    def cos(self) -> Self:
        """The cosine; self in radians."""
        return unary(Cos, self)

    def tan(self) -> Self:
        """The tangent; self in radians."""
        return unary(Tan, self)

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return unary(Tanh, self)

    def abs(self) -> Self:
        """The absolute value; its derivative at 0 is 0."""
        return unary(Abs, self)

    __abs__ = absolute = abs

    def sign(self) -> Self:
        """-1, 0 or 1; its derivative is 0."""
        return unary(Sign, self)

    def clone(self) -> Self:
        """A copy in memory of its own; the gradient passes through."""
        return unary(Clone, self)

    def round(self) -> Self:
        """The nearest whole number, of two the even one; its derivative is 0."""
        return unary(Round, self)

    def floor(self) -> Self:
        """The next whole number below; its derivative is 0."""
        return unary(Floor, self)

    def ceil(self) -> Self:
        """The next whole number above; its derivative is 0."""
        return unary(Ceil, self)

    def trunc(self) -> Self:
        """Without what stands behind the point; its derivative is 0."""
        return unary(Trunc, self)

    def erf(self) -> Self:
        """The error function."""
        return unary(Erf, self)

    def sigmoid(self) -> Self:
        """1 / (1 + exp(-self))."""
        return unary(Sigmoid, self)

    def relu(self) -> Self:
        """self where positive, else 0; its derivative at 0 is 0."""
        return unary(Relu, self)

    def isnan(self) -> Self:
        """Where self is not a number, boolean."""
        return unary(IsNan, self)

    def isinf(self) -> Self:
        """Where self is infinite, boolean."""
        return unary(IsInf, self)

    def isfinite(self) -> Self:
        """Where self is neither infinite nor NaN, boolean."""
        return unary(IsFinite, self)

    def clamp(self, min: Any = None, max: Any = None) -> Self:
        """self, but not below `min` and not above `max`."""
        return Clamp.apply(self, min, max)

    clip = clamp

    def where(self, condition: TensorBase, other: Any) -> Self:
        """self where the condition is true, else other."""
        return Where.apply(condition, self, other)

    def masked_fill(self, mask: TensorBase, value: Any) -> Self:
        """`value` where the mask is true, else self."""
        return MaskedFill.apply(self, mask, value)
