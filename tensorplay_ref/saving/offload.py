"""offload: keep saved tensors in host memory, with what users of offloading ask for."""

from __future__ import annotations

from typing import Any

from ..arguments import flag
from ..tensor_base import TensorBase
from ..transfer import copy_to
from .placement import on_host
from .policy import Packed, Policy


class offload(Policy):
    """Keep saved tensors in host memory; `save_on_cpu` with three refinements.

    Contract: exact. Small tensors and parameters are not moved, and values that several slots save
    are moved once. The same values are those of one storage at one version, seen through the same
    offset, shape, strides and dtype; storages are told apart by a weak key, so neither another view
    nor a later tensor at the same address is mistaken for it. A tensor on the host stays as it is.

    Args:
        min_bytes, skip_leaves, deduplicate: see `Policy`.
        pin_memory: use pinned host memory, so that copies run beside the computing.

    Saves: the tensor on the host, dense, with its axes in the same order.
    """

    def __init__(
        self,
        min_bytes: int = 1024,
        skip_leaves: bool = True,
        deduplicate: bool = True,
        pin_memory: bool = False,
    ) -> None:
        super().__init__(min_bytes=min_bytes, skip_leaves=skip_leaves, deduplicate=deduplicate)
        self._pinned = flag("offload: pin_memory", pin_memory)

    def pack(self, tensor: TensorBase) -> Any:
        """The host copy and the original device."""
        host = on_host(tensor, "offload", self._pinned)
        return tensor if host is tensor else Packed((host,), tensor.device)

    def unpack(self, packed: Packed) -> TensorBase:
        """A copy on the original device."""
        host: TensorBase = packed.parts[0]
        return copy_to(host, packed.note, non_blocking=self._pinned, operation="offload")
