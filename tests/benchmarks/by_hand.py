"""The workloads in plain NumPy, forward and backward written by hand: the base of the ratios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import Arrays

Step = Callable[[], list[Any]]


class ByHand:
    """Every workload that has a counterpart without a framework."""

    name = "numpy"
    counts_memory = True

    def __init__(self) -> None:
        self.version = np.__version__
        self.between: Callable[[], None] = lambda: None

    def array(self, gradient: Any) -> Any:
        return gradient

    def tiny_chain(self, data: Arrays) -> Step:
        x, a, b, pairs = data["x"], data["factor"], data["summand"], data["length"] // 2

        def step() -> list[Any]:
            y = x
            for _ in range(pairs):
                y = y * a
                y = y + b
            y.sum()
            self.between()
            g = np.ones_like(x)
            for _ in range(pairs):
                g = g * a
            return [g]

        return step

    node_chain = long_node_chain = tiny_chain

    def tanh_chain(self, data: Arrays) -> Step:
        x, length = data["x"], data["length"]

        def step() -> list[Any]:
            saved = []
            y = x
            for _ in range(length):
                y = np.tanh(y)
                saved.append(y)
            y.sum()
            del y
            self.between()
            return [through_tanh(np.ones_like(x), saved)]

        return step

    unhooked_chain = tanh_chain

    def checkpointed_chain(self, data: Arrays) -> Step:
        x = data["x"]
        lengths = segments(data["length"], data["segments"])

        def step() -> list[Any]:
            starts = []
            y = x
            for length in lengths:
                starts.append(y)
                for _ in range(length):
                    y = np.tanh(y)
            y.sum()
            del y
            self.between()
            g = np.ones_like(x)
            for length in reversed(lengths):
                y, saved = starts.pop(), []
                for _ in range(length):
                    y = np.tanh(y)
                    saved.append(y)
                del y
                g = through_tanh(g, saved)
            return [g]

        return step

    def mlp_small(self, data: Arrays) -> Step:
        x, classes = data["x"], data["classes"]
        (w1, w2, w3), (b1, b2, b3) = data["weights"], data["biases"]
        rows = np.arange(len(x))

        def step() -> list[Any]:
            h1 = np.maximum(x @ w1 + b1, 0)
            h2 = np.maximum(h1 @ w2 + b2, 0)
            z = h2 @ w3 + b3
            z = z - z.max(1, keepdims=True)
            logs = z - np.log(np.exp(z).sum(1, keepdims=True))
            -logs[rows, classes].mean()
            self.between()
            g = np.exp(logs)
            g[rows, classes] -= 1
            g /= np.float32(len(x))
            of_b3, of_w3 = g.sum(0), h2.T @ g
            g = (g @ w3.T) * (h2 > 0)
            of_b2, of_w2 = g.sum(0), h1.T @ g
            g = (g @ w2.T) * (h1 > 0)
            return [x.T @ g, of_w2, of_w3, g.sum(0), of_b2, of_b3]

        return step

    mlp_large = mlp_small

    def attention(self, data: Arrays) -> Step:
        x, scale = data["x"], np.float32(data["scale"])
        wq, wk, wv, wo = data["weights"]
        rows, probe = (array.reshape(-1, x.shape[-1]) for array in (x, data["probe"]))

        def flat(array: Any) -> Any:
            return array.reshape(rows.shape)

        def step() -> list[Any]:
            q, k, v = ((rows @ w).reshape(x.shape) for w in (wq, wk, wv))
            scores = (q @ k.swapaxes(1, 2)) * scale
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            del scores
            mixed = shares @ v
            (flat(mixed) @ wo * probe).sum()
            self.between()
            g = probe
            of_wo = flat(mixed).T @ g
            g = (g @ wo.T).reshape(x.shape)
            of_v = shares.swapaxes(1, 2) @ g
            g = g @ v.swapaxes(1, 2)
            g = shares * (g - (g * shares).sum(-1, keepdims=True)) * scale
            of_q, of_k = g @ k, g.swapaxes(1, 2) @ q
            return [*(rows.T @ flat(each) for each in (of_q, of_k, of_v)), of_wo]

        return step


def through_tanh(g: Any, saved: list[Any]) -> Any:
    """The gradient of a chain of tanh from its saved results, which are freed on the way."""
    while saved:
        y = saved.pop()
        slope = y * y
        np.subtract(1, slope, out=slope)
        slope *= g
        g = slope
    return g


def segments(length: int, count: int) -> list[int]:
    """`length` cut into `count` parts of nearly the same length."""
    return [length * (i + 1) // count - length * i // count for i in range(count)]
