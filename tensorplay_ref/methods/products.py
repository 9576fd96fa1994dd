"""Tensor's methods for vectors and matrices of one fixed rank; `@` takes any."""

from __future__ import annotations

from typing import Any, Self

from ..ops.arithmetic import Mul
from ..ops.matmul import Matmul
from ..ops.shape import Unsqueeze
from ..tensor_base import TensorBase
from .arithmetic import result


class ProductMethods(TensorBase):
    """Products that insist on the number of axes in their name's tradition."""

    __slots__ = ()

    def mm(self, mat2: TensorBase) -> Self:
        """Matrix times matrix."""
        return _ranked("mm", self, 2, mat2, 2)

    def bmm(self, mat2: TensorBase) -> Self:
        """A batch of matrices times a batch of matrices of the same length."""
        if self.ndim == mat2.ndim == 3 and self.shape[0] != mat2.shape[0]:
            raise RuntimeError(
                f"bmm: batches of {self.shape[0]} and {mat2.shape[0]} matrices; use matmul, which "
                "broadcasts"
            )
        return _ranked("bmm", self, 3, mat2, 3)

    def mv(self, vec: TensorBase) -> Self:
        """Matrix times vector."""
        return _ranked("mv", self, 2, vec, 1)

    def dot(self, other: TensorBase) -> Self:
        """The sum of the products of two vectors' elements."""
        return _ranked("dot", self, 1, other, 1)

    inner = dot

    def outer(self, vec2: TensorBase) -> Self:
        """The product of each element of one vector with each of another: a matrix."""
        _check_ranks("outer", self, 1, vec2, 1)
        return result(Mul, Unsqueeze.apply(self, 1), vec2)

    def addmm(
        self, mat1: TensorBase, mat2: TensorBase, *, beta: float = 1, alpha: float = 1
    ) -> Self:
        """beta * self + alpha * (mat1 @ mat2)."""
        product = _ranked("addmm", mat1, 2, mat2, 2)
        product = product if alpha == 1 else product * alpha
        return product + (self if beta == 1 else self * beta)  # type: ignore[operator]


def _ranked(name: str, a: TensorBase, a_axes: int, b: TensorBase, b_axes: int) -> Any:
    _check_ranks(name, a, a_axes, b, b_axes)
    return result(Matmul, a, b)


def _check_ranks(name: str, a: TensorBase, a_axes: int, b: TensorBase, b_axes: int) -> None:
    if (a.ndim, b.ndim) != (a_axes, b_axes):
        raise RuntimeError(
            f"{name}: expected tensors with {a_axes} and {b_axes} axes, found shapes {a.shape} and "
            f"{b.shape}; matmul takes any"
        )
