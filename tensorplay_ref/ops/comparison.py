"""Comparisons, logic and bits: results that are boolean or integer, so nothing here is recorded.

Two operands are tensors, or a tensor and a number; shapes broadcast. Every operation here saves
nothing, and its result never requires a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementwise import binary
from .operation import Operation
from .promotion import require_real


def on_bits(sign: str, ufunc: np.ufunc) -> Callable[..., Any]:
    """A bitwise ufunc as `forward`. Errors: TypeError for floating operands."""

    def forward(*operands: Any) -> Any:
        for operand in operands:
            if operand.dtype.kind not in "iub":
                raise TypeError(
                    f"{sign} is defined for boolean and integer tensors, found {operand.dtype}; "
                    "compare first, for example x > 0"
                )
        return ufunc(*operands)

    return forward


def in_order(sign: str, ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """A ufunc that asks which is larger, as `forward`. Errors: RuntimeError for complex numbers."""

    def forward(x: Any, y: Any) -> Any:
        require_real(sign, x.dtype)
        return ufunc(x, y)

    return forward


class Comparison(Operation):
    """Base of the operations of two operands without a gradient.

    Saves: nothing.
    """

    arity = 2
    differentiable = False

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return binary(cls, *args)


class Eq(Comparison):
    """self == other, boolean. Saves: nothing."""

    forward = np.equal


class Ne(Comparison):
    """self != other, boolean. Saves: nothing."""

    forward = np.not_equal


class Lt(Comparison):
    """self < other, boolean, of real numbers. Saves: nothing."""

    forward = in_order("<", np.less)


class Le(Comparison):
    """self <= other, boolean, of real numbers. Saves: nothing."""

    forward = in_order("<=", np.less_equal)


class Gt(Comparison):
    """self > other, boolean, of real numbers. Saves: nothing."""

    forward = in_order(">", np.greater)


class Ge(Comparison):
    """self >= other, boolean, of real numbers. Saves: nothing."""

    forward = in_order(">=", np.greater_equal)


class LogicalAnd(Comparison):
    """Both are nonzero, boolean. Saves: nothing."""

    forward = np.logical_and


class LogicalOr(Comparison):
    """One of them is nonzero or both are, boolean. Saves: nothing."""

    forward = np.logical_or


class LogicalXor(Comparison):
    """One of them is nonzero and the other is not, boolean. Saves: nothing."""

    forward = np.logical_xor


class BitwiseAnd(Comparison):
    """self & other, on booleans or integers. Saves: nothing."""

    forward = on_bits("&", np.bitwise_and)


class BitwiseOr(Comparison):
    """self | other, on booleans or integers. Saves: nothing."""

    forward = on_bits("|", np.bitwise_or)


class BitwiseXor(Comparison):
    """self ^ other, on booleans or integers. Saves: nothing."""

    forward = on_bits("^", np.bitwise_xor)


class Predicate(Operation):
    """Base of the operations of one operand without a gradient.

    Saves: nothing.
    """

    differentiable = False


class LogicalNot(Predicate):
    """True where self is zero. Saves: nothing."""

    forward = np.logical_not


class BitwiseNot(Predicate):
    """~self, on booleans or integers. Saves: nothing."""

    forward = on_bits("~", np.bitwise_not)


class IsNan(Predicate):
    """True where self is not a number. Saves: nothing."""

    forward = np.isnan


class IsInf(Predicate):
    """True where self is plus or minus infinity. Saves: nothing."""

    forward = np.isinf


class IsFinite(Predicate):
    """True where self is neither infinite nor NaN. Saves: nothing."""

    forward = np.isfinite
