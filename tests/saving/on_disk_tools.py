"""What the tests of on_disk share: the files that are there, and a graph that makes some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorplay_ref as tp


def files(parent: Path) -> list[Path]:
    return sorted(path for path in parent.rglob("*") if path.is_file())


def chain(policy: Any, size: int = 2000, layers: int = 3) -> tuple[Any, Any]:
    """A leaf and the sum of a chain of tanh over it, its results in files of their own."""
    x = tp.linspace(-1.0, 1.0, size).requires_grad_()
    y = x
    with policy:
        for _ in range(layers):
            y = y.tanh()
    return x, y.sum()
