"""Tensor's operators: + - * / // % ** @, comparisons, logic, and their named forms."""

from __future__ import annotations

from typing import Any, Self

from ..arguments import amount
from ..ops.arithmetic import Add, Div, FloorDiv, Mul, Neg, Pow, Reciprocal, Remainder, Sub
from ..ops.comparison import (
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Eq,
    Ge,
    Gt,
    Le,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    Lt,
    Ne,
)
from ..ops.elementwise import binary
from ..ops.matmul import Matmul
from ..ops.operation import Operation, unary
from ..tensor_base import TensorBase

# A tensor, a number, or an array.
Operand = Any


class ArithmeticMethods(TensorBase):
    """Operators and their named forms. Shapes broadcast; Python numbers are weak."""

    __slots__ = ()

    # -- operators -------------------------------------------------------------------------------
    def __add__(self, other: Operand) -> Self:
        """self + other, element by element."""
        return binary(Add, self, other)

    def __radd__(self, other: Operand) -> Self:
        """other + self, for a number or an array."""
        return binary(Add, other, self)

    def __sub__(self, other: Operand) -> Self:
        """self - other, element by element."""
        return binary(Sub, self, other)

    def __rsub__(self, other: Operand) -> Self:
        """other - self, for a number or an array."""
        return binary(Sub, other, self)

    def __mul__(self, other: Operand) -> Self:
        """self * other, element by element."""
        return binary(Mul, self, other)

    def __rmul__(self, other: Operand) -> Self:
        """other * self, for a number or an array."""
        return binary(Mul, other, self)

    def __truediv__(self, other: Operand) -> Self:
        """self / other, element by element; integers give the default floating dtype."""
        return binary(Div, self, other)

    def __rtruediv__(self, other: Operand) -> Self:
        """other / self, for a number or an array."""
        return binary(Div, other, self)

    def __floordiv__(self, other: Operand) -> Self:
        """self // other, rounded down."""
        return binary(FloorDiv, self, other)

    def __rfloordiv__(self, other: Operand) -> Self:
        """other // self, for a number or an array."""
        return binary(FloorDiv, other, self)

    def __mod__(self, other: Operand) -> Self:
        """self % other, with the sign of other."""
        return binary(Remainder, self, other)

    def __rmod__(self, other: Operand) -> Self:
        """other % self, for a number or an array."""
        return binary(Remainder, other, self)

    def __pow__(self, other: Operand) -> Self:
        """self ** other, element by element."""
        return binary(Pow, self, other)

    def __rpow__(self, other: Operand) -> Self:
        """other ** self, for a number or an array."""
        return binary(Pow, other, self)

    def __matmul__(self, other: Operand) -> Self:
        """self @ other: vectors, matrices, or batches of matrices."""
        return binary(Matmul, self, other)

    def __rmatmul__(self, other: Operand) -> Self:
        """other @ self, for an array."""
        return binary(Matmul, other, self)

    def __neg__(self) -> Self:
        """-self."""
        return unary(Neg, self)

    def __pos__(self) -> Self:
        """self, as it is."""
        return self

    def __invert__(self) -> Self:
        """~self: each bit, or each truth value, turned round."""
        return unary(BitwiseNot, self)

    def __and__(self, other: Operand) -> Self:
        """self & other: bits, or truth values."""
        return binary(BitwiseAnd, self, other)

    def __or__(self, other: Operand) -> Self:
        """self | other: bits, or truth values."""
        return binary(BitwiseOr, self, other)

    def __xor__(self, other: Operand) -> Self:
        """self ^ other: bits, or truth values."""
        return binary(BitwiseXor, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # -- comparisons -----------------------------------------------------------------------------
    def __eq__(self, other: Operand) -> Self:  # type: ignore[override]
        """Where self equals other, boolean."""
        return binary(Eq, self, other)

    def __ne__(self, other: Operand) -> Self:  # type: ignore[override]
        """Where self differs from other, boolean."""
        return binary(Ne, self, other)

    def __lt__(self, other: Operand) -> Self:
        """Where self is less than other, boolean."""
        return binary(Lt, self, other)

    def __le__(self, other: Operand) -> Self:
        """Where self is at most other, boolean."""
        return binary(Le, self, other)

    def __gt__(self, other: Operand) -> Self:
        """Where self is greater than other, boolean."""
        return binary(Gt, self, other)

    def __ge__(self, other: Operand) -> Self:
        """Where self is at least other, boolean."""
        return binary(Ge, self, other)

    def __hash__(self) -> int:
        """By identity, as comparison is by element."""
        return id(self)

    # -- the same by name ------------------------------------------------------------------------
    def add(self, other: Operand, *, alpha: float = 1) -> Self:
        """self + alpha * other."""
        return result(Add, self, scaled("add: alpha", other, alpha))

    def sub(self, other: Operand, *, alpha: float = 1) -> Self:
        """self - alpha * other."""
        return result(Sub, self, scaled("sub: alpha", other, alpha))

    def mul(self, other: Operand) -> Self:
        """self * other."""
        return result(Mul, self, other)

    def div(self, other: Operand) -> Self:
        """self / other."""
        return result(Div, self, other)

    def pow(self, exponent: Operand) -> Self:
        """self ** exponent."""
        return result(Pow, self, exponent)

    def remainder(self, other: Operand) -> Self:
        """What is left of self / other, with the sign of other, as Python's %."""
        return result(Remainder, self, other)

    def floor_divide(self, other: Operand) -> Self:
        """self / other, rounded down."""
        return result(FloorDiv, self, other)

    def matmul(self, other: Operand) -> Self:
        """self @ other: vectors, matrices, or batches of matrices."""
        return result(Matmul, self, other)

    def neg(self) -> Self:
        """-self."""
        return unary(Neg, self)

    def reciprocal(self) -> Self:
        """1 / self."""
        return unary(Reciprocal, self)

    subtract, multiply, divide, true_divide, negative = sub, mul, div, div, neg

    def eq(self, other: Operand) -> Self:
        """Where self equals other, boolean."""
        return result(Eq, self, other)

    def ne(self, other: Operand) -> Self:
        """Where self differs from other, boolean."""
        return result(Ne, self, other)

    def lt(self, other: Operand) -> Self:
        """Where self is less than other, boolean."""
        return result(Lt, self, other)

    def le(self, other: Operand) -> Self:
        """Where self is at most other, boolean."""
        return result(Le, self, other)

    def gt(self, other: Operand) -> Self:
        """Where self is greater than other, boolean."""
        return result(Gt, self, other)

    def ge(self, other: Operand) -> Self:
        """Where self is at least other, boolean."""
        return result(Ge, self, other)

    def logical_and(self, other: Operand) -> Self:
        """Where both are nonzero, boolean."""
        return result(LogicalAnd, self, other)

    def logical_or(self, other: Operand) -> Self:
        """Where at least one is nonzero, boolean."""
        return result(LogicalOr, self, other)

    def logical_xor(self, other: Operand) -> Self:
        """Where exactly one is nonzero, boolean."""
        return result(LogicalXor, self, other)

    def logical_not(self) -> Self:
        """Where self is zero, boolean."""
        return unary(LogicalNot, self)


def scaled(name: str, operand: Any, factor: Any) -> Any:
    """operand * factor; the operand itself for 1.

    Errors: TypeError with the argument's name for a factor that is no number.
    """
    if not isinstance(factor, (int, complex, TensorBase)):
        amount(name, factor)
    return operand if factor == 1 else operand * factor


def result(cls: type[Operation], a: Operand, b: Operand) -> Any:
    """The result of a two-operand operation called by name.

    Errors: TypeError for an operand that is no tensor, number or array.
    """
    try:
        found = binary(cls, a, b)
    except AttributeError:
        # Asked here, where a Tensor is missing for certain, and not before every operation.
        if isinstance(a, TensorBase) or isinstance(b, TensorBase):
            raise
        found = NotImplemented
    if found is NotImplemented:
        raise TypeError(
            f"{cls.__name__}: expected a Tensor, a number or a NumPy array, found "
            f"{type(a).__name__} and {type(b).__name__}"
        )
    return found
