"""Arithmetic with broadcasting: + - * / ** and their relatives.

Operands are tensors, or a tensor and a number; shapes broadcast, dtypes are promoted by `binary`.
In the formulas g is the gradient of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..autograd.saved import SavedTensor
from ..device import CPU
from ..tensor_base import host_tensor
from .elementwise import binary, on_arrays
from .operation import Operation, make_result
from .promotion import NUMBERS
from .temporaries import floating, of_floats, reuse, zeros


class Add(Operation):
    """self + other. Gradients: g and g.

    Saves: nothing.
    """

    arity = 2
    forward = np.add

    def backward(self, grad: Any) -> Any:
        return grad, grad


class Sub(Operation):
    """self - other, not for booleans. Gradients: g and -g.

    Saves: nothing.
    """

    arity = 2
    forward = np.subtract

    def backward(self, grad: Any) -> Any:
        return grad, None if self.input_nodes[1] is None else -grad


class Mul(Operation):
    """self * other. Gradients: g * other and g * self.

    Saves: other if self needs a gradient, self if other does; a number is kept as it is.
    """

    arity = 2
    saves = ("self", "other")
    fresh = True
    forward = np.multiply

    def save(self, result: Any, a: Any, b: Any) -> None:
        need_a, need_b = self.input_nodes
        self.saved_slots = (self.keep(a) if need_b else None, self.keep(b) if need_a else None)

    def backward(self, grad: Any) -> Any:
        a, b = self.saved_slots
        # Read in the order in which they were saved.
        for_other = None if a is None else self._times(a, grad)
        return None if b is None else self._times(b, grad), for_other

    def _times(self, slot: Any, grad: Any) -> Any:
        """g times what a slot keeps: on bare arrays if nothing is recorded."""
        if type(slot) is not SavedTensor:
            return binary(Mul, grad, slot)
        if grad_enabled.get() or grad._storage.device is not CPU:
            return binary(Mul, grad, slot.unpack(self))
        return host_tensor(type(grad), on_arrays(Mul, grad._array, slot.array(self)))


class Div(Operation):
    """self / other, true division: integers give float32, x / 0 is infinite or NaN.

    Gradients: g / other and -g * self / other**2.

    Saves: other, and self if other needs a gradient; a number is kept as it is.
    """

    arity = 2
    saves = ("self", "other")
    fresh = True

    @staticmethod
    def forward(x: Any, y: Any, out: Any = None) -> Any:
        if x.dtype.kind not in "fc":
            x, y = floating(x), floating(y)
        if type(y) is not np.ndarray and y:
            return np.divide(x, y, out=out)
        with np.errstate(all="ignore"):
            return np.divide(x, y, out=out)

    def save(self, result: Any, a: Any, b: Any) -> None:
        self.saved_slots = (self.keep(a) if self.input_nodes[1] else None, self.keep(b))

    def backward(self, grad: Any) -> Any:
        a, b = self.read()
        need_a, need_b = self.input_nodes
        of_b = None
        if need_b is not None:
            of_b = reuse(Mul, reuse(Mul, reuse(Div, a / b, b), -1.0), grad)
        return None if need_a is None else grad / b, of_b


class Neg(Operation):
    """-self, not for booleans. Gradient: -g.

    Saves: nothing.

    Errors: TypeError for booleans.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        if x.dtype.kind == "b":
            raise TypeError(
                "Neg: expected numbers, found bool; ~ or logical_not() inverts a mask, and "
                ".to(int64) makes numbers of it"
            )
        return np.negative(x)

    def backward(self, grad: Any) -> Any:
        return -grad


class Reciprocal(Operation):
    """1 / self, integers give float32. Gradient: -g * result**2.

    Saves: result.
    """

    saves = ("result",)
    forward = of_floats(np.reciprocal)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return reuse(Mul, reuse(Mul, result * result, grad), -1.0)


