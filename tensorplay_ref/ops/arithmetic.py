"""Arithmetic with broadcasting: + - * / ** and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .operation import Operation


class Add(Operation):
    """self + other, elementwise, shapes broadcast. Gradients: g and g.

    Saves: nothing.
    """

    arity = 2
    forward = np.add

    def backward(self, grad: Any) -> Any:
        return grad, grad


class Mul(Operation):
    """self * other, elementwise, shapes broadcast. Gradients: g * other and g * self.

    Saves: other for the gradient of self, self for the gradient of other; a number is kept as is.
    """

    arity = 2
    saves = ("self", "other")
    forward = np.multiply

    def save(self, result: Any, a: Any, b: Any) -> None:
        need_a, need_b = self.inputs
        self.saved = (self.keep(a) if need_b else None, self.keep(b) if need_a else None)

    def backward(self, grad: Any) -> Any:
        a, b = self.read()
        return None if b is None else grad * b, None if a is None else grad * a
