"""Tensor's methods that take many elements together: sums, extremes, norms, softmax."""

from __future__ import annotations

from typing import Self

from ..ops.dims import axes_of
from ..ops.reduction import Sum
from ..tensor_base import TensorBase
from .shapes import Dims


class ReductionMethods(TensorBase):
    """`dim` is one axis, several, or None for all; `keepdim` leaves length 1 at the reduced axes."""

    __slots__ = ()

    def sum(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """The sum."""
        return Sum.apply(self, axes_of("sum", dim, self.ndim), keepdim)
