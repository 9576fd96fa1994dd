"""What the tests of checkpoint share: leaves, a counting region, hooks that take notes."""

from __future__ import annotations

from typing import Any

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks


def leaf(*values: float) -> Any:
    return tp.tensor(values, dtype=tp.float64, requires_grad=True)


class Counted:
    """A region that counts its runs."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.runs = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


class Tape:
    """Hooks that write down the values they pack, and hand back copies."""

    def __init__(self) -> None:
        self.packed: list[Any] = []
        self.unpacked = 0

    def hooks(self) -> saved_tensor_hooks:
        return saved_tensor_hooks(self.pack, self.unpack)

    def pack(self, tensor: Any) -> Any:
        self.packed.append(tensor.tolist())
        return tensor.detach().clone()

    def unpack(self, packed: Any) -> Any:
        self.unpacked += 1
        return packed
