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

from ..buffers import Array


class PrivateDirectory:
    """A new directory that only its user may read (mode 0700), removed with this object.

    Also removed when the interpreter exits. Errors: OSError when it cannot be made.

    Attributes:
        path: where it is; the name is random.
        process: the process that made it, and that alone removes it.
    """

    def __init__(self, parent: str | os.PathLike[str] | None) -> None:
        folder = os.path.abspath(tempfile.gettempdir() if parent is None else os.fspath(parent))
        self.path = os.path.join(folder, f"saved-tensors-{secrets.token_hex(16)}")
        self.process = os.getpid()
        # The end is arranged first: an interrupt may come as soon as the directory is there.
        end = weakref.finalize(self, _in_process, self.process, shutil.rmtree, self.path, True)
        try:
            os.mkdir(self.path, 0o700)
        except OSError:
            end.detach()
            raise


class ArrayFile:
    """An array in a file of its own, which is removed with this object.

    Also removed when the interpreter exits. The file is in NumPy's .npy format, so it can be looked
    at with `numpy.load`. Reading it back trusts nothing in it: size and header must be those that
    were written, and the checksum that of the array.

    Attributes:
        path: where it is; the name is random.
        nbytes: bytes of the array.
        directory: set by whoever owns the directory, which must outlive its files.

    Errors: OSError when it cannot be written; then nothing is left of it.
    """

    def __init__(self, directory: str, array: Array) -> None:
        self.path = os.path.join(directory, secrets.token_hex(16) + ".npy")
        self.nbytes = int(array.nbytes)
        self._shape, self._dtype = array.shape, array.dtype
        self._checksum = _checksum(array)
        self.directory: PrivateDirectory | None = None
        # The end is arranged first: an interrupt may come as soon as the file is there.
        weakref.finalize(self, _in_process, os.getpid(), _remove_file, self.path)
        self._header = _write(self.path, array)

    def __repr__(self) -> str:
        return f"ArrayFile({self._dtype} {self._shape}, {self.nbytes} bytes)"

    def read(self) -> Array:
        """The array. Errors: RuntimeError naming the file when it was deleted or changed."""
        try:
            with open(self.path, "rb") as file:
                array = self._read(file)
        except FileNotFoundError:
            raise RuntimeError(
                f"the file of a saved tensor was deleted before backward read it: {self.path}"
            ) from None
        except OSError as error:
            raise RuntimeError(
                f"the file of a saved tensor cannot be read any more: {self.path} ({error})"
            ) from error
        if array is None:
            raise RuntimeError(
                f"the file of a saved tensor was changed before backward read it: {self.path}"
            )
        return array

    def _read(self, file: Any) -> Array | None:
        """The array, None when the file does not hold it."""
        if os.fstat(file.fileno()).st_size != len(self._header) + self.nbytes:
            return None
        if file.read(len(self._header)) != self._header:
            return None
        array: Array = np.empty(self._shape, self._dtype)
        # Not np.fromfile, which makes a TypeError of an interrupt.
        if file.readinto(array.reshape(-1).view(np.uint8)) != self.nbytes:
            return None
        return array if _checksum(array) == self._checksum else None


def _write(path: str, array: Array) -> bytes:
    """Write the array to a new file and return the header that stands before its elements."""
    try:
        # "x" refuses to follow or overwrite anything that is there already.
        with open(path, "xb") as file:
            np.save(file, array, allow_pickle=False)
            size = file.tell()
        with open(path, "rb") as file:
            return file.read(size - int(array.nbytes))
    except OSError as error:
        _remove_file(path)
        if error.errno is not None:
            raise
        # NumPy says how many elements it has written, and neither where nor why it stopped.
        raise OSError(
            f"a saved tensor of {array.nbytes} bytes cannot be written to {path}; is the disk "
            f"full? ({error})"
        ) from error
    except BaseException:
        _remove_file(path)
        raise


def _checksum(array: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _remove_file(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _in_process(pid: int, remove: Any, *path: Any) -> None:
    # A forked child has copies of the owners; the files are still its parent's.
    if os.getpid() != pid:
        return
    try:
        remove(*path)
    except KeyboardInterrupt:
        # Python goes on after an interrupt in a finalizer, and calls none a second time.
        remove(*path)
        raise
