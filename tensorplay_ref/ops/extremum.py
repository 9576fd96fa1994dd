"""The largest and the smallest: of all, along dimensions, with their positions; all and any.

NaN counts as larger and as smaller than everything. Of equal elements the first has the position.
In the formulas g is the gradient of the result.
"""

from __future__ import annotations

import typing
from typing import ClassVar

import numpy as np

from .dims import axis_of, kept
from .gather import ScatterAdd
from .operation import Operation, common_device, make_result, record, recording
from .promotion import require_real
from .reduction import Reduction, Sum, require_elements
from .selection import Where
from .shape import Reshape

Anything: typing.TypeAlias = typing.Any  # the name Any stands for an operation here


class Amax(Reduction):
    """Amax.apply(self, dims, keepdim): the largest. Gradient: g, in equal shares for equal ones.

    Saves: self and result, which are compared in backward.

    Errors: RuntimeError or IndexError when there are no elements.
    """

    saves = ("self", "result")
    called: ClassVar[str] = "amax"
    ufunc: ClassVar[np.ufunc] = np.maximum

    @classmethod
    def forward(cls, x: Anything, axes: Anything, keepdim: bool = False) -> Anything:
        require_real(cls.called, x.dtype)
        require_elements(cls.called, x, axes)
        return cls.ufunc.reduce(x, axis=axes, keepdims=keepdim)

    def backward(self, grad: Anything) -> Anything:
        x, result = self.read()
        result, grad = self.spread(result, x.shape), self.spread(grad, x.shape)
        found = x == result
        if np.isnan(result._array).any():
            found = found | ((x != x) & (result != result))
        share = grad / Sum.apply(found, self.params[0], True)
        return Where.apply(found, share, 0.0)


class Amin(Amax):
    """Amin.apply(self, dims, keepdim): the smallest. Gradient: g, in equal shares for equal ones.

    Saves: self and result, which are compared in backward.

    Errors: RuntimeError or IndexError when there are no elements.
    """

    called = "amin"
    ufunc = np.minimum


class MaxAll(Amax):
    """MaxAll.apply(self): the largest of all elements, without axes; see Amax.

    Saves: self and result.
    """

    called = "max"


class MinAll(Amin):
    """MinAll.apply(self): the smallest of all elements, without axes; see Amin.

    Saves: self and result.
    """

    called = "min"


class MaxDim(Operation):
    """MaxDim.apply(self, dim, keepdim): the largest along one dimension and their positions.

    Returns two tensors, the values and the int64 indices, of which the values have a gradient:
    g at the position that was found, 0 elsewhere.

    Saves: indices.

    Errors: IndexError when the dimension has no elements.
    """

    saves = ("indices",)
    called: ClassVar[str] = "max"
    position: ClassVar[typing.Callable[..., Anything]] = np.argmax

    @classmethod
    def apply(cls, *args: Anything) -> Anything:
        x, dim, *rest = args
        keepdim = bool(rest and rest[0])
        device = common_device(cls, (x,))
        axis = axis_of(cls.called, dim, x.ndim)
        values, index = cls.forward(x._array, axis, keepdim)
        result = make_result(cls, (x,), values, device)
        indices = make_result(cls, (x,), index, device)
        if recording((x,)) and result.dtype.kind in "fc":
            record(cls, result, (x,), (x.shape, axis), (indices,))
        return result, indices

    @classmethod
    def forward(cls, x: Anything, axis: int, keepdim: bool) -> Anything:
        require_real(cls.called, x.dtype)
        array = np.atleast_1d(x)
        require_elements(cls.called, array, (axis,))
        index = np.expand_dims(cls.position(array, axis=axis), axis)
        values = np.take_along_axis(array, index, axis)
        shape = kept(x.shape, (axis,)) if keepdim else x.shape[:axis] + x.shape[axis + 1 :]
        return values.reshape(shape), index.astype(np.int64, copy=False).reshape(shape)

    def save(self, result: Anything, x: Anything, indices: Anything) -> None:
        self.saved_slots = (self.keep(indices),)

    def backward(self, grad: Anything) -> Anything:
        (indices,) = self.read()
        shape, axis = self.params
        if not shape:
            return grad
        one = kept(shape, (axis,))
        places, grad = Reshape.apply(indices, one), Reshape.apply(grad, one)
        return ScatterAdd.apply(grad.new_zeros(shape), grad, axis, places)


class MinDim(MaxDim):
    """MinDim.apply(self, dim, keepdim): the smallest along one dimension and their positions.

    Saves: indices; see MaxDim.

    Errors: IndexError when the dimension has no elements.
    """

    called = "min"
    position = np.argmin


class ArgMax(Operation):
    """ArgMax.apply(self, dim, keepdim): the int64 position of the largest, in the flat order of all
    elements when dim is None.

    Saves: nothing; it has no gradient.

    Errors: RuntimeError or IndexError when there are no elements.
    """

    differentiable = False
    called: ClassVar[str] = "argmax"
    position: ClassVar[typing.Callable[..., Anything]] = np.argmax

    @classmethod
    def forward(cls, x: Anything, dim: int | None = None, keepdim: bool = False) -> Anything:
        require_real(cls.called, x.dtype)
        axis = None if dim is None else axis_of(cls.called, dim, x.ndim)
        if x.ndim == 0:
            return np.zeros((), np.int64)
        if axis is None and not x.size:
            raise IndexError(
                f"{cls.called}: the tensor of shape {x.shape} has no elements; name a dimension "
                "to reduce that is not empty"
            )
        require_elements(cls.called, x, None if axis is None else (axis,))
        return np.asarray(cls.position(x, axis=axis, keepdims=keepdim)).astype(np.int64)


class ArgMin(ArgMax):
    """ArgMin.apply(self, dim, keepdim): the int64 position of the smallest; see ArgMax.

    Saves: nothing; it has no gradient.
    """

    called = "argmin"
    position = np.argmin


class All(Reduction):
    """All.apply(self, dims, keepdim): whether every element is nonzero; True of nothing.

    Saves: nothing; it has no gradient.
    """

    differentiable = False
    ufunc: ClassVar[np.ufunc] = np.logical_and

    @classmethod
    def forward(cls, x: Anything, axes: Anything, keepdim: bool = False) -> Anything:
        return cls.ufunc.reduce(x, axis=axes, keepdims=keepdim)


class Any(All):
    """Any.apply(self, dims, keepdim): whether at least one element is nonzero; False of nothing.

    Saves: nothing; it has no gradient.
    """

    ufunc = np.logical_or
