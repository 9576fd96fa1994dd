"""The checks of notebook 06: predictions for eight nestings, pairs in a row, a stack per thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ..check import Exercise, Step
from ..compare import (
    Difference,
    a_mapping,
    a_pair,
    raises,
    same,
    same_gradient,
    same_object,
    same_trace,
    shown,
)
from .programs import gradient_of, in_new_thread, network, product, selection, variable

# -- eight predictions -------------------------------------------------------------------------
nestings = Exercise(
    "06.nestings",
    "For each of the eight programs, `prediction` says who packs (a capital) and who unpacks (a "
    'small letter), in order: `"Aa"` when A packs once and A unpacks once, `""` when nobody does.',
    takes=("programs", "prediction"),
    difficulty=3,
    minutes=15,
)

# What to think about again; the answer comes from running the program.
_QUESTIONS = {
    "inner": "do two open pairs work one after the other, or does one replace the other?",
    "between": "which contexts are still open where the operation saves?",
    "later": "what does a slot take along when it is packed?",
    "error": "which contexts does an exception leave on its way to the handler?",
    "no_graph": "is there a node that could save something?",
    "twice": "is a slot packed, or unpacked, anew for the second backward?",
    "second": "does a backward that records a graph save something of its own, and who is open "
    "then?",
    "thread": "whose stack does a new thread look at?",
}


def _nesting(name: str) -> None:
    def predicted(programs: Mapping[str, Callable[..., None]], prediction: Any) -> None:
        if name not in a_mapping(programs, "programs"):
            raise Difference(f"there is no program {name!r}")
        if name not in a_mapping(prediction, "prediction"):
            raise Difference(f"there is no prediction for {name!r}")
        letters = prediction[name]
        if not isinstance(letters, str) or set(letters) - set("AaBb"):
            raise Difference(
                f"{name}: {shown(letters)} is no string of the letters A, a, B and b alone"
            )
        events: list[str] = []
        programs[name](lettered("A", events), lettered("B", events), variable(1.0))
        if letters != "".join(events):
            raise Difference(f"{name}: {shown(letters)} is not what happens; {_QUESTIONS[name]}")

    predicted.__doc__ = f"the program {name!r}"
    nestings.case(predicted)


for _name in _QUESTIONS:
    _nesting(_name)


def lettered(letter: str, events: list[str]) -> Any:
    """A context whose pack notes its letter, and whose unpack notes the small letter."""

    def pack(tensor: Any) -> Any:
        events.append(letter.upper())
        return tensor

    def unpack(packed: Any) -> Any:
        events.append(letter.lower())
        return packed

    return saved_tensor_hooks(pack, unpack)


# -- one pair after the other ------------------------------------------------------------------
compose = Exercise(
    "06.compose",
    "`compose(outer, inner)` makes one pair of two: what `inner` has packed is packed again by "
    "`outer`, and unpacking undoes both.",
    takes=("compose",),
    difficulty=2,
    minutes=10,
)

Hooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def noting(name: str, events: list[str], pack: Any = None, unpack: Any = None) -> Hooks:
    """A pair that notes its calls and does what it is told, or nothing."""

    def noted_pack(value: Any) -> Any:
        events.append(f"{name} packs")
        return value if pack is None else pack(value)

    def noted_unpack(value: Any) -> Any:
        events.append(f"{name} unpacks")
        return value if unpack is None else unpack(value)

    return noted_pack, noted_unpack


@compose.case
def packs_inside_out(compose: Any) -> None:
    """the order of the four calls for one slot"""
    events: list[str] = []
    pair = a_pair(compose(noting("outer", events), noting("inner", events)), "compose")
    saved_tensor_hooks(*pair)(tp.Tensor.exp)(variable(1.0)).backward()
    calls = ["inner packs", "outer packs", "outer unpacks", "inner unpacks"]
    same_trace(events, calls, "one slot under compose(outer, inner)")


@compose.case
def gives_the_same_gradients(compose: Any) -> None:
    """two pairs whose order matters: one doubles, one adds three"""
    doubling = (lambda t: t * 2, lambda p: p // 2 if p.dtype == tp.int64 else p / 2)
    adding = (lambda t: t + 3, lambda p: p - 3)
    for outer, inner in ((doubling, adding), (adding, doubling)):
        for program in (product, network, selection):
            found = gradient_of(program, a_pair(compose(outer, inner), "compose"))
            same_gradient(found, gradient_of(program), "x")


@compose.case
def hands_on_any_object(compose: Any) -> None:
    """an inner pair that packs into a dictionary key, an outer pair that wraps it"""
    store: dict[str, Any] = {}

    def into_store(tensor: Any) -> str:
        key = f"tensor {len(store)}"
        store[key] = tensor.clone()
        return key

    inner = into_store, store.__getitem__
    outer = (lambda key: {"key": key}), (lambda wrapped: wrapped["key"])
    found = gradient_of(network, a_pair(compose(outer, inner), "compose"))
    same_gradient(found, gradient_of(network), "x")


@compose.case
def three_in_a_row(compose: Any) -> None:
    """three pairs, put together from either side"""
    traces = []
    for left in (True, False):
        events: list[str] = []
        a, b, c = (noting(name, events) for name in "abc")
        pair = compose(compose(a, b), c) if left else compose(a, compose(b, c))
        saved_tensor_hooks(*a_pair(pair, "compose"))(product)(variable(1.0, 2.0)).backward()
        traces.append(events)
    same_trace(traces[0], traces[1], "compose(compose(a, b), c) beside compose(a, compose(b, c))")


@compose.case
def errors_pass_through(compose: Any) -> None:
    """an outer pack that raises"""
    full = OSError("the disk is full")

    def pack(value: Any) -> Any:
        raise full

    pair = a_pair(compose((pack, pack), noting("inner", [])), "compose")
    x = variable(1.0)
    error = raises(OSError, lambda: saved_tensor_hooks(*pair)(tp.Tensor.exp)(x), "in outer's pack")
    same_object(error, full, "the error of outer's pack")


# -- the stack ---------------------------------------------------------------------------------
hook_stack = Step(
    "06.hook_stack",
    "`HookStack` has `push(pair)`, `pop()` and `top()`, and every thread and every asyncio task "
    "sees its own; inside `forbidden(message)` a push is a `RuntimeError` with that message.",
    takes=("HookStack",),
)


@hook_stack.case
def the_innermost_is_on_top(stack_of: Any) -> None:
    """three pairs pushed and popped"""
    stack, found = stack_of(), []
    found.append(stack.top())
    for pair in ("a", "b", "c"):
        stack.push(pair)
        found.append(stack.top())
    for _ in range(3):
        stack.pop()
        found.append(stack.top())
    expected: list[Any] = [None, "a", "b", "c", "b", "a", None]
    same_trace(found, expected, "top() after three pushes and three pops")


@hook_stack.case
def a_thread_has_its_own(stack_of: Any) -> None:
    """another thread, while a pair is on in this one"""
    stack = stack_of()
    seen: list[Any] = []

    def work() -> None:
        seen.append(stack.top())
        stack.push("the thread's pair")
        seen.append(stack.top())

    stack.push("the main thread's pair")
    in_new_thread(work)
    same_trace(seen, [None, "the thread's pair"], "top() in another thread, then after its push")
    same(stack.top(), "the main thread's pair", "top() after another thread has pushed")


@hook_stack.case
def a_task_has_its_own(stack_of: Any) -> None:
    """two asyncio tasks that wait with their pairs on"""
    stack = stack_of()
    seen: list[Any] = []
    errors: list[BaseException] = []

    async def work(pair: str) -> None:
        # An error that leaves a task may be reported by its loop as well, beside the verdict.
        try:
            stack.push(pair)
            await asyncio.sleep(0)
            seen.append(stack.top())
            stack.pop()
        except BaseException as error:
            errors.append(error)

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))
        if errors:
            raise errors[0]
        seen.append(stack.top())

    # In a notebook a loop is running already, in this thread.
    in_new_thread(lambda: asyncio.run(both()))
    same_trace(seen, ["a", "b", None], "top() in two tasks after waiting, and after both")


@hook_stack.case
def two_stacks_are_two(stack_of: Any) -> None:
    """two stacks in one thread"""
    first, second = stack_of(), stack_of()
    first.push("a")
    same(second.top(), None, "top() of a second stack")


@hook_stack.case
def a_copied_context_stays_apart(stack_of: Any) -> None:
    """pushing inside a copy of the context, with a pair on already"""
    stack = stack_of()
    stack.push("a")
    copy_context().run(stack.push, "b")
    same(stack.top(), "a", "top() after a push in a copy of the context")


@hook_stack.case
def forbidding_refuses_pushes(stack_of: Any) -> None:
    """pushing inside forbidden, and after it"""
    stack = stack_of()
    with stack.forbidden("outer message"):
        with stack.forbidden("inner message"):
            raises(RuntimeError, lambda: stack.push("a"), "at a push", saying=["inner message"])
        raises(RuntimeError, lambda: stack.push("a"), "at a push", saying=["outer message"])
        same(stack.top(), None, "top() after a refused push")
    stack.push("a")
    same(stack.top(), "a", "top() after forbidden has ended")
    raises(
        RuntimeError,
        lambda: stack.forbidden("too late").__enter__(),
        "on forbidding while a pair is on",
        saying=["too late"],
    )
