"""Views: one storage, one version, and histories that follow the base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, equal, leaf, square

VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda t: t[1:],
    "step": lambda t: t[::2],
    "row": lambda t: t[1],
    "column": lambda t: t[:, 1],
    "element": lambda t: t[0, 1],
    "new axis": lambda t: t[:, None],
    "transpose": lambda t: t.transpose(0, 1),
    "reshape": lambda t: t.reshape(-1),
    "nested": lambda t: t.transpose(0, 1)[1:].reshape(-1)[1:],
    "squeeze": lambda t: t[:1].squeeze(0),
    "unsqueeze": lambda t: t.unsqueeze(1)[1],
    "narrow": lambda t: t.narrow(0, 1, 2),
    "select": lambda t: t.select(1, 0),
    "diagonal": lambda t: t.diagonal(),
    "split": lambda t: t.split(1)[1],
    "unbind": lambda t: t.unbind(1)[0],
}


def base_of(x: Any) -> Any:
    return x * 1.0


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through_a_view_reaches_the_base_and_its_history(name: str) -> None:
    """Checked against the same thing done with a mask, out of place."""
    x, w = leaf(np.arange(6.0).reshape(3, 2) + 1.0), leaf(3.0)
    base = base_of(x)
    place = constant(np.zeros((3, 2)))
    VIEWS[name](place).add_(1.0)
    base_before = base.detach().clone()
    VIEWS[name](base).mul_(w)
    expected = base_before * (1.0 + place * 2.0)
    equal(base, expected.numpy())
    assert base._version == 1
    weights = constant(np.arange(6.0).reshape(3, 2) ** 2 + 1.0)
    (base * weights).sum().backward()
    equal(x.grad, (weights * (1.0 + place * 2.0)).numpy())
    equal(w.grad, float((base_before * place * weights).sum()))


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_made_before_follows_a_write_to_the_base(name: str) -> None:
    x, w = leaf(np.arange(6.0).reshape(3, 2) + 1.0), leaf(np.full((3, 2), 3.0))
    base = base_of(x)
    view = VIEWS[name](base)
    base.mul_(w)
    assert view._version == 1
    (view * view).sum().backward()
    x2, w2 = leaf(x.detach().numpy()), leaf(w.detach().numpy())
    fresh = VIEWS[name](x2 * w2)
    (fresh * fresh).sum().backward()
    equal(x.grad, x2.grad.numpy())
    equal(w.grad, w2.grad.numpy())


USES: dict[str, Callable[[Any, Any], Any]] = {
    "first operand": lambda view, c: view * c,
    "second operand": lambda view, c: c * view,
    "both operands": lambda view, c: view * view,
    "with a number": lambda view, c: view * 2.0,
    "one operand": lambda view, c: view.sin(),
    "a view again": lambda view, c: view[:1],
    "cat": lambda view, c: tp.cat([c, view]),
    "matmul": lambda view, c: c @ view,
    "Function": lambda view, c: square().apply(view),
    "written": lambda view, c: view.mul_(c),
    "copied": lambda view, c: c.clone().copy_(view),
    "grad": lambda view, c: view,
}


@pytest.mark.parametrize("name", USES)
def test_every_use_sees_the_history_after_a_write_to_the_base(name: str) -> None:
    c, w = constant([3.0, 5.0]), leaf([7.0])
    base = constant([1.0, 2.0])
    view = base[:]
    base.mul_(w)
    found = USES[name](view, c)
    assert found.requires_grad
    (grad,) = tp.autograd.grad(found.sum(), w)
    w2 = leaf([7.0])
    expected = USES[name](constant([1.0, 2.0]) * w2, c)
    equal(grad, tp.autograd.grad(expected.sum(), w2)[0].numpy())


def test_views_share_storage_and_version_and_name_their_base() -> None:
    base = constant([[1.0, 2.0], [3.0, 4.0]])
    view = base[0]
    nested = view[1:]
    assert view._base is base and nested._base is base and base._base is None
    assert nested._storage is base._storage
    nested.fill_(9.0)
    assert (base._version, view._version) == (1, 1)
    equal(base, [[1.0, 9.0], [3.0, 4.0]])


@pytest.mark.parametrize("copy", [lambda t: t.clone(), lambda t: t[[0, 1]], lambda t: t + 0.0])
def test_copies_are_no_views(copy: Callable[[Any], Any]) -> None:
    base = constant([1.0, 2.0])
    other = copy(base)
    assert other._base is None and other._storage is not base._storage
    other.fill_(9.0)
    equal(base, [1.0, 2.0])
    assert base._version == 0


def test_a_reshape_that_must_copy_is_a_copy() -> None:
    base = constant([[1.0, 2.0], [3.0, 4.0]])
    assert base.reshape(4)._base is base
    assert base.T.reshape(4)._base is None


def test_a_view_that_did_not_need_a_gradient_begins_to() -> None:
    base, w = constant([1.0, 2.0]), leaf([3.0])
    before, detached = base[:1], base.detach()
    base[1:].mul_(w)
    assert base.requires_grad and before.requires_grad and before.grad_fn is not None
    assert not detached.requires_grad
    base.sum().backward()
    equal(w.grad, [2.0])


def test_views_of_views_written_alternately() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    base = base_of(x)
    left, right = base[:3], base[1:]
    middle = left[1:]
    left.mul_(2.0)
    right.mul_(3.0)
    middle.mul_(5.0)
    equal(base, [2.0, 60.0, 90.0, 12.0])
    (left.sum() + right.sum()).backward()
    equal(x.grad, [2.0, 60.0, 60.0, 3.0])


def test_a_write_to_a_base_between_two_uses_of_a_view() -> None:
    x = leaf([2.0, 3.0])
    base = base_of(x)
    view = base[:1]
    early = view + 0.0
    base.mul_(base.detach().clone())
    late = view + 0.0
    equal(early, [2.0])
    equal(late, [4.0])
    (early * 10.0 + late).backward()
    equal(x.grad, [10.0 + 2.0, 0.0])


def test_second_derivatives_through_a_written_view() -> None:
    x, w = leaf([2.0, 3.0]), leaf([5.0])
    base = base_of(x)
    base[:1].mul_(w).exp_()
    (first,) = tp.autograd.grad(base.sum(), x, create_graph=True)
    equal(first, [5.0 * np.exp(10.0), 1.0])
    (second,) = tp.autograd.grad(first[0], w)
    equal(second, [(1.0 + 10.0) * np.exp(10.0)])


def test_grad_with_respect_to_a_view_and_hooks_on_it() -> None:
    x = leaf([2.0, 3.0])
    base = base_of(x)
    view = base[:1]
    seen: list[Any] = []
    view.register_hook(lambda grad: seen.append(grad.tolist()))
    y = (view * view).sum()
    (found,) = tp.autograd.grad(y, view, retain_graph=True)
    equal(found, [4.0])
    y.backward()
    assert seen == [[4.0], [4.0]]
    equal(x.grad, [4.0, 0.0])


def test_detach_in_place_is_for_those_that_are_no_views() -> None:
    x = leaf([2.0, 3.0])
    h = base_of(x)
    y = h.sin()
    with pytest.raises(RuntimeError, match="cannot be used on a view"):
        h[:1].detach_()
    h.detach_()
    assert h.is_leaf and not h.requires_grad
    y.sum().backward()
    equal(x.grad, np.cos([2.0, 3.0]))
