"""Tensor's methods for indexing and for writing in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..ops.arithmetic import Add, Div, Mul, Neg, Pow, Sub
from ..ops.dims import axis_of
from ..ops.index import Gather, Index, IndexPut, ScatterAdd, subscript, tensor_key
from ..ops.inplace import assign, copy_, inplace
from ..ops.unary import Exp
from ..tensor_base import TensorBase


class IndexingMethods(TensorBase):
    """Reading by position."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Self:
        return subscript(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        assign(self, key, value, IndexPut)

    def index_select(self, dim: int, index: TensorBase) -> Self:
        """The parts along `dim` at the positions of an integer vector."""
        axis = axis_of("index_select", dim, self.ndim)
        if index.ndim != 1:
            raise IndexError(f"index_select: expected a vector as index, found {index.shape}")
        return Index.apply(self, (*(slice(None),) * axis, index))

    def gather(self, dim: int, index: TensorBase) -> Self:
        """At each place of `index` the element that it names along `dim`."""
        return Gather.apply(self, axis_of("gather", dim, self.ndim), index)

    def scatter_add(self, dim: int, index: TensorBase, src: TensorBase) -> Self:
        """Each element of `src` added where `index` says along `dim`."""
        return ScatterAdd.apply(self, src, axis_of("scatter_add", dim, self.ndim), index)

    def index_add(self, dim: int, index: TensorBase, source: TensorBase) -> Self:
        """The parts of `source` along `dim` added at the positions of an integer vector."""
        axis = axis_of("index_add", dim, self.ndim)
        return IndexPut.apply(self, source, (*(slice(None),) * axis, index), True)

    def index_put(
        self, indices: Sequence[Any], values: TensorBase, accumulate: bool = False
    ) -> Self:
        """With `values` at the positions of a tuple of index tensors, or added there."""
        return IndexPut.apply(self, values, tensor_key(self, tuple(indices)), accumulate)


class InPlaceMethods(TensorBase):
    """Writing in place: the version of the storage counts up, and the write is recorded.

    Refused on a leaf that requires grad, unless grad mode is off.
    """

    __slots__ = ()

    def copy_(self, src: Any, non_blocking: bool = False) -> Self:
        """Become a copy of a tensor or number, broadcast and cast."""
        return copy_(self, src)

    def fill_(self, value: Any) -> Self:
        """Become `value` everywhere."""
        return copy_(self, value, "fill_")

    def zero_(self) -> Self:
        """Become 0 everywhere."""
        return copy_(self, 0, "zero_")

    def add_(self, other: Any, *, alpha: float = 1) -> Self:
        """Become self + alpha * other."""
        return inplace(Add, self, other if alpha == 1 else other * alpha)

    def sub_(self, other: Any, *, alpha: float = 1) -> Self:
        """Become self - alpha * other."""
        return inplace(Sub, self, other if alpha == 1 else other * alpha)

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

    def exp_(self) -> Self:
        """Become exp(self)."""
        return inplace(Exp, self)

    __iadd__, __isub__, __imul__, __itruediv__, __ipow__ = add_, sub_, mul_, div_, pow_
