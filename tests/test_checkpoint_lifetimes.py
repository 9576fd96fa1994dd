"""checkpoint: what lives how long, with the garbage collector off; and threads."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.utils.checkpoint import checkpoint
from tests.checkpoint_tools import leaf


class Big:
    """Something a region holds that can be watched."""


def test_dropping_the_result_drops_region_and_arguments(no_gc: None) -> None:
    held = Big()
    h = leaf(0.5) * 1.0
    watched = [weakref.ref(held), weakref.ref(h._storage)]
    y = checkpoint(lambda h, held: h.exp().tanh(), h, held)
    del h, held
    assert all(ref() is not None for ref in watched)
    del y
    assert all(ref() is None for ref in watched)


@pytest.mark.parametrize("early_stop", [True, False])
def test_backward_drops_the_arguments_although_the_result_lives(
    no_gc: None, early_stop: bool
) -> None:
    h = leaf(0.5) * 1.0
    storage = weakref.ref(h._storage)
    y = checkpoint(lambda h: h.exp().tanh().exp(), h, early_stop=early_stop)
    del h
    y.backward()
    assert storage() is None


def test_values_of_the_second_run_are_dropped_as_they_are_used(no_gc: None) -> None:
    runs: list[list[Any]] = []

    def region(x: Any) -> Any:
        made: list[Any] = []
        runs.append(made)
        for _ in range(5):
            x = x.tanh()
            made.append(weakref.ref(x._storage))
        return x

    alive: list[int] = []
    x = leaf(0.5)
    h = x * 1.0
    h.register_hook(lambda grad: alive.append(sum(r() is not None for r in runs[-1])))
    y = checkpoint(region, h)
    for count in (1, 2):
        y.backward(retain_graph=True)
        assert len(runs) == count + 1
    assert alive == [0, 0]
    assert [sum(r() is not None for r in made) for made in runs] == [1, 0, 0]


def test_an_unfinished_backward_leaves_no_values_behind(no_gc: None) -> None:
    made: list[Any] = []

    def region(x: Any) -> Any:
        h = x.tanh()
        made.append(weakref.ref(h._storage))
        return h.exp()

    def refuse(grad: Any) -> None:
        raise KeyError("stop")

    x = leaf(0.5)
    y = checkpoint(region, x)
    h = y.grad_fn.next_functions[0][0]
    h.register_prehook(refuse)
    try:
        y.backward(retain_graph=True)
    except KeyError:
        pass
    assert len(made) == 2 and made[1]() is None


def test_hooks_that_keep_what_they_pack_make_no_cycle_through_the_region(no_gc: None) -> None:
    class Hooks:
        def __init__(self) -> None:
            self.results: list[Any] = []

        def pack(self, tensor: Any) -> Any:
            return tensor.detach()

        def unpack(self, packed: Any) -> Any:
            return packed

    hooks = Hooks()
    gone = weakref.ref(hooks)
    x = leaf(0.5)
    with tp.autograd.graph.saved_tensor_hooks(hooks.pack, hooks.unpack):
        # Without arguments there is no slot that needs the unpack hook.
        y = checkpoint(lambda: x.exp().tanh())
    hooks.results.append(y.grad_fn)
    del y, hooks
    assert gone() is None


def test_an_exception_in_the_first_run_leaves_nothing(no_gc: None) -> None:
    h = leaf(0.5) * 1.0
    storage = weakref.ref(h._storage)

    def region(h: Any) -> Any:
        h.exp()
        raise KeyError("first run")

    try:
        checkpoint(region, h)
    except KeyError:
        pass
    del h
    assert storage() is None


@pytest.mark.parametrize("reason", ["written since", "other tensors", "too few", "raises"])
def test_a_refused_second_run_leaves_nothing(no_gc: None, reason: str) -> None:
    runs: list[int] = []

    def region(h: Any) -> Any:
        runs.append(len(runs))
        if runs[-1] == 1:
            if reason == "other tensors":
                return h.tanh().exp()
            if reason == "too few":
                return h * 2.0
            if reason == "raises":
                raise KeyError("second run")
        return h.exp().tanh()

    h = leaf(0.5) * 1.0
    storage = weakref.ref(h._storage)
    y = checkpoint(region, h)
    if reason == "written since":
        y = checkpoint(lambda h: h.sin().tanh(), h)
        h.add_(1.0)
    refused = False
    try:
        y.backward()
    except (RuntimeError, KeyError):
        refused = True
    assert refused
    del h, y
    assert storage() is None


def test_two_threads_may_walk_the_same_region() -> None:
    x = leaf(*np.linspace(-1.0, 1.0, 50))
    y = checkpoint(lambda x: (x.exp() * x).tanh().exp(), x).sum()
    (expected,) = tp.autograd.grad(y, x, retain_graph=True)
    found: list[Any] = []

    def walk() -> None:
        for _ in range(20):
            found.append(tp.autograd.grad(y, x, retain_graph=True)[0].numpy())

    threads = [threading.Thread(target=walk) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60
    assert all(np.array_equal(each, expected.numpy()) for each in found)
