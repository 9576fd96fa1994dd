"""Checking operations: derivatives against central differences and PyTorch, dtypes, saved sets."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd import grad
from tensorplay_ref.autograd.graph import saved_tensor_hooks

has_torch = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not has_torch, reason="torch is not installed")


class Case(NamedTuple):
    """An operation at a point: `function(*tensors)`, and how PyTorch spells it if differently."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    torch: Callable[..., Any] | None = None
    orders: int = 2  # of derivatives to compare; PyTorch's second ones are NaN at some corners


def parametrize(cases: Sequence[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


def away_from_zero(*shape: int, seed: int = 0) -> np.ndarray:
    """Values between 0.25 and 1.25 in size with random signs, all different."""
    random = np.random.default_rng(seed)
    return random.permuted(np.linspace(0.25, 1.25, int(np.prod(shape)))).reshape(
        shape
    ) * random.choice([-1.0, 1.0], shape)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return np.abs(away_from_zero(*shape, seed=seed))


def weights(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def derivatives(
    function: Callable[..., Any], arrays: Sequence[Any], library: Any
) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """The value, the gradients of a weighted sum of it, and those of a weighted sum of these."""
    tensors = [library.tensor(np.array(array), requires_grad=True) for array in arrays]
    value = function(*tensors)
    factor = library.tensor(weights(tuple(value.shape), 1))
    options = {"create_graph": True, "allow_unused": True}
    gradient = library.autograd.grad
    first = gradient((value * factor).sum(), tensors, **options)
    total = None
    for number, one in enumerate(first):
        if one is not None and one.requires_grad:
            part = (one * library.tensor(weights(tuple(one.shape), 2 + number))).sum()
            total = part if total is None else total + part
    second = [None] * len(tensors) if total is None else gradient(total, tensors, **options)
    return (
        value.detach().numpy(),
        [_dense(one, array) for one, array in zip(first, arrays, strict=True)],
        [_dense(one, array) for one, array in zip(second, arrays, strict=True)],
    )


def plain_gradients(case: Case) -> list[np.ndarray]:
    """The gradients from a backward that is not recorded."""
    tensors = [tp.tensor(np.array(array), requires_grad=True) for array in case.inputs]
    value = case.function(*tensors)
    total = (value * tp.tensor(weights(value.shape, 1))).sum()
    gradients = grad(total, tensors, allow_unused=True)
    return [_dense(one, array) for one, array in zip(gradients, case.inputs, strict=True)]


def _dense(gradient: Any, array: Any) -> np.ndarray:
    if gradient is None:
        return np.zeros(np.shape(array))
    # PyTorch has tensors of zeros without memory, which it shows only when forced to.
    force = {} if isinstance(gradient, tp.Tensor) else {"force": True}
    return gradient.detach().numpy(**force)


def central_differences(
    function: Callable[[list[np.ndarray]], float], arrays: Sequence[Any], step: float
) -> list[np.ndarray]:
    """(f(x + step) - f(x - step)) / (2 step) for each element of each array."""
    slopes = []
    for number, array in enumerate(arrays):
        slope = np.zeros(np.shape(array))
        for place in np.ndindex(np.shape(array)):
            ends = []
            for sign in (1.0, -1.0):
                moved = [np.array(each, dtype=np.float64) for each in arrays]
                moved[number][place] += sign * step
                ends.append(function(moved))
            slope[place] = (ends[0] - ends[1]) / (2.0 * step)
        slopes.append(slope)
    return slopes


def check_differences(case: Case, step: float = 1e-5) -> None:
    """First and second derivatives agree with central differences in float64."""
    _, first, second = derivatives(case.function, case.inputs, tp)
    # A backward that is not recorded may reuse temporaries and take other ways: same gradients.
    for found, expected in zip(plain_gradients(case), first, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)

    def value(arrays: list[np.ndarray]) -> float:
        result = case.function(*(tp.tensor(array) for array in arrays)).numpy()
        return float(np.sum(result * weights(result.shape, 1)))

    def slope(arrays: list[np.ndarray]) -> float:
        gradients = derivatives(case.function, arrays, tp)[1]
        parts = [np.sum(g * weights(g.shape, 2 + n)) for n, g in enumerate(gradients)]
        return float(np.sum(parts))

    for found, expected in zip(first, central_differences(value, case.inputs, step), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    for found, expected in zip(second, central_differences(slope, case.inputs, step), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def check_torch(case: Case) -> None:
    """Value, first and second derivatives agree with PyTorch, NaN and infinities included."""
    torch = pytest.importorskip("torch")
    value, first, second = derivatives(case.function, case.inputs, tp)
    expected = derivatives(case.torch or case.function, case.inputs, torch)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12, atol=1e-14)
    found_orders, wanted_orders = [first, second], [expected[1], expected[2]]
    for found, wanted in zip(
        sum(found_orders[: case.orders], []), sum(wanted_orders[: case.orders], []), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def check_float32(case: Case) -> None:
    """float32 goes in; float32 comes out, is saved, and is what the gradients are made of."""
    saved: list[np.dtype[Any]] = []

    def pack(tensor: Any) -> Any:
        saved.append(tensor.dtype)
        return tensor

    tensors = [tp.tensor(np.float32(array), requires_grad=True) for array in case.inputs]
    with saved_tensor_hooks(pack, lambda tensor: tensor):
        value = case.function(*tensors)
        gradients = grad(value.sum(), tensors, create_graph=True, allow_unused=True)
    assert value.dtype == np.float32
    assert {dtype for dtype in saved if dtype.kind == "f"} <= {np.dtype(np.float32)}
    assert all(one is None or one.dtype == np.float32 for one in gradients)


def checks_of(cases: Sequence[Case]) -> type:
    """The tests that every case of a file must pass, as a class for pytest."""

    class Checks:
        @parametrize(cases)
        def test_derivatives_agree_with_central_differences(self, case: Case) -> None:
            check_differences(case)

        @needs_torch
        @parametrize(cases)
        def test_value_and_derivatives_agree_with_pytorch(self, case: Case) -> None:
            check_torch(case)

        @parametrize(cases)
        def test_float32_stays_float32(self, case: Case) -> None:
            check_float32(case)

    return Checks


def saved_roles(function: Callable[..., Any], *tensors: Any) -> list[str]:
    """What one operation packs, sorted: "a", "b", ... for its inputs, "result", or a dtype."""
    packed: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(tensor)
        return tensor.detach()

    with saved_tensor_hooks(pack, lambda tensor: tensor):
        result = function(*tensors)
    roles = []
    for tensor in packed:
        names = [n for n, t in zip("abcd", tensors, strict=False) if t._storage is tensor._storage]
        if names:
            roles.append(names[0])
        elif tensor._storage is result._storage:
            roles.append("result")
        else:
            roles.append(str(tensor.dtype))
    return sorted(roles)
