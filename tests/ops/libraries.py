"""Cases spelled alike in the package and in PyTorch: the library is their first argument."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from .gradients import Case


def alike(name: str, function: Callable[..., Any], *inputs: Any, orders: int = 2) -> Case:
    """`function(library, *tensors)` as a case for both libraries."""

    def in_torch(*tensors: Any) -> Any:
        return function(importlib.import_module("torch"), *tensors)

    return Case(name, lambda *tensors: function(tp, *tensors), inputs, in_torch, orders)
