"""Sums, means, extremes, norms: values, derivatives, dimensions, ties, empties, what is saved."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import tensorplay_ref as tp
from tensorplay_ref.ops import extremum
from tensorplay_ref.ops.extremum import Amax, ArgMax, MaxDim
from tensorplay_ref.ops.reduction import Cumsum, Mean, Prod, Sum

from .gradients import (
    Case,
    away_from_zero,
    check_torch,
    checks_of,
    needs_torch,
    parametrize,
    saved_roles,
)

x = away_from_zero(2, 3, 2)
zeros = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.5], [1.0, 2.0, 4.0]])

CASES = [
    Case("sum", lambda a: a.sum(), (x,)),
    Case("sum of one dim", lambda a: a.sum(-1), (x,)),
    Case("sum of two dims, kept", lambda a: a.sum((0, 2), keepdim=True), (x,)),
    Case("mean", lambda a: a.mean(), (x,)),
    Case("mean of dims", lambda a: a.mean((2, 0)) ** 2, (x,)),
    Case("prod", lambda a: a.prod(), (x,)),
    Case("prod of a dim", lambda a: a.prod(1), (x,)),
    Case("prod of a dim, kept", lambda a: a.prod(1, keepdim=True), (x,)),
    Case("prod with zeros", lambda a: a.prod(), (zeros[0],)),
    Case("prod of a dim with zeros", lambda a: a.prod(1), (zeros,)),
    Case("prod of the first dim with zeros", lambda a: a.prod(0, keepdim=True), (zeros,)),
    Case("var", lambda a: a.var(), (x,)),
    Case("var of a dim", lambda a: a.var(1, correction=0), (x,)),
    Case("var of dims, kept", lambda a: a.var((0, 1), correction=2, keepdim=True), (x,)),
    Case("std", lambda a: a.std(), (x,)),
    Case("std of a dim", lambda a: a.std(1, keepdim=True), (x,)),
    Case("norm", lambda a: a.norm(), (x,)),
    Case("norm of a dim", lambda a: a.norm(2, dim=1, keepdim=True), (x,)),
    Case("norm 1", lambda a: a.norm(1, dim=1), (x,)),
    Case("norm 3", lambda a: a.norm(3, dim=(0, 1)), (x,)),
    Case("norm 0", lambda a: a.norm(0, dim=1), (x,)),
    Case("norm inf", lambda a: a.norm(math.inf, dim=1), (x,)),
    Case("norm -inf", lambda a: a.norm(-math.inf), (x,)),
    Case("max", lambda a: a.max(), (x,)),
    Case("min", lambda a: a.min(), (x,)),
    Case("amax", lambda a: a.amax((0, 2)), (x,)),
    Case("amin, kept", lambda a: a.amin(1, keepdim=True), (x,)),
    Case("max of a dim", lambda a: a.max(1)[0], (x,)),
    Case("min of a dim, kept", lambda a: a.min(-1, keepdim=True)[0], (x,)),
    Case("cumsum", lambda a: a.cumsum(1), (x,)),
    Case("no axes", lambda a: a.sum(0) + a.mean(-1) + a.max(0)[0] + a.cumsum(0), (np.array(0.5),)),
    Case("no axes, powers", lambda a: a.prod(0) + a.norm() + a.amax(0), (np.array(0.5),)),
]


TestCases = checks_of(CASES)


ties = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, -1.0, -1.0]])
nans = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 0.0]])
CORNERS = [
    Case("max, ties", lambda a: a.max(), (ties,)),
    Case("min, ties", lambda a: a.min(), (ties,)),
    Case("amax, ties", lambda a: a.amax(1), (ties,)),
    Case("amin, ties", lambda a: a.amin((0, 1), keepdim=True), (ties,)),
    Case("max of a dim, ties", lambda a: a.max(1)[0], (ties,)),
    Case("min of a dim, ties", lambda a: a.min(0)[0], (ties,)),
    Case("max, NaN", lambda a: a.max(), (nans,)),
    Case("max of a dim, NaN", lambda a: a.max(1)[0], (nans,)),
    Case("norm at zero", lambda a: a.norm(), (np.zeros(3),), orders=1),
    Case("norm 1 at zero", lambda a: a.norm(1), (np.zeros(3),)),
    Case("norm 3 at zero", lambda a: a.norm(3), (np.zeros(3),), orders=1),
    Case("norm inf, ties", lambda a: a.norm(math.inf, dim=1), (ties,)),
    Case("std of equal elements", lambda a: a.std(1), (np.ones((2, 3)),), orders=1),
    Case("var of one element", lambda a: a.var(1), (np.ones((2, 1)),), orders=1),
    Case("sum of infinities", lambda a: a.sum(), (np.array([np.inf, -np.inf]),)),
    Case("mean of nothing", lambda a: a.mean(1), (np.zeros((2, 0)),)),
    Case("sum of nothing", lambda a: a.sum(1), (np.zeros((2, 0)),)),
    Case("prod of nothing", lambda a: a.prod(1), (np.zeros((2, 0)),)),
    Case("norm of nothing", lambda a: a.norm(2, dim=1), (np.zeros((2, 0)),)),
    Case("amax of no rows", lambda a: a.amax(1), (np.zeros((0, 3)),)),
    Case("cumsum of nothing", lambda a: a.cumsum(1), (np.zeros((2, 0)),)),
]


@needs_torch
@parametrize(CORNERS)
def test_ties_nan_zeros_and_empties_are_pytorchs_without_warnings(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module="torch|tests")
        check_torch(case)


@given(shape=array_shapes(min_dims=0, max_dims=4, max_side=3), data=st.data())
def test_any_dims_in_any_spelling_reduce_as_in_numpy(shape: tuple[int, ...], data: Any) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)) if shape else st.just(set()))
    dims = tuple(axis - len(shape) * data.draw(st.booleans()) for axis in axes)
    keepdim = data.draw(st.booleans())
    array = np.arange(1.0, math.prod(shape) + 1.0).reshape(shape)
    tensor = tp.tensor(array, requires_grad=True)
    for operation, function in ((Sum, np.sum), (Mean, np.mean), (Amax, np.max)):
        result = operation.apply(tensor, dims, keepdim)
        expected = function(array, axis=tuple(axes) or None, keepdims=keepdim)
        assert result.shape == np.shape(expected)
        np.testing.assert_allclose(result.detach().numpy(), expected)
        (gradient,) = tp.autograd.grad(result.sum(), tensor)
        assert gradient.shape == shape
        # Sum hands g to each element; the shares of the others add up to g.
        whole = array.size if operation is Sum else result.numel()
        np.testing.assert_allclose(gradient.sum().item(), whole)


def test_a_sum_is_expanded_without_a_copy() -> None:
    node = tp.tensor(x, requires_grad=True).sum(1).grad_fn
    gradient = node.backward(tp.ones(2, 2, dtype=np.float64))
    assert gradient.shape == (2, 3, 2) and gradient.stride()[1] == 0


def test_each_reduction_saves_what_its_formula_reads() -> None:
    a = tp.tensor(x, requires_grad=True)
    for operation, expected in (
        (lambda a: a.sum(), []),
        (lambda a: a.sum(1), []),
        (lambda a: a.mean((0, 1)), []),
        (lambda a: a.cumsum(1), []),
        (lambda a: a.var(), ["a"]),
        (lambda a: a.std(), ["a", "result"]),
        (lambda a: a.prod(), ["a", "result"]),
        (lambda a: a.norm(), ["a", "result"]),
        (lambda a: a.max(), ["a", "result"]),
        (lambda a: a.amin(1), ["a", "result"]),
        (lambda a: a.max(1)[0], ["int64"]),
        (lambda a: a.min(0)[0], ["int64"]),
        (lambda a: a.argmax(), []),
        (lambda a: a.all(), []),
    ):
        assert saved_roles(operation, a) == expected


def test_positions_are_int64_without_history_and_the_first_of_equals() -> None:
    values, indices = MaxDim.apply(tp.tensor(ties, requires_grad=True), 1, False)
    assert values.requires_grad and not indices.requires_grad
    assert indices.dtype == np.int64 and indices.tolist() == [1, 0, 0]
    a = tp.tensor(ties, requires_grad=True)
    assert a.argmax().item() == 1 and a.argmin().item() == 7
    assert a.argmax(1).tolist() == [1, 0, 0]
    assert a.argmin(0, keepdim=True).tolist() == [[2, 2, 2]]
    assert not a.argmax().requires_grad
    assert tp.tensor(nans).argmax(1).tolist() == [1, 0]


def test_all_and_any() -> None:
    mask = tp.tensor([[True, False], [True, True]])
    assert extremum.All.apply(mask, 1, False).tolist() == [False, True]
    assert extremum.Any.apply(mask, None, False).item() is True
    assert tp.tensor(np.zeros((0, 2))).all().item() is True
    assert tp.tensor(np.zeros((0, 2))).any().item() is False
    assert not tp.tensor([1.0], requires_grad=True).all().requires_grad


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64])
def test_integers_add_up_and_multiply_as_int64(dtype: Any) -> None:
    a = tp.tensor(np.ones(3, dtype))
    for result, expected in ((a.sum(), 3), (a.prod(), 1), (a.cumsum(0)[2], 3)):
        assert (result.dtype, result.item()) == (np.int64, expected)
    assert a.max().dtype == dtype


@pytest.mark.parametrize(
    "operation", [lambda a: a.mean(), lambda a: a.var(), lambda a: a.std(), lambda a: a.norm()]
)
def test_what_needs_fractions_refuses_integers(operation: Any) -> None:
    with pytest.raises(RuntimeError, match="expected a floating tensor, found int64"):
        operation(tp.tensor([1, 2]))


def test_half_precision_is_added_up_in_single_precision() -> None:
    many = tp.tensor(np.full((4096, 2), 0.25, np.float16))
    assert many.sum(0).tolist() == [1024.0, 1024.0] and many.sum(0).dtype == np.float16
    large = tp.tensor(np.full(4, 60000.0, np.float16))
    assert large.mean().item() == 60000.0
    assert large.var().item() == 0.0 and large.var().dtype == np.float16


def test_dimensions_that_are_not_there_are_named() -> None:
    a = tp.tensor(x)
    with pytest.raises(IndexError, match=r"Sum: .* expected one in \[-3, 2\] .* found 3"):
        a.sum(3)
    with pytest.raises(RuntimeError, match=r"dim 1 appears more than once in \(1, -2\)"):
        a.mean((1, -2))
    with pytest.raises(TypeError, match="dim must be an int, found float"):
        a.sum(1.0)
    with pytest.raises(IndexError, match="cumsum"):
        Cumsum.apply(a, -4)
    with pytest.raises(RuntimeError, match="expected one dimension or none"):
        Prod.apply(a, (0, 1), False)


def test_the_largest_of_nothing_is_refused() -> None:
    empty = tp.tensor(np.zeros((0, 3)))
    with pytest.raises(RuntimeError, match="has no elements"):
        empty.max()
    for operation in (lambda a: a.amax(0), lambda a: a.max(0), lambda a: a.argmax(0)):
        with pytest.raises(IndexError, match="expected dimension 0 to have elements"):
            operation(empty)
    with pytest.raises(IndexError, match="has no elements"):
        ArgMax.apply(empty, None, False)
    assert empty.argmax(1).shape == (0,)


def test_the_third_derivative_of_a_product_with_a_zero() -> None:
    a = tp.tensor([2.0, 0.0, 3.0, 5.0], requires_grad=True)
    first = tp.autograd.grad(a.prod(), a, create_graph=True)[0]
    second = tp.autograd.grad(first[1], a, create_graph=True)[0]
    third = tp.autograd.grad(second[0], a)[0]
    assert first.tolist() == [0.0, 30.0, 0.0, 0.0]
    assert second.tolist() == [15.0, 0.0, 10.0, 6.0]
    assert third.tolist() == [0.0, 0.0, 5.0, 3.0]