class Pow(Operation):
    """self ** other.

    Gradients: g * other * self**(other - 1) and g * result * log(self); both are 0 where the power
    does not vary: the first at other == 0, the second at self == 0 <= other. So x**0 has slope 0.

    Saves: self and exponent, and result if exponent needs a gradient; a number is kept as it is.

    Errors: RuntimeError for integers to negative powers.
    """

    arity = 2
    saves = ("self", "exponent", "result")

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        if x.dtype.kind in "iu" and np.any(y < 0):
            raise RuntimeError(
                "Pow: integers to negative integer powers are not allowed; convert the base first, "
                "for example with .to(float32)"
            )
        with np.errstate(all="ignore"):
            if not isinstance(y, np.ndarray):
                # np.power takes the same way for every exponent, which is many times slower.
                if y == 2:
                    return np.square(x)
                if y == 3:
                    return np.square(x) * x
                if y == 0.5:
                    return np.sqrt(x)
                if y == -0.5:
                    return np.reciprocal(np.sqrt(x))
                if y == 1:
                    return x.copy(order="K")
            return np.power(x, y)

    def save(self, result: Any, a: Any, b: Any) -> None:
        of_exponent = self.input_nodes[1] is not None
        self.saved_slots = (
            self.keep(a),
            self.keep(b),
            self.keep_result(result) if of_exponent else None,
        )

    def backward(self, grad: Any) -> Any:
        base, exponent, result = self.read()
        of_base = of_exponent = None
        if self.input_nodes[0] is not None:
            of_base = self.of_base(grad, base, exponent)
        if self.input_nodes[1] is not None:
            if is_number(base):
                array = np.asarray(base, result.dtype)
                base = make_result(Pow, (exponent,), array, exponent.device)
            # The logarithm of 1 instead of 0 keeps the second derivative free of NaN, too.
            constant = (base == 0) & (exponent >= 0)
            factor = base.masked_fill(constant, 1.0).log()
            of_exponent = reuse(Mul, reuse(Mul, factor, result), grad)
        return of_base, of_exponent

    @staticmethod
    def of_base(grad: Any, base: Any, exponent: Any) -> Any:
        """g * exponent * base**(exponent - 1), without NaN where the exponent is 0."""
        if not is_number(exponent):
            flat = exponent == 0
            lower = exponent.masked_fill(flat & (base == 0), 1.0) - 1.0
            slope = reuse(Mul, reuse(Mul, base**lower, exponent), grad)
            # Also of NaN the power 0 is 1.
            return slope.masked_fill(flat, 0.0) if np.isnan(base._array).any() else slope
        if exponent == 0:
            return zeros(grad)
        power = base * exponent if exponent == 2 else reuse(Mul, base ** (exponent - 1), exponent)
        return reuse(Mul, power, grad)


class Remainder(Operation):
    """self % other with the sign of other, as Python's %.

    Gradients: g and -g * floor(self / other).

    Saves: self and other if other needs a gradient, else nothing; a number is kept as it is.

    Errors: RuntimeError for an integer divided by zero.
    """

    arity = 2
    saves = ("self", "other")

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        refuse_integer_zero("Remainder", x, y)
        with np.errstate(all="ignore"):
            return np.remainder(x, y)

    def save(self, result: Any, a: Any, b: Any) -> None:
        self.saved_slots = (self.keep(a), self.keep(b)) if self.input_nodes[1] else (None, None)

    def backward(self, grad: Any) -> Any:
        a, b = self.read()
        # The floor is a constant between its steps.
        return grad, None if self.input_nodes[1] is None else -grad * (a // b).detach()


class FloorDiv(Operation):
    """self // other, rounded down. It is recorded, but has no gradient formula, as in PyTorch.

    Saves: nothing.

    Errors: RuntimeError for an integer divided by zero, and from backward.
    """

    arity = 2

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        refuse_integer_zero("FloorDiv", x, y)
        with np.errstate(all="ignore"):
            return np.floor_divide(x, y)

    def backward(self, grad: Any) -> Any:
        raise RuntimeError(
            "the derivative of floor division (//) is not implemented: it is 0 or does not exist; "
            "use x.detach() // y"
        )


def refuse_integer_zero(operation: str, dividend: Any, divisor: Any) -> None:
    """NumPy answers 0 to an integer division by zero; here it is an error, as in Python."""
    if dividend.dtype.kind in "iub" and not np.all(divisor):
        raise RuntimeError(
            f"{operation}: an integer was divided by zero; convert to a floating dtype to get "
            "infinity or NaN instead"
        )


def is_number(operand: Any) -> bool:
    """Whether an operand is a Python or NumPy number, not a tensor."""
    return isinstance(operand, NUMBERS)
