"""Mistakes in notebook 06: predictions, compose, the stack, the arena, the slot's history."""

import threading
from contextvars import ContextVar
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tests.course.builds import wrong


def predicted(lesson: Any, **otherwise: str) -> Any:
    """The right predictions, but for some."""
    return lesson.programs, lesson.prediction | otherwise


@wrong("06.nestings", says="inner: 'BAab' is not what happens; do two open pairs work one after")
def believes_that_pairs_compose(lesson: Any) -> Any:
    return predicted(lesson, inner="BAab")


@wrong("06.nestings", says="later: 'Ab' is not what happens; what does a slot take along")
def looks_the_unpack_up_at_reading(lesson: Any) -> Any:
    return predicted(lesson, later="Ab")


@wrong("06.nestings", says="error: '' is not what happens; which contexts does an exception leave")
def lets_an_exception_take_all_pairs_off(lesson: Any) -> Any:
    return predicted(lesson, error="")


@wrong("06.nestings", says="no_graph: 'A' is not what happens; is there a node")
def packs_without_a_graph(lesson: Any) -> Any:
    return predicted(lesson, no_graph="A")


@wrong("06.nestings", says="twice: 'AAaa' is not what happens; is a slot packed")
def packs_anew_for_each_backward(lesson: Any) -> Any:
    return predicted(lesson, twice="AAaa")


@wrong("06.nestings", says="second: 'Aaa' is not what happens; does a backward that records")
def forgets_what_a_backward_saves(lesson: Any) -> Any:
    return predicted(lesson, second="Aaa")


@wrong("06.nestings", says="thread: 'Aa' is not what happens; whose stack")
def believes_that_threads_inherit(lesson: Any) -> Any:
    return predicted(lesson, thread="Aa")


@wrong("06.nestings", says="there is no prediction for 'twice'")
def leaves_one_out(lesson: Any) -> Any:
    prediction = dict(lesson.prediction)
    del prediction["twice"]
    return lesson.programs, prediction


@wrong("06.compose", says="step 1 is 'outer packs', expected 'inner packs'")
def packs_with_the_outer_pair_first(lesson: Any) -> Any:
    return (lambda outer, inner: lesson.compose(inner, outer),)


@wrong("06.compose", says="step 3 is 'inner unpacks', expected 'outer unpacks'")
def unpacks_in_the_order_of_packing(lesson: Any) -> Any:
    def compose(outer: Any, inner: Any) -> Any:
        pack, _ = lesson.compose(outer, inner)
        return pack, lambda packed: outer[1](inner[1](packed))

    return (compose,)


@wrong("06.compose", says="step 2 is 'inner unpacks', expected 'outer packs'")
def uses_the_inner_pair_alone(lesson: Any) -> Any:
    return (lambda outer, inner: inner,)


@wrong("06.compose", says="step 1 is 'outer packs'")
def uses_the_outer_pair_alone(lesson: Any) -> Any:
    return (lambda outer, inner: outer,)


@wrong("06.compose", says="has no attribute 'clone'")
def takes_what_was_packed_for_a_tensor(lesson: Any) -> Any:
    def compose(outer: Any, inner: Any) -> Any:
        _, unpack = lesson.compose(outer, inner)
        return (lambda tensor: outer[0](inner[0](tensor).clone())), unpack

    return (compose,)


@wrong("06.compose", says="compose returned a function, expected a pair (pack, unpack)")
def returns_the_pack_only(lesson: Any) -> Any:
    return (lambda outer, inner: lesson.compose(outer, inner)[0],)


@wrong("06.hook_stack", says="top() in another thread, then after its push: step 1")
def keeps_one_list_for_all_threads(lesson: Any) -> Any:
    return (type("HookStack", (lesson.ListStack,), {"forbidden": lesson.HookStack.forbidden}),)


@wrong("06.hook_stack", says="top() in two tasks after waiting, and after both: step 1 is 'b'")
def keeps_one_list_for_each_thread(lesson: Any) -> Any:
    class HookStack:
        def __init__(self) -> None:
            self.local = threading.local()

        def pairs(self) -> Any:
            self.local.__dict__.setdefault("pairs", [])
            return self.local.pairs

        def push(self, pair: Any) -> None:
            self.pairs().append(pair)

        def pop(self) -> None:
            self.pairs().pop()

        def top(self) -> Any:
            return self.pairs()[-1] if self.pairs() else None

    return (HookStack,)


@wrong("06.hook_stack", says="top() in another thread, then after its push: step 1")
def puts_a_list_into_the_default_of_the_variable(lesson: Any) -> Any:
    class HookStack(lesson.HookStack):
        def __init__(self) -> None:
            super().__init__()
            self.pairs = ContextVar("pairs", default=[])  # noqa: B039

        def push(self, pair: Any) -> None:
            self.pairs.get().append(pair)

        def pop(self) -> None:
            self.pairs.get().pop()

    return (HookStack,)


@wrong("06.hook_stack", says="top() after a push in a copy of the context is 'b', expected 'a'")
def changes_the_list_of_its_parent(lesson: Any) -> Any:
    class HookStack(lesson.HookStack):
        def push(self, pair: Any) -> None:
            if self.lock.message.get() is not None:
                raise RuntimeError(self.lock.message.get())
            if not self.pairs.get():
                self.pairs.set([])
            self.pairs.get().append(pair)

    return (HookStack,)


@wrong("06.hook_stack", says="at a push does not name 'outer message'")
def forgets_the_outer_message(lesson: Any) -> Any:
    class Lock(lesson.Lock):
        def closed(self, message: str) -> Any:
            closed = super().closed(message)
            if self.message.get() is None:
                return closed
            self.message.set(message)
            return lesson.contextmanager(lambda: iter([None]))()

    class HookStack(lesson.HookStack):
        def __init__(self) -> None:
            super().__init__()
            self.lock = Lock()

    return (HookStack,)


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
