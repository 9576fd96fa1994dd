"""Function and its ctx."""

from __future__ import annotations

from typing import Any

import pytest

import tensorplay_ref as tp
from tests.autograd.tools import constant, equal, function, leaf, square

Function = tp.autograd.Function


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


def test_the_plain_names_on_ctx_belong_to_its_author() -> None:
    names = "recording tensor_inputs inputs outputs shape dtype saved params extras mode version"

    def forward(ctx: Any, x: Any) -> Any:
        for name in names.split():
            setattr(ctx, name, name)
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, grad: Any) -> Any:
        assert all(getattr(ctx, name) == name for name in names.split())
        (x,) = ctx.saved_tensors
        return grad * x * 2.0

    x = leaf([3.0])
    function(forward, backward).apply(x).backward()
    equal(x.grad, [6.0])
    # Nor do they change whether something is recorded.
    assert not function(forward, backward).apply(x.detach()).requires_grad


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


@pytest.mark.parametrize(
    "name", ["shape", "dtype", "inputs", "saved", "results", "function", "sequence", "extras"]
)
def test_ctx_takes_attributes_of_any_ordinary_name(name: str) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        setattr(ctx, name, "the author's own")
        return x * x

    def backward(ctx: Any, grad: Any) -> Any:
        assert getattr(ctx, name) == "the author's own"
        (x,) = ctx.saved_tensors
        return grad * x * 2.0

    x = leaf([3.0, 4.0])
    function(forward, backward).apply(x).sum().backward()
    equal(x.grad, [6.0, 8.0])


def test_complex_tensors_cannot_require_gradients() -> None:
    with pytest.raises(RuntimeError, match="complex64 tensors cannot require gradients"):
        tp.tensor([1 + 2j], requires_grad=True)
