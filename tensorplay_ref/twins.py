"""Deep copies of memory: what looked into one storage looks into one storage again.

So a tensor and a view of it that are copied together still see each other's changes, as PyTorch's
`Tensor.__deepcopy__` has it. A storage is copied as a whole, however small the view.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .storage import AliasStorage, Array, Storage, new_storage


class _Memory:
    """The bytes from one address to another, in the form in which NumPy takes foreign memory."""

    def __init__(self, start: int, stop: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (start, True),
            "shape": (stop - start,),
            "typestr": "|u1",
        }


def twin_memory(array: Array, storage: Storage, memo: dict[Any, Any]) -> tuple[Array, Storage]:
    """The array in a copy of its storage, which is made once for each `memo` of copy.deepcopy."""
    twin, memory, start = _twin(storage, memo)
    return _placed(array, memory, start), twin


def _twin(storage: Storage, memo: dict[Any, Any]) -> tuple[Storage, Array, int]:
    """The copy of a storage, its bytes, and the address at which those of the original begin."""
    key = "memory", id(storage)
    if key not in memo:
        if isinstance(storage, AliasStorage):
            owner, memory, start = _twin(storage._owner, memo)
            memo[key] = AliasStorage(owner), memory, start
        else:
            # Gaps between the elements are copied, too: an array with strides keeps them.
            start, stop = byte_bounds(storage.buffer)
            memory = np.array(np.asarray(_Memory(start, stop)))
            buffer = _placed(storage.buffer, memory, start)
            memo[key] = new_storage(buffer, storage.device, "deepcopy"), memory, start
    found: tuple[Storage, Array, int] = memo[key]
    return found


def _placed(array: Array, memory: Array, start: int) -> Array:
    """The array at the place in `memory` that it has behind the address `start`."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    offset = int(array.__array_interface__["data"][0]) - start
    return np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
