"""Arguments that are refused: positions that are not there, numbers that do not fit, no numbers."""

from __future__ import annotations

import copy
import warnings

import numpy as np

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "tensors and dtypes"


@statement(TOPIC, "bad input")
def index_select_refuses_negative_positions(api: Api) -> None:
    """index_select with a negative position is an error: it counts from 0 only."""
    x = api.leaf([1.0, 2.0])
    raises((IndexError, RuntimeError), lambda: x.index_select(0, api.tensor([-1])))


@tensorplay_1_0("counts from the end", shows="nothing was raised")
@statement(TOPIC, "bad input")
def embedding_refuses_negative_positions(api: Api) -> None:
    """embedding with a negative position is an error: there is no such row."""
    weight = api.leaf([[1.0], [2.0]])
    raises((IndexError, RuntimeError), lambda: api.functional.embedding(api.tensor([-1]), weight))


@statement(TOPIC, "bad input")
def index_add_refuses_positions_that_are_not_there(api: Api) -> None:
    """index_add beyond the end is an error, and so is a source without a part for each position."""
    x = api.constant([1.0, 2.0])
    for index, source in (([2], [1.0]), ([-1], [1.0]), ([0, 1], [1.0])):
        arguments = api.tensor(index), api.constant(source)
        raises((IndexError, RuntimeError), lambda a=arguments: x.index_add(0, *a))  # type: ignore[misc]


@statement(TOPIC, "bad input")
def index_put_refuses_values_of_another_dtype(api: Api) -> None:
    """index_put with float64 values for a float32 tensor is an error, not a silent cast."""
    x = api.zeros(2, dtype=api.float32)
    values = api.constant([1.0])
    raises((TypeError, RuntimeError), lambda: x.index_put((api.tensor([0]),), values))


@statement(TOPIC, "bad input")
def masked_select_needs_a_boolean_mask(api: Api) -> None:
    """masked_select with integers is an error; they are no positions here."""
    x = api.constant([1.0, 2.0])
    raises((TypeError, RuntimeError, IndexError), lambda: x.masked_select(api.tensor([0, 1])))


@statement(TOPIC, "bad input")
def reshape_has_one_unknown_length(api: Api) -> None:
    """reshape takes -1 for one length, and refuses -2."""
    x = api.constant([[1.0, 2.0], [3.0, 4.0]])
    same(tuple(x.reshape(4, -1).shape), (4, 1), "the shape")
    raises((RuntimeError, ValueError), lambda: x.reshape(2, -2))


@tensorplay_1_0("crashes in zeros(-1)", shows="the process died")
@statement(TOPIC, "bad input")
def a_negative_length_is_an_error(api: Api) -> None:
    """zeros(-1) and split([3, -1]) are errors."""
    raises((RuntimeError, ValueError), lambda: api.zeros(-1))
    raises((RuntimeError, ValueError), lambda: api.constant([1.0, 2.0]).split([3, -1]))


@tensorplay_1_0("makes an undefined tensor of None", shows="nothing was raised")
@statement(TOPIC, "bad input")
def tensor_refuses_what_is_no_number(api: Api) -> None:
    """tensor(None) and tensor("1.5") are errors, also when a dtype is given."""
    for data in (None, "1.5"):
        raises((TypeError, RuntimeError, ValueError), lambda d=data: api.tensor(d))  # type: ignore[misc]
        raises(
            (TypeError, RuntimeError, ValueError),
            lambda d=data: api.tensor(d, dtype=api.float32),  # type: ignore[misc]
        )


@statement(TOPIC, "bad input")
def a_number_too_large_for_int64_is_an_error(api: Api) -> None:
    """tensor(2**70) is an error, not a float and not another number."""
    raises((OverflowError, RuntimeError, ValueError, TypeError), lambda: api.tensor(2**70))


