"""The dtypes by the names that TensorPlay and PyTorch use; they are NumPy's dtype objects."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "bool",
    "complex128",
    "complex64",
    "double",
    "float",
    "float16",
    "float32",
    "float64",
    "half",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "long",
    "short",
    "uint8",
]

Dtype = np.dtype[Any]
# How an argument may name one: "float32", np.float32, or the dtype itself.
DTypeLike = str | type[Any] | Dtype

float16: Dtype = np.dtype(np.float16)
float32: Dtype = np.dtype(np.float32)
float64: Dtype = np.dtype(np.float64)
complex64: Dtype = np.dtype(np.complex64)
complex128: Dtype = np.dtype(np.complex128)
int8: Dtype = np.dtype(np.int8)
int16: Dtype = np.dtype(np.int16)
int32: Dtype = np.dtype(np.int32)
int64: Dtype = np.dtype(np.int64)
uint8: Dtype = np.dtype(np.uint8)
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
bool: Dtype = np.dtype(np.bool_)

# What a tensor may hold, each by the one object that stands for it here: NumPy can have several for
# one dtype, and operations compare with `is` before they look closer. NumPy has more dtypes (long
# double, dates, text), which the others do not.
SUPPORTED = {
    dtype: dtype
    for dtype in (
        bool, uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128
    )
}  # fmt: skip


def supported_dtype(operation: str, dtype: DTypeLike) -> Dtype:
    """The dtype, in the byte order of this machine.

    Errors: TypeError for one that tensors do not have.
    """
    found = numpy_dtype(operation, dtype)
    native = SUPPORTED.get(found.newbyteorder("="))
    if native is None:
        raise TypeError(f"{operation}: dtype {found} is not supported; tensors hold {_names()}")
    return native


def numpy_dtype(operation: str, dtype: DTypeLike) -> Dtype:
    """NumPy's dtype of this name or kind. Errors: TypeError when there is none."""
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(
            f"{operation}: there is no dtype {dtype!r}; tensors hold {_names()}"
        ) from None


def _names() -> str:
    return ", ".join(sorted(str(each) for each in SUPPORTED))


def require_differentiable(dtype: DTypeLike) -> None:
    """Refuse integer, boolean and complex dtypes.

    Complex numbers vary smoothly, too, but their gradients follow a convention (the conjugate) that
    no formula here implements, and a wrong gradient is worse than none.
    """
    kind = np.dtype(dtype).kind
    if kind == "c":
        raise RuntimeError(
            f"{np.dtype(dtype)} tensors cannot require gradients here; use two floating tensors, "
            "the real and the imaginary part"
        )
    if kind != "f":
        raise RuntimeError(
            "only tensors of floating point dtype can require gradients, "
            f"found {np.dtype(dtype)}; convert first, for example with .to(float32)"
        )
