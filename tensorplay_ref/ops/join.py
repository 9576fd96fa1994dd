"""Tensors put together, repeated, turned round, or cut to a triangle: results in new memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .dims import require_axes
from .operation import Operation
from .promotion import result_type


class Cat(Operation):
    """The tensors one after the other along `dim`, in their common dtype. Gradients: parts of g.

    A vector without elements fits to any shape: it stands for "nothing yet".
    Saves: nothing.
    """

    arity = None

    @staticmethod
    def forward(arrays: list[Any], dim: int) -> Any:
        filled = [array for array in arrays if array.shape != (0,)]
        try:
            return np.concatenate(filled or arrays, axis=dim, dtype=result_type(*arrays))
        except ValueError as error:
            raise RuntimeError(
                f"Cat: shapes {', '.join(str(a.shape) for a in arrays)} must be equal except along "
                f"dim {dim}: {error}"
            ) from None

    def save(self, result: Any, *tensors: Any) -> None:
        dim = self.params[0] % result.ndim
        lengths = [None if tensor.shape == (0,) else tensor.shape[dim] for tensor in tensors]
        self.params = (dim, lengths)

    def backward(self, grad: Any) -> Any:
        dim, lengths = self.params
        start, parts = 0, []
        for length, need in zip(lengths, self.input_nodes, strict=True):
            part = None if need is None else grad.narrow(dim, start, length or 0)
            parts.append(part if part is None or length is not None else part.reshape(0))
            start += length or 0
        return tuple(parts)


class Stack(Operation):
    """Tensors of one shape along a new axis `dim`. Gradients: the slices of g.

    Saves: nothing.
    """

    arity = None

    @staticmethod
    def forward(arrays: list[Any], dim: int) -> Any:
        try:
            return np.stack(arrays, axis=dim, dtype=result_type(*arrays))
        except ValueError as error:
            raise RuntimeError(
                f"Stack: shapes {', '.join(str(a.shape) for a in arrays)} with dim {dim}: {error}"
            ) from None

    def backward(self, grad: Any) -> Any:
        (dim,) = self.params
        parts = enumerate(self.input_nodes)
        return tuple(None if need is None else grad.select(dim, i) for i, need in parts)


class Contiguous(Operation):
    """A copy of self whose elements stand in row-major order. Gradient: g.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        return np.ascontiguousarray(x).reshape(x.shape)

    def backward(self, grad: Any) -> Any:
        return grad


class Repeat(Operation):
    """self as a tile, `counts[i]` times along axis i (axes may be added in front).

    Gradient: g, summed over the repetitions.
    Saves: nothing.
    """

    forward = np.tile

    def save(self, result: Any, x: Any) -> None:
        self.params = (*self.params, x.shape)

    def backward(self, grad: Any) -> Any:
        counts, shape = self.params
        lengths = (1,) * (len(counts) - len(shape)) + shape
        pairs = [n for pair in zip(counts, lengths, strict=True) for n in pair]
        if grad.numel() == 0:
            return grad.new_zeros(shape)
        return grad.reshape(pairs).sum(tuple(range(0, len(pairs), 2))).reshape(shape)


class Flip(Operation):
    """self with the order along `dims` reversed. Gradient: g, reversed again.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, dims: tuple[int, ...]) -> Any:
        return np.flip(x, dims).copy()

    def backward(self, grad: Any) -> Any:
        return grad.flip(*self.params)


class Roll(Operation):
    """self moved by `shifts` along `dims`, what falls out coming in again. Gradient: g moved back.

    Saves: nothing.
    """

    forward = np.roll

    def backward(self, grad: Any) -> Any:
        shifts, dims = self.params
        return Roll.apply(grad, tuple(-shift for shift in shifts), dims)


class Tril(Operation):
    """self on and below the diagonal `diagonal`, zero above. Gradient: g cut the same way.

    Saves: nothing.
    """

    cut: ClassVar[Callable[..., Any]] = np.tril

    @classmethod
    def forward(cls, x: Any, diagonal: int) -> Any:
        require_axes(cls.__name__.lower(), x.shape, 2)
        return cls.cut(x, diagonal)

    def backward(self, grad: Any) -> Any:
        return type(self).apply(grad, *self.params)


class Triu(Tril):
    """self on and above the diagonal `diagonal`, zero below. Gradient: g cut the same way.

    Saves: nothing.
    """

    cut = np.triu


class Pad(Operation):
    """self with `widths[i] = (before, after)` more elements along axis i, all `value`.

    Gradient: the inner part of g. Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, widths: tuple[tuple[int, int], ...], value: float) -> Any:
        return np.pad(x, widths, constant_values=value)

    def save(self, result: Any, x: Any) -> None:
        pairs = zip(self.params[0], x.shape, strict=True)
        self.params = (tuple(slice(before, before + n) for (before, _), n in pairs),)

    def backward(self, grad: Any) -> Any:
        return grad[self.params[0]]
