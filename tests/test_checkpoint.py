"""checkpoint: arguments and gradients are those of the plain call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorplay_ref as tp
from tensorplay_ref.utils.checkpoint import checkpoint
from tests.checkpoint_tools import Counted, Tape, leaf


def test_tensors_in_lists_tuples_and_dicts_are_saved_and_given_back() -> None:
    a, b, c, d = leaf(2.0), leaf(3.0), leaf(5.0), leaf(7.0)
    tape = Tape()

    def region(pair: Any, *, named: Any, scale: float, nothing: Any) -> Any:
        first, (second, text) = pair
        assert text == "text" and nothing is None
        return first * second * named["c"] * named["d"] * scale

    with tape.hooks():
        y = checkpoint(
            region, [a * 1.0, (b * 1.0, "text")], named={"c": c, "d": d}, scale=2.0, nothing=None
        )
    assert tape.packed == [[2.0], [3.0], [5.0], [7.0]]
    y.backward()
    assert [t.grad.item() for t in (a, b, c, d)] == [210.0, 140.0, 84.0, 60.0]


def test_an_argument_list_that_the_region_changes_is_the_same_list_again() -> None:
    x = leaf(0.5)
    seen: list[int] = []

    def region(items: list[Any]) -> Any:
        seen.append(len(items))
        items.append(items[0].exp())
        return items[-1].exp()

    checkpoint(region, [x]).backward()
    assert seen == [1, 1]
    assert np.isclose(x.grad.item(), np.exp(np.exp(0.5)) * np.exp(0.5))


def test_integer_and_boolean_arguments_pass() -> None:
    x = leaf(1.0, 2.0, 3.0)
    index, mask = tp.tensor([2, 0]), tp.tensor([True, False])

    def region(x: Any, index: Any, mask: Any) -> Any:
        return (x[index].exp() * mask).sum()

    checkpoint(region, x, index, mask).backward()
    assert np.allclose(x.grad.numpy(), [0.0, 0.0, np.exp(3.0)])


def test_a_hook_that_the_region_sets_on_its_argument_runs_in_one_graph_only() -> None:
    x = leaf(0.5)
    seen: list[float] = []

    def region(h: Any) -> Any:
        h.register_hook(lambda grad: seen.append(grad.item()))
        return h.exp().exp()

    checkpoint(region, x * 1.0).backward()
    assert len(seen) == 1


def layered(widths: list[int], x: Any, weights: list[Any], segment: int | None) -> Any:
    """tanh layers; every `segment` of them in a checkpoint of its own, nested for 3 and more."""

    def some(x: Any, lot: list[Any]) -> Any:
        if segment is not None and len(lot) >= 3:
            x = checkpoint(some, x, lot[:1])
            return checkpoint(some, x, lot[1:])
        for w in lot:
            x = (x @ w).tanh() * x
        return x

    step = segment or len(weights)
    for start in range(0, len(weights), step):
        lot = weights[start : start + step]
        x = some(x, lot) if segment is None else checkpoint(some, x, lot)
    return (x * x).sum()


@given(depth=st.integers(1, 7), segment=st.integers(1, 7), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_gradients_of_first_and_second_order_are_bit_equal(
    depth: int, segment: int, seed: int
) -> None:
    def derivatives(segment: int | None) -> list[Any]:
        draw = np.random.default_rng(seed)
        x = tp.tensor(draw.standard_normal((3, 4)), requires_grad=True)
        weights = [
            tp.tensor(draw.standard_normal((4, 4)) / 2, requires_grad=True) for _ in range(depth)
        ]
        out = layered([4] * depth, x, weights, segment)
        first = tp.autograd.grad(out, [x, *weights], create_graph=True)
        total = sum((g * g).sum() for g in first)
        second = tp.autograd.grad(total, [x, *weights])
        return [out, *first, *second]

    for plain, again in zip(derivatives(None), derivatives(segment), strict=True):
        assert np.array_equal(plain.detach().numpy(), again.detach().numpy())


def test_gradcheck_and_gradgradcheck_pass_through_nested_checkpoints() -> None:
    def inner(x: Any, w: Any) -> Any:
        return (x @ w).sigmoid()

    def outer(x: Any, w: Any) -> Any:
        return checkpoint(inner, x, w) * checkpoint(inner, x * x, w)

    rng = np.random.default_rng(0)
    inputs = tuple(tp.tensor(rng.standard_normal((2, 2)), requires_grad=True) for _ in range(2))
    assert tp.autograd.gradcheck(lambda *a: checkpoint(outer, *a), inputs)
    assert tp.autograd.gradgradcheck(lambda *a: checkpoint(outer, *a), inputs)


def test_a_region_may_differentiate_inside() -> None:
    for early_stop in (True, False):
        x = leaf(0.5)

        def region(x: Any) -> Any:
            (slope,) = tp.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
            return slope * x

        region_on_leaf = Counted(region)
        y = checkpoint(region_on_leaf, x, early_stop=early_stop)
        y.sum().backward()
        found, expected = x.grad, leaf(0.5)
        region(expected).sum().backward()
        assert np.allclose(found.numpy(), expected.grad.numpy()), early_stop


def test_a_function_that_reads_its_saved_tensors_twice_gets_them_twice() -> None:
    class Square(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (first,), (second,) = ctx.saved_tensors, ctx.saved_tensors
            return grad * (first + second)

    x = leaf(3.0)
    region = Counted(lambda x: Square.apply(x * 1.0))
    checkpoint(region, x).backward()
    assert x.grad.item() == 6.0
    assert region.runs == 3


def test_a_saved_tensor_can_be_read_outside_of_a_backward() -> None:
    x = leaf(0.5)
    y = checkpoint(lambda x: x.exp().tanh(), x)
    for _ in range(2):
        assert np.isclose(y.grad_fn._saved_result.item(), np.tanh(np.exp(0.5)))


def test_in_place_operations_inside_a_region_are_repeated() -> None:
    x = leaf(0.5, 1.5)

    def region(x: Any) -> Any:
        h = x * 2.0
        h.mul_(x)
        h[0:1].mul_(h[1:2].clone())
        return (h * 3.0).tanh_()

    y, plain = checkpoint(region, x), leaf(0.5, 1.5)
    y.sum().backward()
    region(plain).sum().backward()
    assert np.array_equal(x.grad.numpy(), plain.grad.numpy())


def test_a_value_that_the_region_overwrites_after_saving_it_is_an_error() -> None:
    def region(x: Any) -> Any:
        h = x.exp()
        h.mul_(2.0)
        return h.tanh()

    y = checkpoint(region, leaf(0.5))
    with pytest.raises(RuntimeError, match="modified by an inplace .* saved by Exp"):
        y.backward()


def test_grad_mode_inside_a_region_is_honoured() -> None:
    x = leaf(0.5)

    def region(x: Any) -> Any:
        with tp.no_grad():
            factor = x.exp()
        return (x * factor).tanh()

    checkpoint(region, x).backward()
    plain = leaf(0.5)
    region(plain).backward()
    assert x.grad.item() == plain.grad.item()


def test_partial_backwards_compute_again_what_each_needs() -> None:
    x, w = leaf(0.5), leaf(2.0)
    region = Counted(lambda x, w: (x.exp(), (x * w).tanh()))
    a, b = checkpoint(region, x, w)
    (of_w,) = tp.autograd.grad(b, w, retain_graph=True)
    (of_x,) = tp.autograd.grad(a, x)
    assert np.isclose(of_w.item(), 0.5 * (1 - np.tanh(1.0) ** 2))
    assert np.isclose(of_x.item(), np.exp(0.5))
    assert region.runs == 3
