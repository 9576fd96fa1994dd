"""checkpoint: a second run that differs from the first is an error, never a wrong gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)
from tests.checkpoint_tools import leaf


def changing(first: Any, later: Any) -> Any:
    """A region that does one thing in the first run and another afterwards."""
    runs: list[int] = []

    def region(*args: Any) -> Any:
        runs.append(1)
        return (first if len(runs) == 1 else later)(*args)

    return region


def error_of(first: Any, later: Any, *args: Any, **options: Any) -> str:
    x = leaf(0.1, 0.2, 0.3)
    y = checkpoint(changing(first, later), x, *args, **options).sum()
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    assert x.grad is None
    return str(caught.value)


def test_another_shape_names_operation_slot_and_both_shapes() -> None:
    message = error_of(lambda x: (x * x).tanh().sum(), lambda x: (x[:2] * x[:2]).tanh().sum())
    assert "'self' of Mul (tensor 1 of 3)" in message
    assert "saved shape (3,), dtype float64, on cpu" in message
    assert "recomputed shape (2,), dtype float64, on cpu" in message


def test_another_dtype_names_both() -> None:
    message = error_of(lambda x: x.exp(), lambda x: x.to(tp.float32).exp())
    assert "'result' of Exp" in message
    assert "float64" in message and "float32" in message


def test_another_device_names_both() -> None:
    with tp.cuda.simulate(capacity=10_000):
        message = error_of(lambda x: x.exp(), lambda x: x.to("cuda").exp().cpu())
    assert "on cpu" in message and "on cuda:0" in message


def test_another_operation_on_the_same_shape_names_both() -> None:
    message = error_of(lambda x: x.exp(), lambda x: x.tanh())
    assert "'result' of Exp" in message and "saved by Tanh" in message


def test_the_slot_of_a_custom_function_is_named() -> None:
    class Product(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            return grad * b, grad * a

    message = error_of(
        lambda x: Product.apply(x, x * 1.0), lambda x: Product.apply(x, (x * 1.0)[:1])
    )
    assert "'saved_tensors[1]' of Product (tensor 2 of 2)" in message


def test_fewer_tensors_name_both_counts_and_the_first_missing_one() -> None:
    message = error_of(lambda x: (x.exp() * x).tanh(), lambda x: x.exp())
    assert "forward pass saved 4, the recomputation 1" in message
    assert "'self' of Mul" in message


def test_more_tensors_are_seen_without_early_stop() -> None:
    message = error_of(lambda x: x.exp(), lambda x: x.exp().tanh(), early_stop=False)
    assert "forward pass saved 1, the recomputation at least 2" in message
    assert "Tanh" in message


def test_the_argument_of_a_nested_region_is_named() -> None:
    def inner(h: Any) -> Any:
        return h.exp()

    message = error_of(
        lambda x: checkpoint(inner, x * 2.0).sum(), lambda x: checkpoint(inner, x[:1]).sum()
    )
    assert "Checkpoint" in message and "(3,)" in message and "(1,)" in message


def test_a_region_cannot_hide_the_error_by_catching_it() -> None:
    def careless(x: Any) -> Any:
        try:
            return x.tanh()
        except RuntimeError:
            return x

    assert "Tanh" in error_of(lambda x: x.exp(), careless)


def test_the_check_can_be_switched_off_but_not_that_of_shapes() -> None:
    x = leaf(0.5)
    region = changing(lambda x: x.exp(), lambda x: x.to(tp.float32).exp())
    checkpoint(region, x, determinism_check="none").backward()
    assert np.isclose(x.grad.item(), np.exp(0.5), rtol=1e-6)
    region = changing(lambda x: x.exp(), lambda x: x[0].exp())
    with pytest.raises(RuntimeError, match="shape"):
        checkpoint(region, leaf(0.5), determinism_check="none").backward()


def test_after_the_error_the_graph_before_the_region_still_works() -> None:
    x = leaf(0.5)
    h = x.exp()
    y = checkpoint(changing(lambda h: h.exp(), lambda h: h.tanh()), h)
    with pytest.raises(CheckpointError):
        y.backward()
    h.backward()
    assert np.isclose(x.grad.item(), np.exp(0.5))


# -- changes in place between the runs -------------------------------------------------------------
def test_an_argument_that_was_changed_is_an_error() -> None:
    h = leaf(0.5) * 1.0
    y = checkpoint(lambda h: h.exp(), h)
    with tp.no_grad():
        h.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_a_weight_of_a_closure_that_was_changed_is_an_error() -> None:
    x, w = leaf(0.5), leaf(2.0)
    y = checkpoint(lambda x: (x * w).exp(), x)
    with tp.no_grad():
        w.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace .* saved by Mul"):
        y.backward()
    assert x.grad is None and w.grad is None


def test_an_argument_that_outer_hooks_have_copied_may_be_changed() -> None:
    x = leaf(0.5)
    h = x * 1.0
    with tp.autograd.graph.saved_tensor_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = checkpoint(lambda h: h.exp(), h)
    with tp.no_grad():
        h.add_(1.0)
    y.backward()
    assert np.isclose(x.grad.item(), np.exp(0.5))


# -- bad arguments ---------------------------------------------------------------------------------
def test_the_reentrant_variant_is_refused_before_anything_runs() -> None:
    ran: list[int] = []
    with pytest.raises(ValueError, match="use_reentrant=True is not offered"):
        checkpoint(lambda: ran.append(1), use_reentrant=True)
    assert ran == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: checkpoint(3, x), "function must be callable, found int"),
        (lambda x: checkpoint(tp.exp, x, context_fn=3), "context_fn must be callable, found int"),
        (
            lambda x: checkpoint(tp.exp, x, context_fn=lambda: None),
            "context_fn must return two contexts, one for each run, found None",
        ),
        (lambda x: checkpoint(tp.exp, x, context_fn=lambda: (3, 4)), r"two contexts, .*\(3, 4\)"),
        (lambda x: checkpoint(tp.exp, x, use_reentrant="no"), "use_reentrant must be True or"),
        (lambda x: checkpoint(tp.exp, x, early_stop="no"), "early_stop must be True or False"),
        (lambda x: checkpoint(tp.exp, x, preserve_rng_state="no"), "preserve_rng_state must be"),
        (lambda x: set_checkpoint_early_stop("no"), "enable must be True or False"),
        (lambda x: checkpoint_sequential(3, 1, x), "functions must be a sequence, found int"),
        (lambda x: checkpoint_sequential([3], 1, x), "function 0 must be callable, found int"),
        (lambda x: checkpoint_sequential([tp.exp], "a", x), "segments must be a whole number"),
    ],
)
def test_arguments_of_another_type_are_named(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(leaf(0.5))


def test_another_determinism_check_is_refused() -> None:
    with pytest.raises(ValueError, match="'some'"):
        checkpoint(lambda x: x, leaf(0.5), determinism_check="some")
