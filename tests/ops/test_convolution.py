"""Convolution and pooling: values against PyTorch, derivatives of any order, what is saved."""

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp

from .gradients import Case, away_from_zero, checks_of, needs_torch, saved_roles
from .libraries import alike

images, weight = away_from_zero(2, 2, 4, 5), away_from_zero(4, 2, 2, 3, seed=1)
grouped, single = away_from_zero(4, 1, 2, 3, seed=2), away_from_zero(1, 2, 3, 3, seed=3)
bias = away_from_zero(4, seed=4)


def _conv(name: str, *inputs: Any, **options: Any) -> Case:
    return alike(name, lambda lib, *t: lib.nn.functional.conv2d(*t, **options), *inputs)


def _pool(name: str, kind: str, *arguments: Any, **options: Any) -> Case:
    def pooled(lib: Any, x: Any) -> Any:
        return getattr(lib.nn.functional, kind)(x, *arguments, **options) ** 2

    return alike(name, pooled, images)


CASES = [
    _conv("plain", images, weight),
    _conv("with bias", images, weight, bias),
    _conv("stride", images, weight, stride=2),
    _conv("two strides", images, weight, stride=(1, 2)),
    _conv("padding", images, weight, bias, padding=1),
    _conv("padding and stride", images, weight, padding=(0, 2), stride=(2, 3)),
    _conv("dilation", images, weight, dilation=(2, 1)),
    _conv("groups", images, grouped, groups=2),
    _conv("groups with all", images, grouped, bias, groups=2, padding=1, stride=2, dilation=(1, 2)),
    _conv("same", images, single, padding="same"),
    _conv("same, of even size", images, weight, padding="same"),
    _conv("valid", images, single, padding="valid"),
    _conv("one image", images[0], weight, bias, padding=1),
    _conv("one by one", images, away_from_zero(3, 2, 1, 1)),
    _pool("max_pool2d", "max_pool2d", 2),
    _pool("max_pool2d overlapping", "max_pool2d", 3, 1),
    _pool("max_pool2d padded", "max_pool2d", 3, 2, 1),
    _pool("max_pool2d dilated", "max_pool2d", 2, 1, 0, 2),
    _pool("avg_pool2d", "avg_pool2d", 2),
    _pool("avg_pool2d overlapping", "avg_pool2d", (2, 3), (1, 2)),
    _pool("avg_pool2d padded", "avg_pool2d", 3, 2, 1),
    _pool("avg_pool2d of inner elements", "avg_pool2d", 3, 2, 1, count_include_pad=False),
    _pool("avg_pool2d with a divisor", "avg_pool2d", 2, divisor_override=3),
]


TestCases = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")(
    checks_of(CASES)
)


def test_third_derivatives_are_there() -> None:
    x = tp.tensor(images, requires_grad=True)
    w = tp.tensor(weight, requires_grad=True)
    y = (tp.nn.functional.conv2d(x, w) ** 2).sum()  # quadratic in each, so of degree 4 in all
    (first,) = tp.autograd.grad(y, x, create_graph=True)
    (second,) = tp.autograd.grad((first**2).sum(), w, create_graph=True)
    (third,) = tp.autograd.grad((second * second).sum(), x)
    step = 1e-4
    direction = away_from_zero(*images.shape, seed=9)

    def value(offset: float) -> float:
        x = tp.tensor(images + offset * direction, requires_grad=True)
        y = (tp.nn.functional.conv2d(x, w) ** 2).sum()
        (first,) = tp.autograd.grad(y, x, create_graph=True)
        (second,) = tp.autograd.grad((first**2).sum(), w, create_graph=True)
        return float((second * second).sum().item())

    slope = (value(step) - value(-step)) / (2 * step)
    np.testing.assert_allclose((third.numpy() * direction).sum(), slope, rtol=1e-6)


def _leaf(array: Any, grad: bool = True) -> Any:
    return tp.tensor(array, requires_grad=grad)


def test_each_operand_is_saved_only_for_the_other() -> None:
    conv2d = tp.nn.functional.conv2d
    assert saved_roles(conv2d, _leaf(images), _leaf(weight)) == ["a", "b"]
    assert saved_roles(conv2d, _leaf(images), _leaf(weight, False)) == ["b"]
    assert saved_roles(conv2d, _leaf(images, False), _leaf(weight)) == ["a"]
    assert saved_roles(conv2d, _leaf(images, False), _leaf(weight, False), _leaf(bias)) == []


def test_pooling_saves_positions_or_nothing() -> None:
    functional = tp.nn.functional
    assert saved_roles(lambda x: functional.max_pool2d(x, 2), _leaf(images)) == ["int64"]
    assert saved_roles(lambda x: functional.avg_pool2d(x, 2), _leaf(images)) == []


@needs_torch
def test_the_saved_positions_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    found = tp.nn.functional.max_pool2d(_leaf(images), 3, 2, 1).grad_fn._saved_indices
    _, expected = torch.nn.functional.max_pool2d(torch.tensor(images), 3, 2, 1, return_indices=True)
    assert found.tolist() == expected.tolist()


def test_the_first_of_equal_maxima_has_the_gradient() -> None:
    x = tp.zeros(1, 1, 2, 2, requires_grad=True)
    tp.nn.functional.max_pool2d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[[1.0, 0.0], [0.0, 0.0]]]]


def test_integers_can_be_pooled() -> None:
    x = tp.arange(4).reshape(1, 2, 2)
    assert tp.nn.functional.max_pool2d(x, 2, padding=1).tolist() == [[[0, 1], [2, 3]]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x, w: f.conv2d(x[0, 0], w), RuntimeError, r"\(N, C, H, W\)"),
        (lambda f, x, w: f.conv2d(x, w[0]), RuntimeError, "4 axes"),
        (lambda f, x, w: f.conv2d(x[:, :1], w), RuntimeError, "1 channels"),
        (lambda f, x, w: f.conv2d(x, w[:, :1], groups=3), RuntimeError, "3 groups takes 3"),
        (lambda f, x, w: f.conv2d(x[..., :2], w), RuntimeError, "does not fit"),
        (lambda f, x, w: f.conv2d(x, w, w[0, 0, 0]), RuntimeError, r"bias of \(4,\), found \(3,\)"),
        (lambda f, x, w: f.conv2d(x, w, stride=0), RuntimeError, "stride: .* >= 1"),
        (lambda f, x, w: f.conv2d(x, w, stride=(1, 2, 3)), RuntimeError, "one or two"),
        (lambda f, x, w: f.conv2d(x, w, padding="full"), ValueError, "'full'"),
        (lambda f, x, w: f.conv2d(x, w, padding="same", stride=2), ValueError, "stride 1"),
        (lambda f, x, w: f.max_pool2d(x, 2, padding=2), RuntimeError, "at most half"),
        (lambda f, x, w: f.avg_pool2d(x, 6), RuntimeError, "does not fit"),
    ],
)
def test_wrong_use_names_what_was_expected(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(tp.nn.functional, _leaf(images), _leaf(weight))
