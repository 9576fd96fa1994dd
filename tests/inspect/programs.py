"""Small programs that several tests of inspection look at."""

from typing import Any

import numpy as np

import tensorplay_ref as tp

FLOAT = 4


def leaf(*shape: int, seed: int = 0, **options: Any) -> tp.Tensor:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return tp.tensor(values / 4, requires_grad=True, **options)


def constant(*shape: int, seed: int = 9, **options: Any) -> tp.Tensor:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return tp.tensor(values / 4, **options)


def two_layers() -> tuple[tp.Tensor, dict[str, tp.Tensor]]:
    """loss = sum(exp(relu(x @ w + b)) * relu(x @ w + b)), and the tensors by name."""
    x, w, b = constant(4, 3), leaf(3, 5), leaf(5, seed=1)
    h = (x @ w + b).relu()
    y = h.exp() * h
    return y.sum(), {"x": x, "w": w, "b": b, "h": h}


def layers(count: int, width: int = 5) -> tp.Tensor:
    """The sum of `count` layers tanh(h @ w + b), each with leaves of its own."""
    h = constant(4, width)
    for number in range(count):
        h = (h @ leaf(width, width, seed=number) + leaf(width, seed=number)).tanh()
    return h.sum()


def network(device: Any, depth: int = 4) -> tuple[tp.Tensor, list[tp.Tensor]]:
    """An input and the weights of `depth` layers on a device."""
    weights = [leaf(20, 20, seed=number, device=device) for number in range(depth)]
    return constant(64, 20, device=device), weights


def loss_of(h: tp.Tensor, weights: list[tp.Tensor]) -> tp.Tensor:
    for weight in weights:
        h = (h @ weight).tanh()
    loss: tp.Tensor = (h * h).mean()
    return loss
