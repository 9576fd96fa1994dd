"""Mistakes in notebook 06: predictions, compose, the stack."""

import threading
from contextvars import ContextVar
from typing import Any

from tests.course.builds import wrong


def predicted(lesson: Any, **otherwise: Any) -> Any:
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


@wrong("06.nestings", says="inner: 'B, b' is no string of the letters A, a, B and b alone")
def puts_commas_between_the_letters(lesson: Any) -> Any:
    return predicted(lesson, inner="B, b")


@wrong("06.nestings", says="no_graph: None is no string of the letters")
def writes_none_for_nobody(lesson: Any) -> Any:
    return predicted(lesson, no_graph=None)


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
