"""Values and gradients at the border of a domain: 0, infinity, NaN, nothing at all."""

from __future__ import annotations

import numpy as np

from ..api import Api
from ..expect import equal, true
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "conventions of gradients"


@statement(TOPIC, "names")
def binary_cross_entropy_is_finite_at_certain_answers(api: Api) -> None:
    """binary_cross_entropy of 0 and 1 is 0 for the right answer and 100 for the wrong one."""
    x, target = api.leaf([0.0, 1.0, 0.0, 1.0]), api.constant([0.0, 1.0, 1.0, 0.0])
    losses = api.functional.binary_cross_entropy(x, target, reduction="none")
    equal(api, losses, [0.0, 0.0, 100.0, 100.0], "the losses")


@statement(TOPIC, "names")
def binary_cross_entropy_has_finite_gradients_at_certain_answers(api: Api) -> None:
    """The gradient of binary_cross_entropy divides by p (1 - p), but not by less than 1e-12."""
    x, target = api.leaf([0.0, 1.0, 0.0, 1.0]), api.constant([0.0, 1.0, 1.0, 0.0])
    api.functional.binary_cross_entropy(x, target, reduction="sum").backward()
    equal(api, x.grad, [0.0, 0.0, -1e12, 1e12], tolerance=1e-6)


@torch_2_13("has infinite gradients there", shows="found [ inf, -inf]")
@tensorplay_1_0("gives a target no gradient", shows="found None")
@statement(TOPIC, "names")
def binary_cross_entropy_has_finite_gradients_of_targets(api: Api) -> None:
    """The gradient of a target of binary_cross_entropy is that of the limited logarithms."""
    x, target = api.constant([0.0, 1.0]), api.leaf([1.0, 0.0])
    api.functional.binary_cross_entropy(x, target, reduction="sum").backward()
    equal(api, target.grad, [100.0, -100.0])


@statement(TOPIC, "names")
def a_row_of_minus_infinity_has_no_log_softmax(api: Api) -> None:
    """log_softmax of a row of minus infinity is NaN, and the other rows are not touched."""
    x = api.leaf([[-np.inf, -np.inf], [0.0, 0.0]])
    y = x.log_softmax(1)
    equal(api, y, [[np.nan, np.nan], [-np.log(2.0), -np.log(2.0)]], "the value")
    y[1, 0].backward()
    equal(api, x.grad[1], [0.5, -0.5])


@statement(TOPIC, "names")
def a_masked_score_gets_no_gradient_from_log_softmax(api: Api) -> None:
    """A score of minus infinity beside others gets the gradient 0 from log_softmax, not NaN."""
    x = api.leaf([-np.inf, 0.0, 0.0])
    x.log_softmax(0)[1].backward()
    equal(api, x.grad, [0.0, 0.5, -0.5])


@statement(TOPIC, "names")
def logsumexp_of_minus_infinity_is_minus_infinity(api: Api) -> None:
    """logsumexp of nothing but minus infinity is minus infinity, not NaN."""
    equal(api, api.constant([-np.inf, -np.inf]).logsumexp(0), -np.inf, "the value")


@tensorplay_1_0("makes the gradients NaN", shows="found [[ 0.], [nan]]")
@statement(TOPIC, "names")
def attention_to_nothing_is_zero(api: Api) -> None:
    """Attention of a position whose mask lets it see nothing is 0, not NaN, with gradients of 0."""
    q, value = api.leaf([[1.0], [2.0]]), api.leaf([[3.0], [4.0]])
    mask = api.tensor([[True, False], [False, False]])
    found = api.functional.scaled_dot_product_attention(
        q, api.constant([[1.0], [1.0]]), value, mask
    )
    equal(api, found, [[3.0], [0.0]], "the value")
    found.sum().backward()
    equal(api, q.grad, [[0.0], [0.0]], "the gradient of the query")
    equal(api, value.grad, [[1.0], [0.0]], "the gradient of the value")


@tensorplay_1_0("has the loss 0", shows="the loss is 0.0")
@statement(TOPIC, "names")
def scores_with_ignored_targets_get_no_gradient(api: Api) -> None:
    """cross_entropy with every target ignored is NaN, and the scores get the gradient 0."""
    x = api.leaf([[1.0, 2.0], [0.0, 0.0]])
    loss = api.functional.cross_entropy(x, api.tensor([-100, -100]))
    true(np.isnan(loss.item()), f"the loss is {loss.item()}")
    loss.backward()
    equal(api, x.grad, [[0.0, 0.0], [0.0, 0.0]])


