"""What a Function saves, when it is packed, and when it is freed."""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import (
    Parcel,
    Recorder,
    constant,
    equal,
    function,
    leaf,
    square,
)

Function = tp.autograd.Function


def test_saving_packs_at_once_in_argument_order_and_none_stays() -> None:
    recorder = Recorder()
    moments: list[int] = []

    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(b, None, a)
        moments.append(len(recorder.packed))
        return a * b

    def backward(ctx: Any, grad: Any) -> Any:
        b, nothing, a = ctx.saved_tensors
        assert nothing is None
        return grad * b, grad * a

    a, b = leaf([2.0]), leaf([5.0])
    with recorder.hooks():
        y = function(forward, backward).apply(a, b)
    assert moments == [2] and [float(v[0]) for v in recorder.packed] == [5.0, 2.0]
    y.backward()
    equal(a.grad, [5.0])
    equal(b.grad, [2.0])


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("made", ["leaf", "result"])
def test_a_parameter_that_forward_reads_from_outside_keeps_its_history(
    made: str, hooked: bool
) -> None:
    source = leaf([3.0])
    w = source if made == "leaf" else source * 2.0

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(w)
        return x * w

    def backward(ctx: Any, grad: Any) -> Any:
        (saved,) = ctx.saved_tensors
        assert saved.requires_grad
        return grad * saved

    x = leaf([5.0])
    recorder = Recorder()
    with recorder.hooks() if hooked else nullcontext():
        y = function(forward, backward).apply(x)
    assert len(recorder.packed) == hooked
    (first,) = tp.autograd.grad(y, x, create_graph=True)
    equal(first, [3.0 if made == "leaf" else 6.0])
    (second,) = tp.autograd.grad(first, source)
    equal(second, [1.0 if made == "leaf" else 2.0])


def test_saving_something_else_is_refused_before_anything_is_packed() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    f = function(lambda ctx, x: ctx.save_for_backward(x, 3.5), lambda ctx, grad: grad)
    with recorder.hooks(), pytest.raises(TypeError, match="argument 1 is of type float"):
        f.apply(x)
    assert recorder.packed == []


def test_the_last_call_counts_and_lets_the_first_go() -> None:
    recorder = Recorder()
    seen: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x)
        seen.append(recorder.alive)
        return x * 1.0

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * x

    x = leaf([2.0])
    with reference_counting(), recorder.hooks():
        y = function(forward, backward).apply(x)
    y.backward()
    assert seen == [1]
    equal(x.grad, [2.0])


@pytest.mark.parametrize("without", ["no_grad", "no input requires grad"])
def test_nothing_is_saved_without_a_graph(without: str) -> None:
    recorder = Recorder()
    contexts: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        contexts.append(ctx)
        return x * 1.0

    x = leaf([2.0]) if without == "no_grad" else constant([2.0])
    with recorder.hooks(), tp.set_grad_enabled(without != "no_grad"):
        y = function(forward).apply(x)
    assert recorder.packed == [] and not y.requires_grad and y.grad_fn is None
    assert contexts[0].saved_tensors == ()


def test_saved_tensors_unpack_at_each_read_and_are_freed() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    with recorder.hooks():
        y = square().apply(x)
    for _ in range(2):
        equal(y.grad_fn.saved_tensors[0], [2.0])
    assert recorder.unpacked == 2
    y.backward()
    with pytest.raises(RuntimeError, match="SquareBackward"):
        y.grad_fn.saved_tensors  # noqa: B018


def test_an_exception_in_forward_frees_what_was_packed() -> None:
    recorder = Recorder()

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        raise KeyError("forward")

    x = leaf([2.0])
    with reference_counting():
        with pytest.raises(KeyError), recorder.hooks():
            function(forward).apply(x)
        assert len(recorder.packed) == 1 and recorder.alive == 0
    assert tp.is_grad_enabled()


@pytest.mark.parametrize("hooks", [None, "copy", "identity"])
def test_a_function_that_saves_its_output_is_freed_with_it(hooks: str | None) -> None:
    watched: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.parcel = Parcel(None)
        watched.append(weakref.ref(ctx.parcel))
        return y

    f = function(forward, lambda ctx, grad: grad * ctx.saved_tensors[0])
    x = leaf([2.0])
    pack = (lambda t: t.clone()) if hooks == "copy" else (lambda t: t)
    with reference_counting():
        if hooks is None:
            y = f.apply(x)
        else:
            with tp.autograd.graph.saved_tensor_hooks(pack, lambda t: t):
                y = f.apply(x)
        y.backward(retain_graph=True)
        equal(x.grad, [np.exp(2.0)])
        assert watched[0]() is not None
        del y
        assert watched[0]() is None


def test_a_saved_output_has_the_history_of_the_function() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf([2.0])
    f = function(forward, lambda ctx, grad: grad * ctx.saved_tensors[0])
    value = f.apply(x)
    for _ in range(3):
        (value,) = tp.autograd.grad(value, x, create_graph=True)
    equal(value, [np.exp(2.0)])


def test_an_output_that_is_overwritten_is_noticed() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf([2.0])
    y = function(forward, lambda ctx, grad: grad * ctx.saved_tensors[0], "Exp").apply(x)
    z = y * 1.0
    with tp.no_grad():
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="saved by ExpBackward, is at version 1"):
        z.backward()
