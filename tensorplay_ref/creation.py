"""Making tensors: from data, from NumPy, full of one value, or as a range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arguments import flag
from .device import CPU, Device, as_device
from .dtypes import SUPPORTED, DTypeLike, float32, int64, require_differentiable, supported_dtype
from .methods.conversion import DeviceLike
from .number_data import array_of, number_of, require_tensor, sizes
from .ops.promotion import NUMBERS
from .storage import Array, host_storage
from .tensor import Tensor
from .tensor_base import TensorBase, new_tensor, wrap
from .transfer import copy_to

__all__ = [
    "arange",
    "as_tensor",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]


def tensor(
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with a copy of `data`.

    Args:
        data: numbers, nested lists of numbers, a NumPy array, or a tensor (its history is dropped).
        dtype: by default that of an array or tensor; float32, int64, bool or complex64 for Python's
            floats, ints, bools or complex numbers.
        device: where it shall live, by default the host.
        requires_grad: whether backward shall compute a gradient for it; floating dtypes only.
        pin_memory: put it into pinned host memory.

    Errors: ValueError for nested lists of different lengths; TypeError for data that are no
    numbers; RuntimeError for requires_grad with integers, or pinned memory on a device.
    """
    if isinstance(data, Tensor):
        kind = data.dtype if dtype is None else supported_dtype("tensor", dtype)
        where = data.device if device is None else as_device(device)
        _check_options("tensor", kind, where, requires_grad, pin_memory)
        made = data.detach().to(where, kind, copy=True)
        made = made.pin_memory() if pin_memory else made
    else:
        array, where = array_of(data, dtype), as_device(device)
        _check_options("tensor", array.dtype, where, requires_grad, pin_memory)
        made = wrap(Tensor, array)
        if where is not CPU or pin_memory:
            made = copy_to(made, where, pinned=pin_memory, operation="tensor")
    return made.requires_grad_() if requires_grad else made


