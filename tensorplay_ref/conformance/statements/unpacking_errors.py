"""What unpack may return, and what happens when it raises."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, raises, raises_itself, same, true
from ..functions import square
from ..instruments import Refusal
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "hooks: unpacking"


def _graph_that_unpacks(api: Api, returned: Any, x: Any = None) -> tuple[Any, Any]:
    """A leaf and the sum of its square, whose slot unpacks to ``returned``."""
    x = api.leaf([2.0, 3.0]) if x is None else x
    with api.hooks(lambda tensor: None, lambda packed: returned):
        y = x.square().sum()
    return x, y


@statement(TOPIC, 8)
def unpack_must_return_a_tensor(api: Api) -> None:
    """An unpack that returns None, a number, a list or an array is a TypeError in backward."""
    for returned in (None, 7, [2.0, 3.0], np.array([2.0, 3.0])):
        x, y = _graph_that_unpacks(api, returned)
        raises(TypeError, y.backward)
        true(x.grad is None, "x got a gradient")


@statement(TOPIC, 8)
def unpack_must_return_a_tensor_to_a_function(api: Api) -> None:
    """Reading ctx.saved_tensors is a TypeError when unpack returns no tensor."""
    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, lambda packed: "text"):
        y = square(api).apply(x)
    raises(TypeError, lambda: y.sum().backward())


@tensorplay_1_0("does not name the type", shows="must return a Tensor")
@statement(TOPIC, 8)
def the_error_names_the_type_that_unpack_returned(api: Api) -> None:
    """The TypeError says which type unpack returned."""
    raises(TypeError, _graph_that_unpacks(api, 7)[1].backward, "int")
    raises(TypeError, _graph_that_unpacks(api, None)[1].backward, "NoneType")


@torch_2_13("broadcasts it into a wrong gradient", shows="nothing was raised")
@tensorplay_1_0("gives a gradient of the wrong shape", shows="nothing was raised")
@statement(TOPIC, 8)
def a_shorter_tensor_is_refused(api: Api) -> None:
    """Shape (1,) unpacked for a saved (2,) is an error, not broadcast into a wrong gradient."""
    x, y = _graph_that_unpacks(api, api.constant([2.0]))
    raises(RuntimeError, y.backward)
    true(x.grad is None, "x got a gradient")


@torch_2_13("broadcasts it into a wrong gradient", shows="nothing was raised")
@tensorplay_1_0("gives a gradient of the wrong shape", shows="nothing was raised")
@statement(TOPIC, 8)
def a_tensor_of_no_dimensions_is_refused(api: Api) -> None:
    """Shape () unpacked for a saved (2,) is an error."""
    x, y = _graph_that_unpacks(api, api.constant(2.0))
    raises(RuntimeError, y.backward)
    true(x.grad is None, "x got a gradient")


@tensorplay_1_0("gives a gradient of the wrong shape", shows="nothing was raised")
@statement(TOPIC, 8)
def a_longer_tensor_is_refused(api: Api) -> None:
    """Shape (4,) unpacked for a saved (2,) is an error."""
    x, y = _graph_that_unpacks(api, api.constant([1.0, 2.0, 3.0, 4.0]))
    raises(RuntimeError, y.backward)
    true(x.grad is None, "x got a gradient")


@torch_2_13("broadcasts and sums it into a wrong gradient", shows="nothing was raised")
@statement(TOPIC, 8)
def a_column_is_refused_for_a_row(api: Api) -> None:
    """Shape (2, 1) unpacked for a saved (2,) is an error."""
    x, y = _graph_that_unpacks(api, api.constant([[2.0], [3.0]]))
    raises(RuntimeError, y.backward)
    true(x.grad is None, "x got a gradient")


@tensorplay_1_0("gives a gradient of the wrong shape", shows="nothing was raised")
@statement(TOPIC, 8)
def a_transposed_rectangle_is_refused(api: Api) -> None:
    """Shape (3, 2) unpacked for a saved (2, 3) is an error, though the sizes agree."""
    rectangle = api.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    x = api.leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    _, y = _graph_that_unpacks(api, rectangle, x)
    raises(RuntimeError, y.backward)


@torch_2_13(
    "gives the error of the formula that met the wrong size", shows="The size of tensor a (2)"
)
@tensorplay_1_0("gives a gradient of the wrong shape", shows="nothing was raised")
@statement(TOPIC, 8)
def the_error_names_both_shapes(api: Api) -> None:
    """The error about a shape names the saved one and the one that unpack returned."""
    _, y = _graph_that_unpacks(api, api.constant([1.0, 2.0, 3.0, 4.0]))
    error = str(raises(RuntimeError, y.backward))
    true("2" in error and "4" in error and "shape" in error, f"the message is {error!r}")


@torch_2_13("hands the wrong shape to backward", shows="nothing was raised")
@tensorplay_1_0("hands the wrong shape to backward", shows="nothing was raised")
@statement(TOPIC, 8)
def the_shape_is_checked_for_functions_too(api: Api) -> None:
    """Reading ctx.saved_tensors is an error when unpack returns another shape."""
    x = api.leaf([2.0, 3.0])
    with api.hooks(lambda tensor: tensor, lambda packed: api.constant([2.0])):
        y = square(api).apply(x)
    raises(RuntimeError, lambda: y.sum().backward())


@torch_2_13("hands the stored dtype to backward", shows="torch.float16")
@tensorplay_1_0("hands the stored dtype to backward", shows="tensorplay.float16")
@statement(TOPIC, 8)
def half_precision_is_cast_back(api: Api) -> None:
    """A hook may store float16: what backward reads has the saved dtype again."""
    read: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        read.append(x.dtype)
        return gradient * x * 2.0

    x = api.leaf([0.1, 2.0])
    with api.hooks(lambda tensor: tensor.to(api.float16), lambda packed: packed):
        y = api.function(forward, backward).apply(x)
    y.sum().backward()
    true(read[0] == api.float64, f"backward read dtype {read[0]}")
    equal(api, x.grad, [2.0 * float(np.float16(0.1)), 4.0])


@statement(TOPIC, 8)
def the_gradient_keeps_its_dtype_under_half_precision(api: Api) -> None:
    """A built-in formula over values stored in float16 gives a gradient of the leaf's dtype."""
    x = api.leaf([2.0, 3.0], api.float32)
    with api.hooks(lambda tensor: tensor.to(api.float16), lambda packed: packed):
        y = x.square().sum()
    y.backward()
    true(x.grad.dtype == api.float32, f"the gradient has dtype {x.grad.dtype}")
    equal(api, x.grad, [4.0, 6.0])


