"""compress: keep saved tensors as compressed bytes in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor_base import TensorBase
from .codecs import make_codec
from .placement import dense, from_host, host_bytes, on_host, restored
from .policy import Packed, Policy


class compress(Policy):
    """Compress saved tensors without loss; those of an accelerator are moved to the host for it.

    Contract: exact, to the bit, for every dtype. What does not become smaller is left as it is.
    Do not expect much of activations: results of tanh keep 77 to 92 percent of their bytes, results
    of relu about 57, and zlib takes many times as long as computing them. Packages made for arrays
    are an order of magnitude faster.

    Args:
        codec: "zlib"; or "zstd" or "blosc2", which come with tensorplay-ref[compress].
        level: from 1 (fast) to 9 (small).
        shuffle: sort the bytes of the elements by their significance first. It makes exponents,
            which resemble each other, neighbours.
        options: see `Policy`; min_bytes is 1024 unless given.

    Saves: the compressed bytes.

    Errors: ValueError for an unknown codec or level, TypeError for a level that is no whole number;
    ImportError when the codec's package is missing.
    """

    def __init__(
        self, codec: str = "zlib", level: int = 1, shuffle: bool = True, **options: Any
    ) -> None:
        self._codec_options = (codec, level, shuffle)
        super().__init__(**{"min_bytes": 1024, **options})

    not_copied = (*Policy.not_copied, "_codec")

    def _begin(self) -> None:
        super()._begin()
        self._codec = make_codec(*self._codec_options)

    def pack(self, tensor: TensorBase) -> Any:
        """The bytes as a uint8 tensor, the layout and the original device."""
        if not tensor.nbytes:
            return tensor
        elements, layout = dense(on_host(tensor, "compress")._array)
        encoded = np.frombuffer(self._codec.encode(elements), np.uint8)
        if encoded.nbytes >= tensor.nbytes:
            return tensor
        return Packed((host_bytes(encoded, tensor, "compress"),), (layout, tensor.device))

    def unpack(self, packed: Packed) -> TensorBase:
        """The tensor on its original device."""
        (encoded,), (layout, device) = packed
        data = self._codec.decode(encoded._array.tobytes(), layout.dtype.itemsize)
        # A bytearray, because a tensor must be writable.
        elements = np.frombuffer(bytearray(data), layout.dtype)
        return from_host(restored(elements, layout), type(encoded), device, "compress")
