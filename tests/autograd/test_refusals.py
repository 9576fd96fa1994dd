"""A backward that is refused or fails says why and changes no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, equal, function, gradients, leaf

graph = tp.autograd.graph


def boom(*anything: Any) -> Any:
    raise KeyError("boom")


def by_hook(x: Any, w: Any) -> Any:
    h = x.sin()
    h.register_hook(boom)
    return h * w


def by_function(x: Any, w: Any) -> Any:
    return function(lambda ctx, x: x * 1.0, boom).apply(x) * w


def by_unpack(x: Any, w: Any) -> Any:
    with graph.saved_tensor_hooks(lambda t: t, boom):
        h = x.sin()
    return h * w


def by_leaf_hook(x: Any, w: Any) -> Any:
    x.register_hook(boom)
    return x.sin() * w


@pytest.mark.parametrize("way", [by_hook, by_function, by_unpack, by_leaf_hook])
def test_a_backward_that_raises_changes_no_gradient(way: Callable[..., Any]) -> None:
    x, w = leaf([2.0]), leaf([3.0])
    (x * w).backward()
    before = gradients([x, w])
    y = way(x, w)
    with pytest.raises(KeyError, match="boom"):
        y.backward()
    assert gradients([x, w]) == before and tp.is_grad_enabled()


def test_when_memory_ends_while_gradients_are_put_down_none_is() -> None:
    leaves = [tp.ones(1000, device="cuda", requires_grad=True) for _ in range(4)]
    y = leaves[0] + leaves[1] + leaves[2] + leaves[3]
    gradient = tp.ones(1000, device="cuda")
    with pytest.MonkeyPatch.context() as patch:
        # There is room for two of the four gradients, of 4,000 bytes each.
        accelerator = gradient.device.accelerator
        patch.setattr(accelerator, "capacity", tp.cuda.memory_allocated() + 10_000)
        with pytest.raises(tp.cuda.OutOfMemoryError):
            y.backward(gradient)
    assert [t.grad for t in leaves] == [None] * 4


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: (x * 2.0).backward(), RuntimeError, r"scalar outputs.*\(2,\)"),
        (lambda x: x.detach().sum().backward(), RuntimeError, "does not require grad"),
        (lambda x: (x * 2.0).backward(constant([1.0])), RuntimeError, "Mismatch in shape"),
        (lambda x: (x * 2.0).backward(3.0), TypeError, "float"),
        (lambda x: tp.autograd.backward([]), RuntimeError, "at least one tensor"),
        (lambda x: tp.autograd.backward([x.sum()], [None, None]), RuntimeError, "must match"),
        (lambda x: x.sum().backward(inputs=[]), RuntimeError, "inputs cannot be empty"),
        (lambda x: x.sum().backward(inputs=[constant([1.0])]), RuntimeError, "does not require"),
        (lambda x: x.sum().backward(inputs=[3]), TypeError, "int"),
        (lambda x: tp.autograd.grad(x.sum(), []), RuntimeError, "at least one input"),
        (lambda x: tp.autograd.grad([], x), RuntimeError, "at least one output"),
        (lambda x: tp.autograd.backward([3.0]), TypeError, "found float at position 0"),
        (lambda x: tp.autograd.backward(3), TypeError, "backward: tensors must be .* found int"),
        (
            lambda x: tp.autograd.backward(x.sum(), 3),
            TypeError,
            "grad_outputs must be .* found int",
        ),
        (
            lambda x: tp.autograd.grad(x.sum(), 3),
            TypeError,
            "grad: inputs must be a Tensor or a seq",
        ),
        (lambda x: tp.autograd.grad(3, x), TypeError, "grad: outputs must be .* found int"),
        (
            lambda x: tp.autograd.grad(x.sum(), [x, constant([1.0])]),
            RuntimeError,
            "One of the differentiated Tensors does not require grad: input 1",
        ),
        (
            lambda x: tp.autograd.backward([x.sum(), constant([1.0])]),
            RuntimeError,
            "element 1 of tensors does not require grad",
        ),
        (lambda x: x.sum().backward(retain_graph="yes"), TypeError, "retain_graph must be True"),
        (lambda x: x.sum().backward(create_graph="yes"), TypeError, "create_graph must be True"),
        (lambda x: tp.autograd.grad(x.sum(), x, allow_unused="no"), TypeError, "allow_unused must"),
        (
            lambda x: tp.autograd.grad(x.sum(), x, materialize_grads="no"),
            TypeError,
            "materialize_grads must be True or False",
        ),
        (
            lambda x: function(lambda ctx, x: ctx.set_materialize_grads("no"), boom).apply(x),
            TypeError,
            "set_materialize_grads: value must be True or False",
        ),
        (
            lambda x: tp.autograd.function.once_differentiable(3),
            TypeError,
            "once_differentiable: backward must be callable",
        ),
        (lambda x: graph.get_gradient_edge(3), TypeError, "get_gradient_edge: .* found int"),
        (lambda x: x.requires_grad_("yes"), TypeError, "requires_grad must be True or False"),
        (lambda x: tp.autograd.gradcheck(tp.exp, 3), TypeError, "gradcheck: inputs .* found int"),
        (
            lambda x: graph.register_multi_grad_hook([x, 3], print),
            TypeError,
            "register_multi_grad_hook: expected Tensors, found int at position 1",
        ),
        (lambda x: graph.register_multi_grad_hook(3, print), TypeError, "a sequence, found int"),
        (lambda x: graph.register_multi_grad_hook([x], 3), TypeError, "fn must be callable"),
        (lambda x: graph.save_on_cpu(pin_memory="yes"), TypeError, "True or False, found 'yes'"),
        (lambda x: graph.save_on_cpu(tp.exp), TypeError, r"exp; .* write @save_on_cpu\(\) with"),
        (
            lambda x: graph.disable_saved_tensors_hooks(3),
            TypeError,
            "error_message must be a str, found int",
        ),
        (lambda x: tp.set_grad_enabled("yes"), TypeError, "mode must be True or False"),
        (lambda x: tp.autograd.set_detect_anomaly("yes"), TypeError, "mode must be True or False"),
        (lambda x: tp.autograd.detect_anomaly("yes"), TypeError, "check_nan must be True or False"),
    ],
)
def test_wrong_use_says_so(call: Callable[[Any], Any], error: Any, text: str) -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(error, match=text):
        call(x)
    assert x.grad is None and tp.is_grad_enabled() and graph._current_pair() is None
    assert not tp.autograd.is_anomaly_enabled()


def test_a_graph_that_was_freed_is_not_walked_silently() -> None:
    x = leaf([2.0])
    h = x * x
    h.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        (h * 3.0).backward()
    equal(x.grad, [4.0])
    h = x * x
    (first,) = tp.autograd.grad(h * h, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="a second time"):
        first.backward()


def test_nothing_saved_may_be_walked_again() -> None:
    x = leaf([2.0])
    y = (x + 1.0).sum()
    y.backward()
    y.backward()
    equal(x.grad, [2.0])
