"""Large buffers, used again: memory that nobody looks at any more serves the next large result.

The operating system hands out fresh memory page by page, at the first touch, and that takes as long
as the arithmetic of an elementwise operation. A backward pass frees one saved buffer for each
gradient that it makes, so a short list of freed ones spares it nearly all of that time.
"""

from __future__ import annotations

import sys
import threading
from typing import Any
from weakref import getweakrefcount

import numpy as np

from .forking import hold_through_fork

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

LARGE = 1 << 18  # bytes: below it, asking for memory is cheaper than looking into the list
KEPT_AT_MOST = 1 << 26  # bytes that may wait here for the next use

# Below LARGE it is the C library that keeps freed memory. glibc's gives the end of its heap back as
# soon as 128 kB are free there, unless it has seen a larger block come and go: then it waits for
# twice the size of that block (mallopt(3), M_MMAP_THRESHOLD). This one is never touched, so it
# takes no memory; other C libraries do not mind.
np.empty(8 * LARGE, np.uint8)

_waiting: dict[tuple[tuple[int, ...], np.dtype[Any]], list[Array]] = {}
_bytes_waiting = 0
# Nobody waits for it: who finds the list in use, by another thread or by the very call that a
# finalizer has interrupted, goes without.
lock = threading.Lock()
hold_through_fork(lock.acquire, lock.release)


class Holder:
    """What has a `buffer`: here only to count the references that such an object makes."""

    __slots__ = ("buffer",)
    buffer: Array


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array with arbitrary contents, in the order C: a waiting one, or a new one."""
    global _bytes_waiting
    if lock.acquire(False):
        try:
            arrays = _waiting.get((shape, dtype))
            if arrays:
                array = arrays.pop()
                _bytes_waiting -= array.nbytes
                return array
        finally:
            lock.release()
    return np.empty(shape, dtype)


def like(x: Array) -> Array:
    """Memory for a result of the shape, dtype and order of x, its contents arbitrary."""
    if x.nbytes < LARGE or not x.flags.c_contiguous:
        return np.empty_like(x)
    return empty(x.shape, x.dtype)


def give_back(holder: Any) -> None:
    """Keep `holder.buffer` for the next use, unless somebody else refers to it or into it.

    Called when the holder ends. A view, an exported buffer and a name of the caller's all count as
    references to the array, so what is kept here is seen by nobody.
    """
    global _bytes_waiting
    if _references(holder) != _ALONE or getweakrefcount(holder.buffer):
        return
    array = holder.buffer
    flags = array.flags
    if not (flags.owndata and flags.carray) or array.dtype.hasobject:
        return
    if lock.acquire(False):
        try:
            if _bytes_waiting + array.nbytes <= KEPT_AT_MOST:
                _waiting.setdefault((array.shape, array.dtype), []).append(array)
                _bytes_waiting += array.nbytes
        finally:
            lock.release()


def forget() -> None:
    """Let go of all that waits."""
    global _bytes_waiting
    with lock:
        _waiting.clear()
        _bytes_waiting = 0


def bytes_waiting() -> int:
    """How many bytes wait for their next use."""
    return _bytes_waiting


def _references(holder: Any) -> int:
    return sys.getrefcount(holder.buffer)


def _references_of_one() -> int:
    # How many references the counting itself makes depends on the version of Python, so it is
    # counted once for a buffer that only its holder knows.
    holder = Holder()
    holder.buffer = np.empty(1)
    return _references(holder)


_ALONE = _references_of_one()
