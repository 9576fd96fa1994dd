"""softmax, log_softmax, logsumexp: values, derivatives, stability, what is saved."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorplay_ref as tp

from .gradients import (
    Case,
    away_from_zero,
    check_torch,
    checks_of,
    needs_torch,
    parametrize,
    saved_roles,
)

x = 2.0 * away_from_zero(2, 3, 2)

CASES = [
    Case("softmax", lambda a: a.softmax(-1), (x,)),
    Case("softmax of the first dim", lambda a: a.softmax(0), (x,)),
    Case("softmax of a middle dim", lambda a: a.softmax(1), (x,)),
    Case("log_softmax", lambda a: a.log_softmax(-1), (x,)),
    Case("log_softmax of a middle dim", lambda a: a.log_softmax(1), (x,)),
    Case("logsumexp", lambda a: a.logsumexp(1), (x,)),
    Case("logsumexp of dims, kept", lambda a: a.logsumexp((0, 2), keepdim=True), (x,)),
    Case("of a transposed tensor", lambda a: a.transpose(0, 2).softmax(1), (x,)),
    Case("no axes", lambda a: a.softmax(0) + a.log_softmax(-1) + a.logsumexp(0), (np.array(3.0),)),
    Case("no elements", lambda a: a.softmax(1) + a.log_softmax(1), (np.zeros((2, 0)),)),
    Case("no rows", lambda a: a.softmax(1) + a.log_softmax(1), (np.zeros((0, 2)),)),
]


TestCases = checks_of(CASES)


large = np.array([[1000.0, 999.0, -1000.0], [-1e4, -1e4, -1e4], [1e300, 0.0, 1.0]])
masked = np.array([[0.5, -np.inf, 1.0], [-np.inf, 0.0, -np.inf]])
nothing_left = np.array([[-np.inf, -np.inf]])
EXTREMES = [
    Case(f"{name} of {kind}", function, (array,), orders=orders)
    for kind, array, orders in (
        ("large numbers", large, 2),
        ("masked rows", masked, 2),
        ("rows without anything", nothing_left, 1),
        ("an infinity", np.array([[np.inf, 0.0]]), 1),
    )
    for name, function in (
        ("softmax", lambda a: a.softmax(1)),
        ("log_softmax", lambda a: a.log_softmax(1)),
        ("logsumexp", lambda a: a.logsumexp(1)),
    )
]


@needs_torch
@parametrize(EXTREMES)
def test_extremes_are_pytorchs_without_warnings(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module="tests")
        check_torch(case)


rows = st.lists(st.floats(-50, 50), min_size=1, max_size=8)


@given(rows, st.floats(-100, 100))
def test_a_softmax_sums_to_one_and_ignores_a_shift(row: list[float], shift: float) -> None:
    p = tp.tensor(np.array(row)).softmax(0)
    np.testing.assert_allclose(p.sum().item(), 1.0, rtol=1e-12)
    moved = (tp.tensor(np.array(row)) + shift).softmax(0)
    np.testing.assert_allclose(moved.numpy(), p.numpy(), rtol=1e-10, atol=1e-300)


@given(rows)
def test_the_three_belong_together(row: list[float]) -> None:
    a = tp.tensor(np.array(row))
    np.testing.assert_allclose(a.log_softmax(0).exp().numpy(), a.softmax(0).numpy(), rtol=1e-10)
    difference = (a - a.logsumexp(0)).numpy()
    np.testing.assert_allclose(a.log_softmax(0).numpy(), difference, rtol=1e-10, atol=1e-13)


def test_what_is_saved() -> None:
    a = tp.tensor(x, requires_grad=True)
    assert saved_roles(lambda a: a.softmax(1), a) == ["result"]
    assert saved_roles(lambda a: a.log_softmax(1), a) == ["result"]
    assert saved_roles(lambda a: a.logsumexp(1), a) == ["a", "result"]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_dtypes_and_dimensions(name: str) -> None:
    assert getattr(tp.tensor([1, 2]), name)(0).dtype == np.float32
    half = tp.tensor(np.float16([0.5, 1.0]), requires_grad=True)
    result = getattr(half, name)(0)
    result.sum().backward()
    assert (result.dtype, half.grad.dtype) == (np.float16, np.float16)
    with pytest.raises(IndexError, match=r"expected one in \[-1, 0\]"):
        getattr(half, name)(1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_gradient_needs_one_buffer(name: str) -> None:
    a = tp.ones(10, 100, device=tp.Device("cuda"), requires_grad=True)
    result: Any = getattr(a, name)(1)
    upstream = tp.ones_like(result)
    before = tp.cuda.memory_allocated()
    tp.cuda.reset_peak_memory_stats()
    tp.autograd.grad(result, a, upstream)
    assert tp.cuda.max_memory_allocated() - before <= a.nbytes


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_many_short_rows_give_what_each_gives_alone(name: str) -> None:
    # They are computed column by column, in the other order of memory.
    x = tp.randn(50, 7, dtype=tp.float64)
    whole = getattr(x, name)(1)
    assert whole.is_contiguous()
    alone = tp.stack([getattr(row, name)(0) for row in x])
    np.testing.assert_allclose(whole.numpy(), alone.numpy(), rtol=1e-13)
