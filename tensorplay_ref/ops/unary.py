"""Functions of one tensor, elementwise: exponentials, roots, trigonometry, sign, copies and casts.

Integers and booleans give float32. In the formulas g is the gradient of the result. A function
whose derivative is easy to tell from its result saves the result, else its input.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..device import CPU
from ..tensor_base import host_tensor
from .arithmetic import Add, Div, Mul
from .elementwise import binary
from .operation import Operation
from .promotion import require_real
from .temporaries import afresh, floating, of_floats, reuse, zeros


class Exp(Operation):
    """e**self; too large arguments give infinity. Gradient: g * result.

    Saves: result.
    """

    saves = ("result",)
    forward = of_floats(np.exp)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return grad * result


class Expm1(Operation):
    """e**self - 1, accurate near 0. Gradient: g * (result + 1).

    Saves: result.
    """

    saves = ("result",)
    forward = of_floats(np.expm1)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return reuse(Mul, result + 1.0, grad)


class Log(Operation):
    """The natural logarithm: -inf at 0, NaN below. Gradient: g / self.

    Saves: self.
    """

    saves = ("self",)
    forward = of_floats(np.log)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        return grad / x


class Log1p(Operation):
    """log(1 + self), accurate near 0. Gradient: g / (self + 1).

    Saves: self.
    """

    saves = ("self",)
    forward = of_floats(np.log1p)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        return reuse(Div, x + 1.0, grad, reverse=True)


class Sqrt(Operation):
    """The square root: NaN below 0. Gradient: g / (2 * result), infinite at 0.

    Saves: result.
    """

    saves = ("result",)
    forward = of_floats(np.sqrt)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return reuse(Div, grad * 0.5, result)


class Rsqrt(Operation):
    """1 / sqrt(self), infinite at 0. Gradient: g * -result**3 / 2.

    Saves: result.
    """

    saves = ("result",)
    forward = of_floats(lambda x: np.reciprocal(np.sqrt(x)))

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        cube = reuse(Mul, result * result, result)
        return reuse(Mul, reuse(Mul, cube, -0.5), grad)


class Sin(Operation):
    """The sine of an angle in radians. Gradient: g * cos(self).

    Saves: self.
    """

    saves = ("self",)
    forward = of_floats(np.sin)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        return reuse(Mul, x.cos(), grad)


class Cos(Operation):
    """The cosine of an angle in radians. Gradient: -g * sin(self).

    Saves: self.
    """

    saves = ("self",)
    forward = of_floats(np.cos)

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        return reuse(Mul, reuse(Mul, x.sin(), -1.0), grad)


class Tan(Operation):
    """The tangent of an angle in radians. Gradient: g * (1 + result**2).

    Saves: result.
    """

    saves = ("result",)
    forward = of_floats(np.tan)

    def backward(self, grad: Any) -> Any:
        (result,) = self.read()
        return reuse(Mul, reuse(Add, result * result, 1.0), grad)


class Tanh(Operation):
    """The hyperbolic tangent. Gradient: g * (1 - result**2).

    Saves: result.
    """

    saves = ("result",)
    fresh = True

    @staticmethod
    def forward(x: Any) -> Any:
        return afresh(np.tanh, floating(x))

    def backward(self, grad: Any) -> Any:
        return TanhBackward.at(self, grad)


class Abs(Operation):
    """The absolute value; keeps integers. Gradient: g * sign(self), 0 at 0.

    Saves: self.
    """

    saves = ("self",)
    forward = np.abs

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        return reuse(Mul, x.sign(), grad)


class Sign(Operation):
    """-1, 0 or 1, and 0 for NaN; keeps integers and booleans. Gradient: 0.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        require_real("sign", x.dtype)
        out = np.greater(x, 0).astype(x.dtype)
        return out if x.dtype.kind in "bu" else np.subtract(out, np.less(x, 0), dtype=x.dtype)

    def backward(self, grad: Any) -> Any:
        return zeros(grad)


class Clone(Operation):
    """A copy in memory of its own, dense, with the axes in the same order. Gradient: g.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any) -> Any:
        return x.copy(order="C" if 0 in x.strides else "K")

    def backward(self, grad: Any) -> Any:
        return grad


class Cast(Operation):
    """Cast.apply(self, dtype): the values in another dtype. Gradient: g, cast back by the engine.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, dtype: Any) -> Any:
        with np.errstate(all="ignore"):
            return x.astype(dtype)

    def backward(self, grad: Any) -> Any:
        return grad


class GradientOf(Operation):
    """Base of gradients computed in one buffer, from g and the result of the operation.

    They stand where a layer is repeated many times: written in tensor operations, each would keep
    several temporaries. Their own gradient is written in tensor operations, so all orders exist.

    Saves: result, and grad if result needs a gradient.
    """

    arity = 2
    saves: ClassVar[tuple[str, ...]] = ("grad", "result")

    @classmethod
    def at(cls, node: Operation, grad: Any) -> Any:
        """The gradient at `node`, whose one slot keeps its result.

        On bare arrays if nothing is recorded: no tensor is made of what is saved.
        """
        (slot,) = node.saved_slots
        if grad_enabled.get() or grad._storage.device is not CPU:
            return cls.apply(grad, slot.unpack(node), *node.params)
        array = cls.forward(grad._array, slot.array(node), *node.params)
        return host_tensor(type(grad), array)

    def save(self, result: Any, *inputs: Any) -> None:
        grad, of = inputs
        self.saved_slots = (self.keep(grad) if self.input_nodes[1] else None, self.keep(of))


class TanhBackward(GradientOf):
    """The gradient of tanh: g * (1 - result**2).

    Saves: result, and grad if result needs a gradient.
    """

    @staticmethod
    def forward(grad: Any, result: Any) -> Any:
        out = afresh(np.multiply, result, result)
        np.subtract(1, out, out=out)
        return np.multiply(out, grad, out=out)

    def backward(self, outer: Any) -> Any:
        grad, result = self.read()
        of_grad = None if self.input_nodes[0] is None else binary(TanhBackward, outer, result)
        return of_grad, None if grad is None else outer * grad * result * -2.0
