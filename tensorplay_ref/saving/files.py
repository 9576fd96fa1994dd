"""Files that live as long as the objects that own them: private, checked, and gone afterwards."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
import zlib
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class PrivateDirectory:
    """A new directory that only its user may read (mode 0700), removed with this object.

    Also removed when the interpreter exits. Errors: OSError when it cannot be made.
    """

    def __init__(self, parent: str | os.PathLike[str] | None) -> None:
        self.path = tempfile.mkdtemp(prefix="saved-tensors-", dir=parent)
        weakref.finalize(self, _in_process, os.getpid(), _remove_directory, self.path)


class ArrayFile:
    """An array in a file of its own, which is removed with this object.

    Also removed when the interpreter exits. The file is in NumPy's .npy format, so it can be looked
    at with `numpy.load`; nothing in it is ever unpickled.

    Attributes:
        path: where it is; the name is random.
        nbytes: bytes of the array.

    Errors: OSError when it cannot be written; then nothing is left of it.
    """

    def __init__(self, directory: PrivateDirectory, array: Array) -> None:
        self.path = os.path.join(directory.path, secrets.token_hex(16) + ".npy")
        self.nbytes = int(array.nbytes)
        self._shape, self._dtype = array.shape, array.dtype
        self._checksum = _checksum(array)
        _write(self.path, array)
        weakref.finalize(self, _in_process, os.getpid(), _remove_file, self.path)
        # The directory must outlive its files.
        self._directory = directory

    def read(self) -> Array:
        """The array. Errors: RuntimeError naming the file when it was deleted or changed."""
        try:
            array: Array = np.load(self.path, allow_pickle=False)
        except FileNotFoundError:
            raise RuntimeError(
                f"the file of a saved tensor was deleted before backward read it: {self.path}"
            ) from None
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise RuntimeError(
                f"the file of a saved tensor cannot be read any more: {self.path} ({error})"
            ) from error
        same = (
            isinstance(array, np.ndarray)
            and array.shape == self._shape
            and array.dtype == self._dtype
            and _checksum(array) == self._checksum
        )
        if not same:
            raise RuntimeError(
                f"the file of a saved tensor was changed before backward read it: {self.path}"
            )
        return array


def _write(path: str, array: Array) -> None:
    try:
        # "x" refuses to follow or overwrite anything that is there already.
        with open(path, "xb") as file:
            np.save(file, array, allow_pickle=False)
    except BaseException:
        _remove_file(path)
        raise


def _checksum(array: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _remove_file(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _remove_directory(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _in_process(pid: int, remove: Any, path: str) -> None:
    # A forked child has copies of the owners; the files are still its parent's.
    if os.getpid() == pid:
        remove(path)
