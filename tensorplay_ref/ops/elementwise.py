"""The short way of applying an elementwise operation of two operands.

Written out instead of called, because every instruction here is paid at every operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..autograd.node import accumulator_of, next_sequence
from ..autograd.observer import notify, watchers
from ..buffers import LARGE, Array, like
from ..device import CPU
from ..storage import LargeStorage, Storage
from ..tensor_base import TensorBase, follow_base, wrap
from .operation import Operation, common_device, counted_result, make_result, record, recording
from .promotion import NUMBERS, promoted

ndarray = np.ndarray


def binary(cls: type[Operation], a: Any, b: Any) -> Any:
    """Apply an elementwise operation of two operands, broadcasting; one of them may be a number.

    A Python or NumPy number is weak: it takes the dtype of the tensor (an integer tensor with a
    floating number becomes float32, TensorPlay's and PyTorch's default dtype).
    """
    if type(a) is not type(b):
        return _binary_mixed(cls, a, b)
    x, y = a._array, b._array
    device = a._storage.device
    if b._storage.device is not device:
        common_device(cls, (a, b))
    if x.dtype is not y.dtype:
        x, y = promoted(x, y)
    try:
        out = cls.forward(x, y) if x.nbytes < LARGE else _large(cls, x, y)
    except ValueError:
        raise shapes_differ(cls, x, y) from None
    if type(out) is not ndarray:
        out = np.asarray(out)
    if device is CPU:
        storage = Storage() if out.nbytes < LARGE else LargeStorage()
        storage.buffer = out
        storage.device = device
        storage.version = 0
        result = type(a)()
        result._array = out
        result._storage = storage
        result._requires_grad = False
        result._output_nr = 0
        result._node = result._view = result._grad = result._leaf = None
    else:
        result = counted_result(cls, type(a), (a, b), out, device)
    if a._view is not None:
        follow_base(a)
    if b._view is not None:
        follow_base(b)
    if (a._requires_grad or b._requires_grad) and cls.differentiable and grad_enabled.get():
        node = cls()
        node.input_nodes = (
            (a._node or accumulator_of(a)) if a._requires_grad else None,
            (b._node or accumulator_of(b)) if b._requires_grad else None,
        )
        first, second = a._output_nr, b._output_nr
        node.input_numbers = (first, second) if first or second else None
        node.sequence_number = next_sequence()
        node.result_shape, node.result_dtype = out.shape, out.dtype
        node.saved_slots = node.params = ()
        node.node_extras = None
        if cls.saves:
            node.save(result, a, b)
        result._node = node
        result._requires_grad = True
        if watchers:
            notify("record", node, result=result, inputs=(a, b))
    return result


def on_arrays(cls: type[Operation], x: Any, y: Any) -> Array:
    """The values alone, as an array also where NumPy makes a scalar."""
    if x.dtype is not y.dtype:
        x, y = promoted(x, y)
    try:
        out = cls.forward(x, y) if x.nbytes < LARGE else _large(cls, x, y)
    except ValueError:
        raise shapes_differ(cls, x, y) from None
    return out if type(out) is ndarray else np.asarray(out)


def _large(cls: type[Operation], x: Any, y: Any) -> Any:
    """In memory that may have been used, if the result has the shape and dtype of x."""
    shape = y.shape if type(y) is ndarray else ()
    same = shape == x.shape or shape == x.shape[1:] or not shape
    same = same and x.dtype.kind == "f" and cls.differentiable
    if same and type(cls.forward) is np.ufunc:
        return cls.forward(x, y, out=like(x))
    return cls.forward(x, y)


def _binary_mixed(cls: type[Operation], a: Any, b: Any) -> Any:
    """Operands of different classes: numbers, arrays, subclasses; unknown ones are not ours."""
    if (type(b) is float or type(b) is int) and a._array.dtype.kind == "f":
        # By far the most frequent case, and NumPy's own weak promotion gets it right.
        x, y, device = a._array, b, a._storage.device
    else:
        for value in (a, b):
            if not isinstance(value, (TensorBase, *NUMBERS, np.ndarray)):
                return NotImplemented
        kind = type(a) if isinstance(a, TensorBase) else type(b)
        a, b = (wrap(kind, v.copy()) if isinstance(v, np.ndarray) else v for v in (a, b))
        device = common_device(cls, (a, b))
        x, y = promoted(*(t._array if isinstance(t, TensorBase) else t for t in (a, b)))
    try:
        large = type(x) is ndarray and x.nbytes >= LARGE
        out = _large(cls, x, y) if large else np.asarray(cls.forward(x, y))
    except ValueError:
        raise shapes_differ(cls, x, y) from None
    result = make_result(cls, (a, b), out, device)
    if recording((a, b)) and out.dtype.kind in "fc":
        record(cls, result, (a, b), ())
    return result


def shapes_differ(cls: type[Operation], x: Any, y: Any) -> RuntimeError:
    """The error for operands whose shapes do not broadcast."""
    return RuntimeError(
        f"{cls.__name__}: shapes {np.shape(x)} and {np.shape(y)} do not broadcast: counted from "
        "the last axis, lengths must be equal or 1"
    )
