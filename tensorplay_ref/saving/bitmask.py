"""bitmask: one bit for each element where a backward asks for no more."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..arguments import many
from ..autograd.operation_names import warn_of_near_misses
from ..autograd.packing import packing_operation
from ..buffers import Array
from ..tensor_base import TensorBase
from .placement import computed, dense, restored
from .policy import Packed, Policy


def _not_below(array: Array) -> Any:
    # The gradient of relu passes where the result is NaN, too.
    return ~(array <= 0)


def _above(array: Array) -> Any:
    return array > 0


# The operations whose backward asks only where the saved tensor is positive.
SIGN_ONLY = {"Relu": _not_below, "ReluBackward": _not_below, "LeakyRelu": _above}


class bitmask(Policy):
    """Keep one bit for each element of what relu and its like save, and of boolean tensors.

    Contract: exact gradients, of every order. The hook is told which operation saves the tensor
    (see `packing_operation`) and acts on those alone whose backward asks only where it is positive:
    Relu and LeakyRelu. They get a tensor of ones and zeros back, which is not what was saved, but
    has the same answer. The same tensor saved for another reader, such as a matmul, is left as it
    is, like all other tensors but booleans, which come back exactly whoever reads them. So it pays
    where the result of relu is saved by relu alone, not where a matmul keeps it anyway.

    Args:
        also: names of operations or custom Functions of one's own whose backward asks for nothing
            but `saved > 0`, of all floating tensors that they save. A wrong promise gives wrong
            gradients.
        options: see `Policy`.

    Saves: a bit for each element, on the same device.
    """

    by_operation = True

    def __init__(self, also: Collection[str] = (), **options: Any) -> None:
        super().__init__(**options)
        if isinstance(also, str):
            raise TypeError("bitmask: `also` must be a collection of names, found a single str")
        also = many("bitmask: also", also)
        warn_of_near_misses("bitmask", also)
        self._masks = {**dict.fromkeys(also, _above), **SIGN_ONLY}

    def pack(self, tensor: TensorBase) -> Any:
        """The bits and the layout."""
        array = tensor._array
        if array.dtype == np.bool_:
            mask = array
        elif array.dtype.kind == "f" and packing_operation() in self._masks:
            mask = self._masks[packing_operation()](array)
        else:
            return tensor
        elements, layout = dense(mask)
        bits = np.packbits(elements.reshape(-1))
        if bits.nbytes >= array.nbytes:
            return tensor
        return Packed((computed(bits, tensor, "bitmask"),), (layout, array.dtype))

    def unpack(self, packed: Packed) -> TensorBase:
        """Ones where a bit is set, else zeros, in the original dtype."""
        (bits,), (layout, dtype) = packed
        count = int(np.prod(layout.shape, dtype=np.int64))
        elements = np.unpackbits(bits._array, count=count).view(np.bool_)
        return computed(restored(elements, layout).astype(dtype, copy=False), bits, "bitmask")
