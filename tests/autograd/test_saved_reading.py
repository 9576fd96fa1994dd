"""Reading a saved slot: what unpack may return and how it is dressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Recorder, constant, equal, leaf

graph = tp.autograd.graph


def test_every_read_unpacks_anew() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    with recorder.hooks():
        y = x.sin()
    assert recorder.unpacked == 0
    assert y.grad_fn._saved_self is not y.grad_fn._saved_self
    assert recorder.unpacked == 2
    y.backward(retain_graph=True)
    y.backward()
    assert recorder.unpacked == 4


def test_without_hooks_the_very_tensor_comes_back() -> None:
    x = leaf([2.0])
    assert x.sin().grad_fn._saved_self is x


@pytest.mark.parametrize("answer", [3, None, [1.0], np.ones(1)])
def test_unpack_must_return_a_tensor(answer: Any) -> None:
    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: t, lambda t: answer):
        y = x.sin()
    with pytest.raises(TypeError, match=type(answer).__name__):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize("shape", [(1,), (), (1, 2), (3,)])
def test_unpack_must_return_the_saved_shape(shape: tuple[int, ...]) -> None:
    x = leaf([2.0, 3.0])
    with graph.saved_tensor_hooks(lambda t: t, lambda t: tp.ones(shape, dtype=tp.float64)):
        y = x.sin().sum()
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        y.backward()


def test_another_floating_dtype_is_cast_back() -> None:
    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: t.to(tp.float32), lambda t: t):
        y = x.sin()
    saved = y.grad_fn._saved_self
    assert saved.dtype == tp.float64 and saved.requires_grad
    y.backward()
    assert x.grad.dtype == tp.float64


@pytest.mark.parametrize("dtype", [tp.int64, tp.bool, tp.complex64])
def test_another_kind_of_dtype_is_refused(dtype: Any) -> None:
    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: t, lambda t: t.detach().to(dtype)):
        y = x.sin()
    with pytest.raises(RuntimeError, match="dtype"):
        y.backward()


def test_an_index_must_come_back_with_its_own_dtype() -> None:
    x = leaf([2.0, 3.0])

    def narrow(tensor: Any) -> Any:
        return tensor.to(tp.int32) if tensor.dtype == tp.int64 else tensor

    with graph.saved_tensor_hooks(lambda t: t, narrow):
        y = x[tp.tensor([0, 0])].sum()
    with pytest.raises(RuntimeError, match="dtype int32"):
        y.backward()


def test_the_answer_is_dressed_with_what_was_saved() -> None:
    x = leaf([2.0])
    h = x * 3.0
    with graph.saved_tensor_hooks(lambda t: t.detach().numpy(), tp.tensor):
        y = h.sin()
    saved = y.grad_fn._saved_self
    assert saved.grad_fn is h.grad_fn and saved.requires_grad


def test_a_history_of_unpacks_own_is_dropped() -> None:
    x, other = leaf([2.0]), leaf([10.0])
    with graph.saved_tensor_hooks(lambda t: t.detach(), lambda t: t + 0.0 * other):
        y = x.sin()
    (first,) = tp.autograd.grad(y, x, create_graph=True)
    assert tp.autograd.grad(first, other, retain_graph=True, allow_unused=True) == (None,)
    (second,) = tp.autograd.grad(first, x)
    equal(second, [-np.sin(2.0)])


def test_a_saved_constant_stays_constant() -> None:
    x, c = leaf([2.0]), constant([5.0])
    with graph.saved_tensor_hooks(lambda t: t, lambda t: t.clone().requires_grad_()):
        y = x * c
    assert not y.grad_fn._saved_other.requires_grad


def test_what_unpack_returns_is_left_as_it_was() -> None:
    x = leaf([2.0])
    kept: list[Any] = []
    with graph.saved_tensor_hooks(lambda t: kept.append(t.detach().clone()), lambda n: kept[0]):
        y = x.sin()
    assert y.grad_fn._saved_self.requires_grad
    assert not kept[0].requires_grad and kept[0].grad_fn is None


def test_a_leaf_read_through_a_hook_stands_for_the_leaf() -> None:
    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: t.detach().numpy().copy(), tp.tensor):
        y = x * x
    again = y.grad_fn._saved_self
    seen: list[float] = []
    again.register_hook(lambda grad: seen.append(float(grad)))
    (again * 5.0).backward()
    (x * 0.0).backward()
    assert seen == [5.0, 0.0]
    equal(x.grad, [5.0])
    assert again.grad is None


def test_the_grad_mode_that_an_unpack_hook_sets_ends_with_it() -> None:
    def unpack(packed: Any) -> Any:
        tp.set_grad_enabled(True)
        return packed

    x = tp.tensor([2.0, 3.0], requires_grad=True)
    with tp.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sin().sum()
    y.backward()
    assert x.grad is not None and not x.grad.requires_grad
