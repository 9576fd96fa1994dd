"""Tensors: what is copied and what is shared, dtypes, leaves."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0

TOPIC = "tensors and dtypes"


@tensorplay_1_0("shares memory with the array", shows="found [50., 50.]")
@statement(TOPIC, "names")
def tensor_copies_an_array(api: Api) -> None:
    """tensor(array) copies: changing the array afterwards changes no value and no gradient."""
    array = np.array([1.0, 2.0])
    x = api.tensor(array, requires_grad=True)
    y = x.square().sum()
    array[:] = 50.0
    y.backward()
    equal(api, x, [1.0, 2.0], "x")
    equal(api, x.grad, [2.0, 4.0])


@statement(TOPIC, "names")
def from_numpy_shares_an_array(api: Api) -> None:
    """from_numpy(array) shares memory with the array, in both directions."""
    array = np.array([1.0, 2.0])
    x = api.from_numpy(array)
    array[0] = 5.0
    equal(api, x, [5.0, 2.0], "the tensor")
    x.mul_(10.0)
    same(array.tolist(), [50.0, 20.0], "the array")


@statement(TOPIC, "names")
def numpy_shares_memory(api: Api) -> None:
    """x.numpy() shares memory with x."""
    x = api.constant([1.0, 2.0])
    x.numpy()[0] = 7.0
    equal(api, x, [7.0, 2.0], "x")


@statement(TOPIC, "bad input")
def numpy_of_a_recorded_tensor_is_an_error(api: Api) -> None:
    """x.numpy() of a tensor that requires grad is an error that names detach."""
    raises(RuntimeError, lambda: api.leaf([1.0]).numpy(), "detach")


@statement(TOPIC, "names")
def python_floats_make_float32(api: Api) -> None:
    """tensor of Python floats is float32, of integers int64, of booleans bool."""
    found = [api.tensor(data).dtype for data in ([1.5], [1], [True])]
    true(found == [api.float32, api.int64, api.bool], f"the dtypes are {found}")


@statement(TOPIC, "names")
def arrays_keep_their_dtype(api: Api) -> None:
    """tensor of a NumPy array keeps the array's dtype."""
    found = [
        api.tensor(np.zeros(1, dtype)).dtype
        for dtype in (np.float64, np.float32, np.int64, np.bool_)
    ]
    true(found == [api.float64, api.float32, api.int64, api.bool], f"the dtypes are {found}")


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "bad input")
def integers_cannot_require_grad(api: Api) -> None:
    """An integer or boolean tensor that requires grad is an error that speaks of floating point."""
    raises(RuntimeError, lambda: api.tensor([1, 2], requires_grad=True), "float")
    raises(RuntimeError, lambda: api.tensor([True]).requires_grad_(), "float")


@statement(TOPIC, "names")
def python_numbers_are_weak(api: Api) -> None:
    """A Python number does not widen a float32 tensor, from either side."""
    x = api.tensor([1.0, 2.0])
    for y in (x * 2.0, 2.0 * x, x + 1, x / 3, 2 - x, x**2):
        true(y.dtype == api.float32, f"the dtype is {y.dtype}")


@statement(TOPIC, "names")
def a_float_makes_an_integer_tensor_float32(api: Api) -> None:
    """An integer tensor plus a Python float, and the quotient of integers, are float32."""
    x = api.tensor([1, 2])
    for y in (x + 1.5, x / x):
        true(y.dtype == api.float32, f"the dtype is {y.dtype}")


@statement(TOPIC, "names")
def the_wider_dtype_wins(api: Api) -> None:
    """float32 plus float64 is float64, and int64 plus float32 is float32."""
    single, double = api.tensor([1.0]), api.constant([1.0])
    true((single + double).dtype == api.float64, "float32 + float64 is not float64")
    true((api.tensor([1]) + single).dtype == api.float32, "int64 + float32 is not float32")


@tensorplay_1_0("asks for an array and fails", shows="Can't call numpy()")
@statement(TOPIC, "names")
def a_numpy_number_on_the_left_gives_a_tensor(api: Api) -> None:
    """np.float64(2) * x is a Tensor with the right gradient, and so for + - / and **."""
    two = np.float64(2.0)
    operations: dict[str, tuple[Callable[[Any], Any], float]] = {
        "*": (lambda x: two * x, 2.0),
        "+": (lambda x: two + x, 1.0),
        "-": (lambda x: two - x, -1.0),
        "/": (lambda x: two / x, -2.0 / 16.0),
        "**": (lambda x: two**x, np.log(2.0) * 16.0),
    }
    for name, (operation, expected) in operations.items():
        x = api.leaf([4.0])
        y = operation(x)
        true(isinstance(y, api.Tensor), f"2 {name} x is a {type(y).__name__}")
        y.sum().backward()
        equal(api, x.grad, [expected], f"the gradient of 2 {name} x")


@statement(TOPIC, "bad input")
def a_numpy_function_never_drops_the_graph(api: Api) -> None:
    """np.sin(x) of a tensor that requires grad is an error or a recorded Tensor, never an array."""
    x = api.leaf([0.5])
    try:
        y = np.sin(x)
    except (TypeError, RuntimeError, ValueError):
        return
    true(isinstance(y, api.Tensor) and y.requires_grad, f"the result is a {type(y).__name__}")


@statement(TOPIC, "names")
def a_cast_gives_the_gradient_in_the_leafs_dtype(api: Api) -> None:
    """Through x.to(float64) a float32 leaf gets a float32 gradient."""
    x = api.leaf([1.0, 2.0], api.float32)
    (x.to(api.float64) * 3.0).sum().backward()
    true(x.grad.dtype == api.float32, f"the gradient has dtype {x.grad.dtype}")
    equal(api, x.grad, [3.0, 3.0])


