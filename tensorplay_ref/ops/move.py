"""Moving a tensor to another device, or into pinned memory, as a recorded operation."""

from __future__ import annotations

from typing import Any

from ..device import Device
from ..transfer import copy_to
from .operation import Operation, record, recording


class ToDevice(Operation):
    """A copy of self on `device`. Gradient: g, moved back to where self is.

    A non-blocking copy from an accelerator to the host goes into pinned memory, as in PyTorch.
    Saves: nothing.
    """

    @classmethod
    def apply(
        cls, tensor: Any, device: Device, non_blocking: bool = False, pinned: bool = False
    ) -> Any:
        to_host = tensor.device.accelerator is not None and device.accelerator is None
        result = copy_to(
            tensor,
            device,
            pinned=pinned or (non_blocking and to_host),
            non_blocking=non_blocking,
            operation=cls.__name__,
        )
        if recording((tensor,)):
            record(cls, result, (tensor,), (tensor.device, non_blocking))
        return result

    def backward(self, grad: Any) -> Any:
        device, non_blocking = self.params
        return grad.to(device, non_blocking=non_blocking)
