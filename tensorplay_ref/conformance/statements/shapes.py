"""Gradients through broadcasting, indexing, reductions and products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, same
from ..statement import statement

TOPIC = "conventions of gradients"


@statement(TOPIC, "engine")
def broadcast_operands_get_gradients_of_their_shape(api: Api) -> None:
    """In (3, 1) * (4,) each operand gets the sum over what was repeated, in its own shape."""
    a, b = api.leaf([[1.0], [2.0], [3.0]]), api.leaf([1.0, 2.0, 3.0, 4.0])
    (a * b).sum().backward()
    equal(api, a.grad, [[10.0], [10.0], [10.0]], "the gradient of a")
    equal(api, b.grad, [6.0, 6.0, 6.0, 6.0], "the gradient of b")


@statement(TOPIC, "engine")
def a_scalar_operand_gets_the_sum(api: Api) -> None:
    """A tensor without dimensions that was added to six elements gets gradient 6."""
    s, x = api.leaf(2.0), api.leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    (x + s).sum().backward()
    equal(api, s.grad, 6.0)


@statement(TOPIC, "engine")
def an_expanded_tensor_gets_the_sum(api: Api) -> None:
    """expand repeats without copying, and its gradient is summed back."""
    x = api.leaf([[1.0], [2.0]])
    (x.expand(2, 3) * api.constant([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])).sum().backward()
    equal(api, x.grad, [[6.0], [60.0]])


@statement(TOPIC, "engine")
def a_repeated_index_adds_up(api: Api) -> None:
    """x[[0, 0, 2]] gives element 0 the sum of both gradients."""
    x = api.leaf([1.0, 2.0, 3.0])
    (x[[0, 0, 2]] * api.constant([1.0, 10.0, 100.0])).sum().backward()
    equal(api, x.grad, [11.0, 0.0, 100.0])


@statement(TOPIC, "engine")
def gather_adds_up_repeated_places(api: Api) -> None:
    """gather with a repeated index gives that place the sum of both gradients."""
    x = api.leaf([1.0, 2.0, 3.0])
    y = x.gather(0, api.tensor([1, 1, 0]))
    (y * api.constant([1.0, 10.0, 100.0])).sum().backward()
    equal(api, x.grad, [100.0, 11.0, 0.0])


@statement(TOPIC, "engine")
def a_mask_selects_its_gradient(api: Api) -> None:
    """x[mask] hands the gradient to the selected elements and 0 to the others."""
    x = api.leaf([1.0, 5.0, 3.0])
    (x[x.detach() > 2.0] * api.constant([10.0, 100.0])).sum().backward()
    equal(api, x.grad, [0.0, 10.0, 100.0])


@statement(TOPIC, "engine")
def overlapping_slices_add_up(api: Api) -> None:
    """x[1:] * x[:-1] gives each element the sum of its neighbours."""
    x = api.leaf([1.0, 2.0, 4.0, 8.0])
    (x[1:] * x[:-1]).sum().backward()
    equal(api, x.grad, [2.0, 5.0, 10.0, 4.0])


@statement(TOPIC, "engine")
def cat_hands_each_piece_its_part(api: Api) -> None:
    """cat along the last axis of unequal pieces, one of them twice, adds up rightly."""
    a, b = api.leaf([[1.0, 2.0]]), api.leaf([[3.0]])
    weights = api.constant([[1.0, 2.0, 3.0, 4.0, 5.0]])
    (api.cat([a, b, a], dim=-1) * weights).sum().backward()
    equal(api, a.grad, [[5.0, 7.0]], "the gradient of a")
    equal(api, b.grad, [[3.0]], "the gradient of b")


@statement(TOPIC, "engine")
def a_mean_over_a_dimension_divides_by_its_length(api: Api) -> None:
    """mean over one dimension, kept or not, gives each element 1 / length."""
    for keep in (False, True):
        x = api.leaf([[1.0, 2.0, 3.0, 4.0]])
        x.mean(1, keepdim=keep).sum().backward()
        equal(api, x.grad, [[0.25] * 4])


@statement(TOPIC, "engine")
def a_sum_over_several_dimensions_is_spread(api: Api) -> None:
    """sum over dimensions 0 and -1 gives each element the gradient of its own cell."""
    x = api.leaf([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    y = x.sum((0, -1))
    same(tuple(y.shape), (2,), "the shape")
    (y * api.constant([1.0, 10.0])).sum().backward()
    equal(api, x.grad, [[[1.0, 1.0], [10.0, 10.0]]] * 2)


@statement(TOPIC, "engine")
def a_tensor_minus_its_mean_has_gradient_zero(api: Api) -> None:
    """The gradient of the sum of x - mean(x) is exactly 0."""
    x = api.leaf([1.0, 2.0, 3.0, 4.0])
    (x - x.mean()).sum().backward()
    equal(api, x.grad, [0.0] * 4)


@statement(TOPIC, "engine")
def var_divides_by_one_less(api: Api) -> None:
    """var of n elements divides by n - 1: its gradient is 2 (x - mean) / (n - 1)."""
    x = api.leaf([1.0, 2.0, 6.0])
    y = x.var()
    equal(api, y, 7.0, "the variance")
    y.backward()
    equal(api, x.grad, [-2.0, -1.0, 3.0])


@statement(TOPIC, "engine")
def cumsum_is_summed_from_behind(api: Api) -> None:
    """The gradient of cumsum is the cumulative sum from the end."""
    x = api.leaf([1.0, 2.0, 3.0])
    (x.cumsum(0) * api.constant([1.0, 10.0, 100.0])).sum().backward()
    equal(api, x.grad, [111.0, 110.0, 100.0])


@statement(TOPIC, "engine")
def a_matrix_times_a_vector_is_differentiated(api: Api) -> None:
    """(2, 3) @ (3,) gives the matrix an outer product and the vector the column sums."""
    m, v = api.leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), api.leaf([10.0, 20.0, 30.0])
    (m @ v).sum().backward()
    equal(api, m.grad, [[10.0, 20.0, 30.0]] * 2, "the gradient of the matrix")
    equal(api, v.grad, [5.0, 7.0, 9.0], "the gradient of the vector")


@statement(TOPIC, "engine")
def a_batch_times_a_plain_matrix_sums_over_the_batch(api: Api) -> None:
    """(5, 2, 3) @ (3, 4) gives the plain matrix the sum over the batch."""
    values = np.arange(30.0).reshape(5, 2, 3)
    a, b = api.leaf(values.tolist()), api.leaf(np.ones((3, 4)).tolist())
    (a @ b).sum().backward()
    equal(api, b.grad, np.repeat(values.sum((0, 1))[:, None], 4, axis=1), "the gradient of b")
    equal(api, a.grad, np.full((5, 2, 3), 4.0), "the gradient of a")


@statement(TOPIC, "engine")
def reflected_operators_have_the_right_sign(api: Api) -> None:
    """3 - x, 3 / x and 2 ** x at 2 have derivatives -1, -0.75 and 4 log 2."""
    cases: tuple[tuple[Callable[[Any], Any], float], ...] = (
        (lambda x: 3.0 - x, -1.0),
        (lambda x: 3.0 / x, -0.75),
        (lambda x: 2.0**x, 4.0 * np.log(2.0)),
    )
    for function, expected in cases:
        x = api.leaf([2.0])
        function(x).sum().backward()
        equal(api, x.grad, [expected])


@statement(TOPIC, "engine")
def an_empty_sum_is_zero_with_an_empty_gradient(api: Api) -> None:
    """The sum of no elements is 0, and its gradient is empty."""
    x = api.leaf([])
    y = x.sum()
    equal(api, y, 0.0, "the sum")
    y.backward()
    equal(api, x.grad, np.zeros(0))
