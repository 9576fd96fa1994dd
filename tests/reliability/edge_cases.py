"""Operations at the border of their domain: the inputs, and where PyTorch does something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

NAN, INF = float("nan"), float("inf")


class Edge(NamedTuple):
    """`function(module, *tensors)` of tensors of these values."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]


BORDER = np.array([-INF, -2.0, -1.0, -0.5, 0.0, 1e-300, 0.5, 1.0, 2.0, 90.0, -104.0, INF, NAN])
ONE_BY_ONE = (
    "exp expm1 log log1p sqrt rsqrt sin cos tan tanh erf sigmoid abs sign square reciprocal relu "
    "round floor ceil trunc neg"
).split()
ACTIVATIONS = "gelu silu softplus leaky_relu".split()
EXPONENTS = (0, 1, 2, 3, -1, -2, 0.0, 1.0, 2.0, 0.5, 1.5, -1.0, -0.5, 4.0, -3.0)
MEETING = np.array([-INF, -2.0, -1.0, 0.0, 0.5, 1.0, 3.0, INF, NAN])
PAIRS: dict[str, Callable[..., Any]] = {
    "add": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / y,
    "pow": lambda m, x, y: x**y,
    "remainder": lambda m, x, y: x % y,
    "maximum": lambda m, x, y: m.maximum(x, y),
    "minimum": lambda m, x, y: m.minimum(x, y),
    "clamp below": lambda m, x, y: x.clamp(min=y),
    "clamp above": lambda m, x, y: x.clamp(max=y),
    "clamp between": lambda m, x, y: x.clamp(y - 1.0, y),
    "where": lambda m, x, y: m.where(x > y, x, y),
}
ROWS: dict[str, Any] = {
    "zeros": [0.0, 0.0, 0.0],
    "one zero": [0.0, 2.0, 3.0],
    "two zeros": [0.0, 0.0, 3.0],
    "one element": [3.0],
    "one element that is zero": [0.0],
    "no elements": [],
    "minus infinity": [-INF, -INF],
    "one minus infinity": [-INF, 1.0, 2.0],
    "infinity": [INF, 1.0],
    "two infinities": [INF, INF],
    "both infinities": [-INF, 0.0, INF],
    "nan": [NAN, 1.0, 2.0],
    "equal": [2.0, 2.0, 1.0, 2.0],
    "no axes": 2.0,
    "no axes, zero": 0.0,
    "rows of nothing": np.zeros((2, 0)),
    "no rows": np.zeros((0, 2)),
}
OF_ROWS: dict[str, Callable[..., Any]] = {
    **{
        name: lambda m, x, name=name: getattr(x, name)()
        for name in "sum mean prod var std max min amax amin".split()
    },
    **{
        f"{name} along the last": lambda m, x, name=name: getattr(x, name)(-1)
        for name in (
            "sum mean prod var std amax amin logsumexp softmax log_softmax cumsum norm".split()
        )
    },
    "var of all": lambda m, x: x.var(unbiased=False),
    "std of all": lambda m, x: x.std(unbiased=False),
    "var with too large a correction": lambda m, x: x.var(correction=5),
    "max along the last": lambda m, x: x.max(-1).values,
    "min along the last": lambda m, x: x.min(-1).values,
    "sort": lambda m, x: x.sort(dim=-1, stable=True).values,
    "topk": lambda m, x: x.topk(1).values,
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, x.shape[-1:]),
    **{
        f"norm {p}": lambda m, x, p=p: x.norm(p)
        for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1, -2.5)
    },
}
SCORES: dict[str, Any] = {
    "ordinary": [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]],
    "one minus infinity": [[-INF, 2.0, 3.0], [1.0, 1.0, 1.0]],
    "only minus infinity": [[-INF, -INF, -INF], [1.0, 1.0, 1.0]],
    "infinity": [[INF, 1.0, 1.0], [1.0, 1.0, 1.0]],
}
TARGETS = {"found": [0, 1], "other": [1, 1], "one ignored": [-100, 1], "all ignored": [-100, -100]}
WEIGHTS = {"no": None, "some zero": [1.0, 0.0, 2.0], "only zero": [0.0, 0.0, 0.0]}
PROBABILITY = [0.0, 1.0, 0.0, 1.0, 0.5, 1e-7]


