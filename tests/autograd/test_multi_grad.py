"""One hook for the gradients of several tensors."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import constant, equal, leaf

graph = tp.autograd.graph


def test_all_waits_for_every_gradient_of_this_backward() -> None:
    calls: list[Any] = []
    x, w, z = leaf([2.0]), leaf([3.0]), leaf([4.0])
    h = x * w
    handle = graph.register_multi_grad_hook([x, h, w, z], lambda grads: calls.append(grads))
    (h * x).backward()
    (grads,) = calls
    assert [None if g is None else float(g) for g in grads] == [12.0, 2.0, 4.0, None]
    (x * z).backward()
    assert [None if g is None else float(g) for g in calls[1]] == [4.0, None, None, 2.0]
    handle.remove()
    (x * z).backward()
    assert len(calls) == 2


def test_any_fires_on_the_first_gradient_of_each_backward() -> None:
    calls: list[float] = []
    x = leaf([2.0])
    h = x * 3.0
    graph.register_multi_grad_hook([x, h], lambda grad: calls.append(float(grad)), mode="any")
    y = h * 5.0
    y.backward(retain_graph=True)
    y.backward()
    assert calls == [5.0, 5.0]


def test_a_failed_backward_leaves_nothing_for_the_next() -> None:
    calls: list[Any] = []
    x, w = leaf([2.0]), leaf([3.0])
    h = x * 1.0
    graph.register_multi_grad_hook([x, h, w], calls.append)
    with h.register_hook(lambda grad: 1 / 0), pytest.raises(ZeroDivisionError):
        (h * w).backward()
    (x * w).backward()
    assert len(calls) == 1 and calls[0][1] is None


def test_one_tensor_twice_and_a_backward_inside() -> None:
    calls: list[Any] = []
    x = leaf([2.0])

    def inside(grads: Any) -> None:
        calls.append([float(g) for g in grads])
        if len(calls) == 1:
            with tp.enable_grad():
                (x * 10.0).backward()

    graph.register_multi_grad_hook([x, x], inside)
    (x * 3.0).backward()
    assert calls == [[3.0, 3.0], [10.0, 10.0]]


def test_multi_grad_hooks_in_threads_keep_apart() -> None:
    calls: list[Any] = []
    x = leaf([2.0])
    graph.register_multi_grad_hook([x], lambda grads: calls.append(float(grads[0])))
    threads = [threading.Thread(target=(x * float(n)).backward) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert sorted(calls) == [float(n) for n in range(8)]
    equal(x.grad, [28.0])


def test_a_multi_grad_hook_keeps_nothing_alive() -> None:
    with reference_counting():
        x = leaf([2.0])
        h = x * 3.0
        handle = graph.register_multi_grad_hook([x, h], lambda grads: None)
        h.backward()
        watched = [weakref.ref(x), weakref.ref(h), weakref.ref(h.grad_fn)]
        del x, h
        assert [reference() for reference in watched] == [None] * 3
    handle.remove()


def test_what_a_multi_grad_hook_refuses() -> None:
    with pytest.raises(ValueError, match="'all' or 'any', found 'some'"):
        graph.register_multi_grad_hook([leaf([1.0])], print, mode="some")
    with pytest.raises(RuntimeError, match="tensor 1 does not require"):
        graph.register_multi_grad_hook([leaf([1.0]), constant([1.0])], print)


def test_a_backward_inside_a_hook_is_one_of_its_own() -> None:
    x, w = leaf([2.0]), leaf([3.0])
    y = x * w

    def hook(grad: Any) -> Any:
        assert not tp.is_grad_enabled()
        with tp.enable_grad():
            (w * w).backward()
        assert not tp.is_grad_enabled()

    y.register_hook(hook)
    y.backward()
    equal(w.grad, [6.0 + 2.0])
    equal(x.grad, [3.0])
    assert tp.is_grad_enabled() and np.isfinite(float(x.grad))
