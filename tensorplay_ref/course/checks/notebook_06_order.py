"""The checks of notebook 06 for reading: a store in any order, and slots that remember history."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ..check import Exercise, Step
from ..compare import freed, reference_counting, same, same_gradient, same_object, same_values
from .programs import constant, gradient_of, network, product, selection, variable

# -- one buffer for all ------------------------------------------------------------------------
arena = Exercise(
    "06.arena",
    "`Arena().pack(tensor)` puts the bytes of the tensor at the end of one `bytearray`, "
    "`self.buffer`, and returns what `unpack` needs to make the tensor again, in whatever order "
    "and however often slots are read.",
    takes=("Arena",),
    difficulty=3,
    minutes=20,
)


@arena.case
def every_arena_has_its_own_buffer(arena_of: Any) -> None:
    """two stores"""
    first, second = arena_of(), arena_of()
    first.pack(constant(1.0))
    same(len(second.buffer), 0, "the length of a second, unused buffer")


@arena.case
def one_tensor_goes_in_and_comes_out(arena_of: Any) -> None:
    """one matrix of float32"""
    store = arena_of()
    tensor = tp.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    packed = store.pack(tensor)
    same(len(store.buffer), tensor.nbytes, "the length of the buffer after one pack")
    same_values(store.unpack(packed), tensor, "what came back")


@arena.case
def any_order_and_any_number_of_reads(arena_of: Any) -> None:
    """three tensors read first, last, middle, first"""
    store = arena_of()
    tensors = [constant(1.0, 2.0), constant(3.0), constant(4.0, 5.0, 6.0)]
    packed = [store.pack(tensor) for tensor in tensors]
    size = sum(tensor.nbytes for tensor in tensors)
    for number in (0, 2, 1, 0):
        same_values(store.unpack(packed[number]), tensors[number], f"tensor {number} of three")
    same(len(store.buffer), size, "the length of the buffer after four reads")


@arena.case
def every_dtype_and_shape(arena_of: Any) -> None:
    """integers, booleans, half precision, no axes, no elements"""
    store = arena_of()
    arrays = [
        np.array([3, -1], np.int64),
        np.array([[True], [False]]),
        np.array([0.5, 2.0], np.float16),
        np.array(7.0),
        np.zeros((0, 3), np.float32),
        np.array([1.5, -2.5]),
    ]
    tensors = [tp.tensor(array) for array in arrays]
    packed = [store.pack(tensor) for tensor in tensors]
    for tensor, each in zip(tensors, packed, strict=True):
        name = f"a {tensor.dtype} tensor of shape {tensor.shape}"
        same_values(store.unpack(each), tensor, name)


@arena.case
def a_view_is_stored_as_it_looks(arena_of: Any) -> None:
    """a transposed matrix and every second number"""
    store = arena_of()
    matrix = tp.tensor(np.arange(6.0).reshape(2, 3))
    for name, view in (("a transposed matrix", matrix.T), ("every second number", matrix[:, ::2])):
        same_values(store.unpack(store.pack(view)), view, name)


@arena.case
def what_was_read_is_a_copy(arena_of: Any) -> None:
    """writing into a tensor that was read, and packing while it lives"""
    store = arena_of()
    packed = store.pack(constant(1.0, 2.0))
    value = store.unpack(packed)
    value.zero_()
    store.pack(constant(3.0))
    same_values(store.unpack(packed), constant(1.0, 2.0), "a second read after writing to a first")


@arena.case
def gradients_are_the_same(arena_of: Any) -> None:
    """gradients with and without the store"""
    for program in (product, network, selection):
        store = arena_of()
        found = gradient_of(program, (store.pack, store.unpack))
        same_gradient(found, gradient_of(program), "x")


def two_losses(x: Any, read: Callable[[Any], None]) -> None:
    """Two graphs, walked in the order in which they were recorded, the first one twice."""
    first, second = (x * x.exp()).sum(), (x.sin() * x).sum()
    read(first)
    read(first)
    read(second)


@arena.case
def two_losses_in_the_order_of_recording(arena_of: Any) -> None:
    """two losses, the first walked first, and twice"""
    store = arena_of()
    x, plain = variable(0.5, 2.0), variable(0.5, 2.0)

    def walk(loss: Any) -> None:
        loss.backward(retain_graph=True)

    with saved_tensor_hooks(store.pack, store.unpack):
        two_losses(x, walk)
    two_losses(plain, walk)
    same_gradient(x.grad, plain.grad, "x")


# -- history -----------------------------------------------------------------------------------
dressed_slot = Step(
    "06.dressed_slot",
    "`Slot(tensor, pair)` packs a tensor; what `unpack()` returns has the tensor's place in the "
    "graph, whatever the hook made it of.",
    takes=("Slot",),
)


def through_numpy() -> Any:
    return (lambda t: t.detach().numpy().copy()), (lambda array: tp.tensor(array))


def multiply(slot_of: Any, pair: Any) -> Callable[[Any, Any], Any]:
    """A product that saves through the reader's slots."""

    class Multiply(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.slots = slot_of(a, pair), slot_of(b, pair)
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = (slot.unpack() for slot in ctx.slots)
            return grad * b, grad * a

    return Multiply.apply


def derivatives(times: Callable[[Any, Any], Any], order: int) -> Any:
    """A derivative of x**4 at 2 and 3, for a product of our own and the package's mixed."""
    x = variable(2.0, 3.0)
    result = times(x, x) * times(x, x)
    for _ in range(order):
        (result,) = tp.autograd.grad(result.sum(), x, create_graph=True)
    return result


@dressed_slot.case
def values_come_back(slot_of: Any) -> None:
    """reading a constant, a leaf and a result"""
    x = variable(1.0, 2.0)
    for name, tensor in (("a constant", constant(3.0)), ("a leaf", x), ("a result", x * 2.0)):
        value = slot_of(tensor, through_numpy()).unpack()
        same_values(value, tensor, name)
        same(value.requires_grad, tensor.requires_grad, f"requires_grad of {name} that was read")
        if tensor.grad_fn is not None:
            same_object(value.grad_fn, tensor.grad_fn, f"grad_fn of {name} that was read")


@dressed_slot.case
def derivatives_of_all_orders(slot_of: Any) -> None:
    """the first three derivatives of x**4"""
    times = multiply(slot_of, through_numpy())
    for order, name in ((1, "first"), (2, "second"), (3, "third")):
        expected = derivatives(tp.Tensor.__mul__, order)
        same_values(derivatives(times, order), expected, f"the {name} derivative of x**4")


@dressed_slot.case
def a_leaf_gets_its_gradient(slot_of: Any) -> None:
    """a backward from a leaf that was read"""
    x = variable(2.0)
    (slot_of(x, through_numpy()).unpack() * 3.0).backward()
    plain = variable(2.0)
    (plain * 3.0).backward()
    same_gradient(x.grad, plain.grad, "the leaf that was saved")


@dressed_slot.case
def the_hooks_own_history_is_dropped(slot_of: Any) -> None:
    """an unpack that multiplies with another leaf"""
    x, w = variable(2.0), variable(1.0)
    value = slot_of(x * 1.0, ((lambda tensor: tensor.detach()), (lambda kept: kept * w))).unpack()
    value.backward()
    same_gradient(w.grad, None, "a leaf that only unpack used")
    same_gradient(x.grad, constant(1.0), "the leaf behind the saved tensor")


@dressed_slot.case
def a_constant_stays_one(slot_of: Any) -> None:
    """an unpack that returns a tensor which requires a gradient"""
    w = variable(1.0)
    pair = (lambda tensor: tensor), (lambda kept: kept * w)
    same(
        slot_of(constant(2.0), pair).unpack().requires_grad,
        False,
        "requires_grad of a saved constant",
    )


@dressed_slot.case
def the_tensor_itself_is_not_kept(slot_of: Any) -> None:
    """a saved result that nobody else holds"""
    with reference_counting():
        result = variable(1.0) + 1.0
        reference = weakref.ref(result)
        slot = slot_of(result, through_numpy())
        del result
        freed(reference, "the tensor that was packed into an array")
        slot.unpack()
