"""What the checks of several notebooks run: small tensors, programs, and hooks that note calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ...autograd.saved import save


@dataclass
class Pair:
    """Hooks that note in `events` who was called."""

    name: str
    events: list[str] = field(default_factory=list)

    def pack(self, tensor: Any) -> Any:
        self.events.append(f"{self.name} packs")
        return tensor

    def unpack(self, packed: Any) -> Any:
        self.events.append(f"{self.name} unpacks")
        return packed


def package_slot(tensor: Any) -> Any:
    """A free-standing slot of the package."""
    return save(tensor, None)


def constant(*numbers: float) -> Any:
    return tp.tensor(np.array(numbers))


def variable(*numbers: float) -> Any:
    return constant(*numbers).requires_grad_()


def product(x: Any) -> Any:
    return (x * x).sum()


def network(x: Any) -> Any:
    data = tp.tensor(np.linspace(-1.0, 1.0, 12).reshape(4, 3))
    return ((data @ x.reshape(3, 2)).relu() @ x.reshape(2, 3)).tanh().sum()


def selection(x: Any) -> Any:
    return (x[tp.tensor([0, 2, 2])] * 2.0).exp().sum()


def gradient_of(program: Callable[[Any], Any], hooks: Any = None) -> Any:
    """The gradient of a program on six numbers, saved under hooks if there are some."""
    x = variable(0.5, -1.0, 2.0, 0.25, 1.5, -0.75)
    result = program(x) if hooks is None else saved_tensor_hooks(*hooks)(program)(x)
    result.backward()
    return x.grad


def in_new_thread(work: Callable[[], None]) -> None:
    """Run in a thread and raise here what it raises."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
