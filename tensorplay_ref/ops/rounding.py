"""Rounding to whole numbers. Each is a step function, so its gradient is zero everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operation import Operation
from .promotion import require_real
from .temporaries import zeros


def keeping_integers(name: str, ufunc: np.ufunc) -> Callable[[Any], Any]:
    """A ufunc that rounds, as `forward`; of integers it makes a copy.

    Errors: RuntimeError for complex numbers.
    """

    def forward(x: Any) -> Any:
        require_real(name, x.dtype)
        return ufunc(x) if x.dtype.kind == "f" else x.copy()

    return forward


class Round(Operation):
    """The nearest whole number; of two equally near ones the even one. Gradient: 0.

    Saves: nothing.
    """

    forward = keeping_integers("round", np.rint)

    def backward(self, grad: Any) -> Any:
        return zeros(grad)


class Floor(Round):
    """The largest whole number that is not above self. Gradient: 0.

    Saves: nothing.
    """

    forward = keeping_integers("floor", np.floor)


class Ceil(Round):
    """The smallest whole number that is not below self. Gradient: 0.

    Saves: nothing.
    """

    forward = keeping_integers("ceil", np.ceil)


class Trunc(Round):
    """self without what stands behind the point. Gradient: 0.

    Saves: nothing.
    """

    forward = keeping_integers("trunc", np.trunc)
