"""Tensor's methods for vectors and matrices of one fixed rank; `@` takes any."""

from __future__ import annotations

import math
from typing import Any, Self

from ..ops.arithmetic import Mul
from ..ops.matmul import Matmul
from ..ops.shape import Reshape, Transpose, Unsqueeze
from ..tensor_base import TensorBase
from .arithmetic import result, scaled


class ProductMethods(TensorBase):
    """Products that insist on the number of axes in their name's tradition."""

    __slots__ = ()

    def mm(self, mat2: TensorBase) -> Self:
        """Matrix times matrix."""
        return _ranked("mm", self, 2, mat2, 2)

    def bmm(self, mat2: TensorBase) -> Self:
        """A batch of matrices times a batch of matrices of the same length."""
        _check_ranks("bmm", self, 3, mat2, 3)
        if self.shape[0] != mat2.shape[0]:
            raise RuntimeError(
                f"bmm: batches of {self.shape[0]} and {mat2.shape[0]} matrices; use matmul, which "
                "broadcasts"
            )
        return result(Matmul, self, mat2)

    def mv(self, vec: TensorBase) -> Self:
        """Matrix times vector."""
        return _ranked("mv", self, 2, vec, 1)

    def dot(self, other: TensorBase) -> Self:
        """The sum of the products of two vectors' elements."""
        return _ranked("dot", self, 1, other, 1)

    def inner(self, other: TensorBase) -> Self:
        """Sums of products along the last axes: of two vectors a number, of matrices a matrix.

        The other axes of self, then those of other. Something without axes is multiplied with.
        """
        _check_tensors("inner", self, other)
        if not self.ndim or not other.ndim:
            return result(Mul, self, other)
        length = self.shape[-1]
        if length != other.shape[-1]:
            raise RuntimeError(
                f"inner: expected last axes of one length, found shapes {self.shape} and "
                f"{other.shape}"
            )
        if self.ndim == other.ndim == 1:
            return result(Matmul, self, other)
        rows, columns = (
            Reshape.apply(each, (math.prod(each.shape[:-1]), length)) for each in (self, other)
        )
        product = result(Matmul, rows, Transpose.apply(columns, 0, 1))
        return Reshape.apply(product, (*self.shape[:-1], *other.shape[:-1]))

    def outer(self, vec2: TensorBase) -> Self:
        """The product of each element of one vector with each of another: a matrix."""
        _check_ranks("outer", self, 1, vec2, 1)
        return result(Mul, Unsqueeze.apply(self, 1), vec2)

    def addmm(
        self, mat1: TensorBase, mat2: TensorBase, *, beta: float = 1, alpha: float = 1
    ) -> Self:
        """beta * self + alpha * (mat1 @ mat2); with beta = 0 self counts nothing, not even NaN."""
        product = _ranked("addmm", mat1, 2, mat2, 2)
        product = scaled("addmm: alpha", product, alpha)
        if beta == 0:
            return product
        return product + scaled("addmm: beta", self, beta)


def _ranked(name: str, a: TensorBase, a_axes: int, b: TensorBase, b_axes: int) -> Any:
    _check_ranks(name, a, a_axes, b, b_axes)
    return result(Matmul, a, b)


def _check_tensors(name: str, *operands: Any) -> None:
    for operand in operands:
        if not isinstance(operand, TensorBase):
            raise TypeError(f"{name}: expected a Tensor, found {type(operand).__name__}")


def _check_ranks(name: str, a: TensorBase, a_axes: int, b: TensorBase, b_axes: int) -> None:
    _check_tensors(name, a, b)
    if (a.ndim, b.ndim) != (a_axes, b_axes):
        raise RuntimeError(
            f"{name}: expected tensors with {a_axes} and {b_axes} axes, found shapes {a.shape} and "
            f"{b.shape}; matmul takes any"
        )
