"""no_grad, enable_grad, set_grad_enabled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tensorplay_ref as tp
from tests.autograd.tools import leaf
from tests.reliability.program_operations import OPERATIONS


def recorded() -> bool:
    found = (leaf([1.0]) * 2.0).requires_grad
    assert found is tp.is_grad_enabled()
    return found


def test_contexts_nest_and_restore() -> None:
    assert recorded()
    with tp.no_grad():
        assert not recorded()
        with tp.enable_grad():
            assert recorded()
            with tp.set_grad_enabled(False):
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


@pytest.mark.parametrize("context", [tp.no_grad, lambda: tp.set_grad_enabled(False)])
def test_an_exception_restores(context: Any) -> None:
    with pytest.raises(KeyError), context():
        raise KeyError
    assert recorded()


def test_one_object_nested_in_itself() -> None:
    off, on = tp.no_grad(), tp.enable_grad()
    with off:
        with on, off:
            assert not recorded()
            with on:
                assert recorded()
            assert not recorded()
        assert not recorded()
    assert recorded()


def test_set_grad_enabled_acts_at_once() -> None:
    setting = tp.set_grad_enabled(False)
    try:
        assert not recorded() and "False" in repr(setting)
        with setting:
            assert not recorded()
        assert recorded()
    finally:
        tp.set_grad_enabled(True)


def test_decorators() -> None:
    @tp.no_grad()
    def off(value: int) -> bool:
        return recorded() or value == 0

    @tp.set_grad_enabled(False)
    def also_off() -> bool:
        return recorded()

    assert recorded() and not off(1) and not also_off() and off.__name__ == "off"
    assert recorded()


@pytest.mark.parametrize("mode", [tp.no_grad, tp.enable_grad])
def test_a_decorator_may_stand_without_parentheses(mode: Any) -> None:
    @mode
    def inside() -> bool:
        """Asks."""
        return tp.is_grad_enabled()

    assert inside() is (mode is tp.enable_grad) and inside.__doc__ == "Asks."
    with pytest.raises(TypeError, match=f"{mode.__name__} takes no argument .* found int"):
        mode(3)


def test_a_decorated_generator_is_in_the_mode_only_while_it_runs() -> None:
    seen: list[Any] = []

    @tp.no_grad()
    def numbers() -> Iterator[int]:
        try:
            received = yield int(recorded())
            seen.append(received)
            yield int(recorded())
        except KeyError:
            seen.append(recorded())
            yield 7
        finally:
            seen.append(("closed", recorded()))

    generator = numbers()
    assert next(generator) == 0 and recorded()
    assert generator.send("sent") == 0 and recorded()
    generator.close()
    assert seen == ["sent", ("closed", False)] and recorded()
    generator = numbers()
    next(generator)
    assert generator.throw(KeyError()) == 7 and recorded()
    assert list(generator) == [] and seen[2:] == [False, ("closed", False)]


def test_leaving_without_having_entered_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no_grad: left without having been entered"):
        tp.no_grad().__exit__(None, None, None)


def test_threads_sharing_one_object_do_not_meet() -> None:
    off = tp.no_grad()
    entered, leave = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        with off:
            entered.set()
            leave.wait(20.0)
            seen.append(recorded())
        seen.append(recorded())

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(20.0)
    assert recorded()
    with off:
        leave.set()
        thread.join(20.0)
        assert not recorded()
    assert recorded() and seen == [False, True]


def test_tasks_sharing_one_object_do_not_meet() -> None:
    off = tp.no_grad()

    async def work() -> list[bool]:
        seen = [recorded()]
        with off:
            await asyncio.sleep(0)
            seen.append(recorded())
        await asyncio.sleep(0)
        return [*seen, recorded()]

    async def main() -> Any:
        return await asyncio.gather(*[work() for _ in range(3)])

    assert asyncio.run(main()) == [[True, False, True]] * 3
    assert recorded()


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_operation_is_recorded_under_no_grad(name: str) -> None:
    a, b = leaf([[0.5, -1.5, 2.0]]), leaf([0.7])
    with tp.no_grad():
        found = OPERATIONS[name](tp, a, b, 2)
    assert not found.requires_grad and found.grad_fn is None


def test_views_and_in_place_writes_under_no_grad_are_not_recorded() -> None:
    x = leaf([1.0, 2.0])
    with tp.no_grad():
        h = x * 2.0
        h.add_(1.0)
        x.mul_(2.0)
        assert not h.requires_grad and not x[:1].requires_grad
    assert x.is_leaf and x.requires_grad and x._version == 1
