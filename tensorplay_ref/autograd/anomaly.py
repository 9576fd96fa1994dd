"""detect_anomaly: stop a backward at the first node that makes a NaN, and say where."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from ..arguments import call_text, flag
from .node import Node
from .observer import watchers


class _Anomaly:
    """Process-wide switch, as in TensorPlay and PyTorch; the engine reads it at each node."""

    enabled = False
    check_nan = True


anomaly = _Anomaly()


def _note_origin(kind: str, node: Any, details: dict[str, Any]) -> None:
    if kind == "record":
        node.metadata["traceback"] = traceback.format_stack(limit=12)[:-3]


def _switch(enabled: bool, check_nan: bool) -> None:
    anomaly.enabled, anomaly.check_nan = enabled, check_nan
    if not enabled and _note_origin in watchers:
        watchers.remove(_note_origin)
    elif enabled and _note_origin not in watchers:
        watchers.append(_note_origin)


class detect_anomaly:
    """Inside, a node whose backward returns NaN raises RuntimeError naming the operation.

    The message holds the stack of the forward call that recorded the node. It slows recording down;
    use it to look for a fault. Source: `autograd.detect_anomaly` of TensorPlay and PyTorch.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = flag("detect_anomaly: check_nan", check_nan)
        self._former: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._enter((anomaly.enabled, anomaly.check_nan), True)

    def _enter(self, former: tuple[bool, bool], enabled: bool) -> None:
        try:
            self._former.append(former)
            _switch(enabled, self._check_nan)
        except BaseException:
            # An interrupt, after which nobody will call __exit__.
            _switch(*former)
            raise

    def __exit__(self, *exception: object) -> None:
        _switch(*self._former.pop())

    def __repr__(self) -> str:
        return call_text("detect_anomaly", check_nan=self._check_nan)


class set_detect_anomaly(detect_anomaly):
    """Switch anomaly detection on or off at once; as a context manager, put it back at the end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self._mode = flag("set_detect_anomaly: mode", mode)
        self._before = (anomaly.enabled, anomaly.check_nan)
        _switch(self._mode, self._check_nan)

    def __enter__(self) -> None:
        self._enter(self._before, self._mode)

    def __repr__(self) -> str:
        return call_text("set_detect_anomaly", mode=self._mode, check_nan=self._check_nan)


def is_anomaly_enabled() -> bool:
    """Whether backward stops at the first NaN."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN (it may only note where nodes come from)."""
    return anomaly.check_nan


def check_for_nan(node: Node, grads: tuple[Any, ...]) -> None:
    """Raise if one of the gradients that `node` made has a NaN.

    Errors: RuntimeError naming the node, the position, and the forward call when it is known.
    """
    if not anomaly.check_nan:
        return
    for position, grad in enumerate(grads):
        if grad is not None and np.isnan(grad._array).any():
            origin = "" if node.node_extras is None else "".join(node.metadata.get("traceback", ()))
            where = f" It was recorded by:\n{origin}" if origin else ""
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {position}th output.{where}"
            )
