"""Layers, activations and losses as functions. Names, arguments and defaults are PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from .. import functions
from ..arguments import amount, flag, many, whole
from ..completion import public_names
from ..dtypes import DTypeLike
from ..number_data import require_tensors
from ..ops.activation import Gelu, LeakyRelu, Silu, Softplus
from ..ops.inplace import inplace as in_place
from ..ops.layers import Dropout, Embedding, LayerNorm
from ..ops.matmul import Linear
from ..ops.promotion import require_real
from ..random import default_generator
from ..tensor import Tensor
from ..tensor_base import wrap
from .images import avg_pool2d, conv2d, max_pool2d, pad
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    l1_loss,
    mse_loss,
    nll_loss,
)

__all__ = [
    "avg_pool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]

__dir__ = public_names(__name__)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight^T + bias: input (..., in), weight (out, in), bias (out,).

    Saves: input if weight needs a gradient, weight if input does.
    """
    tensors = [input, weight] if bias is None else [input, weight, bias]
    return Linear.apply(tensors)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """input where positive, else 0; written over input if `inplace`. Saves: the result."""
    return input.relu_() if flag("relu: inplace", inplace) else functions.relu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, else negative_slope * input. Saves: input."""
    require_tensors("leaky_relu", input=input)
    negative_slope = amount("leaky_relu: negative_slope", negative_slope)
    if flag("leaky_relu: inplace", inplace):
        return in_place(LeakyRelu, input, negative_slope)
    return LeakyRelu.apply(input, negative_slope)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input times its normal distribution function ("tanh": approximated). Saves: input."""
    require_tensors("gelu", input=input)
    return Gelu.apply(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input). Saves: input."""
    require_tensors("silu", input=input)
    return in_place(Silu, input) if flag("silu: inplace", inplace) else Silu.apply(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; input where beta * input > threshold. Saves: input."""
    require_tensors("softplus", input=input)
    amount("softplus: beta", beta)
    return Softplus.apply(input, beta, amount("softplus: threshold", threshold))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)). Saves: the result."""
    return functions.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent. Saves: the result."""
    return functions.tanh(input)


