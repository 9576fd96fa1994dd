"""What NumPy's functions do with a Tensor: the right operation, or a clear refusal.

A NumPy function must never return an array in which the graph is lost without a word. So
`np.exp(t)`, `np.float64(2) * t` and `array * t` are recorded like `t.exp()` and `t * 2`; any other
function works on tensors that need no gradient, and is refused on those that do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import arithmetic, comparison, rounding, selection
from ..ops import unary as functions
from ..ops.elementwise import binary
from ..ops.matmul import Matmul
from ..ops.operation import Operation, unary
from ..tensor_base import TensorBase, wrap
from .conversion import ConversionMethods

TWO_OPERANDS: dict[np.ufunc, type[Operation]] = {
    np.add: arithmetic.Add,
    np.subtract: arithmetic.Sub,
    np.multiply: arithmetic.Mul,
    np.true_divide: arithmetic.Div,
    np.power: arithmetic.Pow,
    np.float_power: arithmetic.Pow,
    np.remainder: arithmetic.Remainder,
    np.floor_divide: arithmetic.FloorDiv,
    np.matmul: Matmul,
    np.maximum: selection.Maximum,
    np.minimum: selection.Minimum,
    np.equal: comparison.Eq,
    np.not_equal: comparison.Ne,
    np.less: comparison.Lt,
    np.less_equal: comparison.Le,
    np.greater: comparison.Gt,
    np.greater_equal: comparison.Ge,
    np.logical_and: comparison.LogicalAnd,
    np.logical_or: comparison.LogicalOr,
    np.logical_xor: comparison.LogicalXor,
    np.bitwise_and: comparison.BitwiseAnd,
    np.bitwise_or: comparison.BitwiseOr,
    np.bitwise_xor: comparison.BitwiseXor,
}
ONE_OPERAND: dict[np.ufunc, type[Operation]] = {
    np.negative: arithmetic.Neg,
    np.reciprocal: arithmetic.Reciprocal,
    np.exp: functions.Exp,
    np.expm1: functions.Expm1,
    np.log: functions.Log,
    np.log1p: functions.Log1p,
    np.sqrt: functions.Sqrt,
    np.sin: functions.Sin,
    np.cos: functions.Cos,
    np.tan: functions.Tan,
    np.tanh: functions.Tanh,
    np.absolute: functions.Abs,
    np.fabs: functions.Abs,
    np.sign: functions.Sign,
    np.rint: rounding.Round,
    np.floor: rounding.Floor,
    np.ceil: rounding.Ceil,
    np.trunc: rounding.Trunc,
    np.logical_not: comparison.LogicalNot,
    np.bitwise_not: comparison.BitwiseNot,
    np.isnan: comparison.IsNan,
    np.isinf: comparison.IsInf,
    np.isfinite: comparison.IsFinite,
}
# These read no values, so they may look at any tensor.
HARMLESS = (np.shape, np.ndim, np.size, np.shares_memory, np.may_share_memory, np.result_type)
# Where the name of the operation differs from NumPy's.
OTHER_NAMES = {"concatenate": "cat", "power": "pow", "transpose": "permute"}
NO_METHODS = ("cat", "stack", "einsum")


class NumpyMethods(ConversionMethods):
    """NumPy's two protocols: one for its ufuncs, one for its other functions."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options:
            if ufunc in TWO_OPERANDS:
                return binary(TWO_OPERANDS[ufunc], *inputs)
            if ufunc in ONE_OPERAND:
                return unary(ONE_OPERAND[ufunc], *inputs)
            if ufunc is np.square:
                return binary(arithmetic.Pow, inputs[0], 2)
        arrays = [_values(ufunc.__name__, value) for value in (inputs, options)]
        result = getattr(ufunc, method)(*arrays[0], **arrays[1])
        if method == "__call__" and isinstance(result, (np.ndarray, np.generic)) and not options:
            return wrap(type(self), np.asarray(result))
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in HARMLESS:
            return func(*(v._array if isinstance(v, TensorBase) else v for v in args), **kwargs)
        name = func.__name__
        return func(*_values(name, args), **_values(name, kwargs))


def _values(name: str, value: Any) -> Any:
    """The value with arrays for tensors, also inside lists, tuples and dicts.

    Errors: TypeError when one of the tensors requires grad.
    """
    if isinstance(value, TensorBase):
        if value.requires_grad:
            own = OTHER_NAMES.get(name, name)
            known = f"use tp.{own}" if own in NO_METHODS or hasattr(value, own) else ""
            raise TypeError(
                f"np.{name} of a Tensor that requires grad would lose the graph; "
                f"{known + ', or ' if known else 'use '}tensor.detach().numpy() for an array"
            )
        return value.numpy()  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: _values(name, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_values(name, one) for one in value)
    return value