def as_tensor(
    data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Like `tensor`, but a tensor is given back itself and an array is shared where possible."""
    if isinstance(data, Tensor):
        return data.to(device, dtype)
    if isinstance(data, np.ndarray) and data.flags.writeable and data.dtype in SUPPORTED:
        return from_numpy(data).to(device, dtype)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array: Array) -> Tensor:
    """A tensor that shares the memory of a NumPy array: a change of one is seen in the other.

    Errors: TypeError when it is no array, or of a dtype that tensors do not have; ValueError when
    it may not be written to.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy: expected a NumPy array, found {type(array).__name__}")
    supported_dtype("from_numpy", array.dtype)
    if not array.dtype.isnative:
        raise TypeError(
            f"from_numpy: the bytes of {array.dtype} are in foreign order; use tensor(...), which "
            "copies"
        )
    if not array.flags.writeable:
        raise ValueError(
            "from_numpy: the array is read-only, and a tensor could be written to; use "
            "tensor(...), which copies"
        )
    view = array.view(np.ndarray)
    return new_tensor(Tensor, view, host_storage(view))


def scalar_tensor(
    value: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """A tensor without axes."""
    return tensor(value, dtype=dtype or float32, device=device)


def full(
    size: int | Sequence[int],
    fill_value: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf full of one number; its dtype is by default that of `tensor(fill_value)`."""
    value = number_of("full", fill_value, dtype)
    array = np.full(sizes("full", (size,)), value)
    return new_leaf(array, "full", device, requires_grad, pin_memory)


def zeros(*size: Any, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
    """Zeros of the given lengths, `zeros(2, 3)` or `zeros((2, 3))`; options as of `full`."""
    kind = supported_dtype("zeros", dtype or float32)
    return new_leaf(np.zeros(sizes("zeros", size), kind), "zeros", **options)


def ones(*size: Any, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
    """Ones of the given lengths, `ones(2, 3)` or `ones((2, 3))`; options as of `full`."""
    kind = supported_dtype("ones", dtype or float32)
    return new_leaf(np.ones(sizes("ones", size), kind), "ones", **options)


def empty(*size: Any, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
    """Zeros: a lesson has no use for whatever stood in fresh memory; options as of `full`."""
    kind = supported_dtype("empty", dtype or float32)
    return new_leaf(np.zeros(sizes("empty", size), kind), "empty", **options)


def full_like(
    input: TensorBase, fill_value: Any, *, dtype: DTypeLike | None = None, **options: Any
) -> Tensor:
    """Full of one number, in shape, dtype and on the device of `input` unless options say else."""
    require_tensor("full_like", input)
    options.setdefault("device", input.device)
    return full(input.shape, fill_value, dtype=dtype or input.dtype, **options)


def zeros_like(input: TensorBase, **options: Any) -> Tensor:
    """Zeros in shape, dtype and on the device of `input` unless options say else."""
    return full_like(input, 0, **options)


def ones_like(input: TensorBase, **options: Any) -> Tensor:
    """Ones in shape, dtype and on the device of `input` unless options say else."""
    return full_like(input, 1, **options)


def empty_like(input: TensorBase, **options: Any) -> Tensor:
    """Zeros, as `empty`, in shape, dtype and on the device of `input` unless options say else."""
    return full_like(input, 0, **options)


def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> Tensor:
    """start, start + step, ... below `end`; `arange(n)` begins at 0. Ints give int64."""
    first, last = (0, start) if end is None else (start, end)
    for bound in (first, last, step):
        if not isinstance(bound, NUMBERS):
            raise TypeError(f"arange: expected numbers, found {type(bound).__name__}")
        if not math.isfinite(bound):
            raise RuntimeError(f"arange: expected finite numbers, found {bound}")
    whole = all(isinstance(number, int) for number in (first, last, step))
    kind = supported_dtype("arange", dtype or (int64 if whole else float32))
    if step == 0 or (last - first) * step < 0:
        raise RuntimeError(f"arange: step {step} does not lead from {first} to {last}")
    return new_leaf(np.arange(first, last, step).astype(kind), "arange", **options)


def linspace(
    start: float, end: float, steps: int, *, dtype: DTypeLike | None = None, **options: Any
) -> Tensor:
    """`steps` numbers at equal distances from `start` to `end`, both included; float32."""
    kind = supported_dtype("linspace", dtype or float32)
    for bound in (start, end):
        if not isinstance(bound, (*NUMBERS, TensorBase)):
            raise TypeError(f"linspace: expected numbers, found {type(bound).__name__}")
    (count,) = sizes("linspace", (steps,))
    return new_leaf(np.linspace(start, end, count).astype(kind), "linspace", **options)


def eye(n: int, m: int | None = None, *, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
    """The n by m matrix (m = n by default) with ones on the main diagonal."""
    kind = supported_dtype("eye", dtype or float32)
    rows, columns = sizes("eye", (n, n if m is None else m))
    return new_leaf(np.eye(rows, columns, dtype=kind), "eye", **options)


def new_leaf(
    array: Array,
    operation: str,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf whose values are made where it lives; nothing crosses the link."""
    where = as_device(device)
    _check_options(operation, array.dtype, where, requires_grad, pin_memory)
    if pin_memory:
        made = copy_to(wrap(Tensor, array), CPU, pinned=True, operation=operation)
    else:
        made = wrap(Tensor, array, where, operation)
    return made.requires_grad_() if requires_grad else made


def _check_options(
    operation: str, dtype: np.dtype[Any], device: Device, requires_grad: bool, pin_memory: bool
) -> None:
    if flag(f"{operation}: requires_grad", requires_grad):
        require_differentiable(dtype)
    if flag(f"{operation}: pin_memory", pin_memory) and device is not CPU:
        raise RuntimeError(
            f"{operation}: only host memory can be pinned, the device is {device}; leave out "
            "pin_memory or device"
        )