def softmax(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along `dim`, in another dtype if given. Saves: the result."""
    return functions.softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input: Tensor, dim: int, dtype: DTypeLike | None = None) -> Tensor:
    """log(softmax(input)) without overflow. Saves: the result."""
    return functions.log_softmax(input if dtype is None else input.to(dtype), dim)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros at random places, each with probability p; the others are divided by 1 - p.

    The places come from the package's generator (`manual_seed`). Without `training` it is input.
    Saves: the boolean mask.
    """
    require_tensors("dropout", input=input)
    inplace = flag("dropout: inplace", inplace)
    if not 0.0 <= amount("dropout: p", p) <= 1.0:
        raise ValueError(f"dropout: the probability must lie between 0 and 1, found {p}")
    if not flag("dropout: training", training) or p == 0.0:
        return input
    require_real("dropout", input.dtype)
    drawn = default_generator.numpy.random(input.shape, dtype=np.float32) >= p
    mask = wrap(Tensor, np.asarray(drawn), input.device, "dropout")
    return in_place(Dropout, input, mask, p) if inplace else Dropout.apply(input, mask, p)


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(input - mean) / sqrt(var + eps) * weight + bias, over the last axes.

    Args:
        input: (..., *normalized_shape).
        normalized_shape: the lengths of the last axes, over which mean and var are taken.
        weight, bias: of that shape.
        eps: keeps the square root away from 0.

    Saves: input, mean, 1 / sqrt(var + eps), and weight.
    """
    require_tensors("layer_norm", input=input)
    lengths = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
    shape = tuple(many("layer_norm: normalized_shape", lengths))
    if not shape or input.shape[input.ndim - len(shape) :] != shape:
        raise RuntimeError(
            f"layer_norm: normalized_shape {shape} must be the end of input's shape {input.shape}"
        )
    if input.dtype.kind != "f":
        raise RuntimeError(f"layer_norm: expected a floating input, found {input.dtype}")
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and (tensor.shape, tensor.dtype) != (shape, input.dtype):
            raise RuntimeError(
                f"layer_norm: expected {name} of {shape} {input.dtype}, found {tensor.shape} "
                f"{tensor.dtype}"
            )
    if weight is None and bias is not None:
        weight = bias.new_ones(shape)
    tensors = [tensor for tensor in (input, weight, bias) if tensor is not None]
    axes = tuple(range(-len(shape), 0))
    return LayerNorm.apply(tensors, axes, amount("layer_norm: eps", eps))


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of weight (V, D) that the integers in `input` name: (*input.shape, D).

    The row `padding_idx` gets no gradient. Saves: input, the integers.
    """
    require_tensors("embedding", input=input, weight=weight)
    if input.dtype.kind not in "iu":
        raise TypeError(f"embedding: expected integer indices, found {input.dtype}")
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: expected a weight with 2 axes, found {weight.shape}")
    if padding_idx is not None:
        padding_idx = whole("embedding: padding_idx", padding_idx)
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise IndexError(f"embedding: padding_idx {padding_idx} of {weight.shape[0]} rows")
        padding_idx %= weight.shape[0]
    return Embedding.apply(weight, input, padding_idx)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the class that each integer names, else 0: (*tensor.shape, num_classes), int64.

    With num_classes = -1 there are as many classes as the largest integer needs.
    """
    require_tensors("one_hot", tensor=tensor)
    if tensor.dtype.kind not in "iu":
        raise TypeError(f"one_hot: expected integers, found {tensor.dtype}")
    classes = tensor._array
    num_classes = whole("one_hot: num_classes", num_classes)
    if num_classes < -1:
        raise RuntimeError(f"one_hot: num_classes must be -1 or more, found {num_classes}")
    if num_classes == -1:
        if not classes.size:
            raise RuntimeError("one_hot: num_classes cannot be found from no elements")
        num_classes = int(classes.max()) + 1
    if classes.size and not 0 <= classes.min() <= classes.max() < num_classes:
        raise IndexError(
            f"one_hot: expected integers from 0 to {num_classes - 1}, found {classes.min()} to "
            f"{classes.max()}"
        )
    rows = np.equal(classes[..., None], np.arange(num_classes)).astype(np.int64)
    return wrap(Tensor, rows, tensor.device, "one_hot")


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value, with scale = 1 / sqrt(E) if left out.

    Args:
        query: (..., L, E); key: (..., S, E); value: (..., S, V).
        key, value: see query.
        attn_mask: boolean (True may be seen) or a floating term, broadcast to (..., L, S).
        dropout_p: probability of a zero among the weights of the values.
        is_causal: position i sees positions 0 to i only.
        scale: see above.

    A position that may see nothing gets zeros, as in PyTorch.
    """
    factor = (
        1.0 / sqrt(query.shape[-1])
        if scale is None
        else amount("scaled_dot_product_attention: scale", scale)
    )
    scores = (query * factor) @ key.mT
    if flag("scaled_dot_product_attention: is_causal", is_causal):
        if attn_mask is not None:
            raise RuntimeError(
                "scaled_dot_product_attention: give attn_mask or is_causal, not both"
            )
        seen = np.tri(*scores.shape[-2:], dtype=np.bool_)
        attn_mask = wrap(Tensor, seen, query.device, "is_causal")
    if attn_mask is not None and attn_mask.dtype == np.bool_:
        scores = scores.masked_fill(~attn_mask, -np.inf)
    elif attn_mask is not None:
        if attn_mask.dtype.kind != "f":
            raise RuntimeError(
                "scaled_dot_product_attention: expected a boolean or floating attn_mask, found "
                f"{attn_mask.dtype}"
            )
        scores = scores + attn_mask
    blind = None if attn_mask is None else (scores == -np.inf).all(-1, keepdim=True)
    if blind is None or not blind.any():
        weights = scores.softmax(-1)
    else:
        # Of scores that are all minus infinity softmax would make NaN.
        weights = scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
    return dropout(weights, dropout_p) @ value
