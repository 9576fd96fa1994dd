"""gradcheck and gradgradcheck find a wrong formula and pass a right one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, function, leaf

gradcheck, gradgradcheck = tp.autograd.gradcheck, tp.autograd.gradgradcheck


def cube(first: float = 3.0, second: float = 6.0) -> Any:
    """x**3 with these factors in its first and second derivative."""

    class Square(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * (second / first)

    class Cube(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * first * Square.apply(x)

    return Cube.apply


def test_right_formulas_pass() -> None:
    x, w = leaf([[0.5, -1.5], [2.0, 1.0]]), leaf([2.0, 3.0])
    assert gradcheck(lambda x, w: (x @ w, (x * w).sum(), 3), (x, w))
    assert gradgradcheck(lambda x, w: (x @ w).sin(), [x, w])
    assert gradcheck(cube(), x) and gradgradcheck(cube(), x)
    assert x.grad is None and x._version == 0


def test_a_wrong_first_derivative_is_found_and_located() -> None:
    x = leaf([0.5, 2.0])
    with pytest.raises(tp.autograd.GradcheckError, match="output 0 with respect to input 0") as e:
        gradcheck(cube(first=2.0), x)
    assert "element 0 of the input and 0 of the output" in str(e.value)
    assert gradcheck(cube(first=2.0), x, raise_exception=False) is False
    assert gradcheck(cube(first=2.0), x, atol=100.0)


def test_a_wrong_second_derivative_is_found_by_gradgradcheck_alone() -> None:
    x = leaf([0.5, 2.0])
    wrong = cube(second=5.0)
    assert gradcheck(wrong, x)
    with pytest.raises(tp.autograd.GradcheckError):
        gradgradcheck(wrong, x)
    assert gradgradcheck(wrong, x, raise_exception=False) is False


def test_a_missing_gradient_counts_as_zero() -> None:
    nothing = function(lambda ctx, x: x * 2.0, lambda ctx, grad: None)
    with pytest.raises(tp.autograd.GradcheckError, match="analytic one 0.0"):
        gradcheck(nothing.apply, leaf([1.0]))


def test_constants_are_not_differentiated_and_incoming_gradients_may_be_given() -> None:
    x, c = leaf([0.5]), constant([4.0])
    assert gradcheck(lambda x, c, n: x * c * n, (x, c, 2))
    assert gradgradcheck(lambda x: x.exp(), x, constant([3.0]))


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="at least one input"):
        gradcheck(lambda c: c * 2.0, constant([1.0]))
    with pytest.raises(ValueError, match="float64 inputs, found float32"):
        gradcheck(lambda x: x * 2.0, tp.tensor([1.0], requires_grad=True))


def test_the_input_is_put_back_also_when_the_function_raises() -> None:
    x = leaf([0.5, 2.0])
    calls: list[int] = []

    def fails_later(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 2:
            raise KeyError("function")
        return x * 2.0

    with pytest.raises(KeyError):
        gradcheck(fails_later, x)
    np.testing.assert_array_equal(x.detach().numpy(), [0.5, 2.0])
