"""Function and its ctx."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Parcel, Recorder, collector_off, constant, equal, function, leaf

Function = tp.autograd.Function


def square(name: str = "Square") -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return function(forward, lambda ctx, grad: grad * 2.0 * ctx.saved_tensors[0], name)


# -- saving ------------------------------------------------------------------------------------
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
    with collector_off(), recorder.hooks():
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
    with collector_off():
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
    with collector_off():
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


# -- forward -----------------------------------------------------------------------------------
def test_grad_mode_is_off_in_forward_and_create_graph_in_backward() -> None:
    modes: list[bool] = []

    def forward(ctx: Any, x: Any) -> Any:
        modes.append(tp.is_grad_enabled())
        return x * 1.0

    def backward(ctx: Any, grad: Any) -> Any:
        modes.append(tp.is_grad_enabled())
        return grad

    x = leaf([2.0])
    f = function(forward, backward)
    f.apply(x).backward()
    tp.autograd.grad(f.apply(x), x, create_graph=True)
    assert modes == [False, False, False, True]


def test_needs_input_grad_is_known_in_forward() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any, k: Any, b: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return a * b

    function(forward).apply(leaf([2.0]), 3, constant([2.0]))
    assert seen == [(True, False, False)]


def test_setup_context_gets_inputs_with_defaults_and_the_output() -> None:
    seen: list[Any] = []

    class Scale(Function):
        @staticmethod
        def forward(x: Any, factor: float = 3.0) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.factor = inputs[1]
            seen.append((len(inputs), output.tolist()))

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.factor, None

    x = leaf([2.0])
    Scale.apply(x, 5.0).backward()
    equal(x.grad, [5.0])
    assert seen == [(2, [10.0])]
    y = Scale.apply(x)
    assert seen[1] == (2, [6.0])
    with pytest.raises(RuntimeError, match="gradients"):
        # The graph has one input, the default was not an argument; surplus None is fine.
        function(lambda ctx, x: x * 1.0, lambda ctx, grad: (grad, grad)).apply(x).backward()
    y.backward()


def test_outputs_of_any_kind() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0, "text", None, (x * 10.0).to(tp.int64)

    x = leaf([2.0])
    y, text, nothing, integers = function(forward, lambda ctx, *grads: grads[0]).apply(x)
    assert text == "text" and nothing is None
    assert y.requires_grad and not integers.requires_grad
    y.backward()
    equal(x.grad, [1.0])
    assert isinstance(function(lambda ctx, x: [x * 1.0]).apply(x), list)


def test_an_input_that_comes_back_keeps_its_own_history() -> None:
    x = leaf([2.0])
    y = function(lambda ctx, x: x, lambda ctx, grad: grad * 5.0).apply(x)
    assert y is not x and x.grad_fn is None and y._storage is x._storage
    y.backward()
    equal(x.grad, [5.0])


def test_one_output_returned_twice() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 1.0
        return y, y

    x = leaf([2.0])
    first, second = function(forward, lambda ctx, a, b: a + 10.0 * b).apply(x)
    second.backward(retain_graph=True)
    equal(x.grad, [10.0])
    first.backward()
    equal(x.grad, [11.0])


def test_tensors_in_containers_are_inputs_one_by_one() -> None:
    def forward(ctx: Any, pair: Any, table: Any, plain: Any) -> Any:
        assert plain == [1, 2]
        return pair[0] * 2.0 + table["w"] * 3.0 + pair[1][0] * 4.0

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2.0, grad * 4.0, grad * 3.0, None

    a, b, w = leaf([1.0]), leaf([1.0]), leaf([1.0])
    function(forward, backward).apply((a, [b]), {"w": w}, [1, 2]).backward()
    assert [float(t.grad) for t in (a, b, w)] == [2.0, 4.0, 3.0]


def test_keyword_arguments_reach_forward() -> None:
    x = leaf([2.0])
    f = function(lambda ctx, x, *, factor: x * factor, lambda ctx, grad: grad * 3.0)
    equal(f.apply(x, factor=3.0), [6.0])


# -- backward ----------------------------------------------------------------------------------
@pytest.mark.parametrize("materialize", [True, False])
def test_a_missing_gradient_is_zeros_or_none(materialize: bool) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 1.0, x.sum().to(tp.float32)

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append(second)
        return first

    x = leaf([1.0, 2.0])
    y, _ = function(forward, backward).apply(x)
    y.sum().backward()
    if materialize:
        assert seen[0].shape == () and seen[0].dtype == tp.float32 and float(seen[0]) == 0.0
    else:
        assert seen == [None]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (lambda g: g, RuntimeError, r"function FnBackward returned .*\(expected 2, got 1\)"),
        (lambda g: (g, g, g), RuntimeError, r"\(expected 2, got 3\)"),
        (lambda g: (g, 3.0), RuntimeError, r"gradient 1 \(got float\)"),
        (lambda g: (tp.ones(3), g), RuntimeError, r"index 0 - got \[3\] but expected .* \[2\]"),
    ],
)
def test_a_backward_that_answers_wrongly(answer: Any, error: Any, text: str) -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = function(lambda ctx, a, b: a * b, lambda ctx, grad: answer(grad)).apply(a, b)
    with pytest.raises(error, match=text):
        y.sum().backward()
    assert a.grad is None and b.grad is None


def test_a_gradient_for_what_is_no_tensor_is_refused() -> None:
    y = function(lambda ctx, x, k: x * k, lambda ctx, g: (g, g)).apply(leaf([1.0]), 3.0)
    with pytest.raises(RuntimeError, match="position 2.*not a Tensor"):
        y.backward()


def test_surplus_nones_and_broadcast_gradients_are_fine() -> None:
    x = leaf([1.0])
    answer = constant([[1.0, 2.0], [3.0, 4.0]])
    f = function(lambda ctx, x: x * 1.0, lambda ctx, grad: (answer, None, None))
    f.apply(x).backward()
    equal(x.grad, [10.0])


def test_without_a_formula_backward_says_so() -> None:
    with pytest.raises(NotImplementedError, match="forward"):
        Function.apply(leaf([1.0]))
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        function(lambda ctx, x: x * 1.0).apply(leaf([1.0])).backward()
    with pytest.raises(TypeError, match="apply"):
        square()()


def test_vjp_is_another_name_for_backward() -> None:
    f = function(lambda ctx, x: x * 2.0)
    f.vjp = staticmethod(lambda ctx, grad: grad * 2.0)
    x = leaf([1.0])
    f.apply(x).backward()
    equal(x.grad, [2.0])


def test_once_differentiable() -> None:
    backward = tp.autograd.function.once_differentiable(lambda ctx, grad: grad * 2.0)
    f = function(lambda ctx, x: x * 2.0, backward)
    x = leaf([1.0])
    f.apply(x).backward()
    equal(x.grad, [2.0])
    y = f.apply(x * x)
    (first,) = tp.autograd.grad((y * y).sum(), x, create_graph=True)
    equal(first, [16.0])
    with pytest.raises(RuntimeError, match="differentiate twice"):
        first.backward()
    (plain,) = tp.autograd.grad(f.apply(x), x, create_graph=True)
    assert not plain.requires_grad


# -- marks -------------------------------------------------------------------------------------
def adding(marked: bool = True, returned: bool = True) -> Any:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        a.add_(b)
        if marked:
            ctx.mark_dirty(a)
        return a if returned else b * 1.0

    return function(forward, lambda ctx, grad: (grad, grad * 10.0))


def test_a_dirty_input_comes_back_as_the_result() -> None:
    x, w = leaf([1.0]), leaf([5.0])
    h = x * 2.0
    version = h._version
    y = adding().apply(h, w)
    assert y is h and h._version > version and h.grad_fn.name() == "FnBackward"
    (h * 3.0).backward()
    equal(x.grad, [6.0])
    equal(w.grad, [30.0])


def test_a_dirty_leaf_or_a_dirty_tensor_that_is_kept_back_is_refused() -> None:
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        adding().apply(x, constant([1.0]))
    with pytest.raises(RuntimeError, match="not returned as"):
        adding(returned=False).apply(constant([1.0]), leaf([1.0]))
    with pytest.raises(TypeError, match="argument 0 is of type int"):
        function(lambda ctx, x: ctx.mark_dirty(3)).apply(x)


def test_a_dirty_view_is_refused() -> None:
    h = leaf([1.0, 2.0]) * 1.0
    with pytest.raises(RuntimeError, match="view cannot be changed in place by a Function"):
        adding().apply(h[:1], constant([1.0]))


def test_a_dirty_tensor_that_retains_its_gradient_goes_on_retaining() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        return a.mul_(2.0)

    h = leaf([1.0]) * 2.0
    h.retain_grad()
    function(forward, lambda ctx, grad: grad * 2.0).apply(h)
    (h * 3.0).backward()
    equal(h.grad, [3.0])


def test_non_differentiable_outputs() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y, z = x * 1.0, x * 2.0
        ctx.mark_non_differentiable(z)
        return y, z

    x = leaf([1.0])
    y, z = function(forward, lambda ctx, a, b: a).apply(x)
    assert y.requires_grad and not z.requires_grad and z.grad_fn is None
    y.backward()
    equal(x.grad, [1.0])


def test_an_output_that_is_a_view_of_its_input_may_not_be_written() -> None:
    h = leaf([1.0, 2.0]) * 1.0
    y = function(lambda ctx, x: x[:1], lambda ctx, grad: tp.cat([grad, grad * 0.0])).apply(h)
    with pytest.raises(RuntimeError, match="view"):
        y.mul_(2.0)
    y.backward()


def test_ctx_is_the_node_with_hooks_and_attributes() -> None:
    x = leaf([2.0])
    y = square().apply(x)
    node = y.grad_fn
    assert node.name() == "SquareBackward" and isinstance(node, tp.autograd.graph.Node)
    node.register_prehook(lambda grads: (grads[0] * 10.0,))
    node.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0],))
    node.metadata["note"] = 1
    y.backward()
    equal(x.grad, [50.0])


def test_an_exception_in_forward_leaves_grad_mode_on() -> None:
    with pytest.raises(ZeroDivisionError):
        function(lambda ctx, x: 1 / 0).apply(leaf([2.0]))
    assert tp.is_grad_enabled()
