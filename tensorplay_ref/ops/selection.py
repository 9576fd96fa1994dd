"""Choosing between values: where, masked_fill, clamp, maximum, minimum.

In the formulas g is the gradient of the result.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..tensor_base import TensorBase
from .comparison import Comparison, Gt, Lt
from .elementwise import binary, shapes_differ
from .operation import Operation, common_device, make_result, record, recording
from .promotion import number_as, promoted, require_real, result_type
from .unary import Cast


class Where(Operation):
    """Where.apply(condition, self, other): self where the condition is true, else other.

    self and other are tensors or numbers, in their common dtype; all three shapes broadcast.
    Gradients: none, g where true and 0 elsewhere, g where false and 0 elsewhere.

    Saves: condition, as it is.

    Errors: TypeError for a condition that is no boolean tensor.
    """

    arity = 3
    saves = ("condition",)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        condition, a, b = args
        device = common_device(cls, args)
        require_mask("where", "condition", condition)
        values = [t._array if isinstance(t, TensorBase) else t for t in (a, b)]
        out = cls.forward(condition._array, *promoted(*values))
        result = make_result(cls, args, out, device)
        if recording((a, b)) and result.dtype.kind in "fc":
            record(cls, result, args, ())
        return result

    @staticmethod
    def forward(condition: Any, x: Any, y: Any) -> Any:
        try:
            return np.where(condition, x, y)
        except ValueError:
            raise RuntimeError(
                f"where: shapes {condition.shape}, {np.shape(x)} and {np.shape(y)} do not broadcast"
            ) from None

    def save(self, result: Any, condition: Any, a: Any, b: Any) -> None:
        self.saved_slots = (self.keep(condition),)

    def backward(self, grad: Any) -> Any:
        (condition,) = self.read()
        _, need_a, need_b = self.input_nodes
        return (
            None,
            None if need_a is None else Where.apply(condition, grad, 0.0),
            None if need_b is None else Where.apply(condition, 0.0, grad),
        )


class MaskedFill(Operation):
    """MaskedFill.apply(self, mask, value): self with `value` where the mask is true; dtype of self.

    `value` is a number, or a tensor without axes, which then gets the sum of g where true.
    Gradient: g where the mask is false, else 0.

    Saves: mask, as it is.

    Errors: TypeError for a mask that is no boolean tensor; RuntimeError for a value with axes.
    """

    arity = 2
    saves = ("mask",)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        x, mask, value = args
        require_mask("masked_fill", "mask", mask)
        if not isinstance(value, TensorBase):
            return super().apply(x, mask, value)
        if value.ndim:
            raise RuntimeError(
                f"masked_fill: value must be a number or a tensor without axes, found shape "
                f"{value.shape}; use where(mask, value, x)"
            )
        return Where.apply(mask, Cast.apply(value, x.dtype), x)

    @staticmethod
    def forward(x: Any, mask: Any, value: Any) -> Any:
        value = number_as(value, x.dtype)
        try:
            return np.where(mask, value, x)
        except ValueError:
            raise shapes_differ(MaskedFill, x, mask) from None

    def save(self, result: Any, x: Any, mask: Any) -> None:
        self.saved_slots = (self.keep(mask),)

    def backward(self, grad: Any) -> Any:
        (mask,) = self.read()
        return MaskedFill.apply(grad, mask, 0.0), None


class Clamp(Operation):
    """Clamp.apply(self, min, max): self, but not below min and not above max; NaN stays NaN.

    The bounds are numbers, tensors or None, not both None; with min > max everything becomes max.
    Gradient: g where min <= self <= max, else 0, which a bound that is a tensor gets instead.

    Saves: self. With a tensor as bound it is made of two `where`, which save their conditions.

    Errors: RuntimeError without any bound.
    """

    saves = ("self",)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        x, low, high = args
        if not isinstance(low, TensorBase) and not isinstance(high, TensorBase):
            return super().apply(x, low, high)
        for each in (x, low, high):
            if isinstance(each, TensorBase):
                require_real("clamp", each.dtype)
        x = x if low is None else cls.within(x, Lt, low)
        return x if high is None else cls.within(x, Gt, high)

    @staticmethod
    def within(x: Any, beyond: type[Comparison], bound: Any) -> Any:
        """x, or the bound where x is beyond it; NaN where one of both is NaN."""
        result = Where.apply(binary(beyond, x, bound), bound, x)
        undecided = (x != x) | (bound != bound)
        if not isinstance(undecided, TensorBase) or not undecided._array.any():
            return result
        return MaskedFill.apply(result, undecided, np.nan)

    @staticmethod
    def forward(x: Any, low: Any, high: Any) -> Any:
        bounds = [bound for bound in (low, high) if bound is not None]
        if not bounds:
            raise RuntimeError("clamp: at least one of min and max must not be None")
        dtype = result_type(x, *bounds)
        require_real("clamp", dtype)
        out = x.astype(dtype)
        if low is not None:
            np.maximum(out, number_as(low, dtype), out=out)
        if high is not None:
            np.minimum(out, number_as(high, dtype), out=out)
        return out

    def backward(self, grad: Any) -> Any:
        (x,) = self.read()
        low, high = self.params
        if low is None or high is None:
            inside = x <= high if low is None else x >= low
        else:
            inside = (x >= low) & (x <= high)
        return Where.apply(inside, grad, 0.0)


class Maximum(Operation):
    """The larger of self and other, elementwise; NaN if one is NaN.

    Gradients: g for the larger one, 0 for the other; half of g for each where they are equal.

    Saves: self and other, which are compared in backward; a number is kept as it is.
    """

    arity = 2
    saves = ("self", "other")
    loses: ClassVar[type[Comparison]] = Lt

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        require_real("maximum", x.dtype)
        return np.maximum(x, y)

    def backward(self, grad: Any) -> Any:
        a, b = self.read()
        need_a, need_b = self.input_nodes
        return (
            None if need_a is None else self.share(grad, a, b),
            None if need_b is None else self.share(grad, b, a),
        )

    def share(self, grad: Any, mine: Any, others: Any) -> Any:
        """g where `mine` won, half where both are equal, 0 where it lost."""
        won = MaskedFill.apply(grad, binary(self.loses, mine, others), 0.0)
        equal = mine == others
        return Where.apply(equal, won * 0.5, won) if equal._array.any() else won


class Minimum(Maximum):
    """The smaller of self and other, elementwise; NaN if one is NaN.

    Gradients: g for the smaller one, 0 for the other; half of g for each where they are equal.

    Saves: self and other, which are compared in backward; a number is kept as it is.
    """

    loses = Gt

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        require_real("minimum", x.dtype)
        return np.minimum(x, y)


def require_mask(operation: str, role: str, mask: Any) -> None:
    """Refuse what is no boolean tensor (or array)."""
    if not hasattr(mask, "dtype") or mask.dtype != np.bool_:
        found = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(
            f"{operation}: {role} must be a boolean tensor, found {found}; "
            "compare first, for example mask != 0"
        )
