"""The binary cross entropy of probabilities, finite at 0 and at 1 in value and gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor_base import TensorBase
from .loss import reduced
from .operation import Operation
from .reduction import require_floating

# Where the derivative would divide by 0, at probabilities 0 and 1, it divides by this.
SMALLEST = 1e-12
# What a logarithm is at least, so that the loss of a certain wrong answer is large, not infinite.
LOWEST = -100.0


class BceLoss(Operation):
    """BceLoss.apply(input, target, weight, reduction): the binary cross entropy of probabilities.

    -target log(input) - (1 - target) log(1 - input), or its sum or mean; the logarithms are at
    least -100. Both have one shape and one floating dtype. weight: a factor for each loss, which
    broadcasts to that shape, or None. With
    g * weight (over the count for a mean) in place of g, the gradients are
    g (input - target) / max(input (1 - input), 1e-12) and g (log(1 - input) - log(input)).
    Source: `nn.functional.binary_cross_entropy`; there the gradient of target is infinite at 0, 1.
    Saves: input, target if input needs a gradient, and weight if given.

    Errors: RuntimeError for elements that are no probabilities, for different shapes or dtypes.
    """

    arity = 2
    saves = ("input", "target", "weight")

    @staticmethod
    def forward(x: Any, target: Any, weight: Any, reduction: str) -> Any:
        require_floating("BceLoss", x)
        if x.dtype != target.dtype or x.shape != target.shape:
            raise RuntimeError(
                f"BceLoss: expected a target like the input, {x.dtype} of shape {x.shape}, found "
                f"{target.dtype} of shape {target.shape}"
            )
        require_probabilities("input", x)
        require_probabilities("target", target)
        logs, others = logarithms(x)
        losses = (target - 1) * others - target * logs
        if weight is not None:
            losses = losses * _factors(weight, x)
        return reduced(losses, reduction)

    def save(self, result: Any, x: Any, target: Any) -> None:
        weight, reduction = self.params
        self.params = (reduction,)
        self.saved_slots = (
            self.keep(x),
            self.keep(target) if self.input_nodes[0] is not None else None,
            None if weight is None else self.keep(weight),
        )

    def backward(self, grad: Any) -> Any:
        x, target, weight = self.read()
        if self.params[0] == "mean":
            grad = grad / max(x.numel(), 1)
        grad = grad if weight is None else grad * weight
        of_input, of_target = self.input_nodes
        return (
            None if of_input is None else BceGradient.apply(grad, x, target),
            None if of_target is None else BceTargetGradient.apply(grad, x),
        )


class BceGradient(Operation):
    """BceGradient.apply(g, input, target): g (input - target) / max(input (1 - input), 1e-12).

    With outer the gradient of this one: outer (input - target) / ... again for g; for input
    outer g ((input - target)**2 + target (1 - target)) / (input (1 - input))**2, 1e-12 added to
    both factors; for target -outer g / max(input (1 - input), 1e-12).
    Saves: input and target, and grad if one of these needs a gradient.
    """

    arity = 3
    saves = ("grad", "input", "target")

    @staticmethod
    def forward(grad: Any, x: Any, target: Any) -> Any:
        with np.errstate(all="ignore"):
            return (x - target) / np.maximum(x * (1 - x), x.dtype.type(SMALLEST)) * grad

    def save(self, result: Any, grad: Any, x: Any, target: Any) -> None:
        constant = self.input_nodes[1] is None and self.input_nodes[2] is None
        kept = None if constant else self.keep(grad)
        self.saved_slots = (kept, self.keep(x), self.keep(target))

    def backward(self, outer: Any) -> Any:
        grad, x, target = self.read()
        of_grad, of_x, of_target = self.input_nodes
        both = None if grad is None else outer * grad
        for_x = for_target = None
        if of_x is not None:
            slope = (x - target) ** 2 + target * (1.0 - target)
            for_x = both * slope / ((x + SMALLEST) * (1.0 - x + SMALLEST)) ** 2
        if of_target is not None:
            for_target = slope_of_both(both, x)
        for_grad = None if of_grad is None else BceGradient.apply(outer, x, target)
        return for_grad, for_x, for_target


class BceTargetGradient(Operation):
    """BceTargetGradient.apply(g, input): g (log(1 - input) - log(input)), logarithms at least -100.

    With outer the gradient of this one: the same for g, with outer in its place; for input
    -outer g / max(input (1 - input), 1e-12), which is also what `BceGradient` has for target.
    Saves: input, and grad if input needs a gradient.
    """

    arity = 2
    saves = ("grad", "input")

    @staticmethod
    def forward(grad: Any, x: Any) -> Any:
        logs, others = logarithms(x)
        return (others - logs) * grad

    def save(self, result: Any, grad: Any, x: Any) -> None:
        self.saved_slots = (None if self.input_nodes[1] is None else self.keep(grad), self.keep(x))

    def backward(self, outer: Any) -> Any:
        grad, x = self.read()
        of_grad, of_x = self.input_nodes
        return (
            None if of_grad is None else BceTargetGradient.apply(outer, x),
            None if of_x is None else slope_of_both(outer * grad, x),
        )


def slope_of_both(product: Any, x: Any) -> Any:
    """The derivative of the loss by input and by target, times `product`."""
    return -product / (x * (1.0 - x)).clamp(min=SMALLEST)


def logarithms(x: Any) -> tuple[Any, Any]:
    """log(x) and log(1 - x), at least -100."""
    lowest = x.dtype.type(LOWEST)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), lowest), np.maximum(np.log1p(-x), lowest)


def require_probabilities(role: str, x: Any) -> None:
    """Refuse elements outside [0, 1], among them NaN."""
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise RuntimeError(
            f"BceLoss: all elements of {role} must be probabilities between 0 and 1, found "
            f"{x.min()} to {x.max()}; binary_cross_entropy_with_logits takes scores"
        )


def _factors(weight: TensorBase, x: Any) -> Any:
    array = weight._array
    lengths = zip(reversed(array.shape), reversed(x.shape), strict=False)
    fits = array.ndim <= x.ndim and all(n in (1, length) for n, length in lengths)
    if array.dtype != x.dtype or not fits:
        raise RuntimeError(
            f"BceLoss: expected a weight of dtype {x.dtype} that broadcasts to shape {x.shape}, "
            f"found {array.dtype} of shape {array.shape}"
        )
    return array
