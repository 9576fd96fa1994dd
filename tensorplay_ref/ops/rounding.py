"""Rounding to whole numbers. Each is a step function, so its gradient is zero everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operation import Operation
from .temporaries import zeros


class Round(Operation):
    """The nearest whole number; of two equally near ones the even one. Gradient: 0.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        return np.rint(x) if x.dtype.kind in "fc" else x.copy()

    def backward(self, grad: Any) -> Any:
        return zeros(grad)


class Floor(Round):
    """The largest whole number that is not above self. Gradient: 0.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        return np.floor(x) if x.dtype.kind in "fc" else x.copy()


class Ceil(Round):
    """The smallest whole number that is not below self. Gradient: 0.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        return np.ceil(x) if x.dtype.kind in "fc" else x.copy()


class Trunc(Round):
    """self without what stands behind the point. Gradient: 0.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        return np.trunc(x) if x.dtype.kind in "fc" else x.copy()
