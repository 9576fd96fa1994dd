"""Deep and broad graphs: no recursion, and work that grows with the number of nodes."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.observer import watching
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import Recorder, equal, leaf, square

MILLION = 1_000_000
DEEP = 10_000


def chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = -x
    return x


def test_a_chain_of_a_million_is_built_walked_and_freed() -> None:
    assert sys.getrecursionlimit() < MILLION / 100
    with reference_counting():
        x = leaf([2.0])
        y = chain(x, MILLION)
        watched = weakref.ref(y.grad_fn.input_nodes[0])
        y.backward()
        equal(x.grad, [1.0])
        del y
        assert watched() is None


def test_a_long_chain_is_dropped_unused() -> None:
    with reference_counting():
        x = leaf([2.0])
        watched = weakref.ref(x)
        y = chain(x, MILLION // 4)
        del x
        assert watched() is not None
        del y
        assert watched() is None


DEEPENED = {
    "saving its input": lambda t: t.sin(),
    "saving its output": lambda t: t.tanh(),
    "views": lambda t: t[:],
    "views of operations": lambda t: (t + 0.0)[:],
    "a Function": square().apply,
    "written in place": lambda t: t.add_(0.0) if not t.is_leaf else t + 0.0,
    "written through a view": lambda t: (t[:1].add_(0.0), t)[1] if not t.is_leaf else t + 0.0,
    "joined": lambda t: tp.cat([t, t[:0]]),
}


@pytest.mark.parametrize("name", DEEPENED)
@pytest.mark.parametrize("hooks", [False, True])
def test_deep_graphs_of_every_kind(name: str, hooks: bool) -> None:
    recorder = Recorder()
    with reference_counting():
        x = leaf([1e-9])
        y = x
        for _ in range(DEEP // 4 if "view" in name or hooks else DEEP):
            if hooks:
                with recorder.hooks():
                    y = DEEPENED[name](y)
            else:
                y = DEEPENED[name](y)
        watched = weakref.ref(y.grad_fn)
        y.backward(retain_graph=True)
        assert x.grad is not None
        del y
        assert watched() is None and recorder.alive == 0


def test_a_deep_graph_that_packs_the_tensors_themselves() -> None:
    with reference_counting(), tp.autograd.graph.saved_tensor_hooks(lambda t: t, lambda t: t):
        x = leaf([0.5])
        y = x
        for _ in range(DEEP):
            y = y.sin()
        watched = weakref.ref(y.grad_fn.input_nodes[0])
        y.backward(retain_graph=True)
        del y
        assert watched() is None


def test_a_deep_second_derivative() -> None:
    with reference_counting():
        x = leaf([0.5])
        y = x
        for _ in range(2000):
            y = y * 1.0
        (first,) = tp.autograd.grad(y * y, x, create_graph=True)
        (second,) = tp.autograd.grad(first, x, create_graph=True)
        equal(second, [2.0])
        watched = weakref.ref(first.grad_fn)
        del y, first, second
        assert watched() is None


def runs(loss: Any) -> int:
    """How many nodes one backward runs, counted by a watcher."""
    counted: Counter[str] = Counter()
    with watching(lambda kind, node, details: counted.update([kind])):
        loss.backward()
    return counted["backward"]


def test_a_diamond_of_sixty_runs_each_node_once() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(60):
        y = y + y
    assert runs(y) == 60
    equal(x.grad, [2.0**60])


def test_many_consumers_of_one_node() -> None:
    x = leaf([1.0])
    h = x * 1.0
    total = leaf([0.0])
    for _ in range(10_000):
        total = total + h * 2.0
    assert runs(total) == 20_001
    equal(x.grad, [20_000.0])


def test_many_leaves_of_one_node() -> None:
    leaves = [leaf([float(n)]) for n in range(10_000)]
    assert runs(tp.cat(leaves).sum()) == 2
    assert all(float(t.grad) == 1.0 for t in leaves)


def test_many_views_of_one_base_that_is_written() -> None:
    x = leaf(np.arange(300.0))
    base = x * 1.0
    views = [base[n] for n in range(300)]
    for n in range(0, 300, 3):
        base[n : n + 1].mul_(2.0)
    sum(views[1:], views[0]).backward()
    equal(x.grad, np.where(np.arange(300) % 3 == 0, 2.0, 1.0))


@pytest.mark.parametrize("kind", ["chain", "diamond", "tree", "consumers"])
def test_work_grows_with_the_number_of_nodes(kind: str) -> None:
    counts = []
    for size in (200, 400, 800):
        x = leaf([1.0])
        y = x
        if kind == "chain":
            y = chain(x, size)
        elif kind == "diamond":
            for _ in range(size):
                y = y * 0.5 + y * 0.5
        elif kind == "tree":
            level = [x * 1.0 for _ in range(size)]
            while len(level) > 1:
                pairs = zip(level[::2], [*level[1::2], level[0]], strict=False)
                level = [a + b for a, b in pairs]
            (y,) = level
        else:
            y = sum((y * 1.0 for _ in range(size)), x)
        counts.append(runs(y))
    first, second, third = counts
    assert first >= 199 and second <= 2.1 * first and third <= 2.1 * second
