"""Mistakes in notebook 06: the arena and the history of a slot."""

from typing import Any

import numpy as np

import tensorplay_ref as tp
from tests.course.builds import wrong


def arena_class(lesson: Any, **methods: Any) -> Any:
    """The solution with some methods replaced."""
    return (type("Arena", (lesson.Arena,), methods),)


def read(store: Any, start: int, size: int, shape: Any, dtype: Any) -> Any:
    array = np.frombuffer(store.buffer, dtype, size, start)
    return tp.tensor(array.reshape(shape))


@wrong("06.arena", says="tensor 0 of three")
def trusts_in_the_reverse_order(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        _, size, shape, dtype = packed
        start = len(self.buffer) - size * dtype.itemsize
        value = read(self, start, size, shape, dtype)
        del self.buffer[start:]
        return value

    return arena_class(lesson, unpack=unpack)


@wrong("06.arena", says="tensor 2 of three")
def counts_the_offset_in_elements(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        start, *rest = lesson.Arena.pack(self, tensor)
        return start // tensor.itemsize, *rest

    return arena_class(lesson, pack=pack)


@wrong("06.arena", says="what came back has shape (6,), expected (2, 3)")
def forgets_the_shape(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        start, size, _, dtype = packed
        return read(self, start, size, (size,), dtype)

    return arena_class(lesson, unpack=unpack)


@wrong("06.arena", says="tensor 0 of three has dtype float32, expected float64")
def takes_everything_for_float32(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        start, size, shape, _ = packed
        return read(self, start, size, shape, np.float32)

    return arena_class(lesson, unpack=unpack)


@wrong("06.arena", says="the length of the buffer after four reads is")
def empties_the_buffer_after_the_last_tensor(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        value = lesson.Arena.unpack(self, packed)
        self.buffer += bytes(1)
        return value

    return arena_class(lesson, unpack=unpack)


@wrong("06.arena", says="a transposed matrix at [0, 1] is 1, expected 3")
def copies_the_memory_below_a_view(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        array = tensor.detach().numpy()
        base = array if array.base is None else array.base
        start = len(self.buffer)
        self.buffer += base.tobytes()[: array.nbytes]
        return start, array.size, array.shape, array.dtype

    return arena_class(lesson, pack=pack)


@wrong("06.arena", says="BufferError")
def returns_a_window_into_the_buffer(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        start, size, shape, dtype = packed
        return tp.from_numpy(np.frombuffer(self.buffer, dtype, size, start).reshape(shape))

    return arena_class(lesson, unpack=unpack)


@wrong("06.arena", says="the length of a second, unused buffer is")
def shares_one_buffer_among_all_stores(lesson: Any) -> Any:
    return arena_class(lesson, buffer=bytearray(), __init__=lambda self: None)


def slot_class(lesson: Any, **methods: Any) -> Any:
    """The lesson's slot with some methods replaced."""
    return (type("Slot", (lesson.Slot,), methods),)


@wrong("06.dressed_slot", says="requires_grad of a leaf that was read is False, expected True")
def gives_back_what_unpack_returned(lesson: Any) -> Any:
    return slot_class(lesson, unpack=lambda self: self.unpack_hook(self.kept))


@wrong("06.dressed_slot", says="grad_fn of a result that was read is another object")
def makes_a_new_leaf_of_it(lesson: Any) -> Any:
    def unpack(self: Any) -> Any:
        return self.unpack_hook(self.kept).detach().requires_grad_(self.edge is not None)

    return slot_class(lesson, unpack=unpack)


@wrong("06.dressed_slot", says="a leaf that only unpack used got a gradient, expected none")
def lets_the_hooks_own_history_in(lesson: Any) -> Any:
    def unpack(self: Any) -> Any:
        value = self.unpack_hook(self.kept)
        return lesson.Slot.unpack(self) if value.grad_fn is None else value + 0 * dressed(self)

    def dressed(self: Any) -> Any:
        return lesson.Slot.unpack(self)

    return slot_class(lesson, unpack=unpack)


@wrong("06.dressed_slot", says="requires_grad of a saved constant is True, expected False")
def dresses_only_what_required_a_gradient(lesson: Any) -> Any:
    def unpack(self: Any) -> Any:
        return self.unpack_hook(self.kept) if self.edge is None else lesson.Slot.unpack(self)

    return slot_class(lesson, unpack=unpack)


@wrong("06.dressed_slot", says="the tensor that was packed into an array is still alive")
def keeps_the_tensor_for_its_history(lesson: Any) -> Any:
    def init(self: Any, tensor: Any, pair: Any) -> None:
        lesson.Slot.__init__(self, tensor, pair)
        self.original = tensor

    return slot_class(lesson, __init__=init)
