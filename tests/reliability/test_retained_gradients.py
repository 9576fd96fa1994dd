"""retain_grad called again: on one tensor, on two that stand for one result, after a write."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensors_hooks

MODULES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            importlib.util.find_spec(name) is None, reason=f"{name} is not installed"
        ),
    )
    for name in ("tensorplay_ref", "torch")
]


def twice(y: Any) -> None:
    y.retain_grad()
    y.retain_grad()


def retained_again_after_a_write(y: Any) -> None:
    y.retain_grad()
    y.mul_(2.0)
    y.retain_grad()


def retained_before_and_after_a_write_through_a_view(y: Any) -> None:
    y.retain_grad()
    y[:1].mul_(2.0)
    y.retain_grad()


WAYS: dict[str, tuple[Callable[[Any], None], list[float], list[float]]] = {
    "twice": (twice, [3.0, 3.0], [6.0, 6.0]),
    "after a write": (retained_again_after_a_write, [3.0, 3.0], [12.0, 12.0]),
    "after a write through a view": (
        retained_before_and_after_a_write_through_a_view,
        [3.0, 3.0],
        [12.0, 6.0],
    ),
}


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("way", WAYS)
def test_there_is_one_gradient_however_often_it_was_asked_for(module: str, way: str) -> None:
    library: Any = importlib.import_module(module)
    retain, of_y, of_x = WAYS[way]
    x = library.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    retain(y)
    assert y.retains_grad
    for times in (1, 2):
        (y * 3.0).sum().backward(retain_graph=True)
        assert y.grad.tolist() == [times * each for each in of_y]
        assert x.grad.tolist() == [times * each for each in of_x]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("hooked", [False, True])
def test_of_two_tensors_for_one_result_the_last_has_the_gradient(module: str, hooked: bool) -> None:
    library: Any = importlib.import_module(module)
    x = library.tensor([1.0, 2.0], requires_grad=True)
    hooks = library.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t.detach().clone(), lambda t: t) if hooked else nullcontext():
        y = x.exp()
    twin = y.grad_fn._saved_result
    assert twin is not y
    y.retain_grad()
    twin.retain_grad()
    (y * 3.0 + twin * 5.0).sum().backward()
    assert y.grad is None and twin.grad.tolist() == [8.0, 8.0]
    np.testing.assert_allclose(x.grad.numpy(), 8.0 * np.exp([1.0, 2.0]), rtol=1e-6)


def test_retains_grad_tells_which_of_two_it_is() -> None:
    x = tp.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x.exp()
    twin: Any = y.grad_fn._saved_result  # type: ignore[union-attr]
    y.retain_grad()
    twin.retain_grad()
    assert (y.retains_grad, twin.retains_grad) == (False, True)
    y.retain_grad()
    assert (y.retains_grad, twin.retains_grad) == (True, False)
    (y + twin).sum().backward()
    assert y.grad is not None and y.grad.tolist() == [2.0, 2.0] and twin.grad is None


@pytest.mark.parametrize("module", MODULES)
def test_results_of_one_node_retain_each_for_itself(module: str) -> None:
    library: Any = importlib.import_module(module)
    x = library.tensor([1.0, 2.0], requires_grad=True)
    first, second = (x * 1.0).unbind(0)
    for part in (first, second, first):
        part.retain_grad()
    (first * 2.0 + second * 3.0).backward()
    assert (first.grad.item(), second.grad.item()) == (2.0, 3.0)
    assert x.grad.tolist() == [2.0, 3.0]
