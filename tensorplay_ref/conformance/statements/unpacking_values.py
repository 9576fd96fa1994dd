"""That the result of unpack is what backward computes with, each slot by its own pair."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, true
from ..functions import exponential, product, square
from ..instruments import Recorder
from ..statement import statement

TOPIC = "hooks: unpacking"


@statement(TOPIC, 8)
def backward_computes_with_what_unpack_returns(api: Api) -> None:
    """The value that unpack returns is the one in the formula, built-in and custom."""
    x = api.leaf([2.0, 3.0])
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed * 10.0):
        y = x.square().sum() + square(api).apply(x).sum()
    y.backward()
    equal(api, x.grad, [80.0, 120.0])


@statement(TOPIC, 8)
def each_factor_gets_the_unpacked_value_of_the_other(api: Api) -> None:
    """In a * b the gradient of a is the unpacked b, and the other way round."""
    a, b = api.leaf([2.0, 3.0]), api.leaf([5.0, 7.0])
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed * 10.0):
        y = a * b
    y.sum().backward()
    equal(api, a.grad, [50.0, 70.0], "the gradient of a")
    equal(api, b.grad, [20.0, 30.0], "the gradient of b")


@statement(TOPIC, 8)
def a_saved_output_is_read_through_unpack(api: Api) -> None:
    """The derivative of exp is the unpacked output."""
    x = api.leaf([0.0])
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed + 4.0):
        y = x.exp() + exponential(api).apply(x)
    y.sum().backward()
    equal(api, x.grad, [10.0])


@statement(TOPIC, 6)
def the_pair_travels_with_the_slot(api: Api) -> None:
    """The unpack of a slot is that of the pair active at saving, after the context was left."""
    x = api.leaf([3.0])
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed * 10.0):
        y = x.square()
    with api.hooks(lambda tensor: tensor, lambda packed: packed * 100.0):
        y.sum().backward()
    equal(api, x.grad, [60.0])


@statement(TOPIC, 6)
def each_slot_keeps_its_own_unpack(api: Api) -> None:
    """Slots packed under different pairs are unpacked each by its own."""
    a, b = api.leaf([1.0]), api.leaf([1.0])
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed * 10.0):
        left = a.square()
    with api.hooks(lambda tensor: tensor.detach(), lambda packed: packed * 100.0):
        right = b.square()
    (left + right).sum().backward()
    equal(api, a.grad, [20.0], "the gradient of a")
    equal(api, b.grad, [200.0], "the gradient of b")


@statement(TOPIC, 8)
def unpack_may_run_another_backward(api: Api) -> None:
    """A backward of another graph inside unpack works, and both gradients are right."""
    other = api.leaf([5.0])

    def unpack(packed: Any) -> Any:
        with api.enable_grad():
            other.square().sum().backward()
        return packed

    x = api.leaf([3.0])
    with api.hooks(lambda tensor: tensor.detach(), unpack):
        y = x.square()
    y.sum().backward()
    equal(api, x.grad, [6.0], "the gradient of x")
    equal(api, other.grad, [10.0], "the gradient of the other leaf")


@statement(TOPIC, 8)
def an_integer_index_comes_back_through_the_hooks(api: Api) -> None:
    """An index packed as a NumPy array and unpacked as int64 selects the same gradient."""
    x, index = api.leaf([1.0, 2.0, 3.0]), api.tensor([2, 2, 0])
    recorder = Recorder(lambda tensor: tensor.detach().numpy().copy(), api.tensor)
    with api.hooks(recorder.pack, recorder.unpack):
        y = x[index]
    (y * api.constant([1.0, 10.0, 100.0])).sum().backward()
    true(len(recorder.unpacked) > 0, "nothing went through the hooks")
    equal(api, x.grad, [100.0, 0.0, 11.0])


@statement(TOPIC, 8)
def parcels_may_be_kept_anywhere(api: Api) -> None:
    """pack may return a key and keep the values elsewhere, whatever order backward asks in."""
    store: dict[int, Any] = {}

    def pack(tensor: Any) -> int:
        store[len(store)] = tensor.detach().numpy().copy()
        return len(store) - 1

    x = api.leaf([1.0, 2.0])
    with api.hooks(pack, lambda key: api.tensor(store[key])):
        a = square(api).apply(x)
        y = square(api).apply(a) + product(api).apply(x, a)
    y.sum().backward()
    equal(api, x.grad, [4.0 + 3.0, 32.0 + 12.0])
