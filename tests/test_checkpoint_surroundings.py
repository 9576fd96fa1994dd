"""checkpoint among other hooks, contexts, options and random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import (
    _current_pair,
    disable_saved_tensors_hooks,
    native_engine,
    save_on_cpu,
)
from tensorplay_ref.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
    set_checkpoint_early_stop,
)
from tests.checkpoint_tools import Counted, Tape, leaf


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    assert _current_pair() is None
    assert tp.is_grad_enabled()


def test_outer_hooks_see_the_arguments_once_and_nothing_else() -> None:
    tape = Tape()
    x, w = leaf(0.5), leaf(2.0)
    with tape.hooks():
        y = checkpoint(lambda x: (x * w).exp().tanh(), x)
    assert tape.packed == [[0.5]]
    y.backward()
    assert (len(tape.packed), tape.unpacked) == (1, 1)


def test_of_nested_regions_outer_hooks_see_the_outer_arguments_only() -> None:
    tape = Tape()
    x = leaf(0.5)
    with tape.hooks():
        y = checkpoint(lambda x: checkpoint(lambda h: h.exp().exp(), x.tanh()).tanh(), x)
    y.backward()
    assert tape.packed == [[0.5]]


def test_hooks_around_the_backward_do_not_see_the_second_run() -> None:
    tape = Tape()
    y = checkpoint(lambda x: x.exp().tanh(), leaf(0.5))
    with tape.hooks():
        y.backward()
    assert tape.packed == []


def test_save_on_cpu_inside_a_region_takes_its_place() -> None:
    region = Counted(lambda x: x.exp().exp())

    def offloaded(x: Any) -> Any:
        with save_on_cpu():
            return region(x)

    x = leaf(0.1)
    checkpoint(offloaded, x).backward()
    assert region.runs == 1
    assert np.isclose(x.grad.item(), np.exp(np.exp(0.1)) * np.exp(0.1))


def test_a_native_engine_is_told_of_every_pair() -> None:
    class Engine:
        def __init__(self) -> None:
            self.depth, self.entered = 0, 0

        def _push_saved_tensors_hooks(self, pack: Any, unpack: Any) -> None:
            self.depth, self.entered = self.depth + 1, self.entered + 1

        def _pop_saved_tensors_hooks(self) -> None:
            self.depth -= 1

    engine = Engine()
    with native_engine(engine):
        checkpoint(lambda x: x.exp(), leaf(0.5)).backward()
    assert (engine.depth, engine.entered) == (0, 2)


def test_where_hooks_are_disabled_checkpoint_is_refused() -> None:
    with disable_saved_tensors_hooks("no hooks here"):
        with pytest.raises(RuntimeError, match="no hooks here"):
            checkpoint(lambda x: x.exp(), leaf(0.5))


def test_context_fn_surrounds_both_runs_and_each_later_one() -> None:
    events: list[str] = []

    class Context:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            events.append(f"enter {self.name}")

        def __exit__(self, *error: object) -> None:
            events.append(f"leave {self.name}")

    y = checkpoint(
        lambda x: x.exp(), leaf(0.5), context_fn=lambda: (Context("first"), Context("second"))
    )
    y.backward(retain_graph=True)
    y.backward()
    once = ["enter second", "leave second"]
    assert events == ["enter first", "leave first", *once, *once]


def test_set_checkpoint_early_stop_beats_the_argument_and_nests() -> None:
    ends: list[str] = []

    def region(x: Any) -> Any:
        y = x.exp()
        ends.append("end")
        return y + 1.0

    def runs_to_the_end(**options: Any) -> int:
        ends.clear()
        checkpoint(region, leaf(0.5), **options).backward()
        return len(ends)

    assert runs_to_the_end() == 1
    with set_checkpoint_early_stop(False):
        assert runs_to_the_end(early_stop=True) == 2
        with set_checkpoint_early_stop(True):
            assert runs_to_the_end(early_stop=False) == 1
        assert runs_to_the_end() == 2
    assert runs_to_the_end() == 1


def test_a_region_that_catches_every_exception_does_not_catch_the_early_stop() -> None:
    caught: list[Exception] = []

    def region(x: Any) -> Any:
        try:
            return x.exp()
        except Exception as error:
            caught.append(error)
            raise

    checkpoint(region, leaf(0.5)).backward()
    assert caught == []


def test_contexts_in_the_region_are_left_when_it_is_stopped() -> None:
    open_now: list[int] = []

    @contextmanager
    def context() -> Iterator[None]:
        open_now.append(1)
        try:
            yield
        finally:
            open_now.pop()

    def region(x: Any) -> Any:
        with context(), tp.enable_grad():
            return x.exp()

    checkpoint(region, leaf(0.5)).backward()
    assert open_now == []


def test_noop_context_fn_is_the_default_and_does_nothing() -> None:
    first, second = noop_context_fn()
    with first, second:
        assert _current_pair() is None


def noisy(x: Any) -> Any:
    return (x * tp.rand(5)).tanh() * tp.rand(5)


def test_random_numbers_are_drawn_again_and_the_stream_goes_on() -> None:
    def run(region: Any) -> tuple[Any, Any, Any]:
        tp.manual_seed(3)
        x = tp.ones(5, requires_grad=True)
        y = region(x)
        tp.rand(2)
        y.sum().backward()
        return y.detach().numpy(), x.grad.numpy(), tp.rand(3).numpy()

    for plain, again in zip(run(noisy), run(lambda x: checkpoint(noisy, x)), strict=True):
        assert np.array_equal(plain, again)


def test_the_stream_is_put_back_when_the_second_run_fails() -> None:
    broken = Counted(lambda x: noisy(x))

    def region(x: Any) -> Any:
        if broken.runs:
            tp.rand(7)
            raise KeyError("second run")
        return broken(x)

    tp.manual_seed(3)
    y = checkpoint(region, tp.ones(5, requires_grad=True)).sum()
    before = tp.random.get_rng_state()
    with pytest.raises(KeyError):
        y.backward()
    assert np.array_equal(tp.random.get_rng_state().numpy(), before.numpy())


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_checkpoint_sequential_runs_all_but_the_last_segment_again(segments: int) -> None:
    layers = [Counted(lambda x: x.tanh()) for _ in range(5)]
    x, plain = leaf(0.5), leaf(0.5)
    checkpoint_sequential(layers, segments, x).backward()
    y = plain
    for _ in range(5):
        y = y.tanh()
    y.backward()
    assert x.grad.item() == plain.grad.item()
    length = 5 // segments
    again = length * (segments - 1)
    # Of the last function of a segment nothing but its result is needed, which ends the run.
    assert [layer.runs for layer in layers] == [2] * again + [1] * (5 - again)


@pytest.mark.parametrize("segments", [0, 6, -1])
def test_an_impossible_number_of_segments_is_refused(segments: int) -> None:
    with pytest.raises(ValueError, match="1 to 5"):
        checkpoint_sequential([lambda x: x] * 5, segments, leaf(1.0))
