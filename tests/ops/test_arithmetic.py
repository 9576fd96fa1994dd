"""Arithmetic: values, derivatives, dtypes, what is saved, and the conventions at zero."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import tensorplay_ref as tp

from .gradients import (
    Case,
    away_from_zero,
    check_torch,
    checks_of,
    needs_torch,
    parametrize,
    positive,
    saved_roles,
)

row, column, matrix = away_from_zero(3), away_from_zero(2, 1, seed=1), away_from_zero(2, 3, seed=2)
above = positive(2, 3, seed=3)

CASES = [
    Case("add", lambda a, b: a + b, (row, matrix)),
    Case("add a number", lambda a: 2.5 + (a + 1), (matrix,)),
    Case("sub", lambda a, b: a - b, (column, row)),
    Case("number minus tensor", lambda a: 2 - a, (matrix,)),
    Case("mul", lambda a, b: a * b, (column, matrix)),
    Case("mul by a number", lambda a: a * 2.5 * 3, (matrix,)),
    Case("square as a product", lambda a: a * a, (matrix,)),
    Case("div", lambda a, b: a / b, (row, column)),
    Case("div by a number", lambda a: a / 3, (matrix,)),
    Case("number by tensor", lambda a: 2 / a, (matrix,)),
    Case("neg", lambda a: -a, (matrix,)),
    Case("reciprocal", lambda a: a.reciprocal(), (matrix,)),
    Case("square", lambda a: a.square(), (matrix,)),
    Case("cube", lambda a: a**3, (matrix,)),
    Case("power 1", lambda a: a**1, (matrix,)),
    Case("power 0", lambda a: a**0, (matrix,)),
    Case("power 1.5", lambda a: a**1.5, (above,)),
    Case("power -2", lambda a: a**-2, (matrix,)),
    Case("number to a tensor", lambda a: 2.5**a, (matrix,)),
    Case("tensor to a tensor", lambda a, b: a**b, (above, row)),
    Case("remainder", lambda a, b: a % b, (4.0 * row, 0.7 + positive(2, 1))),
    Case("remainder by a number", lambda a: a % 0.8, (4.0 * row,)),
    Case("no axes", lambda a, b: a * b / (a + b), (np.array(1.5), row + 3.0)),
    Case("no elements", lambda a, b: a * b / b**2, (np.zeros((0, 3)), row)),
]


TestCases = checks_of(CASES)


ZEROS = [
    Case("x / 0", lambda a, b: a / b, (np.array([1.0, 0.0, -2.0]), np.zeros(3))),
    Case("1 / 0", lambda a: 1 / a, (np.zeros(2),)),
    Case("0 ** number", lambda a: a**0 + a**1 + a**2 + a**1.5 + a**3, (np.zeros(2),)),
    Case("0 ** -1", lambda a: a**-1, (np.zeros(2),)),
    Case("0 ** tensor", lambda a, b: a**b, (np.zeros(4), np.array([0, 1.0, 2, 3.5])), orders=1),
    Case("0 ** negative", lambda a, b: (a**b).detach() * b, (np.zeros(1), np.array([-1.0]))),
    Case("0.0 ** tensor", lambda b: 0.0**b, (np.array([0.0, 1.0, 2.0]),), orders=1),
    Case("negative ** tensor", lambda a, b: a**b, (np.array([-2.0, -2.0]), np.array([2.0, 0.5]))),
    Case("x % 0", lambda a: a % 0, (np.array([1.0, -1.0]),)),
]


@needs_torch
@parametrize(ZEROS)
@pytest.mark.filterwarnings("error")
def test_at_zero_and_beyond_the_domain_it_does_what_pytorch_does(case: Case) -> None:
    check_torch(case)


@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3), data=st.data())
def test_gradients_have_the_shapes_of_the_broadcast_operands(shapes: Any, data: Any) -> None:
    operation = data.draw(
        st.sampled_from(
            [
                lambda a, b: a + b,
                lambda a, b: a - b,
                lambda a, b: a * b,
                lambda a, b: a / b,
                lambda a, b: a**b,
            ]
        )
    )
    first, second = (tp.tensor(np.full(s, 1.5), requires_grad=True) for s in shapes.input_shapes)
    result = operation(first, second)
    assert result.shape == shapes.result_shape
    result.sum().backward()
    assert first.grad is not None and first.grad.shape == first.shape
    assert second.grad is not None and second.grad.shape == second.shape


def test_second_derivatives_of_a_power_of_zero_are_finite() -> None:
    a, b = _tensor(0.0, 0.0), _tensor(2.0, 3.0)
    first = tp.autograd.grad((a**b).sum(), [a, b], create_graph=True)
    second = tp.autograd.grad(first[0].sum() + first[1].sum(), [a, b])
    assert second[0].tolist() == [2.0, 0.0]
    assert second[1].tolist() == [0.0, 0.0]


def _tensor(*values: float, dtype: Any = np.float64, grad: bool = True) -> Any:
    return tp.tensor(np.array(values, dtype), requires_grad=grad)


@pytest.mark.parametrize(
    ("operation", "both", "first", "second"),
    [
        (lambda a, b: a + b, [], [], []),
        (lambda a, b: a - b, [], [], []),
        (lambda a, b: a * b, ["a", "b"], ["b"], ["a"]),
        (lambda a, b: a / b, ["a", "b"], ["b"], ["a", "b"]),
        (lambda a, b: a**b, ["a", "b", "result"], ["a", "b"], ["a", "b", "result"]),
        (lambda a, b: a % b, ["a", "b"], [], ["a", "b"]),
    ],
    ids=["add", "sub", "mul", "div", "pow", "remainder"],
)
def test_only_what_a_needed_formula_reads_is_saved(
    operation: Any, both: list[str], first: list[str], second: list[str]
) -> None:
    assert saved_roles(operation, _tensor(1, 2), _tensor(3, 4)) == both
    assert saved_roles(operation, _tensor(1, 2), _tensor(3, 4, grad=False)) == first
    assert saved_roles(operation, _tensor(1, 2, grad=False), _tensor(3, 4)) == second


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda a: a * 2.0, []),
        (lambda a: 2 * a, []),
        (lambda a: a / 3, []),
        (lambda a: a + 1, []),
        (lambda a: 1 - a, []),
        (lambda a: -a, []),
        (lambda a: a % 2, []),
        (lambda a: 3 / a, ["a"]),
        (lambda a: a**3, ["a"]),
        (lambda a: a**1, ["a"]),
        (lambda a: a.square(), ["a"]),
        (lambda a: 3.0**a, ["a", "result"]),
        (lambda a: a.reciprocal(), ["result"]),
        (lambda a: a * np.float64(2.0), []),
    ],
)
def test_numbers_are_kept_and_never_packed(operation: Any, expected: list[str]) -> None:
    assert saved_roles(operation, _tensor(1, 2)) == expected


def test_a_kept_number_can_be_read_from_the_node() -> None:
    assert (_tensor(1, 2) * 2.5).grad_fn._saved_other == 2.5
    assert (_tensor(1, 2) ** 3).grad_fn._saved_exponent == 3


@pytest.mark.parametrize("divisor", [2, tp.tensor([2, 2]), 2.0])
def test_integers_divide_to_float32(divisor: Any) -> None:
    quotient = tp.tensor([1, 4]) / divisor
    assert quotient.dtype == np.float32
    assert quotient.tolist() == [0.5, 2.0]


def test_floor_and_remainder_follow_the_sign_of_the_divisor() -> None:
    a = tp.tensor([7, -7, 7, -7])
    b = tp.tensor([2, 2, -2, -2])
    assert (a // b).tolist() == [3, -4, -4, 3]
    assert (a % b).tolist() == [1, 1, -1, -1]
    assert ((a // b) * b + a % b).tolist() == a.tolist()


def test_floor_division_is_recorded_and_refused_in_backward() -> None:
    result = _tensor(5.0, 3.0) // 2
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="derivative of floor division"):
        result.sum().backward()


@pytest.mark.parametrize("operation", [lambda a, b: a // b, lambda a, b: a % b])
def test_integers_are_not_divided_by_zero(operation: Any) -> None:
    with pytest.raises(RuntimeError, match="divided by zero"):
        operation(tp.tensor([1, 2]), tp.tensor([1, 0]))
    with pytest.raises(RuntimeError, match="divided by zero"):
        operation(tp.tensor([1, 2]), 0)


@pytest.mark.parametrize("exponent", [-1, tp.tensor([1, -1])])
def test_integers_have_no_negative_powers(exponent: Any) -> None:
    with pytest.raises(RuntimeError, match="negative integer powers"):
        tp.tensor([1, 2]) ** exponent


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(RuntimeError, match=r"Mul: shapes \(2,\) and \(3,\)"):
        _tensor(1, 2) * _tensor(1, 2, 3)


def test_booleans_add_as_a_logical_or_and_are_not_negated() -> None:
    assert (tp.tensor([True, False]) + tp.tensor([True, False])).tolist() == [True, False]
    with pytest.raises(TypeError, match="found bool; ~ or logical_not"):
        -tp.tensor([True])


def test_half_precision_stays_half_precision() -> None:
    a = _tensor(1.0, 2.0, dtype=np.float16)
    for result in (a + 1, a * 2.5, a / 3, 1 - a, a**2, a**1.5, 2.0**a, a % 2):
        assert result.dtype == np.float16


@pytest.mark.parametrize(
    "operation", [lambda a, b: a / b, lambda a, b: a**b, lambda a, b: a % b, lambda a, b: a // b]
)
@pytest.mark.filterwarnings("error")
def test_singular_values_give_no_warnings(operation: Any) -> None:
    result = operation(_tensor(0.0, 1.0, -1.0), _tensor(0.0, -1.0, 0.5))
    result.detach()


def test_the_gradient_of_a_quotient_needs_one_buffer_for_each_operand() -> None:
    device = tp.Device("cuda")
    a, b = (tp.ones(1000, device=device, requires_grad=True) for _ in range(2))
    result = (a / b).sum()
    before = tp.cuda.memory_allocated()
    tp.cuda.reset_peak_memory_stats()
    tp.autograd.grad(result, [a, b])
    # Two gradients; the gradient of the sum is expanded and takes no memory of its own.
    assert tp.cuda.max_memory_allocated() - before <= 2 * a.nbytes + 64
