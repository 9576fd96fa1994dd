"""Tensor's methods for reading by position, and for sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..arguments import flag, many, whole
from ..ops.dims import along, axis_of, require_axes
from ..ops.gather import Gather, ScatterAdd
from ..ops.index import Index, IndexPut, indices_of, subscript, tensor_key, vector_of
from ..ops.promotion import require_real
from ..ops.selection import require_mask
from ..ops.shape import Expand, Squeeze, Unsqueeze
from ..tensor_base import TensorBase, wrap
from .reductions import ValuesIndices


class IndexingMethods(TensorBase):
    """Reading by position."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Self:
        """A part, by numbers, slices, None, ... (a view) or by index tensors and masks (a copy)."""
        return subscript(self, key)

    def index_select(self, dim: int, index: TensorBase) -> Self:
        """The parts along `dim` at the positions, counted from 0, of an integer vector."""
        require_axes("index_select", self.shape, 1)
        axis = axis_of("index_select", dim, self.ndim)
        places = vector_of("index_select", index, axis, self.shape[axis])
        return Index.apply(self, along(axis, places))

    def gather(self, dim: int, index: TensorBase) -> Self:
        """At each place of `index` the element that it names along `dim`."""
        return Gather.apply(self, axis_of("gather", dim, self.ndim), indices_of("gather", index))

    def scatter_add(self, dim: int, index: TensorBase, src: TensorBase) -> Self:
        """Each element of `src` added where `index` says along `dim`."""
        return ScatterAdd.apply(
            self, src, axis_of("scatter_add", dim, self.ndim), indices_of("scatter_add", index)
        )

    def index_add(self, dim: int, index: TensorBase, source: TensorBase) -> Self:
        """The parts of `source` along `dim` added at the positions of an integer vector."""
        key = adding_key("index_add", self, dim, index, source)
        return IndexPut.apply(self, source, key, True)

    def masked_select(self, mask: TensorBase) -> Self:
        """The elements where a boolean mask is true, as a vector; shapes broadcast."""
        require_mask("masked_select", "mask", mask)
        try:
            shape = np.broadcast_shapes(self.shape, mask.shape)
        except ValueError:
            raise RuntimeError(
                f"masked_select: shapes {self.shape} and {mask.shape} do not broadcast"
            ) from None
        return subscript(Expand.apply(self, shape), Expand.apply(mask, shape))

    def nonzero(self) -> Self:
        """The positions of the nonzero elements: one row of int64 for each."""
        return wrap(type(self), np.argwhere(self._array), self.device, "nonzero")

    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = True) -> Self:
        """The positions that would sort along `dim`; equal elements stay in order."""
        require_real("sort", self.dtype)
        axis = axis_of("argsort", dim, self.ndim)
        descending = flag("sort: descending", descending)
        flag("sort: stable", stable)
        array = np.flip(np.atleast_1d(self._array), axis) if descending else self._array
        order = np.argsort(np.atleast_1d(array), axis, kind="stable")
        if descending:
            # Sorted backwards and turned round, so that equal elements stay in order here, too.
            order = np.flip(order.shape[axis] - 1 - order, axis)
        return wrap(type(self), order.reshape(self.shape).copy(), self.device, "argsort")

    def sort(
        self, dim: int = -1, descending: bool = False, stable: bool = True
    ) -> ValuesIndices[Self]:
        """The elements in order along `dim`, and their former positions."""
        indices = self.argsort(dim, descending, stable)
        return ValuesIndices(self.gather(dim, indices), indices)

    def topk(self, k: int, dim: int = -1, largest: bool = True) -> ValuesIndices[Self]:
        """The k largest (or smallest) elements along `dim` in order, and their positions."""
        axis = axis_of("topk", dim, self.ndim)
        largest = flag("topk: largest", largest)
        if not self.ndim:
            one = Unsqueeze.apply(self, 0).topk(k)
            return ValuesIndices(*(Squeeze.apply(each, (0,)) if k else each for each in one))
        if not 0 <= whole("topk: k", k) <= self.shape[axis]:
            raise RuntimeError(f"topk: {k} of {self.shape[axis]} elements along dim {dim}")
        order = self.argsort(axis, largest)._array
        kept = order[along(axis, slice(k))].copy()
        indices = wrap(type(self), kept, self.device, "topk")
        return ValuesIndices(self.gather(axis, indices), indices)

    def index_put(
        self, indices: Sequence[Any], values: TensorBase, accumulate: bool = False
    ) -> Self:
        """With `values` at the positions of a tuple of index tensors, or added there."""
        adding = flag("index_put: accumulate", accumulate)
        return IndexPut.apply(
            self, values, tensor_key(self, tuple(many("index_put: indices", indices))), adding
        )


def adding_key(
    operation: str, tensor: TensorBase, dim: int, index: TensorBase, source: TensorBase
) -> tuple[Any, ...]:
    """The key at which `source` is added; it must have a part for each position, and fit."""
    axis = axis_of(operation, dim, tensor.ndim)
    places = vector_of(operation, index, axis, tensor.shape[axis])
    expected = (*tensor.shape[:axis], places.shape[0], *tensor.shape[axis + 1 :])
    if source.shape != expected:
        raise RuntimeError(
            f"{operation}: expected a source of shape {expected}, found {source.shape}"
        )
    return along(axis, places)