@tensorplay_1_0("computes with the integers", shows="nothing was raised")
@statement(TOPIC, 8)
def integers_are_refused_for_floats(api: Api) -> None:
    """An integer tensor unpacked for a saved floating one is an error."""
    _, y = _graph_that_unpacks(api, api.tensor([2, 3]))
    raises(RuntimeError, y.backward)


@tensorplay_1_0("computes with the booleans", shows="nothing was raised")
@statement(TOPIC, 8)
def booleans_are_refused_for_floats(api: Api) -> None:
    """A boolean tensor unpacked for a saved floating one is an error."""
    _, y = _graph_that_unpacks(api, api.tensor([True, False]))
    raises(RuntimeError, y.backward)


@torch_2_13("hands the other dtype to backward", shows="nothing was raised")
@tensorplay_1_0("hands the other dtype to backward", shows="nothing was raised")
@statement(TOPIC, 8)
def another_integer_dtype_is_refused_for_an_index(api: Api) -> None:
    """An int32 tensor unpacked for a saved int64 is an error: only floats are cast back."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(api.tensor([0, 1]))
        return x * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.saved_tensors[0]

    with api.hooks(lambda tensor: tensor.to(api.int32), lambda packed: packed):
        y = api.function(forward, backward).apply(api.leaf([2.0, 3.0]))
    raises(RuntimeError, lambda: y.sum().backward())


@statement(TOPIC, 7)
def an_exception_in_unpack_reaches_the_caller_of_backward(api: Api) -> None:
    """An exception in unpack comes out of backward as the same object."""
    error = Refusal()

    def unpack(packed: Any) -> Any:
        raise error

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, unpack):
        y = x.sin().sum()
    raises_itself(error, y.backward)
    true(x.grad is None, "x got a gradient")


@statement(TOPIC, 7)
def an_exception_in_unpack_reaches_the_caller_of_grad(api: Api) -> None:
    """An exception in unpack of a custom Function comes out of autograd.grad as the same object."""
    error = Refusal()

    def unpack(packed: Any) -> Any:
        raise error

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, unpack):
        y = square(api).apply(x).sum()
    raises_itself(error, lambda: api.grad(y, x))


@statement(TOPIC, 7)
def a_repaired_unpack_can_be_retried(api: Api) -> None:
    """When the first node's unpack has raised, the same backward works once unpack is repaired."""
    broken = [True]

    def unpack(packed: Any) -> Any:
        if broken:
            raise Refusal
        return packed

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, unpack):
        y = x.square()
    gradient = api.constant([1.0])
    raises(Refusal, lambda: y.backward(gradient))
    broken.clear()
    y.backward(gradient)
    equal(api, x.grad, [4.0])


@tensorplay_1_0("does nothing and raises nothing", shows="nothing was raised")
@statement(TOPIC, 11)
def a_retry_below_a_node_that_ran_is_an_error(api: Api) -> None:
    """When a later node's unpack has raised, the nodes that ran are freed: a retry says so."""
    broken = [True]

    def unpack(packed: Any) -> Any:
        if broken:
            raise Refusal
        return packed

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, unpack):
        h = x.square()
    y = h.exp().sum()
    raises(Refusal, y.backward)
    broken.clear()
    raises(RuntimeError, y.backward, "second time")
    true(x.grad is None, "x got a gradient")


@statement(TOPIC, 7)
def an_exception_in_unpack_changes_no_gradient(api: Api) -> None:
    """A backward that an unpack has stopped leaves the gradients that were there before alone."""

    def unpack(packed: Any) -> Any:
        raise Refusal

    x = api.leaf([2.0])
    x.square().sum().backward()
    with api.hooks(lambda tensor: tensor, unpack):
        y = x.square()
    raises(Refusal, lambda: y.sum().backward())
    equal(api, x.grad, [4.0])
    same(api.is_grad_enabled(), True, "grad mode afterwards")
