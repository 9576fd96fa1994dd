"""Lossless codecs for bytes: zlib from the standard library, zstd and Blosc2 where installed."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arguments import flag, whole
from ..buffers import Array


class Codec(NamedTuple):
    """`encode` takes a dense array, `decode` gives its bytes back in the same order."""

    encode: Callable[[Array], bytes]
    decode: Callable[[bytes, int], bytes]


def make_codec(name: str, level: int, shuffle: bool) -> Codec:
    """The codec of this name; `shuffle` puts the first bytes of all elements first, and so on.

    Errors: ValueError for an unknown name or level, TypeError for a level that is no whole number;
    ImportError naming what to install.
    """
    if name not in _MAKERS:
        raise ValueError(f"compress: codec must be one of {sorted(_MAKERS)}, found {name!r}")
    level = whole("compress: level", level)
    if not 1 <= level <= 9:
        raise ValueError(f"compress: level must be 1 (fast) to 9 (small), found {level!r}")
    return _MAKERS[name](level, flag("compress: shuffle", shuffle))


def _zlib(level: int, shuffle: bool) -> Codec:
    return _of_bytes(lambda data: zlib.compress(data, level), zlib.decompress, shuffle)


def _zstd(level: int, shuffle: bool) -> Codec:
    try:
        module: Any = importlib.import_module("compression.zstd")  # since Python 3.14
    except ImportError:
        module = _installed("zstandard")
    return _of_bytes(lambda data: module.compress(data, level), module.decompress, shuffle)


def _blosc2(level: int, shuffle: bool) -> Codec:
    blosc2 = _installed("blosc2")
    filters = [blosc2.Filter.SHUFFLE if shuffle else blosc2.Filter.NOFILTER]
    # One thread, and parameters of one's own: Blosc2's defaults are global to the process.
    encoding = {"codec": blosc2.Codec.ZSTD, "clevel": level, "filters": filters, "nthreads": 1}

    def encode(array: Array) -> bytes:
        encoded: bytes = blosc2.compress2(array, typesize=array.itemsize, **encoding)
        return encoded

    def decode(data: bytes, itemsize: int) -> bytes:
        decoded: bytes = blosc2.decompress2(data, nthreads=1)
        return decoded

    return Codec(encode, decode)


_MAKERS: dict[str, Callable[[int, bool], Codec]] = {
    "blosc2": _blosc2,
    "zlib": _zlib,
    "zstd": _zstd,
}


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"compress: this codec needs the package {module}, which is not installed; install "
            "tensorplay-ref[compress], or use codec='zlib'"
        ) from error


def _of_bytes(
    compress: Callable[[Any], bytes], decompress: Callable[[bytes], bytes], shuffle: bool
) -> Codec:
    def encode(array: Array) -> bytes:
        data = array.reshape(-1).view(np.uint8)
        if shuffle:
            data = np.ascontiguousarray(data.reshape(-1, array.itemsize).T)
        return compress(data)

    def decode(data: bytes, itemsize: int) -> bytes:
        plain = decompress(data)
        if not shuffle:
            return plain
        return np.frombuffer(plain, np.uint8).reshape(itemsize, -1).T.tobytes()

    return Codec(encode, decode)
