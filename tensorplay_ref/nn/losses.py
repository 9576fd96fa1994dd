"""Losses: how far predictions are from targets. `reduction` is "none", "sum" or "mean"."""

from __future__ import annotations

from ..arguments import amount, whole
from ..number_data import require_tensors
from ..ops.activation import Softplus
from ..ops.binary_cross_entropy import BceLoss
from ..ops.loss import MseLoss, NllLoss, is_plain
from ..ops.operation import unary
from ..ops.promotion import require_real
from ..tensor import Tensor

# Beyond this softplus(x) and x are the same number in float64, so the formula for it loses nothing.
_LINEAR = 40.0
# The default of ignore_index: no class has this number.
NOTHING = -100


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)**2; shapes broadcast.

    Saves: input and target.
    """
    require_tensors("mse_loss", input=input, target=target)
    checked = _checked("mse_loss", reduction)
    for each in (input, target):
        require_real("mse_loss", each.dtype)
    return MseLoss.apply(input, target, checked)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|input - target|; shapes broadcast."""
    require_tensors("l1_loss", input=input, target=target)
    return _reduced("l1_loss", (input - target).abs(), reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = NOTHING,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log probability of the target under softmax(input): log_softmax, then nll_loss.

    Args:
        input: scores (N, C), (N, C, ...) or (C,).
        target: the class of each, int64 (N,), (N, ...) or (); or the probabilities of the classes,
            in the shape of input.
        weight: a factor for each class.
        ignore_index: a target that counts nothing.
        reduction: "mean" divides by the sum of the weights of the targets.
        label_smoothing: the part of the target's probability that all classes share.

    Saves: the result of log_softmax, and target (and weight).
    """
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        require_tensors("cross_entropy", input=input, target=target)
    smooth = label_smoothing != 0.0
    if smooth and not 0.0 <= amount("cross_entropy: label_smoothing", label_smoothing) <= 1.0:
        raise ValueError(
            f"cross_entropy: label_smoothing must lie between 0 and 1, found {label_smoothing}"
        )
    logs = input.log_softmax(1 if input.ndim > 1 else 0)
    if target.dtype.kind == "f":
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing)
    losses = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not smooth:
        return losses
    every = -(logs if weight is None else logs * _on_classes(weight, logs))
    even = every.sum(1 if logs.ndim > 1 else 0) / input.shape[1 if logs.ndim > 1 else 0]
    even = even.masked_fill(target == ignore_index, 0.0)
    if reduction == "sum":
        even = even.sum()
    elif reduction == "mean":
        counted = target != ignore_index
        shares = counted if weight is None else weight[target * counted] * counted
        even = even.sum() / shares.sum()
    return losses * (1.0 - label_smoothing) + even * label_smoothing


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = NOTHING,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probability of the target; as `cross_entropy`, but input in logarithms.

    Saves: target (and weight).
    """
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        require_tensors("nll_loss", input=input, target=target)
    require_real("nll_loss", input.dtype)
    if ignore_index != NOTHING:
        whole("nll_loss: ignore_index", ignore_index)
    _constant("nll_loss", weight)
    checked = _checked("nll_loss", reduction)
    plain = is_plain(input._array, target, weight, ignore_index)
    return unary(NllLoss, input, target, weight, None if plain else ignore_index, checked)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """-target * log(p) - (1 - target) * log(1 - p) with p = sigmoid(input), without overflow.

    Args:
        input: scores, any shape.
        target: probabilities of the same shape.
        weight: a factor for each loss.
        reduction: as above.
        pos_weight: a factor for the part with `target`; broadcasts.

    Saves: input, and target for the gradient of input (input for that of target).
    """
    require_tensors("binary_cross_entropy_with_logits", input=input, target=target)
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: target of shape {target.shape} must have the shape "
            f"of input, {input.shape}"
        )
    require_real("binary_cross_entropy_with_logits", input.dtype)
    both = Softplus.apply(input, 1.0, _LINEAR)  # -log(1 - p); -log(p) is both - input
    if pos_weight is None:
        losses = both - input * target
    else:
        losses = both * (1 - target) + (both - input) * (pos_weight * target)
    if weight is not None:
        losses = losses * weight
    return _reduced("binary_cross_entropy_with_logits", losses, reduction)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """-target * log(input) - (1 - target) * log(1 - input); the logarithms are at least -100.

    Args:
        input: probabilities, any shape.
        target: probabilities of the same shape and dtype.
        weight: a factor for each loss; broadcasts.
        reduction: as above.

    Saves: input and target (and weight).
    """
    require_tensors("binary_cross_entropy", input=input, target=target)
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy: target of shape {target.shape} must have the shape of input, "
            f"{input.shape}"
        )
    require_real("binary_cross_entropy", input.dtype)
    _constant("binary_cross_entropy", weight)
    checked = _checked("binary_cross_entropy", reduction)
    return BceLoss.apply(input, target, weight, checked)


def _soft_cross_entropy(
    logs: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """The cross entropy with probabilities as targets."""
    if target.shape != logs.shape:
        raise ValueError(
            f"cross_entropy: probabilities of shape {target.shape} must have the shape of input, "
            f"{logs.shape}"
        )
    axis = 1 if logs.ndim > 1 else 0
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / logs.shape[axis]
    if weight is not None:
        target = target * _on_classes(weight, logs)
    losses = -(logs * target).sum(axis)
    if reduction == "mean":
        # The mean over the samples, whatever the weights, as in PyTorch.
        return losses.sum() / max(losses.numel(), 1)
    return _reduced("cross_entropy", losses, reduction)


def _on_classes(weight: Tensor, logs: Tensor) -> Tensor:
    return weight.reshape((-1,) + (1,) * (logs.ndim - 2)) if logs.ndim > 2 else weight


def _constant(name: str, weight: Tensor | None) -> None:
    """Refuse a weight that expects a gradient, which it would not get."""
    if weight is not None:
        require_tensors(name, weight=weight)
    if weight is not None and weight.requires_grad:
        raise RuntimeError(
            f"{name}: is not differentiable with respect to weight, which requires a gradient; use "
            "weight.detach()"
        )


def _reduced(name: str, losses: Tensor, reduction: str) -> Tensor:
    if _checked(name, reduction) == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.mean()


def _checked(name: str, reduction: str) -> str:
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"{name}: reduction must be 'none', 'sum' or 'mean', found {reduction!r}")
    return reduction
