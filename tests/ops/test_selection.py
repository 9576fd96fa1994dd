"""where, masked_fill, clamp, maximum, minimum: values, derivatives, ties, what is saved."""

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.ops.selection import Clamp, MaskedFill, Where

from .gradients import (
    Case,
    away_from_zero,
    check_torch,
    checks_of,
    needs_torch,
    parametrize,
    saved_roles,
)

a, b, row = away_from_zero(2, 3), away_from_zero(2, 3, seed=1), 0.01 + away_from_zero(3, seed=2)

CASES = [
    Case("where", lambda a, b: a.where(a.detach() > 0, b), (a, row)),
    Case("where a number", lambda a: a.where(a.detach() > 0, 2.0), (a,)),
    Case("where, broadcast", lambda a, b: a.where(b.detach() > 0, b), (row, b)),
    Case("masked_fill", lambda a: a.masked_fill(a.detach() > 0.5, 3.0), (a,)),
    Case("masked_fill, broadcast", lambda a, b: a.masked_fill(b.detach() > 0, 3.0), (a, row)),
    Case(
        "masked_fill with a tensor",
        lambda a, b: a.masked_fill(a.detach() > 0, b),
        (a, np.array(2.0)),
    ),
    Case("clamp", lambda a: a.clamp(-0.6, 0.8), (a,)),
    Case("clamp min", lambda a: a.clamp(min=-0.6), (a,)),
    Case("clamp max", lambda a: a.clamp(max=0.8), (a,)),
    Case("clamp, crossed", lambda a: a.clamp(1.0, -1.0), (a,)),
    Case("clamp by tensors", lambda a, b, c: a.clamp(b, c), (a, -0.5 + 0.1 * row, 0.6 + 0.1 * b)),
    Case("maximum", lambda a, b: a.maximum(b), (a, row)),
    Case("minimum", lambda a, b: a.minimum(b), (row, b)),
    Case("no axes", lambda a, b: a.maximum(b).clamp(0.0, 1.0), (np.array(0.5), np.array(0.7))),
    Case("no elements", lambda a, b: a.maximum(b).clamp(0.0, 1.0), (np.zeros((0, 3)), row)),
]


TestCases = checks_of(CASES)


same = np.array([1.0, 2.0, -1.0, np.inf])
TIES = [
    Case("maximum", lambda a, b: a.maximum(b), (same, np.array([1.0, 3.0, -1.0, np.inf]))),
    Case("minimum", lambda a, b: a.minimum(b), (same, np.array([1.0, 3.0, -1.0, np.inf]))),
    Case("maximum, NaN", lambda a, b: a.maximum(b), (np.array([np.nan, 1.0]), np.ones(2) * np.nan)),
    Case("clamp at its bounds", lambda a: a.clamp(-1.0, 1.0), (np.array([-1.0, 1.0, np.nan]),)),
    Case("clamp by equal tensors", lambda a, b: a.clamp(b, b), (same, same)),
]


@needs_torch
@parametrize(TIES)
def test_ties_and_nan_are_pytorchs(case: Case) -> None:
    check_torch(case)


def test_equal_operands_share_the_gradient() -> None:
    x, y = (tp.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    x.maximum(y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.5, 0.5], [0.5, 0.5])


def _leaf(array: Any) -> Any:
    return tp.tensor(array, requires_grad=True)


def test_selections_save_their_condition_or_mask_only() -> None:
    mask = tp.tensor(a > 0)
    assert saved_roles(lambda x, y: x.where(mask, y), _leaf(a), _leaf(b)) == ["bool"]
    assert saved_roles(lambda x: x.masked_fill(mask, 0.0), _leaf(a)) == ["bool"]
    assert saved_roles(lambda x, y: Where.apply(mask, x, y), tp.tensor(a), tp.tensor(b)) == []


def test_what_is_compared_in_backward_is_saved() -> None:
    assert saved_roles(lambda x: x.clamp(0.0, 1.0), _leaf(a)) == ["a"]
    for operation in (lambda x, y: x.maximum(y), lambda x, y: x.minimum(y)):
        assert saved_roles(operation, _leaf(a), _leaf(b)) == ["a", "b"]
        assert saved_roles(operation, _leaf(a), tp.tensor(b)) == ["a", "b"]
    assert saved_roles(lambda x: x.maximum(0.5), _leaf(a)) == ["a"]


def test_a_branch_that_is_not_taken_gets_zero_even_from_an_infinite_gradient() -> None:
    x = _leaf([0.0, 4.0])
    for result in (Where.apply(x > 0, x, 0.0), x.masked_fill(x <= 0, 0.0), x.clamp(min=1.0)):
        (gradient,) = tp.autograd.grad(result, x, tp.tensor([np.inf, 1.0]))
        assert gradient.tolist() == [0.0, 1.0]


def test_dtypes_meet_as_in_arithmetic() -> None:
    mask = tp.tensor([True, False])
    assert Where.apply(mask, 1, 2).dtype == np.int64
    assert Where.apply(mask, 1.0, 2).dtype == np.float32
    assert Where.apply(mask, tp.tensor([1, 2]), 2.5).dtype == np.float32
    assert tp.tensor([1, 2]).masked_fill(mask, 7).tolist() == [7, 2]
    assert tp.tensor([1, 2]).clamp(0.5, 1.5).dtype == np.float32
    assert tp.tensor([1, 2, 3]).clamp(2).tolist() == [2, 2, 3]


def test_a_value_may_be_a_tensor_without_axes_only() -> None:
    with pytest.raises(RuntimeError, match=r"without axes, found shape \(2,\)"):
        MaskedFill.apply(tp.tensor([1.0, 2.0]), tp.tensor([True, False]), tp.tensor([1.0, 2.0]))


def test_masks_must_be_boolean() -> None:
    with pytest.raises(TypeError, match="condition must be a boolean tensor, found int64"):
        Where.apply(tp.tensor([1, 0]), tp.tensor([1.0, 2.0]), 0.0)
    with pytest.raises(TypeError, match="mask must be a boolean tensor, found float32"):
        tp.tensor([1.0]).masked_fill(tp.tensor([1.0]), 0.0)


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(RuntimeError, match=r"\(2,\), \(3,\) and \(\)"):
        Where.apply(tp.tensor([True, False]), tp.tensor([1.0, 2.0, 3.0]), 0.0)
    with pytest.raises(RuntimeError, match=r"\(3,\) and \(2,\)"):
        tp.tensor([1.0, 2.0, 3.0]).masked_fill(tp.tensor([True, False]), 0.0)


def test_clamp_needs_a_bound() -> None:
    with pytest.raises(RuntimeError, match="at least one of min and max"):
        Clamp.apply(tp.tensor([1.0]), None, None)


def test_operands_on_two_devices_are_refused_by_name() -> None:
    x = tp.ones(2, device=tp.Device("cuda"))
    with pytest.raises(RuntimeError, match="cpu and cuda"):
        Where.apply(tp.tensor([True, False]), x, 0.0)
