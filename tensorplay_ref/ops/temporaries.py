"""Arrays in between: reusing temporaries, zeros, and taking integers as floating numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..buffers import LARGE, like
from ..storage import Array
from ..tensor_base import TensorBase
from .elementwise import binary
from .operation import Operation, make_result
from .promotion import default_float


def reuse(cls: type[Operation], fresh: Any, other: Any, reverse: bool = False) -> Any:
    """`binary(cls, fresh, other)`, written over `fresh`, a tensor that the caller has just made.

    With `reverse` it is `binary(cls, other, fresh)`, written over `fresh` as well. So the gradient
    of an elementwise operation needs one new buffer, not one for each factor. `other` is a tensor
    that broadcasts to the shape of `fresh`, or a number; `cls.forward` takes `out`. Nothing is
    overwritten while grad mode is on, since the graph may keep `fresh`.
    """
    array = fresh._array
    value = other._array if isinstance(other, TensorBase) else array.dtype.type(other)
    if grad_enabled.get() or value.dtype != array.dtype or value.ndim > array.ndim:
        return binary(cls, other, fresh) if reverse else binary(cls, fresh, other)
    if reverse:
        cls.forward(value, array, out=array)
    else:
        cls.forward(array, value, out=array)
    storage = fresh._storage
    if storage.device.accelerator is not None:
        operands = [t._storage for t in (fresh, other) if isinstance(t, TensorBase)]
        storage.device.accelerator.compute(
            cls.__name__,
            int(array.nbytes) * (1 + len(operands)),
            int(array.size),
            [each.allocation for each in operands if each.allocation is not None],
            storage.allocation,
        )
    return fresh


def zeros(like: Any) -> Any:
    """A tensor of zeros with the shape, dtype and device of `like`: the gradient of a step."""
    array = np.zeros(like._array.shape, like._array.dtype)
    return make_result(Operation, (like,), array, like._storage.device)


def floating(x: Array) -> Array:
    """The array itself, or in float32 when it holds integers or booleans."""
    return x if x.dtype.kind in "fc" else x.astype(default_float)


def afresh(function: Callable[..., Any], x: Array, *more: Any) -> Array:
    """The result of a ufunc, of x's shape and dtype, as an array that may be written again."""
    if x.nbytes < LARGE:
        return np.asarray(function(x, *more))
    result: Array = function(x, *more, out=like(x))
    return result


def of_floats(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """A ufunc as `forward`: integers are taken as float32, and singularities are no warnings."""

    def forward(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(floating(x))

    return forward


def blockwise(function: Callable[..., Any], *arrays: Any) -> Array:
    """`function(*arrays)` for an elementwise function and arrays of one dtype, block by block.

    Its temporaries are as large as a block: they stay in the cache, and the only new array of full
    size is the result.
    """
    iterator = np.nditer(
        (*arrays, None),
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[*[["readonly"]] * len(arrays), ["writeonly", "allocate"]],  # type: ignore
        op_dtypes=[arrays[0].dtype] * (len(arrays) + 1),
        buffersize=_BLOCK,
    )
    with iterator, np.errstate(all="ignore"):
        for *blocks, out in iterator:
            out[...] = function(*blocks)
        return iterator.operands[-1]


_BLOCK = 8192