@statement(TOPIC, "names")
def an_ignored_target_hides_an_infinite_loss(api: Api) -> None:
    """An ignored target counts nothing, though the loss at its place would be infinite."""
    x = api.leaf([[0.0, -np.inf], [0.0, 0.0]])
    loss = api.functional.nll_loss(x, api.tensor([-100, 0]))
    equal(api, loss, 0.0, "the loss")
    loss.backward()
    equal(api, x.grad, [[0.0, 0.0], [-1.0, 0.0]])


@statement(TOPIC, "names")
def the_deviation_of_one_element_is_nan(api: Api) -> None:
    """std and var of one element are NaN, for there is no degree of freedom."""
    x = api.constant([3.0])
    equal(api, x.var(), np.nan, "the variance")
    equal(api, x.std(), np.nan, "the standard deviation")


@tensorplay_1_0("makes the gradient NaN", shows="found [nan, nan, nan]")
@statement(TOPIC, "names")
def the_deviation_of_equal_elements_has_gradient_zero(api: Api) -> None:
    """std of equal elements is 0, and its gradient is 0, not NaN."""
    x = api.leaf([2.0, 2.0, 2.0])
    y = x.std()
    equal(api, y, 0.0, "the value")
    y.backward()
    equal(api, x.grad, [0.0, 0.0, 0.0])


@statement(TOPIC, "names")
def a_norm_below_one_has_gradient_zero_at_zero(api: Api) -> None:
    """norm(0.5) of a vector with a zero gives it the gradient 0, not infinity or NaN."""
    x = api.leaf([0.0, 4.0])
    x.norm(0.5).backward()
    equal(api, x.grad, [0.0, 1.0])


@tensorplay_1_0("makes the gradient NaN", shows="found [nan, 0.]")
@statement(TOPIC, "names")
def a_nan_to_the_power_zero_has_no_slope(api: Api) -> None:
    """NaN to the power of a tensor that is 0 is 1, and the base gets the gradient 0."""
    x = api.leaf([np.nan, 2.0])
    y = x ** api.constant([0.0, 0.0])
    equal(api, y, [1.0, 1.0], "the value")
    y.sum().backward()
    equal(api, x.grad, [0.0, 0.0])


@statement(TOPIC, "names")
def clamp_hands_a_nan_on(api: Api) -> None:
    """clamp of NaN is NaN, and so is clamp with a tensor that is NaN as bound."""
    x, low = api.constant([np.nan, 1.0]), api.constant([0.0, np.nan])
    equal(api, x.clamp(min=0.0), [np.nan, 1.0], "with a number")
    equal(api, x.clamp(min=low), [np.nan, np.nan], "with a tensor")


@torch_2_13("makes the whole row NaN", shows="found [[nan, nan]")
@tensorplay_1_0("makes the whole row NaN", shows="found [[nan, nan]")
@statement(TOPIC, "names")
def amax_finds_a_nan_and_hands_it_the_gradient(api: Api) -> None:
    """amax of a row with NaN is NaN, and the gradient goes where the NaN stands."""
    x = api.leaf([[np.nan, 1.0], [0.0, 2.0]])
    y = x.amax(1)
    equal(api, y, [np.nan, 2.0], "the value")
    y.sum().backward()
    equal(api, x.grad, [[1.0, 0.0], [0.0, 1.0]])


@tensorplay_1_0("has infinity for x ** 0.5", shows="expected [nan, 2., 0.], found [inf")
@statement(TOPIC, "names")
def the_power_of_one_half_is_the_square_root(api: Api) -> None:
    """x ** 0.5 is sqrt(x) also at minus infinity, NaN, and x ** -0.5 is 1 / sqrt(x) there."""
    x = api.constant([-np.inf, 4.0, 0.0])
    equal(api, x**0.5, [np.nan, 2.0, 0.0], "the power 0.5")
    equal(api, x**-0.5, [np.nan, 0.5, np.inf], "the power -0.5")


@statement(TOPIC, "names")
def the_mean_of_nothing_is_nan_and_the_sum_is_zero(api: Api) -> None:
    """Of an empty tensor sum is 0, mean is NaN, and the gradients are empty."""
    x = api.leaf(np.zeros((0,)))
    equal(api, x.sum(), 0.0, "the sum")
    equal(api, x.mean(), np.nan, "the mean")
    (x.sum() + x.mean()).backward()
    equal(api, x.grad, np.zeros((0,)))
