"""What is timed: the names, sizes and data of the workloads, the same for every framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Workload:
    """One row of the table. A measured time is divided by `per[...]` of the sizes, if given.

    `what` is its label, with the names of sizes where their numbers stand.
    """

    name: str
    what: str
    sizes: Mapping[str, int]
    quick: Mapping[str, int]
    per: str | None = None
    # Also the bytes kept between forward and backward and the peak, of packages made of NumPy.
    memory: bool = False


WORKLOADS = (
    Workload(
        "tiny_chain",
        "multiply-adds on {numbers} numbers, per operation",
        {"length": 1000, "numbers": 4},
        {"length": 40, "numbers": 4},
        per="length",
    ),
    Workload(
        "function_chain",
        "custom Functions with an empty body, per Function",
        {"length": 500, "numbers": 4},
        {"length": 20, "numbers": 4},
        per="length",
    ),
    Workload(
        "mlp_small",
        "MLP {inputs}-{hidden}-{hidden}-{classes}, batch {batch}, with cross entropy",
        {"inputs": 64, "hidden": 256, "classes": 10, "batch": 128},
        {"inputs": 8, "hidden": 16, "classes": 10, "batch": 8},
        memory=True,
    ),
    Workload(
        "mlp_large",
        "MLP {inputs}-{hidden}-{hidden}-{classes}, batch {batch}, with cross entropy",
        {"inputs": 784, "hidden": 1024, "classes": 10, "batch": 512},
        {"inputs": 16, "hidden": 32, "classes": 10, "batch": 16},
        memory=True,
    ),
    Workload(
        "attention",
        "attention, {batch} sequences of {length} with {features} features",
        {"batch": 8, "length": 64, "features": 64},
        {"batch": 2, "length": 4, "features": 8},
        memory=True,
    ),
    Workload(
        "tanh_chain",
        "tanh, {length} times on {numbers:,} numbers",
        {"length": 200, "numbers": 1_000_000},
        {"length": 12, "numbers": 10_000},
        memory=True,
    ),
    Workload(
        "checkpointed_chain",
        "the same, checkpointed in {segments} segments",
        {"length": 200, "numbers": 1_000_000, "segments": 14},
        {"length": 12, "numbers": 10_000, "segments": 3},
        memory=True,
    ),
    Workload(
        "hooked_chain",
        "tanh on {numbers} numbers under identity hooks, per saved tensor",
        {"length": 500, "numbers": 4},
        {"length": 20, "numbers": 4},
        per="length",
    ),
    Workload(
        "unhooked_chain",
        "the same without hooks",
        {"length": 500, "numbers": 4},
        {"length": 20, "numbers": 4},
        per="length",
    ),
    Workload(
        "node_chain",
        "a chain of {length:,} nodes, per node",
        {"length": 100_000, "numbers": 1},
        {"length": 200, "numbers": 1},
        per="length",
        memory=True,
    ),
    Workload(
        "long_node_chain",
        "a chain of {length:,} nodes, per node",
        {"length": 1_000_000, "numbers": 1},
        {"length": 400, "numbers": 1},
        per="length",
        memory=True,
    ),
)

Arrays = dict[str, Any]


def label(workload: Workload, quick: bool) -> str:
    """What is run, with the sizes that are run."""
    return workload.what.format(**sizes_of(workload, quick))


def sizes_of(workload: Workload, quick: bool) -> Mapping[str, int]:
    return workload.quick if quick else workload.sizes


def data(name: str, sizes: Mapping[str, int]) -> Arrays:
    """The arrays of a workload, float32, and its sizes."""
    random = np.random.default_rng(0)

    def normal(*shape: int, scale: float = 1.0) -> Any:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    if name.startswith("mlp"):
        widths = (sizes["inputs"], sizes["hidden"], sizes["hidden"], sizes["classes"])
        weights = [normal(a, b, scale=a**-0.5) for a, b in zip(widths, widths[1:], strict=False)]
        return {
            "x": normal(sizes["batch"], widths[0]),
            "classes": random.integers(0, widths[-1], sizes["batch"]),
            "weights": weights,
            "biases": [np.zeros(width, np.float32) for width in widths[1:]],
        }
    if name == "attention":
        features = sizes["features"]
        return {
            "x": normal(sizes["batch"], sizes["length"], features),
            "weights": [normal(features, features, scale=features**-0.5) for _ in range(4)],
            "scale": features**-0.5,
            # With a plain sum the gradient would be one number repeated, which no network has.
            "probe": normal(sizes["batch"], sizes["length"], features),
        }
    start = np.linspace(-1.0, 1.0, sizes["numbers"], dtype=np.float32)
    factor, summand = (np.full(sizes["numbers"], v, np.float32) for v in (0.999, 0.001))
    return {"x": start, "factor": factor, "summand": summand, **sizes}