@tensorplay_1_0("stores another number", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_number_that_does_not_fit_is_not_stored(api: Api) -> None:
    """Making an int8 tensor of 300, or filling one with it, is an error, not another number."""
    kinds = OverflowError, RuntimeError, ValueError
    raises(kinds, lambda: api.tensor(300, dtype=api.int8))
    raises(kinds, lambda: api.zeros(1, dtype=api.int8).fill_(300))


@torch_2_13("wraps the product round", shows="the result is tensor([44, 88]")
@tensorplay_1_0("wraps the product round", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_number_that_does_not_fit_is_not_computed_with(api: Api) -> None:
    """An int8 tensor times 300 is an error, not a product that was wrapped round."""
    x = api.tensor([1, 2], dtype=api.int8)
    raises((OverflowError, RuntimeError, ValueError), lambda: x * 300)


@tensorplay_1_0("gives the mask back", shows="tensor([True, False]")
@statement(TOPIC, "bad input")
def booleans_are_not_negated(api: Api) -> None:
    """-mask is an error; ~mask inverts it."""
    mask = api.tensor([True, False])
    raises((TypeError, RuntimeError), lambda: -mask)
    equal(api, ~mask, [False, True], "the inverted mask")


@tensorplay_1_0("gives NaN", shows="nothing was raised")
@statement(TOPIC, "bad input")
def binary_cross_entropy_takes_probabilities_only(api: Api) -> None:
    """binary_cross_entropy of an input or a target outside [0, 1] is an error."""
    inside, loss = api.constant([0.5]), api.functional.binary_cross_entropy
    for outside in (-0.5, 1.5, np.nan):
        x = api.constant([outside])
        raises((RuntimeError, ValueError), lambda x=x: loss(x, inside))  # type: ignore[misc]
        raises((RuntimeError, ValueError), lambda x=x: loss(inside, x))  # type: ignore[misc]


@tensorplay_1_0("accepts it, and gives it none", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_class_weight_cannot_expect_a_gradient(api: Api) -> None:
    """nll_loss with a weight that requires grad is an error: it would get none."""
    x, weight = api.constant([[0.0, 0.0]]), api.leaf([1.0, 1.0])
    raises(RuntimeError, lambda: api.functional.nll_loss(x, api.tensor([0]), weight))


@statement(TOPIC, "names")
def bytes_as_an_index_are_a_mask(api: Api) -> None:
    """A uint8 tensor in the brackets is a mask, unlike other integers, which are positions."""
    x = api.constant([1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        # PyTorch asks for booleans instead.
        warnings.simplefilter("ignore")
        found = x[api.tensor([0, 0, 2], dtype=api.uint8)]
    equal(api, found, [3.0], "the elements")


@torch_2_13("refuses two dtypes in @", shows="to have the same dtype")
@tensorplay_1_0("refuses two dtypes in @", shows="to have the same dtype")
@statement(TOPIC, "names")
def products_of_two_dtypes_are_promoted(api: Api) -> None:
    """A float32 matrix times a float64 matrix is a float64 matrix, as for the other operators."""
    x, y = api.ones(2, 2, dtype=api.float32), api.ones(2, 2, dtype=api.float64)
    true((x * y).dtype == api.float64, "the elementwise product is not float64")
    true((x @ y).dtype == api.float64, "the matrix product is not float64")


@torch_2_13("refuses a negative step", shows="step must be greater than zero")
@tensorplay_1_0("refuses a negative step", shows="Step must be positive")
@statement(TOPIC, "names")
def a_slice_may_go_backwards(api: Api) -> None:
    """x[::-1] is the reversed tensor, differentiably, as in NumPy."""
    x = api.leaf([1.0, 2.0, 3.0])
    y = x[::-1]
    equal(api, y, [3.0, 2.0, 1.0], "the value")
    y[0].backward()
    equal(api, x.grad, [0.0, 0.0, 1.0])


@statement(TOPIC, "names")
def inner_sums_along_the_last_axes(api: Api) -> None:
    """inner of two matrices has the products of each row of one with each of the other."""
    x, y = api.leaf([[1.0, 2.0], [3.0, 4.0]]), api.constant([[1.0, 0.0], [1.0, 1.0]])
    z = api.inner(x, y)
    equal(api, z, [[1.0, 3.0], [3.0, 7.0]], "the value")
    z.sum().backward()
    equal(api, x.grad, [[2.0, 1.0], [2.0, 1.0]])


@tensorplay_1_0("copies each for itself", shows="the copies share no memory")
@statement(TOPIC, "names")
def a_deep_copy_keeps_shared_storage(api: Api) -> None:
    """deepcopy of a tensor together with a slice of it gives two that still share memory."""
    x = api.constant([1.0, 2.0, 3.0])
    twin, part = copy.deepcopy([x, x[:2]])
    true(api.same_memory(twin, part), "the copies share no memory")
    twin.fill_(7.0)
    equal(api, part, [7.0, 7.0], "the copied slice")
    equal(api, x, [1.0, 2.0, 3.0], "the original")
