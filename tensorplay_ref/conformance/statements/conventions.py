"""Gradients at corners and ties, where several values would be possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal
from ..statement import statement, tensorplay_1_0

TOPIC = "conventions of gradients"


def _check(api: Api, function: Callable[[Any], Any], value: Any, expected: Any) -> None:
    """Compare the gradient of the sum of ``function`` at ``value``."""
    x = api.leaf(value)
    function(x).sum().backward()
    equal(api, x.grad, expected)


@statement(TOPIC, "names")
def relu_has_slope_zero_at_zero(api: Api) -> None:
    """The derivative of relu at 0 is 0."""
    _check(api, lambda x: x.relu(), [-1.0, 0.0, 2.0], [0.0, 0.0, 1.0])


@statement(TOPIC, "names")
def abs_has_slope_zero_at_zero(api: Api) -> None:
    """The derivative of abs at 0 is 0."""
    _check(api, lambda x: x.abs(), [-2.0, 0.0, 3.0], [-1.0, 0.0, 1.0])


@statement(TOPIC, "names")
def sqrt_has_infinite_slope_at_zero(api: Api) -> None:
    """The derivative of sqrt at 0 is infinite."""
    _check(api, lambda x: x.sqrt(), [0.0, 4.0], [np.inf, 0.25])


@statement(TOPIC, "names")
def the_reciprocal_has_slope_minus_infinity_at_zero(api: Api) -> None:
    """The derivative of 1 / x at 0 is minus infinity."""
    _check(api, lambda x: 1.0 / x, [0.0, 2.0], [-np.inf, -0.25])


@statement(TOPIC, "names")
def clamp_keeps_the_gradient_at_its_bounds(api: Api) -> None:
    """The derivative of clamp is 1 at both bounds and 0 outside."""
    _check(api, lambda x: x.clamp(0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0])


@statement(TOPIC, "names")
def the_maximum_of_all_splits_ties_evenly(api: Api) -> None:
    """max() over everything gives each of several equal maxima an equal share."""
    _check(api, lambda x: x.max(), [1.0, 3.0, 3.0], [0.0, 0.5, 0.5])


@statement(TOPIC, "names")
def the_minimum_of_all_splits_ties_evenly(api: Api) -> None:
    """min() over everything gives each of several equal minima an equal share."""
    _check(api, lambda x: x.min(), [1.0, 1.0, 3.0, 1.0], [1 / 3, 1 / 3, 0.0, 1 / 3])


@statement(TOPIC, "names")
def amax_splits_ties_evenly_in_each_row(api: Api) -> None:
    """amax over a dimension splits the gradient evenly among equal maxima of a row."""
    _check(api, lambda x: x.amax(1), [[2.0, 2.0], [1.0, 0.0]], [[0.5, 0.5], [1.0, 0.0]])


@statement(TOPIC, "names")
def the_maximum_along_a_dimension_takes_the_first(api: Api) -> None:
    """max over a dimension gives the whole gradient to the first of equal maxima."""
    _check(api, lambda x: x.max(1)[0], [[2.0, 2.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]])


@statement(TOPIC, "names")
def maximum_of_two_shares_a_tie(api: Api) -> None:
    """maximum(a, b) gives each operand half of the gradient where they are equal."""
    a, b = api.leaf([1.0, 2.0]), api.leaf([1.0, 0.0])
    api.maximum(a, b).sum().backward()
    equal(api, a.grad, [0.5, 1.0], "the gradient of a")
    equal(api, b.grad, [0.5, 0.0], "the gradient of b")


@statement(TOPIC, "names")
def powers_at_zero_are_finite(api: Api) -> None:
    """The derivatives of x**0, x**1, x**2 and x**1.5 at 0 are 0, 1, 0 and 0."""
    x = api.leaf([0.0])
    for exponent, expected in ((0, 0.0), (1, 1.0), (2, 0.0), (1.5, 0.0)):
        (gradient,) = api.grad((x**exponent).sum(), x)
        equal(api, gradient, [expected], f"the gradient of x**{exponent}")


@statement(TOPIC, "names")
def a_zero_base_gives_the_exponent_no_gradient(api: Api) -> None:
    """In a ** b the gradient of b is 0, not NaN, where a is 0 and b is positive."""
    a, b = api.leaf([0.0, 2.0]), api.leaf([2.0, 3.0])
    (a**b).sum().backward()
    equal(api, b.grad, [0.0, 8.0 * np.log(2.0)], "the gradient of b")


@statement(TOPIC, "names")
def log_has_infinite_slope_at_zero(api: Api) -> None:
    """The derivative of log at 0 is infinite."""
    _check(api, lambda x: x.log(), [0.0, 2.0], [np.inf, 0.5])


@statement(TOPIC, "names")
def the_norm_has_gradient_zero_at_zero(api: Api) -> None:
    """The gradient of the norm of a zero vector is 0, not NaN."""
    _check(api, lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0])


@statement(TOPIC, "names")
def a_product_with_a_zero_has_the_others_as_gradient(api: Api) -> None:
    """prod with one zero gives that element the product of the others."""
    _check(api, lambda x: x.prod(), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0])


@statement(TOPIC, "names")
def a_product_with_two_zeros_has_gradient_zero(api: Api) -> None:
    """prod with two zeros has gradient 0 everywhere."""
    _check(api, lambda x: x.prod(), [2.0, 0.0, 0.0], [0.0, 0.0, 0.0])


@tensorplay_1_0("is not recorded", shows="does not require grad")
@statement(TOPIC, "names")
def sign_has_gradient_zero(api: Api) -> None:
    """sign has gradient 0 everywhere."""
    _check(api, lambda x: x.sign(), [-2.0, 0.0, 3.0], [0.0, 0.0, 0.0])


@statement(TOPIC, "names")
def leaky_relu_has_the_small_slope_at_zero(api: Api) -> None:
    """The derivative of leaky_relu at 0 is that of the negative side."""
    _check(
        api, lambda x: api.functional.leaky_relu(x, 0.125), [-1.0, 0.0, 1.0], [0.125, 0.125, 1.0]
    )


@statement(TOPIC, "names")
def softmax_survives_large_numbers(api: Api) -> None:
    """softmax of 1000 and 999 has finite values and gradients."""
    p = 1.0 / (1.0 + np.exp(-1.0))
    _check(api, lambda x: x.softmax(0)[0], [1000.0, 999.0], [p * (1 - p), -p * (1 - p)])


@statement(TOPIC, "names")
def log_softmax_survives_large_numbers(api: Api) -> None:
    """log_softmax of 1000, 0 and -1000 has finite values and gradients."""
    x = api.leaf([1000.0, 0.0, -1000.0])
    y = x.log_softmax(0)
    equal(api, y, [0.0, -1000.0, -2000.0], "the value")
    y[1].backward()
    equal(api, x.grad, [-1.0, 1.0, 0.0])


@statement(TOPIC, "names")
def logsumexp_survives_large_numbers(api: Api) -> None:
    """logsumexp of 1000 and 1000 is 1000 + log 2, with half the gradient for each."""
    x = api.leaf([1000.0, 1000.0])
    y = x.logsumexp(0)
    equal(api, y, 1000.0 + np.log(2.0), "the value")
    y.backward()
    equal(api, x.grad, [0.5, 0.5])


@statement(TOPIC, "names")
def sigmoid_and_tanh_saturate_without_nan(api: Api) -> None:
    """sigmoid and tanh have slope 0 at -1000 and 1000."""
    for function in (lambda x: x.sigmoid(), lambda x: x.tanh()):
        _check(api, function, [-1000.0, 1000.0], [0.0, 0.0])


@statement(TOPIC, "names")
def where_protects_from_the_other_branch(api: Api) -> None:
    """With a safe argument inside where, log at 0 gives no NaN to the gradient."""
    x = api.leaf([0.0, 2.0])
    positive = x > 0.0
    safe = api.where(positive, x, api.ones_like(x))
    api.where(positive, safe.log(), x * 2.0).sum().backward()
    equal(api, x.grad, [2.0, 0.5])