def cross_entropies() -> Iterator[Edge]:
    for scores, values in SCORES.items():
        for target, classes in TARGETS.items():
            for weight, factors in WEIGHTS.items():
                for reduction in ("none", "sum", "mean"):

                    def function(
                        m: Any,
                        x: Any,
                        classes: Any = classes,
                        factors: Any = factors,
                        reduction: str = reduction,
                    ) -> Any:
                        weight = None if factors is None else m.tensor(factors, dtype=m.float64)
                        return m.nn.functional.cross_entropy(
                            x, m.tensor(classes), weight, reduction=reduction
                        )

                    name = f"cross_entropy, {scores}, {target}, {weight} weight, {reduction}"
                    yield Edge(name, function, (values,))


def binary_cross_entropies() -> Iterator[Edge]:
    # An infinite score with a target between 0 and 1 is infinity minus infinity.
    target = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    for reduction in ("none", "sum", "mean"):
        for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):

            def function(
                m: Any, x: Any, y: Any, name: str = name, reduction: str = reduction
            ) -> Any:
                return getattr(m.nn.functional, name)(x, y, reduction=reduction)

            def constant(m: Any, x: Any, function: Any = function) -> Any:
                return function(m, x, m.tensor(target, dtype=m.float64))

            logits = [-200.0, 200.0, 0.0, -INF, INF, NAN]
            values = PROBABILITY if name == "binary_cross_entropy" else logits
            yield Edge(f"{name}, {reduction}", constant, (values,))
            yield Edge(f"{name} with a target, {reduction}", function, (values, target))


def attention(m: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    return m.nn.functional.scaled_dot_product_attention(q, k, v, mask(m))


def attentions() -> Iterator[Edge]:
    matrices = tuple(np.arange(6.0).reshape(2, 3) / n for n in (6, 5, 4))
    masks: dict[str, Callable[[Any], Any]] = {
        "a row sees nothing": lambda m: m.tensor([[True, False], [False, False]]),
        "nobody sees anything": lambda m: m.tensor([[False, False], [False, False]]),
        "infinite terms": lambda m: m.tensor([[0.0, -INF], [-INF, -INF]], dtype=m.float64),
    }
    for name, mask in masks.items():
        yield Edge(
            f"attention, {name}",
            lambda m, q, k, v, mask=mask: attention(m, q, k, v, mask),
            matrices,
        )


def edges() -> Iterator[Edge]:
    for name in ONE_BY_ONE:
        yield Edge(name, lambda m, x, name=name: getattr(x, name)(), (BORDER,))
    for name in ACTIVATIONS:
        yield Edge(name, lambda m, x, name=name: getattr(m.nn.functional, name)(x), (BORDER,))
    for exponent in EXPONENTS:
        yield Edge(f"power {exponent}", lambda m, x, e=exponent: x**e, (BORDER,))
        yield Edge(f"power of {exponent}", lambda m, x, e=exponent: e**x, (BORDER,))
    first, second = (each.ravel() for each in np.meshgrid(MEETING, MEETING))
    for name, function in PAIRS.items():
        yield Edge(name, function, (first, second))
    for row, values in ROWS.items():
        for name, function in OF_ROWS.items():
            yield Edge(f"{name}, {row}", function, (values,))
    yield from cross_entropies()
    yield from binary_cross_entropies()
    yield from attentions()


EDGES = {edge.name: edge for edge in edges()}

# What PyTorch 2.13 does instead, and why it is not copied here.
DIFFERENCES: dict[str, str] = {
    **{
        f"{name}{along}, nan": "compares the elements with NaN and divides by the count, 0"
        for name in ("amax", "amin")
        for along in ("", " along the last")
    },
    **{
        f"var with too large a correction, {row}": "gives infinite gradients of one sign on both "
        "sides of the mean, and infinite ones of NaN"
        for row in ("both infinities", "equal", "infinity", "nan", "one zero", "two zeros")
    },
    "clamp between": "gives no gradient to equal bounds",
    "topk, equal": "selects another one of the equal elements",
    **{
        f"binary_cross_entropy with a target, {reduction}": "has infinite gradients of a target "
        "at 0 and 1, though the loss limits the logarithms"
        for reduction in ("none", "sum", "mean")
    },
}
