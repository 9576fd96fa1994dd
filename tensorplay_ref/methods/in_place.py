"""Tensor's methods that write in place; their names end with an underscore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..arguments import flag, many
from ..ops.activation import Relu, Sigmoid
from ..ops.arithmetic import Add, Div, Mul, Neg, Pow, Reciprocal, Sub
from ..ops.dims import axis_of
from ..ops.gather import ScatterAdd
from ..ops.index import IndexPut, indices_of, tensor_key
from ..ops.inplace import assign, copy_, inplace
from ..ops.rounding import Round
from ..ops.selection import Clamp, MaskedFill
from ..ops.unary import Abs, Cos, Exp, Log, Sin, Sqrt, Tanh
from ..tensor_base import TensorBase
from .arithmetic import scaled
from .indexing import adding_key


class InPlaceMethods(TensorBase):
    """Writing in place: the version of the storage counts up, and the write is recorded.

    Refused on a leaf that requires grad, unless grad mode is off.
    """

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write into a part, in place: the version counter moves and the write is recorded."""
        assign(self, key, value, IndexPut)

    def copy_(self, src: Any, non_blocking: bool = False) -> Self:
        """Become a copy of a tensor or number, broadcast and cast."""
        flag("copy_: non_blocking", non_blocking)
        return copy_(self, src)

    def fill_(self, value: Any) -> Self:
        """Become `value`, a number or a tensor without axes, everywhere."""
        if isinstance(value, TensorBase) and value.ndim:
            raise RuntimeError(f"fill_: expected a value without axes, found shape {value.shape}")
        return copy_(self, value, "fill_")

    def zero_(self) -> Self:
        """Become 0 everywhere."""
        return copy_(self, 0, "zero_")

    def add_(self, other: Any, *, alpha: float = 1) -> Self:
        """Become self + alpha * other."""
        return inplace(Add, self, scaled("add_: alpha", other, alpha))

    def sub_(self, other: Any, *, alpha: float = 1) -> Self:
        """Become self - alpha * other."""
        return inplace(Sub, self, scaled("sub_: alpha", other, alpha))

    def mul_(self, other: Any) -> Self:
        """Become self * other."""
        return inplace(Mul, self, other)

    def div_(self, other: Any) -> Self:
        """Become self / other."""
        return inplace(Div, self, other)

    def pow_(self, exponent: Any) -> Self:
        """Become self ** exponent."""
        return inplace(Pow, self, exponent)

    def neg_(self) -> Self:
        """Become -self."""
        return inplace(Neg, self)

    def reciprocal_(self) -> Self:
        """Become 1 / self."""
        return inplace(Reciprocal, self)

    def exp_(self) -> Self:
        """Become exp(self)."""
        return inplace(Exp, self)

    def log_(self) -> Self:
        """Become the natural logarithm of self."""
        return inplace(Log, self)

    def sqrt_(self) -> Self:
        """Become the square root of self."""
        return inplace(Sqrt, self)

    def sin_(self) -> Self:
        """Become the sine of self."""
        return inplace(Sin, self)

    def cos_(self) -> Self:
        """Become the cosine of self."""
        return inplace(Cos, self)

    def abs_(self) -> Self:
        """Become the absolute value of self."""
        return inplace(Abs, self)

    def round_(self) -> Self:
        """Become the nearest whole number, of two the even one."""
        return inplace(Round, self)

    def tanh_(self) -> Self:
        """Become the hyperbolic tangent of self."""
        return inplace(Tanh, self)

    def sigmoid_(self) -> Self:
        """Become 1 / (1 + exp(-self))."""
        return inplace(Sigmoid, self)

    def relu_(self) -> Self:
        """Become self where positive, else 0."""
        return inplace(Relu, self)

    def clamp_(self, min: Any = None, max: Any = None) -> Self:
        """Become self, but not below `min` and not above `max`."""
        return inplace(Clamp, self, min, max)

    def masked_fill_(self, mask: TensorBase, value: Any) -> Self:
        """Become `value` where the mask is true."""
        return inplace(MaskedFill, self, mask, value)

    def index_put_(
        self, indices: Sequence[Any], values: TensorBase, accumulate: bool = False
    ) -> Self:
        """Become `values` at the positions of a tuple of index tensors, or add them there."""
        adding = flag("index_put_: accumulate", accumulate)
        return inplace(
            IndexPut,
            self,
            values,
            tensor_key(self, tuple(many("index_put_: indices", indices))),
            adding,
        )

    def index_add_(self, dim: int, index: TensorBase, source: TensorBase) -> Self:
        """Have the parts of `source` along `dim` added at the positions of an integer vector."""
        key = adding_key("index_add_", self, dim, index, source)
        return inplace(IndexPut, self, source, key, True)

    def scatter_add_(self, dim: int, index: TensorBase, src: TensorBase) -> Self:
        """Have each element of `src` added where `index` says along `dim`."""
        axis = axis_of("scatter_add_", dim, self.ndim)
        return inplace(ScatterAdd, self, src, axis, indices_of("scatter_add_", index))

    __iadd__, __isub__, __imul__, __itruediv__, __ipow__ = add_, sub_, mul_, div_, pow_
