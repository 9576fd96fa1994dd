"""Other shapes over the same storage: reshape, transpose, expand, slices, diagonals, windows.

Every operation here is a View: it saves nothing, and its result shares the storage of its input
unless NumPy has to copy (a reshape of what is not contiguous, say).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..autograd.node import connect
from ..autograd.observer import notify, watchers
from .join import Cat, Stack
from .operation import Operation, View, recording


class _Reshaped(View):
    """Base of the views whose gradient is g in the former shape.

    Saves: nothing.
    """

    def save(self, result: Any, x: Any) -> None:
        self.params = (x.shape,)

    def backward(self, grad: Any) -> Any:
        return Reshape.apply(grad, *self.params)


class Reshape(_Reshaped):
    """self in another shape, one length may be -1; `must_view` refuses to copy. Gradient: g back.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, shape: Any, must_view: bool = False) -> Any:
        try:
            out = x.reshape(shape)
        except ValueError:
            raise RuntimeError(
                f"Reshape: shape {tuple(shape)} is invalid for a tensor of shape {x.shape} "
                f"({x.size} elements)"
            ) from None
        if must_view and out.size and not np.may_share_memory(out, x):
            raise RuntimeError(
                f"view: shape {tuple(shape)} needs a copy, because the tensor of shape {x.shape} "
                f"has strides {x.strides} (in bytes); use .reshape(...), or .contiguous() first"
            )
        return out


class Squeeze(_Reshaped):
    """self without the axes `axes` of length 1. Gradient: g, reshaped.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, axes: Any) -> Any:
        return np.squeeze(x, axis=axes)


class Unsqueeze(_Reshaped):
    """self with an axis of length 1 at `axis`. Gradient: g, reshaped.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, axis: Any) -> Any:
        return np.expand_dims(x, axis)


class Transpose(View):
    """self with two axes swapped. Gradient: g with the same axes swapped.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, first: int, second: int) -> Any:
        return x.swapaxes(first, second)

    def backward(self, grad: Any) -> Any:
        return grad.transpose(*self.params)


class Permute(View):
    """self with its axes in the order `order`, non-negative numbers. Gradient: g in the old order.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, order: tuple[int, ...]) -> Any:
        return x.transpose(order)

    def backward(self, grad: Any) -> Any:
        (order,) = self.params
        return grad.permute([order.index(axis) for axis in range(len(order))])


class Expand(View):
    """self repeated to `shape` without copying, by a stride of 0. Gradient: g, summed back.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, shape: tuple[int, ...]) -> Any:
        try:
            return np.broadcast_to(x, shape)
        except ValueError:
            raise RuntimeError(
                f"Expand: a tensor of shape {x.shape} cannot be expanded to {tuple(shape)}: "
                "counted from the last axis, lengths must be equal or 1"
            ) from None

    def backward(self, grad: Any) -> Any:
        return grad


class Slice(View):
    """self[key] for integers, slices, None and Ellipsis. Gradient: g inside zeros.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, key: Any) -> Any:
        # The Ellipsis keeps x[0] of a vector an array without axes that looks into the storage.
        return x[key if Ellipsis in key else (*key, Ellipsis)]

    def save(self, result: Any, x: Any) -> None:
        self.params = (*self.params, x.shape)

    def backward(self, grad: Any) -> Any:
        return SliceBackward.apply(grad, *self.params)


class SliceBackward(Operation):
    """Zeros of `shape` with g at `key`. Gradient: the slice of the gradient.

    Saves: nothing.
    """

    @staticmethod
    def forward(g: Any, key: Any, shape: tuple[int, ...]) -> Any:
        out = np.zeros(shape, g.dtype)
        out[key] = g
        return out

    def backward(self, grad: Any) -> Any:
        return Slice.apply(grad, self.params[0])


class Split(View):
    """Split.apply(self, lengths, dim): parts one after the other along `dim`, as a tuple of views.

    One node with a result for each part. Gradient: the parts' gradients joined, zeros where none.
    Saves: nothing.
    """

    __slots__ = ("result_forms",)
    result_forms: list[tuple[Any, ...]]

    @staticmethod
    def keys(lengths: Any, dim: int) -> Iterator[tuple[Any, ...]]:
        """The key of each part."""
        start = 0
        for length in lengths:
            yield (*(slice(None),) * dim, slice(start, start + length))
            start += length

    @classmethod
    def apply(cls, *args: Any) -> Any:
        tensor, lengths, dim = args
        needed = recording((tensor,))
        parts = tuple(Slice.look(tensor, (key,)) for key in cls.keys(lengths, dim))
        if needed:
            node = cls()
            connect(node, (tensor,))
            node.params, node.result_shape = (dim,), None
            node.result_forms = [(part.shape, part.dtype, part.device) for part in parts]
            for number, part in enumerate(parts):
                part._node, part._output_nr, part._requires_grad = node, number, True
            if watchers:
                notify("record", node, result=parts[0], inputs=(tensor,))
        return parts

    def backward(self, *grads: Any) -> Any:
        given = next(grad for grad in grads if grad is not None)
        parts = [
            given.new_zeros(shape) if grad is None else grad
            for grad, (shape, *_) in zip(grads, self.result_forms, strict=True)
        ]
        return self.join(parts, *self.params)

    @staticmethod
    def join(parts: list[Any], dim: int) -> Any:
        """The tensor whose parts these are."""
        return Cat.apply(parts, dim)


class Unbind(Split):
    """Unbind.apply(self, positions, dim): the part at each position along `dim`, without that axis.

    One node with a result for each part. Gradient: the parts' gradients stacked, zeros where none.
    Saves: nothing.
    """

    @staticmethod
    def keys(positions: Any, dim: int) -> Iterator[tuple[Any, ...]]:
        """The key of each part."""
        return ((*(slice(None),) * dim, position) for position in positions)

    @staticmethod
    def join(parts: list[Any], dim: int) -> Any:
        """The tensor whose parts these are."""
        return Stack.apply(parts, dim)


class Diagonal(View):
    """The diagonal `offset` above the main one of the axes `first`, `second`, as a last axis.

    Gradient: g on the diagonal of zeros. Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, offset: int, first: int, second: int) -> Any:
        out = np.diagonal(x, offset, first, second)
        if x.flags.writeable:
            # NumPy marks every diagonal as read-only; this one is an ordinary view of the storage.
            out.flags.writeable = True
        return out

    def save(self, result: Any, x: Any) -> None:
        self.params = (*self.params, x.shape)

    def backward(self, grad: Any) -> Any:
        return DiagonalBackward.apply(grad, *self.params)


class DiagonalBackward(Operation):
    """Zeros of `shape` with g on one diagonal. Gradient: the diagonal of the gradient.

    Saves: nothing.
    """

    @staticmethod
    def forward(g: Any, offset: int, first: int, second: int, shape: tuple[int, ...]) -> Any:
        out = np.zeros(shape, g.dtype)
        Diagonal.forward(out, offset, first, second)[...] = g
        return out

    def backward(self, grad: Any) -> Any:
        return Diagonal.apply(grad, *self.params[:3])
