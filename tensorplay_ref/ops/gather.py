"""Picking and adding along one axis, by an index that has as many axes as the tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .index import require_positions
from .join import Pad
from .operation import Operation


class Gather(Operation):
    """self[..., index, ...]: at each place of index the element of self that it names along `dim`.

    index: integers, as many axes as self, none longer except `dim`. Gradient: g, added there.
    Saves: index.
    """

    saves = ("index",)

    @staticmethod
    def forward(x: Any, dim: int, index: Any) -> Any:
        return x[positions("Gather", x.shape, dim, index._array)]

    def save(self, result: Any, x: Any) -> None:
        dim, index = self.params
        self.params = (dim, x.shape)
        self.saved_slots = (self.keep(index),)

    def backward(self, grad: Any) -> Any:
        dim, shape = self.params
        return ScatterAdd.apply(grad.new_zeros(shape), grad, dim, self.read()[0])


class ScatterAdd(Operation):
    """self with each element of source added where `index` says along `dim`.

    Gradients: g, and g gathered at the places.

    Saves: index if source needs a gradient.

    Errors: IndexError or RuntimeError for an index or a source that does not fit.
    """

    arity = 2
    saves = ("index",)

    @staticmethod
    def forward(x: Any, source: Any, dim: int, index: Any) -> Any:
        where = positions("ScatterAdd", x.shape, dim, index._array)
        if source.dtype != x.dtype:
            raise RuntimeError(
                f"ScatterAdd: expected a source of dtype {x.dtype}, found {source.dtype}"
            )
        lengths = zip(index._array.shape, source.shape, strict=False)
        if source.ndim != x.ndim or any(m > n for m, n in lengths):
            raise RuntimeError(
                f"ScatterAdd: expected a source with an element for each of index, found shape "
                f"{source.shape} for {index._array.shape}"
            )
        out = x.copy()
        part = source[tuple(slice(n) for n in index._array.shape)]
        flat = np.ravel_multi_index(where, out.shape) if out.ndim else np.zeros((), np.int64)
        np.add.at(out.reshape(-1), np.ravel(flat), part.astype(out.dtype, copy=False).ravel())
        return out

    def save(self, result: Any, x: Any, source: Any) -> None:
        dim, index = self.params
        self.params = (dim, source.shape)
        self.saved_slots = (self.keep(index) if self.input_nodes[1] else None,)

    def backward(self, grad: Any) -> Any:
        dim, shape = self.params
        (index,) = self.read()
        if index is None:
            return grad, None
        picked = grad.gather(dim, index)
        if picked.shape != shape:
            # The part of source beyond index was not used: it gets zeros.
            widths = tuple((0, n - m) for n, m in zip(shape, picked.shape, strict=True))
            picked = Pad.apply(picked, widths, 0.0)
        return grad, picked


def positions(operation: str, shape: tuple[int, ...], dim: int, index: Any) -> tuple[Any, ...]:
    """For each place of index the position in an array of `shape`: its own, except along `dim`."""
    if index.dtype.kind not in "iu" or index.ndim != len(shape):
        raise IndexError(
            f"{operation}: expected an integer index with {len(shape)} axes, found {index.dtype} "
            f"of shape {index.shape}"
        )
    if any(
        m > n for axis, (m, n) in enumerate(zip(index.shape, shape, strict=True)) if axis != dim
    ):
        raise RuntimeError(
            f"{operation}: index of shape {index.shape} must not be longer than {shape} on an axis "
            f"other than {dim}"
        )
    if shape:
        require_positions(operation, index, shape[dim], f" along dim {dim}")
    places = list(np.ogrid[tuple(slice(n) for n in index.shape)]) if index.ndim else []
    if places:
        places[dim] = index
    return tuple(np.broadcast_arrays(*places)) if places else ()
