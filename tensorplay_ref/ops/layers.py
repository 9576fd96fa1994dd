"""Operations that layers are made of: layer_norm, dropout, embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..tensor_base import wrap
from .index import IndexBackward, require_positions
from .operation import Operation


class LayerNorm(Operation):
    """LayerNorm.apply([input, weight, bias], axes, eps): (input - mean) * rstd * weight + bias.

    mean and rstd = 1 / sqrt(var + eps) are taken over `axes`, the last ones, whose shape weight and
    bias have; bias, or both, may be left out. Source: `nn.functional.layer_norm`.
    Saves: input, mean and rstd if input or weight needs a gradient, weight if input does.
    """

    arity = None
    extra = True
    saves = ("input", "mean", "rstd", "weight")

    @staticmethod
    def forward(arrays: list[Any], axes: tuple[int, ...], eps: float) -> Any:
        x, *affine = arrays
        mean = x.mean(axes, keepdims=True)
        out = x - mean
        variance = np.square(out).mean(axes, keepdims=True)
        rstd = np.reciprocal(np.sqrt(variance + variance.dtype.type(eps)))
        out *= rstd
        if affine:
            out *= affine[0]
        if len(affine) == 2:
            out += affine[1]
        return out, mean, rstd

    def save(self, result: Any, x: Any, *more: Any) -> None:
        *affine, mean, rstd = more
        need_x, need_weight = self.input_nodes[0], self.input_nodes[1] if affine else None
        if need_x or need_weight:
            kept = [wrap(type(x), each, x.device, "LayerNorm") for each in (mean, rstd)]
            weight = self.keep(affine[0]) if affine and need_x else None
            self.saved_slots = (self.keep(x), *(self.keep(each) for each in kept), weight)
        else:
            self.saved_slots = (None,) * 4

    def backward(self, grad: Any) -> Any:
        x, mean, rstd, weight = self.read()
        axes, eps = self.params
        if x is None:
            return (None, None, grad)
        if grad_enabled.get():
            # The walk is recorded, so mean and rstd must be functions of the input again.
            mean = x.mean(axes, keepdim=True)
            rstd = ((x - mean).square().mean(axes, keepdim=True) + eps).rsqrt()
        normal = (x - mean) * rstd
        for_input = None
        if self.input_nodes[0]:
            inner = grad if weight is None else grad * weight
            along = normal * (inner * normal).mean(axes, keepdim=True)
            for_input = (inner - inner.mean(axes, keepdim=True) - along) * rstd
        for_weight = grad * normal if len(self.input_nodes) > 1 and self.input_nodes[1] else None
        return (for_input, for_weight, grad)[: len(self.input_nodes)]


class Dropout(Operation):
    """Dropout.apply(self, mask, p): self / (1 - p) where the boolean mask is true, else 0.

    The gradient is the same operation on g. Saves: mask.
    """

    saves = ("mask",)

    @staticmethod
    def forward(x: Any, mask: Any, p: float) -> Any:
        out = x * mask._array
        out *= out.dtype.type(1.0 / (1.0 - p) if p < 1.0 else 0.0)
        return out

    def save(self, result: Any, x: Any) -> None:
        mask, p = self.params
        self.params = (p,)
        self.saved_slots = (self.keep(mask),)

    def backward(self, grad: Any) -> Any:
        return Dropout.apply(grad, self.read()[0], self.params[0])


class Embedding(Operation):
    """Embedding.apply(weight, indices, padding_idx): the rows of weight (V, D) that indices name.

    Gradient: g added to the rows, repeated ones add up; the row `padding_idx` gets none.
    Saves: indices.

    Errors: IndexError for rows that are not there, negative ones among them.
    """

    saves = ("indices",)

    @staticmethod
    def forward(weight: Any, indices: Any, padding_idx: int | None) -> Any:
        require_positions("embedding", indices._array, len(weight))
        return np.take(weight, indices._array, 0)

    def save(self, result: Any, weight: Any) -> None:
        indices, padding_idx = self.params
        self.params = (padding_idx, weight.shape)
        self.saved_slots = (self.keep(indices),)

    def backward(self, grad: Any) -> Any:
        padding_idx, shape = self.params
        (indices,) = self.read()
        if padding_idx is not None:
            grad = grad.masked_fill((indices == padding_idx).unsqueeze(-1), 0.0)
        return IndexBackward.apply(grad, (indices,), shape)