@tensorplay_1_0("makes a new wrapper object", shows="another object")
@statement(TOPIC, "names")
def a_cast_to_the_same_dtype_gives_the_tensor_itself(api: Api) -> None:
    """x.to(dtype) gives x itself when it has that dtype."""
    x = api.leaf([1.0])
    true(x.to(api.float64) is x, "another object was returned")


@statement(TOPIC, "names")
def gradients_in_float32_stay_float32(api: Api) -> None:
    """float32 stays float32 through sums, means, products with numbers, and backward."""
    x = api.leaf([1.0, 2.0], api.float32)
    y = (x.exp() * 0.5).mean() + x.sum() ** 2
    true(y.dtype == api.float32, f"the dtype is {y.dtype}")
    y.backward()
    true(x.grad.dtype == api.float32, f"the gradient has dtype {x.grad.dtype}")


@statement(TOPIC, "names")
def comparisons_and_positions_do_not_require_grad(api: Api) -> None:
    """Comparisons give bool and argmax gives int64; neither requires grad."""
    x = api.leaf([1.0, 5.0])
    mask, place = x > 2.0, x.argmax()
    true(mask.dtype == api.bool and place.dtype == api.int64, "other dtypes")
    same((mask.requires_grad, place.requires_grad), (False, False), "requires_grad")


@statement(TOPIC, "names")
def detach_shares_memory_without_history(api: Api) -> None:
    """detach gives a leaf that does not require grad and shares the memory."""
    h = api.leaf([1.0, 2.0]) * 3.0
    d = h.detach()
    same((d.requires_grad, d.is_leaf), (False, True), "requires_grad, is_leaf")
    true(api.same_memory(h, d), "the detached tensor has memory of its own")


@statement(TOPIC, "names")
def a_clone_is_differentiated(api: Api) -> None:
    """clone copies the values and hands the gradient on."""
    x = api.leaf([1.0, 2.0])
    y = x.clone()
    true(not api.same_memory(x, y), "the clone shares memory")
    (y * 3.0).sum().backward()
    equal(api, x.grad, [3.0, 3.0])


@tensorplay_1_0("is accepted, without effect", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_result_cannot_stop_requiring_grad(api: Api) -> None:
    """Setting requires_grad = False on a recorded result is an error."""
    h = api.leaf([1.0]) * 2.0

    def switch_off() -> None:
        h.requires_grad = False

    raises(RuntimeError, switch_off, "leaf")


@statement(TOPIC, "names")
def a_constant_can_begin_to_require_grad(api: Api) -> None:
    """requires_grad_() turns a constant into a leaf that requires grad, and returns it."""
    x = api.constant([2.0])
    y = x * 3.0
    x.requires_grad_()
    same((y.requires_grad, x.requires_grad, x.is_leaf), (False, True, True), "requires_grad, leaf")
    x.square().sum().backward()
    equal(api, x.grad, [4.0])


@statement(TOPIC, "bad input")
def a_ragged_list_is_an_error(api: Api) -> None:
    """tensor of lists of different lengths is a ValueError."""
    raises(ValueError, lambda: api.tensor([[1.0, 2.0], [3.0]]))


@statement(TOPIC, "names")
def a_leaf_can_be_copied_deeply(api: Api) -> None:
    """deepcopy of a leaf has its values, requires grad, and shares nothing with it."""
    x = api.leaf([1.0, 2.0])
    twin = copy.deepcopy(x)
    same((twin.requires_grad, twin.is_leaf), (True, True), "requires_grad, is_leaf")
    true(not api.same_memory(x, twin), "the copy shares memory")
    equal(api, twin, [1.0, 2.0], "the copy")


@tensorplay_1_0("gives a leaf with the values", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_result_cannot_be_copied_deeply(api: Api) -> None:
    """deepcopy of a recorded result is an error: its graph cannot be copied with it."""
    raises((RuntimeError, TypeError), lambda: copy.deepcopy(api.leaf([1.0]) * 2.0))


@statement(TOPIC, "names")
def a_leaf_can_be_pickled(api: Api) -> None:
    """A leaf survives pickling with values, dtype and requires_grad."""
    x = api.leaf([1.0, 2.0])
    twin = pickle.loads(pickle.dumps(x))
    true(twin.dtype == api.float64 and twin.requires_grad, "dtype or requires_grad is lost")
    equal(api, twin, [1.0, 2.0], "the copy")


@statement(TOPIC, "names")
def a_tensor_is_iterated_along_its_first_axis(api: Api) -> None:
    """len and iteration go along the first axis, and the rows are differentiated."""
    x = api.leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    same(len(x), 2, "len")
    (first * 10.0 + second * 100.0).sum().backward()
    equal(api, x.grad, [[10.0, 10.0], [100.0, 100.0]])


@statement(TOPIC, "bad input")
def item_needs_one_element(api: Api) -> None:
    """item() gives a Python number, and is an error for several elements."""
    number = api.constant([[3.5]]).item()
    same((type(number), number), (float, 3.5), "type and value")
    several: Any = api.constant([1.0, 2.0])
    raises((RuntimeError, ValueError), several.item)


@statement(TOPIC, "bad input")
def shapes_that_do_not_broadcast_are_an_error(api: Api) -> None:
    """Adding shapes (2,) and (3,) is an error that names both lengths."""
    error = str(
        raises(
            (RuntimeError, ValueError),
            lambda: api.constant([1.0, 2.0]) + api.constant([1.0, 2.0, 3.0]),
        )
    )
    true("2" in error and "3" in error, f"the message is {error!r}")
