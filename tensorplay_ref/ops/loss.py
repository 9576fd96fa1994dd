"""Losses with one formula each: mean squared error and negative log likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..device import CPU
from ..tensor_base import host_tensor
from .elementwise import shapes_differ
from .index import outside
from .operation import Operation
from .promotion import promoted
from .reduction import Mean, Sum, total


def reduced(losses: Any, reduction: str) -> Any:
    """An array of losses, their sum, or their mean."""
    if reduction == "none":
        return losses
    return (Sum if reduction == "sum" else Mean).forward(losses, None)


class MseLoss(Operation):
    """MseLoss.apply(input, target, reduction): (input - target)**2, or its sum or mean.

    Shapes broadcast. Gradients: 2 (input - target) g, over the count for a mean; minus that.
    Saves: input and target.
    """

    arity = 2
    saves = ("input", "target")

    @staticmethod
    def forward(x: Any, target: Any, reduction: str) -> Any:
        x, target = promoted(x, target)
        try:
            difference = np.subtract(x, target)
        except ValueError:
            raise shapes_differ(MseLoss, x, target) from None
        return reduced(np.square(difference), reduction)

    def save(self, result: Any, x: Any, target: Any) -> None:
        self.saved_slots = (self.keep(x), self.keep(target))

    def backward(self, grad: Any) -> Any:
        x, target = self.read()
        difference = x - target
        factor = 2.0 / max(difference.numel(), 1) if self.params[0] == "mean" else 2.0
        for_input = difference * (grad * factor)
        return for_input, -for_input if self.input_nodes[1] else None


class NllLoss(Operation):
    """NllLoss.apply(log_probabilities, target, weight, ignore_index, reduction).

    log_probabilities (N, C, ...) or (C,); target: classes (N, ...), int64, or one class; weight:
    a factor for each class, or None. Minus the log probability of each target; the mean divides by
    the sum of the weights; targets equal to ignore_index count nothing. ignore_index=None says that
    the caller knows `is_plain` to be true, so neither direction looks at the targets again.
    Saves: target, and weight if given.
    """

    saves = ("target", "weight")

    @staticmethod
    def forward(x: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
        if ignore_index is None:
            picked = x[np.arange(len(x)), target._array]
            if reduction == "none":
                return -picked
            sum_of_logs = total(picked, None, False)
            return np.asarray(sum_of_logs / -(len(x) if reduction == "mean" else 1), x.dtype)
        factors = factors_of(x, target, weight, ignore_index)
        places = places_of(x.ndim, target._array, ignore_index)
        picked = np.take_along_axis(x, places, min(1, x.ndim - 1)).reshape(factors.shape)
        with np.errstate(invalid="ignore"):
            # An ignored loss may be infinite, and must be 0 all the same.
            losses = np.where(target._array == ignore_index, 0, -picked * factors)
            if reduction == "none":
                return losses
            return losses.sum() if reduction == "sum" else losses.sum() / factors.sum()

    def save(self, result: Any, x: Any) -> None:
        target, weight, *rest = self.params
        self.params = (*rest, x._array.shape)
        self.saved_slots = (self.keep(target), None if weight is None else self.keep(weight))

    def backward(self, grad: Any) -> Any:
        target, weight = self.read()
        if grad_enabled.get() or grad._storage.device is not CPU:
            return NllLossBackward.apply(grad, target, weight, *self.params)
        array = NllLossBackward.forward(grad._array, target, weight, *self.params)
        return host_tensor(type(grad), array)


class NllLossBackward(Operation):
    """Zeros of the shape of the log probabilities with -g at the targets. Gradient: NllLoss of it.

    Saves: target, and weight if given.
    """

    saves = ("target", "weight")

    @staticmethod
    def forward(
        g: Any,
        target: Any,
        weight: Any,
        ignore_index: int | None,
        reduction: str,
        shape: tuple[int, ...],
    ) -> Any:
        out = np.zeros(shape, g.dtype)
        if ignore_index is None:
            count = len(out) if reduction == "mean" else 1
            out[np.arange(len(out)), target._array] = g / -count
            return out
        factors = factors_of(out, target, weight, ignore_index)
        if reduction == "mean":
            with np.errstate(invalid="ignore"):
                shares = factors / factors.sum()
            # With every target ignored the loss is 0 / 0, and still no score gets a gradient.
            factors = np.where(target._array == ignore_index, 0, shares)
        axis = min(1, out.ndim - 1)
        places = places_of(out.ndim, target._array, ignore_index)
        np.put_along_axis(out, places, (-factors * g).reshape(places.shape), axis)
        return out

    def save(self, result: Any, grad: Any) -> None:
        target, weight, *rest, _ = self.params
        self.params = tuple(rest)
        self.saved_slots = (self.keep(target), None if weight is None else self.keep(weight))

    def backward(self, grad: Any) -> Any:
        target, weight = self.read()
        return NllLoss.apply(grad, target, weight, *self.params)


def is_plain(x: Any, target: Any, weight: Any, ignore_index: int) -> bool:
    """Whether x is (N, C), N > 0, and every row counts once, with a class that there is.

    This is the case of nearly every training step, and needs no factors and no checks one by one.
    """
    classes = target._array
    if weight is not None or x.ndim != 2 or classes.dtype.kind not in "iu":
        return False
    if classes.shape != x.shape[:1] or not classes.size:
        return False
    if 0 <= ignore_index < x.shape[1]:
        return False
    return not outside(classes, x.shape[1])


def places_of(ndim: int, target: Any, ignore_index: int) -> Any:
    """The targets as positions along the class axis; an ignored one points at class 0."""
    return np.expand_dims(np.where(target == ignore_index, 0, target), 1 if ndim > 1 else 0)


def factors_of(x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    """How much the loss of each target counts: its class's weight, or 1; 0 for ignored ones.

    Errors: ValueError, IndexError or TypeError for targets that do not fit the log probabilities.
    """
    classes = target._array
    expected = x.shape[:1] + x.shape[2:] if x.ndim > 1 else ()
    if classes.shape != expected:
        raise ValueError(
            f"NllLoss: for log probabilities of shape {x.shape} expected targets of shape "
            f"{expected}, found {classes.shape}"
        )
    if classes.dtype.kind not in "iu":
        raise TypeError(f"NllLoss: targets must be classes (int64), found {classes.dtype}")
    counted = classes != ignore_index
    named, count = classes[counted], x.shape[min(1, x.ndim - 1)]
    if named.size and not 0 <= named.min() <= named.max() < count:
        raise IndexError(
            f"NllLoss: targets must lie between 0 and {count - 1} (or be {ignore_index}), found "
            f"{named.min()} to {named.max()}"
        )
    if weight is None:
        return counted.astype(x.dtype)
    if weight._array.shape != (count,):
        raise ValueError(
            f"NllLoss: expected a weight for each of {count} classes, found {weight._array.shape}"
        )
    return np.where(counted, weight._array[np.where(counted, classes, 0)], 0).astype(x.dtype)
