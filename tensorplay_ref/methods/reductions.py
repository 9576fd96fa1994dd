"""Tensor's methods that take many elements together: sums, extremes, norms, softmax."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Self, TypeVar, overload

from ..arguments import amount, flag
from ..ops import extremum
from ..ops.extremum import Amax, Amin, ArgMax, ArgMin, MaxAll, MaxDim, MinAll, MinDim
from ..ops.norm import Norm, Std, Var
from ..ops.operation import unary
from ..ops.reduction import Cumsum, Mean, Prod, Sum
from ..ops.selection import Maximum, Minimum
from ..ops.softmax import LogSoftmax, LogSumExp, Softmax
from ..tensor_base import TensorBase
from .arithmetic import result
from .shapes import Dims

T = TypeVar("T", bound=TensorBase)


class ValuesIndices(NamedTuple, Generic[T]):
    """What max, min, sort and topk along a dimension return."""

    values: T
    indices: T


def _correction(operation: str, unbiased: bool, correction: float | None) -> Any:
    if correction is None:
        return flag(f"{operation}: unbiased", unbiased)
    return amount(f"{operation}: correction", correction)


def _refuse_keepdim(operation: str, keepdim: Any) -> None:
    """Refuse to keep axes where no single dimension is named. Errors: TypeError."""
    if flag(f"{operation}: keepdim", keepdim):
        raise TypeError(
            f"{operation}: keepdim=True expects dim to be one dimension; a{operation} keeps "
            "several, or all"
        )


class ReductionMethods(TensorBase):
    """`dim`: one axis, several, or None for all; `keepdim`: the reduced axes stay, of length 1."""

    __slots__ = ()

    def sum(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """The sum."""
        return Sum.apply(self, dim, flag("sum: keepdim", keepdim))

    def mean(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """The arithmetic mean."""
        return Mean.apply(self, dim, flag("mean: keepdim", keepdim))

    def prod(self, dim: int | None = None, keepdim: bool = False) -> Self:
        """The product."""
        return Prod.apply(self, dim, flag("prod: keepdim", keepdim))

    def var(
        self,
        dim: Dims | None = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Self:
        """The squared deviations from the mean, summed, over count - correction.

        The correction is 1, or 0 with unbiased=False, unless it is given.
        """
        keepdim = flag("var: keepdim", keepdim)
        return Var.apply(self, dim, _correction("var", unbiased, correction), keepdim)

    def std(
        self,
        dim: Dims | None = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Self:
        """The square root of `var`."""
        keepdim = flag("std: keepdim", keepdim)
        return Std.apply(self, dim, _correction("std", unbiased, correction), keepdim)

    def norm(self, p: float = 2.0, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """(sum of |self|**p)**(1/p): the length of a vector for p = 2."""
        return Norm.apply(self, amount("norm: p", p), dim, flag("norm: keepdim", keepdim))

    def logsumexp(self, dim: Dims, keepdim: bool = False) -> Self:
        """log(sum(exp(self))) without overflow."""
        return LogSumExp.apply(self, dim, flag("logsumexp: keepdim", keepdim))

    def cumsum(self, dim: int) -> Self:
        """The sums of the elements up to each one along `dim`."""
        return Cumsum.apply(self, dim)

    def softmax(self, dim: int) -> Self:
        """exp(self) / sum(exp(self)) along `dim`."""
        return unary(Softmax, self, dim)

    def log_softmax(self, dim: int) -> Self:
        """log(softmax(self)) without overflow."""
        return unary(LogSoftmax, self, dim)

    @overload
    def max(self) -> Self: ...
    @overload
    def max(self, dim: int, keepdim: bool = False) -> ValuesIndices[Self]: ...
    @overload
    def max(self, dim: TensorBase) -> Self: ...
    def max(
        self, dim: int | TensorBase | None = None, keepdim: bool = False
    ) -> Self | ValuesIndices[Self]:
        """The largest of all; with `dim` the largest along it and their positions.

        Of equal elements all share the gradient, or with `dim` the first has it.
        """
        if dim is None or isinstance(dim, TensorBase):
            _refuse_keepdim("max", keepdim)
            return MaxAll.apply(self) if dim is None else result(Maximum, self, dim)
        return ValuesIndices(*MaxDim.apply(self, dim, flag("max: keepdim", keepdim)))

    @overload
    def min(self) -> Self: ...
    @overload
    def min(self, dim: int, keepdim: bool = False) -> ValuesIndices[Self]: ...
    @overload
    def min(self, dim: TensorBase) -> Self: ...
    def min(
        self, dim: int | TensorBase | None = None, keepdim: bool = False
    ) -> Self | ValuesIndices[Self]:
        """The smallest of all; with `dim` the smallest along it and their positions."""
        if dim is None or isinstance(dim, TensorBase):
            _refuse_keepdim("min", keepdim)
            return MinAll.apply(self) if dim is None else result(Minimum, self, dim)
        return ValuesIndices(*MinDim.apply(self, dim, flag("min: keepdim", keepdim)))

    def amax(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """The largest; equal ones share the gradient."""
        return Amax.apply(self, dim, flag("amax: keepdim", keepdim))

    def amin(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """The smallest; equal ones share the gradient."""
        return Amin.apply(self, dim, flag("amin: keepdim", keepdim))

    def argmax(self, dim: int | None = None, keepdim: bool = False) -> Self:
        """The position of the largest (in flat order without `dim`), int64."""
        return ArgMax.apply(self, dim, flag("argmax: keepdim", keepdim))

    def argmin(self, dim: int | None = None, keepdim: bool = False) -> Self:
        """The position of the smallest (in flat order without `dim`), int64."""
        return ArgMin.apply(self, dim, flag("argmin: keepdim", keepdim))

    def all(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """Whether every element is nonzero."""
        return extremum.All.apply(self, dim, flag("all: keepdim", keepdim))

    def any(self, dim: Dims | None = None, keepdim: bool = False) -> Self:
        """Whether at least one element is nonzero."""
        return extremum.Any.apply(self, dim, flag("any: keepdim", keepdim))

    def maximum(self, other: Any) -> Self:
        """The larger of self and other, elementwise; equal ones share the gradient."""
        return result(Maximum, self, other)

    def minimum(self, other: Any) -> Self:
        """The smaller of self and other, elementwise; equal ones share the gradient."""
        return result(Minimum, self, other)
