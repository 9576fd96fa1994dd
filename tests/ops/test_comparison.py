"""Comparisons, logic and bits: values, dtypes, and that nothing is recorded or saved."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tensorplay_ref as tp
from tensorplay_ref.ops import comparison
from tensorplay_ref.ops.operation import Operation

from .gradients import saved_roles

OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
floats = arrays(np.float64, (4,), elements=st.sampled_from([-1.0, 0.0, 1.0, np.nan, np.inf]))


@given(a=floats, b=floats, compare=st.sampled_from(OPERATORS))
def test_comparisons_are_numpys_and_boolean(a: Any, b: Any, compare: Any) -> None:
    result = compare(tp.tensor(a), tp.tensor(b))
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result.numpy(), compare(a, b))
    np.testing.assert_array_equal(compare(tp.tensor(a), 0.5).numpy(), compare(a, 0.5))
    np.testing.assert_array_equal(compare(0.5, tp.tensor(a)).numpy(), compare(0.5, a))


@given(a=floats, b=floats)
def test_logic_takes_what_is_nonzero_for_true(a: Any, b: Any) -> None:
    x, y = tp.tensor(a), tp.tensor(b)
    np.testing.assert_array_equal(x.logical_and(y).numpy(), np.logical_and(a, b))
    np.testing.assert_array_equal(x.logical_or(y).numpy(), np.logical_or(a, b))
    np.testing.assert_array_equal(x.logical_xor(y).numpy(), np.logical_xor(a, b))
    np.testing.assert_array_equal(x.logical_not().numpy(), np.logical_not(a))
    for name in ("isnan", "isinf", "isfinite"):
        np.testing.assert_array_equal(getattr(x, name)().numpy(), getattr(np, name)(a))


def _operations() -> list[type[Operation]]:
    found = [each for each in vars(comparison).values() if isinstance(each, type)]
    return [each for each in found if issubclass(each, Operation) and "forward" in vars(each)]


@pytest.mark.parametrize("operation", _operations(), ids=lambda each: each.__name__)
def test_nothing_is_recorded_or_saved(operation: type[Operation]) -> None:
    bits = operation.__name__.startswith("Bitwise")
    x = tp.tensor([1, 0]) if bits else tp.tensor([1.0, 0.0], requires_grad=True)
    operands = (x,) * (operation.arity or 1)
    assert saved_roles(lambda *tensors: operation.apply(*tensors), *operands) == []
    result = operation.apply(*operands)
    assert not result.requires_grad and result.grad_fn is None
    assert result.dtype == (np.int64 if bits else np.bool_)


def test_operands_broadcast_and_numbers_may_stand_on_both_sides() -> None:
    result = tp.tensor([[1.0], [2.0]]) < tp.tensor([1.5, 2.5])
    assert result.tolist() == [[True, True], [False, True]]
    assert comparison.Lt.apply(1.5, tp.tensor([1.0, 2.0])).tolist() == [False, True]


def test_bits_combine_on_booleans_and_integers() -> None:
    a, b = tp.tensor([True, True, False]), tp.tensor([True, False, False])
    assert (a & b).tolist() == [True, False, False]
    assert (a | b).tolist() == [True, True, False]
    assert (a ^ b).tolist() == [False, True, False]
    assert (~a).tolist() == [False, False, True]
    assert (tp.tensor([6, 5]) & 3).tolist() == [2, 1]
    assert (~tp.tensor([1, 2])).tolist() == [-2, -3]


@pytest.mark.parametrize(
    "operation", [lambda x: x & 1, lambda x: x | x, lambda x: x ^ x, lambda x: ~x]
)
def test_floating_numbers_have_no_bits_to_combine(operation: Any) -> None:
    with pytest.raises(TypeError, match="boolean and integer tensors, found float32"):
        operation(tp.tensor([1.0]))
