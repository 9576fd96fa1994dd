"""An interrupt (Ctrl-C, or Stop in a notebook) leaves no context open and no mode switched.

Python raises KeyboardInterrupt as soon as a call has returned, also the call that has just set a
context variable. Here the variables of the package raise it then, at every place in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd import anomaly, engine, function, grad_mode, mutation, observer, saved
from tensorplay_ref.autograd import graph as graph_module
from tensorplay_ref.utils import checkpoint, selective
from tests.autograd.tools import leaf

graph = tp.autograd.graph
Plan = list[int]  # how many calls pass before the one that is interrupted


def passes(plan: Plan) -> None:
    """Count a call that has done its work; KeyboardInterrupt when it is the one."""
    plan[0] -= 1
    if plan[0] == -1:
        raise KeyboardInterrupt


class Interrupted:
    """A context variable whose calls of `set` may be interrupted when they have returned."""

    def __init__(self, variable: ContextVar[Any], plan: Plan) -> None:
        self.variable = variable
        self.plan = plan

    def get(self) -> Any:
        return self.variable.get()

    def set(self, value: Any) -> None:
        self.variable.set(value)
        passes(self.plan)


class InterruptedList(list[Any]):
    """A list whose calls of `append` may be interrupted when they have returned."""

    plan: Plan

    def append(self, value: Any) -> None:
        super().append(value)
        passes(self.plan)


VARIABLES = [
    (grad_mode, "grad_enabled"),
    (grad_mode, "_entered"),
    (graph_module, "hook_stack"),
    (graph_module, "_disabled"),
    (mutation, "hook_stack"),
    (mutation, "before_write"),
    (function, "grad_enabled"),
    (saved, "grad_enabled"),
    (engine, "grad_enabled"),
    (engine, "current_walk"),
    (checkpoint, "_early_stop"),
    (selective, "selection"),
]


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    """The plan that all variables follow; nothing is interrupted until it is set."""
    plan = [1_000_000]
    for module, name in VARIABLES:
        monkeypatch.setattr(module, name, Interrupted(getattr(module, name), plan))
    watchers = InterruptedList()
    watchers.plan = plan
    for module in (observer, anomaly):
        monkeypatch.setattr(module, "watchers", watchers)
    yield plan
    plan[0] = 1_000_000


def surroundings() -> tuple[Any, ...]:
    """Everything that a context switches and has to put back."""
    return (
        *(getattr(module, name).get() for module, name in VARIABLES),
        list(observer.watchers),
        tp.autograd.is_anomaly_enabled(),
    )


def applied() -> None:
    class Twice(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        @tp.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2.0

    Twice.apply(leaf([1.0])).backward()


def packed_and_walked() -> None:
    with graph.saved_tensor_hooks(lambda t: t, lambda p: p):
        y = leaf([1.0]).exp()
    y.backward()


def selective_contexts() -> AbstractContextManager[Any]:
    first, _ = checkpoint.create_selective_checkpoint_contexts([])
    return first


def entered(make: Callable[[], AbstractContextManager[Any]]) -> Callable[[], None]:
    def body() -> None:
        with make():
            pass

    return body


BODIES: dict[str, Callable[[], None]] = {
    "no_grad": entered(tp.no_grad),
    "enable_grad": entered(tp.enable_grad),
    "hooks": entered(lambda: graph.saved_tensor_hooks(lambda t: t, lambda p: p)),
    "save_on_cpu": entered(graph.save_on_cpu),
    "disabled hooks": entered(lambda: graph.disable_saved_tensors_hooks("closed")),
    "mutation": entered(graph.allow_mutation_on_saved_tensors),
    "anomaly": entered(tp.autograd.detect_anomaly),
    "trace": entered(tp.inspect.trace),
    "early stop": entered(lambda: checkpoint.set_checkpoint_early_stop(False)),
    "selective": entered(selective_contexts),
    "function": applied,
    "packing, and the walk": packed_and_walked,
}


@pytest.mark.parametrize("name", BODIES)
def test_what_was_open_before_is_open_after_an_interrupt(name: str, plan: Plan) -> None:
    body = BODIES[name]
    body()
    before, interrupts = surroundings(), 0
    while True:
        plan[0] = interrupts
        try:
            body()
        except KeyboardInterrupt:
            interrupts += 1
        else:
            break
        finally:
            plan[0] = 1_000_000
        assert surroundings() == before, f"interrupt number {interrupts}"
    assert interrupts
