"""What the tests of the policies share: tensors of every kind, and packing and unpacking one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from numpy.typing import NDArray

import tensorplay_ref as tp
from tensorplay_ref.saving import (
    Policy,
    bitmask,
    cast,
    choose,
    compose,
    compress,
    offload,
    on_disk,
    only,
    quantize,
)

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]


def exact_policies() -> dict[str, Any]:
    """Fresh policies that give every tensor back to the bit, with small tensors packed, too."""
    return {
        "offload": offload(min_bytes=0),
        "offload, pinned": offload(min_bytes=0, pin_memory=True),
        "on_disk": on_disk(min_bytes=0),
        "compress": compress(min_bytes=0),
        "compress without shuffle": compress(shuffle=False, min_bytes=0),
        "bitmask": bitmask(),
        "files of compressed bytes": compose(on_disk(min_bytes=0), compress(min_bytes=0)),
        "only": only(lambda operation, tensor: tensor.ndim > 1, on_disk(min_bytes=0)),
    }


def lossy_policies() -> dict[str, Any]:
    """Fresh policies that round floating tensors."""
    return {
        "float16": cast("float16"),
        "bfloat16": cast("bfloat16"),
        "int8": quantize(),
        "int4": quantize(bits=4),
        "int8 per tensor": quantize(axis=None),
        "float16 files": compose(on_disk(min_bytes=0), cast("float16")),
        "int8 on the host": compose(offload(min_bytes=0), quantize()),
        "chosen": choose(lambda operation, tensor: quantize() if tensor.ndim > 1 else None),
    }


def all_policies() -> dict[str, Any]:
    """Both."""
    return {**exact_policies(), **lossy_policies()}


def bits(array: NDArray[Any]) -> bytes:
    """Shape, dtype and the very bytes, so that NaN and -0.0 count."""
    return repr((array.shape, array.dtype)).encode() + array.tobytes()


def round_trip(policy: Any, array: NDArray[Any], device: str = "cpu") -> NDArray[Any]:
    """The array after a tensor of it was packed and unpacked by the hooks of `policy`.

    The tensor looks at the very array, with its strides, unless it must be copied to a device.
    """
    tensor = tp.from_numpy(array)
    if device != "cpu":
        tensor = tensor.to(device)
    unpacked = policy.unpack_hook(policy.pack_hook(tensor))
    assert str(unpacked.device) == str(tensor.device)
    assert unpacked.requires_grad is False
    return np.array(unpacked.cpu().numpy(), order="K")


def strided(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """A view of the array, or of a larger one, with other strides."""
    if kind == "transposed":
        return np.ascontiguousarray(array).T
    if kind == "reversed" and array.ndim:
        return array[::-1]
    if kind == "every other" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


def arrays(dtypes: list[str] | None = None) -> st.SearchStrategy[NDArray[Any]]:
    """Arrays of every dtype and up to three axes, also empty and without axes, in any order."""
    shapes = hypothesis_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
    plain = st.sampled_from(dtypes or DTYPES).flatmap(
        lambda dtype: hypothesis_numpy.arrays(dtype, shapes)
    )
    kinds = st.sampled_from(["contiguous", "transposed", "reversed", "every other"])
    return st.builds(strided, plain, kinds)


class Noting(Policy):
    """Counts packs; keeps copies."""

    def __init__(self) -> None:
        super().__init__()
        self.packs = 0

    def pack(self, tensor: Any) -> Any:
        self.packs += 1
        return (tensor.detach().clone(),)

    def unpack(self, packed: Any) -> Any:
        return packed[0]
