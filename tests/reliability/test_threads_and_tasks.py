"""Eight threads, eight tasks: stacks, modes and graphs do not meet; shared leaves add up."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd import accumulate
from tensorplay_ref.autograd import node as node_module
from tests.autograd.tools import Recorder, equal, leaf, square

graph = tp.autograd.graph
COUNT = 8


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Have the interpreter change threads as often as it can, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any]) -> list[Any]:
    """Run the work in eight threads that start at the same moment; their results in order."""
    barrier = threading.Barrier(COUNT)

    def body(number: int) -> Any:
        barrier.wait(60.0)
        return work(number)

    with ThreadPoolExecutor(COUNT) as pool:
        return list(pool.map(body, range(COUNT)))


def training(number: int) -> tuple[Any, list[float], bool]:
    """Steps with nested hooks, no_grad and exceptions, in a world of its own."""
    recorder, inner = Recorder(), Recorder()
    x = leaf([float(number), 1.0])
    for _ in range(10):
        with recorder.hooks():
            y = square().apply(x)
            try:
                with tp.no_grad(), inner.hooks():
                    assert not (x * x).requires_grad
                    raise KeyError(number)
            except KeyError as error:
                assert error.args == (number,)
            z = y.sin()
            assert graph._current_pair() == (recorder.pack, recorder.unpack)
        z.sum().backward()
    values = [float(array[0]) for array in recorder.packed]
    assert inner.packed == [] and recorder.unpacked == len(recorder.packed)
    return x.grad.numpy().copy(), values, graph._current_pair() is None and tp.is_grad_enabled()


def check(found: list[tuple[Any, list[float], bool]]) -> None:
    for number, (grad, values, clean) in enumerate(found):
        x = np.array([float(number), 1.0])
        np.testing.assert_allclose(grad, 10 * np.cos(x * x) * 2 * x, rtol=1e-12)
        assert values == [float(number), float(number) ** 2] * 10
        assert clean


def test_threads_do_not_meet() -> None:
    check(together(training))
    assert graph._current_pair() is None and tp.is_grad_enabled()


def test_tasks_do_not_meet() -> None:
    async def task(number: int) -> list[Any]:
        recorder = Recorder()
        x = leaf([float(number)])
        seen: list[Any] = []
        for _ in range(5):
            with recorder.hooks():
                await asyncio.sleep(0)
                y = square().apply(x)
                with tp.set_grad_enabled(number % 2 == 0):
                    await asyncio.sleep(0)
                    seen.append(tp.is_grad_enabled() is (number % 2 == 0))
                    seen.append(graph._current_pair() == (recorder.pack, recorder.unpack))
                await asyncio.sleep(0)
                seen.append(tp.is_grad_enabled())
            await asyncio.sleep(0)
            y.backward()
        assert [float(array[0]) for array in recorder.packed] == [float(number)] * 5
        equal(x.grad, [10.0 * number])
        return seen

    async def main() -> list[list[Any]]:
        return await asyncio.gather(*[task(number) for number in range(COUNT)])

    assert all(all(seen) for seen in asyncio.run(main()))
    assert graph._current_pair() is None and tp.is_grad_enabled()


def test_backwards_over_one_shared_leaf_add_up() -> None:
    x = leaf(np.zeros(100))
    together(lambda number: [(x * float(number)).sum().backward() for _ in range(20)])
    equal(x.grad, np.full(100, 20.0 * sum(range(COUNT))))


def test_the_first_gradients_of_a_leaf_race_for_an_empty_place() -> None:
    for _ in range(30):
        x = leaf(np.zeros(3))
        together(lambda number, x=x: (x * 1.0).sum().backward())
        equal(x.grad, np.full(3, float(COUNT)))


@pytest.mark.parametrize("hooked", [False, True])
def test_no_gradient_is_lost_between_reading_and_writing(
    monkeypatch: pytest.MonkeyPatch, hooked: bool
) -> None:
    # A leaf with a post-accumulate hook is served during the walk, the others when it has ended.
    added = accumulate.added

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.002)
        return added(*arguments)

    monkeypatch.setattr(accumulate, "added", slowly)
    x = leaf(np.zeros(3))
    if hooked:
        x.register_post_accumulate_grad_hook(lambda leaf: None)
    together(lambda number: (x * 1.0).sum().backward())
    equal(x.grad, np.full(3, float(COUNT)))


def test_one_retained_graph_walked_by_all() -> None:
    recorder = Recorder()
    x = leaf([2.0, 3.0])
    with recorder.hooks():
        y = square().apply(x).sin().sum()
    together(lambda number: y.backward(retain_graph=True))
    equal(x.grad, COUNT * np.cos([4.0, 9.0]) * [4.0, 6.0])
    assert recorder.unpacked == 2 * COUNT and recorder.alive == 2


def test_a_leaf_first_used_by_all_at_once_is_one_leaf_to_grad() -> None:
    for _ in range(50):
        x = leaf([2.0])
        results = together(lambda number, x=x: x * float(number + 1))
        (found,) = tp.autograd.grad(sum(results), x)
        equal(found, [float(sum(range(1, COUNT + 1)))])


def test_a_leaf_gets_one_accumulator_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = node_module._new_accumulator

    def slowly(leaf: Any) -> Any:
        time.sleep(0.002)
        return made(leaf)

    monkeypatch.setattr(node_module, "_new_accumulator", slowly)
    x = leaf([2.0])
    results = together(lambda number: x * 1.0)
    assert len({id(y.grad_fn.next_functions[0][0]) for y in results}) == 1


def test_hooks_of_a_shared_leaf_are_called_for_every_backward() -> None:
    calls: list[float] = []
    x = leaf([2.0])
    together(lambda number: x.register_hook(lambda grad: calls.append(float(grad))))
    together(lambda number: (x * float(number)).backward())
    assert sorted(calls) == sorted(float(n) for n in range(COUNT) for _ in range(COUNT))


def test_versions_of_a_shared_base_count_every_write() -> None:
    base = tp.zeros(COUNT, 4)
    together(lambda number: [base[number].add_(1.0) for _ in range(50)])
    equal(base, np.full((COUNT, 4), 50.0))
    assert base._version >= COUNT


def test_a_context_entered_in_one_thread_cannot_be_left_in_another() -> None:
    hooks = Recorder().hooks()
    with hooks, ThreadPoolExecutor(1) as pool:
        error = pool.submit(hooks.__exit__, None, None, None).exception()
        assert isinstance(error, RuntimeError)
        assert graph._current_pair() is not None
    assert graph._current_pair() is None


def test_a_copied_context_takes_the_pair_along_and_gives_nothing_back() -> None:
    recorder = Recorder()
    with recorder.hooks():
        copied = contextvars.copy_context()
    assert graph._current_pair() is None
    assert copied.run(graph._current_pair) == (recorder.pack, recorder.unpack)
    x = leaf([2.0])
    y = copied.run(x.sin)
    assert len(recorder.packed) == 1
    y.backward()
    equal(x.grad, [np.cos(2.0)])
