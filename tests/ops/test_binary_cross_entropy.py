"""binary_cross_entropy: at 0 and 1 finite in value and gradient, elsewhere the derivative."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.nn.functional import binary_cross_entropy
from tests.ops.gradients import Case, check_differences, needs_torch

BORDER = np.array([0.0, 1.0, 0.0, 1.0, 0.5])
TARGET = np.array([0.0, 1.0, 1.0, 0.0, 0.25])


def gradients(library: Any, weight: Any = None, reduction: str = "mean") -> list[Any]:
    """The loss, its gradient, and the gradient of the sum of that, at the border."""
    x = library.tensor(BORDER, requires_grad=True)
    weight = None if weight is None else library.tensor(weight)
    loss = library.nn.functional.binary_cross_entropy(
        x, library.tensor(TARGET), weight, reduction=reduction
    )
    (first,) = library.autograd.grad(loss.sum(), x, create_graph=True)
    (second,) = library.autograd.grad(first.sum(), x)
    return [each.detach().numpy() for each in (loss, first, second)]


def test_a_right_certain_answer_has_no_loss_and_no_gradient() -> None:
    loss, first, _ = gradients(tp, reduction="none")
    assert loss[:2].tolist() == [0.0, 0.0] and first[:2].tolist() == [0.0, 0.0]


def test_a_wrong_certain_answer_has_a_large_finite_loss_and_gradient() -> None:
    loss, first, second = gradients(tp, reduction="none")
    assert loss[2:4].tolist() == [100.0, 100.0]
    np.testing.assert_allclose(first[2:4], [-1e12, 1e12])
    np.testing.assert_allclose(second[2:4], [1e24, 1e24])


@needs_torch
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.5, 2.0, 3.0, 4.0]), np.array([2.0])])
def test_the_border_is_as_in_torch(reduction: str, weight: Any) -> None:
    torch = importlib.import_module("torch")
    for ours, theirs in zip(
        gradients(tp, weight, reduction), gradients(torch, weight, reduction), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_inside_the_gradients_are_the_derivatives(reduction: str) -> None:
    inside = np.array([[0.2, 0.4], [0.6, 0.9]])
    weight = np.array([0.5, 2.0])

    def function(x: Any, target: Any) -> Any:
        return binary_cross_entropy(x, target, tp.tensor(weight), reduction=reduction)

    check_differences(Case("bce", function, (inside, inside[::-1].copy())))


def test_the_gradient_of_a_target_is_that_of_the_limited_logarithms() -> None:
    target = tp.tensor(TARGET, requires_grad=True)
    x = tp.tensor(BORDER, requires_grad=True)
    loss = binary_cross_entropy(x, target, reduction="sum")
    for_x, for_target = tp.autograd.grad(loss, (x, target), create_graph=True)
    assert for_target.tolist() == [100.0, -100.0, 100.0, -100.0, 0.0]
    crossed = tp.autograd.grad(for_target.sum(), x, retain_graph=True)[0]
    assert crossed.tolist() == tp.autograd.grad(for_x.sum(), target)[0].tolist()


def test_what_is_saved_is_what_the_gradients_read() -> None:
    x, target = tp.tensor(TARGET, requires_grad=True), tp.tensor(TARGET, requires_grad=True)
    both = binary_cross_entropy(x, target).grad_fn
    assert both._saved_input is not None and both._saved_target is not None
    for_target = binary_cross_entropy(x.detach(), target).grad_fn
    assert for_target._saved_input is not None and for_target._saved_target is None


def test_nothing_at_all_is_a_mean_of_nothing() -> None:
    x = tp.zeros(0, requires_grad=True)
    loss = binary_cross_entropy(x, tp.zeros(0))
    loss.backward()
    assert np.isnan(loss.item()) and x.grad is not None and x.grad.shape == (0,)


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: binary_cross_entropy(x * 3.0, x), RuntimeError, "elements of input .* 1.5"),
    (lambda x: binary_cross_entropy(x, x - 1.0), RuntimeError, "elements of target .* -0.75 to"),
    (lambda x: binary_cross_entropy(x * np.nan, x), RuntimeError, "found nan"),
    (lambda x: binary_cross_entropy(x, x.to(tp.float64)), RuntimeError, "found float64"),
    (lambda x: binary_cross_entropy(x, x[:1]), ValueError, r"\(1,\) must have the shape"),
    (lambda x: binary_cross_entropy(x.long(), x.long()), RuntimeError, "floating .* int64"),
    (lambda x: binary_cross_entropy(x, x, tp.ones(3)), RuntimeError, r"shape \(2,\), found .*3"),
    (lambda x: binary_cross_entropy(x, x, x.requires_grad_()), RuntimeError, "weight.detach"),
    (lambda x: binary_cross_entropy(x, x, reduction="max"), ValueError, "'max'"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_wrong_use_is_refused(
    call: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(tp.tensor([0.25, 0.5]))
