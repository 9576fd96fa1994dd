"""Activation functions: values, derivatives, dtypes, what is saved, saturation and kinks."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorplay_ref as tp
from tensorplay_ref.ops.activation import LONG, Erf, Gelu, LeakyRelu, Silu, Softplus

from .gradients import (
    Case,
    away_from_zero,
    check_torch,
    checks_of,
    needs_torch,
    saved_roles,
)

point = 2.0 * away_from_zero(2, 4)


def _torch(name: str, **options: Any) -> Any:
    def call(x: Any) -> Any:
        import torch

        return getattr(torch.nn.functional, name)(x, **options)

    return call


FUNCTIONS: dict[str, tuple[Any, Any, list[str]]] = {
    "sigmoid": (lambda a: a.sigmoid(), None, ["result"]),
    "relu": (lambda a: a.relu(), None, ["result"]),
    "leaky_relu": (
        lambda a: LeakyRelu.apply(a, 0.1),
        _torch("leaky_relu", negative_slope=0.1),
        ["a"],
    ),
    "erf": (lambda a: a.erf(), None, ["a"]),
    "gelu": (lambda a: Gelu.apply(a, "none"), _torch("gelu"), ["a"]),
    "gelu tanh": (lambda a: Gelu.apply(a, "tanh"), _torch("gelu", approximate="tanh"), ["a"]),
    "silu": (lambda a: Silu.apply(a), _torch("silu"), ["a"]),
    "softplus": (lambda a: Softplus.apply(a, 1.0, 20.0), _torch("softplus"), ["a"]),
    "softplus 3": (
        lambda a: Softplus.apply(a, 3.0, 2.0),
        _torch("softplus", beta=3.0, threshold=2.0),
        ["a"],
    ),
}
CASES = [Case(name, f, (point,), torch) for name, (f, torch, _) in FUNCTIONS.items()]
CASES += [Case("no axes", lambda a: a.sigmoid().relu().erf(), (np.array(0.3),))]
CASES += [Case("no elements", lambda a: a.sigmoid().relu().erf(), (np.zeros((2, 0)),))]


TestCases = checks_of(CASES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_what_the_formula_reads_is_saved(name: str) -> None:
    function, _, expected = FUNCTIONS[name]
    assert saved_roles(function, tp.tensor(point, requires_grad=True)) == expected


@needs_torch
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("error")
def test_kinks_saturation_and_nan_are_pytorchs_without_warnings(name: str) -> None:
    function, torch, _ = FUNCTIONS[name]
    points = np.array([0.0, -0.0, 1000.0, -1000.0, 36.0, -36.0, np.nan])
    check_torch(Case(name, function, (points,), torch))


def test_an_infinite_gradient_does_not_pass_a_closed_relu() -> None:
    x = tp.tensor([-1.0, 0.0, 2.0, float("nan")], requires_grad=True)
    (gradient,) = tp.autograd.grad(x.relu(), x, tp.tensor([math.inf] * 4))
    assert gradient.tolist() == [0.0, 0.0, math.inf, math.inf]


def test_relu_of_a_strided_gradient() -> None:
    x = tp.tensor(point, requires_grad=True)
    upstream = tp.tensor(np.arange(8.0).reshape(4, 2)).T
    (gradient,) = tp.autograd.grad(x.relu(), x, upstream)
    np.testing.assert_array_equal(gradient.numpy(), upstream.numpy() * (point > 0))


@pytest.mark.parametrize("length", [LONG - 1, LONG, LONG + 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_relu_of_long_rows_is_that_of_each_element(length: int, dtype: Any, order: Any) -> None:
    special = [0.0, -0.0, 3.0, -3.0]
    if np.dtype(dtype).kind == "f":
        special += [np.nan, np.inf, -np.inf]
    points = np.asarray(np.resize(special, (3, length)), dtype, order=order)
    result = tp.tensor(points).relu().numpy()
    alone = [[tp.tensor(point).relu().item() for point in row] for row in points]
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, alone)
    (gradient,) = tp.autograd.grad(
        (x := tp.tensor(points.astype(np.float64), requires_grad=True)).relu(), x, tp.ones_like(x)
    )
    np.testing.assert_array_equal(gradient.numpy(), ~(points <= 0))


def test_relu_keeps_integers_and_half_precision() -> None:
    assert tp.tensor([-1, 2]).relu().dtype == np.int64
    x = tp.tensor(np.float16([-1.0, 2.0]), requires_grad=True)
    x.relu().sum().backward()
    assert x.grad.dtype == np.float16 and x.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "relu"])
def test_integers_give_float32(name: str) -> None:
    assert FUNCTIONS[name][0](tp.tensor([1, 2])).dtype == np.float32


@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_precision_stays_half_precision(name: str) -> None:
    x = tp.tensor(np.float16([-0.5, 1.0]), requires_grad=True)
    result = FUNCTIONS[name][0](x)
    result.sum().backward()
    assert (result.dtype, x.grad.dtype) == (np.float16, np.float16)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50))
def test_the_error_function_is_that_of_the_standard_library(values: list[float]) -> None:
    found = Erf.forward(np.array(values, np.float64))
    np.testing.assert_allclose(found, [math.erf(x) for x in values], rtol=3e-16, atol=3e-16)


def test_the_error_function_is_precise_everywhere() -> None:
    x = np.concatenate([np.linspace(-7.0, 7.0, 20_001), np.logspace(-300, 0, 2_000)])
    np.testing.assert_allclose(Erf.forward(x), [math.erf(v) for v in x], rtol=1e-15)


def test_the_error_function_of_float32_is_rounded_once() -> None:
    x = np.linspace(-4.0, 4.0, 5_001, dtype=np.float32).reshape(3, -1)
    exact = np.float32([[math.erf(v) for v in row] for row in x])
    assert Erf.forward(x).dtype == np.float32
    np.testing.assert_array_equal(Erf.forward(x), exact)


def test_gelu_knows_two_forms() -> None:
    with pytest.raises(ValueError, match="'none' or 'tanh', found 'cubic'"):
        Gelu.apply(tp.tensor([1.0]), "cubic")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_needs_one_buffer(name: str) -> None:
    x = tp.ones(1000, device=tp.Device("cuda"), requires_grad=True)
    result = FUNCTIONS[name][0](x).sum()
    before = tp.cuda.memory_allocated()
    tp.cuda.reset_peak_memory_stats()
    tp.autograd.grad(result, x)
    assert tp.cuda.max_memory_allocated() - before <= x.nbytes + 64
