"""Tensor's methods for dtypes, devices, NumPy and Python values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ..arguments import flag
from ..device import CPU, Device, DeviceType, as_device
from ..dtypes import SUPPORTED, DTypeLike, supported_dtype
from ..ops.move import ToDevice
from ..ops.shape import Unbind
from ..ops.unary import Cast, Clone
from ..storage import Array, Storage
from ..tensor_base import TensorBase

DeviceLike = Device | DeviceType | str


class ConversionMethods(TensorBase):
    """To other dtypes and devices, to NumPy, and to Python values."""

    __slots__ = ()

    # -- dtype and device ------------------------------------------------------------------------
    def to(self, *args: Any, non_blocking: bool = False, copy: bool = False, **kwargs: Any) -> Self:
        """To a dtype, a device, both, or those of another tensor; itself if nothing changes.

        Args:
            args: `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)`; also as keywords;
                non_blocking and copy may stand behind them.
            non_blocking: do not wait for a copy between devices; needs pinned host memory.
            copy: make a copy even if nothing changes.

        Errors: TypeError for what is neither dtype, device nor tensor, and for one given twice.
        """
        if args and isinstance(args[-1], bool):
            switches = [value for value in args if isinstance(value, bool)]
            args = args[: -len(switches)]
            non_blocking, copy = (*switches, copy)[:2]
        non_blocking = flag("to: non_blocking", non_blocking)
        copy = flag("to: copy", copy)
        device, dtype = _target(args, kwargs)
        result = self
        if dtype is not None and dtype != self._array.dtype:
            result = Cast.apply(result, dtype)
        if device is not None and device is not self._storage.device:
            result = ToDevice.apply(result, device, non_blocking)
        return Clone.apply(self) if copy and result is self else result

    def cpu(self) -> Self:
        """On the host."""
        return self.to(CPU)

    def cuda(self, device: DeviceLike | int = "cuda", non_blocking: bool = False) -> Self:
        """On a (simulated) accelerator."""
        where = Device("cuda", device) if isinstance(device, int) else as_device(device)
        return self.to(where, non_blocking=non_blocking)

    def pin_memory(self) -> Self:
        """In pinned host memory, from which a non-blocking copy runs beside the computing.

        Errors: RuntimeError when it is not on the host.
        """
        if self._storage.device is not CPU:
            raise RuntimeError(
                f"pin_memory: only host memory can be pinned, this tensor is on {self.device}; use "
                ".cpu().pin_memory()"
            )
        return self if self.is_pinned() else ToDevice.apply(self, CPU, False, True)

    def type_as(self, other: TensorBase) -> Self:
        """In the dtype and on the device of `other`."""
        return self.to(other)

    # -- NumPy -----------------------------------------------------------------------------------
    def numpy(self) -> Array:
        """The elements as a NumPy array that shares the memory.

        Errors: RuntimeError when it requires grad; TypeError when it is not on the host.
        """
        if self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        if self._storage.device is not CPU:
            raise TypeError(
                f"can't convert a tensor on {self.device} to numpy. Use tensor.cpu() to copy it to "
                "host memory first."
            )
        return self._array

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"a {array.dtype} tensor cannot be a {dtype} array without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    # -- Python values ---------------------------------------------------------------------------
    def item(self) -> Any:
        """The one element as a Python number; RuntimeError when there are more or none."""
        if self._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._array.size} elements cannot be converted to a number; "
                "item() needs exactly one, tolist() takes any number"
            )
        return self._array.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers (one number for a tensor without axes)."""
        return self._array.tolist()

    def __len__(self) -> int:
        """The length of the first axis."""
        if not self._array.ndim:
            raise TypeError("len() of a tensor without axes")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Self]:
        """The parts along the first axis, as views."""
        if not self._array.ndim:
            raise TypeError("iteration over a tensor without axes")
        return iter(Unbind.apply(self, range(self._array.shape[0]), 0))

    def __bool__(self) -> bool:
        """The truth of the one element."""
        if self._array.size != 1:
            raise RuntimeError(
                f"the truth value of a Tensor with {self._array.size} elements is ambiguous; "
                "use .any() or .all()"
            )
        return bool(self._array.item())

    def __int__(self) -> int:
        """The one element as an int."""
        return int(self.item())

    def __float__(self) -> float:
        """The one element as a float."""
        return float(self.item())

    def __complex__(self) -> complex:
        """The one element as a complex number."""
        return complex(self.item())

    def __index__(self) -> int:
        """The one element of an integer tensor, where Python expects a position."""
        value = self._array.item() if self._array.size == 1 else None
        if not isinstance(value, int):
            raise TypeError(
                "only an integer tensor with one element can be an index, found "
                f"{self.dtype} of shape {self.shape}"
            )
        return value

    def __contains__(self, element: object) -> bool:
        """Whether some element equals this one."""
        value = element._array if isinstance(element, TensorBase) else element
        return bool(np.any(self._array == value))

    def __format__(self, spec: str) -> str:
        """The one value by a format such as .2f; a tensor with axes prints as it does elsewhere."""
        return format(self.item() if not self._array.ndim else str(self), spec)

    # -- memory ----------------------------------------------------------------------------------
    def storage(self) -> Storage:
        """The Storage that this tensor is a view of."""
        return self._storage

    untyped_storage = storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._array.__array_interface__["data"][0])

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self._array.itemsize)

    def storage_offset(self) -> int:
        """How many elements of the storage stand before the first of this view."""
        return (self.data_ptr() - self._storage.data_ptr()) // int(self._array.itemsize)

    def is_pinned(self) -> bool:
        """Whether the storage is pinned host memory."""
        return self._storage.pinned

    def is_floating_point(self) -> bool:
        """Whether the dtype is float16, float32 or float64."""
        return self._array.dtype.kind == "f"

    def is_complex(self) -> bool:
        """Whether the dtype is complex64 or complex128."""
        return self._array.dtype.kind == "c"

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a (simulated) accelerator."""
        return self._storage.device.type == "cuda"


class CastMethods(ConversionMethods):
    """Casts named after their dtype, in a class of their own: here `int` is a method."""

    __slots__ = ()

    def half(self) -> Self:
        """As float16."""
        return self.to(np.float16)

    def float(self) -> Self:
        """As float32."""
        return self.to(np.float32)

    def double(self) -> Self:
        """As float64."""
        return self.to(np.float64)

    def int(self) -> Self:
        """As int32."""
        return self.to(np.int32)

    def long(self) -> Self:
        """As int64."""
        return self.to(np.int64)

    def bool(self) -> Self:
        """As bool: whether each element differs from zero."""
        return self.to(np.bool_)


def _target(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Device | None, np.dtype[Any] | None]:
    """The device and dtype that the arguments of `to` name; None for what they leave alone."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    if "other" in kwargs:
        args = (*args, kwargs.pop("other"))
    if kwargs:
        raise TypeError(f"to: unexpected arguments {', '.join(kwargs)}")
    for value in args:
        if isinstance(value, TensorBase):
            where, kind = value.device, value.dtype
        elif isinstance(value, (Device, DeviceType)) or _is_device_name(value):
            where, kind = value, None
        else:
            where, kind = None, value
        if where is not None:
            device = _once("device", device, where)
        if kind is not None:
            dtype = _once("dtype", dtype, kind)
    try:
        found = None if dtype is None else np.dtype(dtype)
        if found is not None and found not in SUPPORTED:
            found = supported_dtype("to", found)
    except TypeError:
        raise TypeError(
            f"to: expected a dtype, a device or a tensor, found {dtype!r}; for example "
            "to(float64), to('cuda')"
        ) from None
    return None if device is None else as_device(device), found


def _once(name: str, former: Any, value: Any) -> Any:
    """The value, when there was none before. Errors: TypeError naming both."""
    if former is not None:
        raise TypeError(f"to: the {name} is given twice, as {former} and as {value}")
    return value


def _is_device_name(value: object) -> bool:
    return isinstance(value, str) and value.split(":")[0].lower() in ("cpu", "cuda")
