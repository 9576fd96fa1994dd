"""Comparisons, logic and bits: results that are boolean or integer, so nothing here is recorded.

Two operands are tensors, or a tensor and a number; shapes broadcast. Every operation here saves
nothing, and its result never requires a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import binary
from .operation import Operation, unary


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
    """self < other, boolean. Saves: nothing."""

    forward = np.less


class Le(Comparison):
    """self <= other, boolean. Saves: nothing."""

    forward = np.less_equal


class Gt(Comparison):
    """self > other, boolean. Saves: nothing."""

    forward = np.greater


class Ge(Comparison):
    """self >= other, boolean. Saves: nothing."""

    forward = np.greater_equal


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

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return np.bitwise_and(*whole("&", x, y))


class BitwiseOr(Comparison):
    """self | other, on booleans or integers. Saves: nothing."""

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return np.bitwise_or(*whole("|", x, y))


class BitwiseXor(Comparison):
    """self ^ other, on booleans or integers. Saves: nothing."""

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return np.bitwise_xor(*whole("^", x, y))


class Predicate(Operation):
    """Base of the operations of one operand without a gradient.

    Saves: nothing.
    """

    differentiable = False

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return unary(cls, *args)


class LogicalNot(Predicate):
    """True where self is zero. Saves: nothing."""

    forward = np.logical_not


class BitwiseNot(Predicate):
    """~self, on booleans or integers. Saves: nothing."""

    @staticmethod
    def forward(x: Any) -> Any:
        return np.bitwise_not(*whole("~", x))


class IsNan(Predicate):
    """True where self is not a number. Saves: nothing."""

    forward = np.isnan


class IsInf(Predicate):
    """True where self is plus or minus infinity. Saves: nothing."""

    forward = np.isinf


class IsFinite(Predicate):
    """True where self is neither infinite nor NaN. Saves: nothing."""

    forward = np.isfinite


def whole(sign: str, *operands: Any) -> tuple[Any, ...]:
    """The operands of a bitwise operation, once it is clear that they have bits to combine.

    Errors: TypeError for floating operands.
    """
    for operand in operands:
        if operand.dtype.kind not in "iub":
            raise TypeError(
                f"{sign} is defined for boolean and integer tensors, found {operand.dtype}; "
                "compare first, for example x > 0"
            )
    return operands
