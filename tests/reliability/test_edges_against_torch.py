"""At the border of its domain every operation has PyTorch's value and gradient, or is known not to.

Zeros, infinities, NaN, nothing at all and equal elements, in float64.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.reliability.edge_cases import DIFFERENCES, EDGES, Edge

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


def outcome(module: Any, edge: Edge) -> list[Any]:
    """The value and the gradients, or the kind of error."""
    tensors = [
        module.tensor(np.array(values, dtype=np.float64), requires_grad=True)
        for values in edge.inputs
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = edge.function(module, *tensors)
        except (RuntimeError, IndexError):
            return ["refused"]
        # Unequal factors, so that no gradient is hidden by a sum.
        factor = 1.0 + np.arange(value.numel(), dtype=np.float64).reshape(tuple(value.shape)) / 8.0
        gradients = module.autograd.grad(
            (value * module.tensor(factor)).sum(), tensors, allow_unused=True
        )
    return [array_of(value), *(zero_if_none(g, t) for g, t in zip(gradients, tensors, strict=True))]


def array_of(tensor: Any) -> Any:
    # PyTorch has tensors of zeros without memory, which it shows only when forced to.
    tensor = tensor.detach()
    return tensor.numpy() if isinstance(tensor, tp.Tensor) else tensor.numpy(force=True)


def zero_if_none(gradient: Any, tensor: Any) -> Any:
    return np.zeros(tuple(tensor.shape)) if gradient is None else array_of(gradient)


def agree(ours: list[Any], theirs: list[Any]) -> bool:
    if isinstance(ours[0], str) or isinstance(theirs[0], str):
        return type(ours[0]) is type(theirs[0])
    return all(
        one.shape == other.shape and np.allclose(one, other, rtol=1e-6, atol=1e-12, equal_nan=True)
        for one, other in zip(ours, theirs, strict=True)
    )


def both(name: str) -> tuple[list[Any], list[Any]]:
    torch = importlib.import_module("torch")
    return outcome(tp, EDGES[name]), outcome(torch, EDGES[name])


OPERATIONS = sorted({name.partition(",")[0] for name in EDGES})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_border_is_as_in_torch(operation: str) -> None:
    for name in EDGES:
        if name.partition(",")[0] == operation and name not in DIFFERENCES:
            ours, theirs = both(name)
            assert agree(ours, theirs), f"{name}\nours: {ours}\nPyTorch: {theirs}"


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_known_difference_is_one(name: str) -> None:
    ours, theirs = both(name)
    assert not agree(ours, theirs), "PyTorch does the same: take it out of the differences"
