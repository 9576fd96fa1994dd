"""Products of vectors, matrices, and batches of matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..autograd.saved import save
from ..buffers import LARGE, empty
from ..device import CPU
from ..tensor_base import host_tensor
from .operation import Operation
from .promotion import promoted


class Matmul(Operation):
    """self @ other: last axis of self with last but one of other, leading axes broadcast.

    A vector stands for one row on the left and for one column on the right. Gradients: g @ other^T
    and self^T @ g; a weight used by a whole batch gets its gradient in one product.
    Saves: other if self needs a gradient, self if other needs one.
    """

    arity = 2
    saves = ("self", "other")
    fresh = True

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        try:
            if a.dtype is not b.dtype:
                a, b = promoted(a, b)
            if a.ndim == b.ndim == 2:
                return product(a, b)
            if a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous and a.size:
                # One product of all rows is much faster than one for each matrix of the batch.
                return product(a.reshape(-1, a.shape[-1]), b, (*a.shape[:-1], b.shape[1]))
            alike = a.ndim == b.ndim > 1 and a.shape[:-2] == b.shape[:-2]
            return product(a, b) if alike else np.matmul(a, b)
        except (ValueError, AttributeError):  # an attribute that a number does not have
            raise RuntimeError(
                f"Matmul: shapes {np.shape(a)} and {np.shape(b)} do not fit: the last axis of the "
                "first must be as long as the last but one of the second (its only one, if it is a "
                "vector), and the axes before must broadcast"
            ) from None

    @classmethod
    def flops(cls, arrays: Iterable[Any], out: Any) -> int:
        return 2 * int(out.size) * int(next(iter(arrays)).shape[-1])

    def save(self, result: Any, a: Any, b: Any) -> None:
        need_a, need_b = self.input_nodes
        self.saved_slots = (save(a, self) if need_b else None, save(b, self) if need_a else None)
        self.params = (a._array.ndim, b._array.ndim)

    def backward(self, grad: Any) -> Any:
        rows, columns = self.params
        if rows > 1 and columns > 1 and not grad_enabled.get() and grad._storage.device is CPU:
            return self._on_arrays(grad)
        a, b = self.read()
        if rows == columns == 1:
            return None if b is None else grad * b, None if a is None else grad * a
        left = grad if columns > 1 else grad.unsqueeze(-1)
        left = left if rows > 1 else left.unsqueeze(-2)
        for_a = for_b = None
        if b is not None:
            matrix = b.unsqueeze(0) if columns == 1 else b.mT
            for_a = left @ matrix
            for_a = for_a.squeeze(-2) if rows == 1 else for_a
        if a is not None:
            if rows > 2 and columns <= 2:
                for_b = all_rows(a).mT @ all_rows(left)
            else:
                for_b = (a.unsqueeze(-1) if rows == 1 else a.mT) @ left
            for_b = for_b.squeeze(-1) if columns == 1 else for_b
        return for_a, for_b

    def _on_arrays(self, grad: Any) -> Any:
        """The same for matrices when nothing is recorded: no views, nodes and operations between.

        Layers are made of products, and their gradients are most of a training step.
        """
        kind, g = type(grad), grad._array
        rows_in_batches = g.ndim > 2 and self.params[1] == 2
        if rows_in_batches:
            g = np.ascontiguousarray(g)  # once for both: each takes all rows together
        slot_a, slot_b = self.saved_slots
        a = None if slot_a is None else slot_a.array(self)
        b = None if slot_b is None else slot_b.array(self)
        for_a = for_b = None
        if b is not None:
            for_a = host_tensor(kind, Matmul.forward(g, b.mT))
        if a is not None:
            if rows_in_batches:
                a, g = all_rows(a), all_rows(g)
            for_b = host_tensor(kind, Matmul.forward(a.mT, g))
        return for_a, for_b


def product(a: Any, b: Any, shape: tuple[int, ...] | None = None) -> Any:
    """a @ b for two matrices or two batches of one shape, in used memory if the result is large.

    `shape` is that of the result if its rows are more than one axis.
    """
    nbytes = a.nbytes and a.nbytes // a.shape[-1] * b.shape[-1]
    if nbytes < LARGE or a.dtype.kind != "f" or a.dtype is not b.dtype:
        out = np.matmul(a, b)
        return out if shape is None else out.reshape(shape)
    rows = (*a.shape[:-1], b.shape[-1])
    out = empty(shape or rows, a.dtype)
    np.matmul(a, b, out=out.reshape(rows))
    return out


def all_rows(x: Any) -> Any:
    """An array or a tensor as one matrix of all its rows."""
    # The number of rows is not left to -1, which means nothing where there are no elements.
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def plus_bias(out: Any, bias: Any) -> Any:
    """The bias added in place, or in new memory where it has a wider dtype."""
    if bias.dtype is not out.dtype:
        return np.add(*promoted(out, bias))
    out += bias
    return out


class Linear(Operation):
    """input @ weight^T + bias: input (..., in), weight (out, in), bias (out) or left out.

    Gradients: g @ weight, g^T @ input over all rows, g. Source: `nn.functional.linear`.
    Saves: input if weight needs a gradient, weight if input does.
    """

    arity = None
    saves = ("input", "weight")

    @staticmethod
    def forward(arrays: Sequence[Any]) -> Any:
        x, weight = promoted(*arrays[:2])
        if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[1]:
            raise RuntimeError(
                f"Linear: expected input (..., in) and weight (out, in), found {x.shape} and "
                f"{weight.shape}"
            )
        out = Matmul.forward(x, weight.T)
        if len(arrays) == 3:
            if arrays[2].shape != weight.shape[:1]:
                raise RuntimeError(
                    f"Linear: expected a bias of shape {weight.shape[:1]}, found {arrays[2].shape}"
                )
            out = plus_bias(out, arrays[2])
        return out

    @classmethod
    def flops(cls, arrays: Iterable[Any], out: Any) -> int:
        return 2 * int(out.size) * int(next(iter(arrays)).shape[-1])

    def save(self, result: Any, x: Any, weight: Any, *bias: Any) -> None:
        self.saved_slots = (
            self.keep(x) if self.input_nodes[1] else None,
            self.keep(weight) if self.input_nodes[0] else None,
        )

    def backward(self, grad: Any) -> Any:
        x, weight = self.read()
        for_weight = None
        if x is not None:
            for_weight = all_rows(grad).mT @ all_rows(x)
        for_input = None if weight is None else grad @ weight
        return (for_input, for_weight, grad)[: len(self.input_nodes)]
