"""Wrong builds of notebook 02."""

from types import ModuleType
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.autograd import Function
from tests.course.builds import wrong


def function(name: str, forward: Any, backward: Any) -> Any:
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (Function,), body)


def on_arrays(lesson: ModuleType, name: str, forward: Any, backward: Any) -> Any:
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (lesson.Operation,), body)


def save_and(*saved: Any, value: Any) -> Any:
    ctx, *tensors = saved
    ctx.save_for_backward(*tensors)
    return value


@wrong("02.operations", says="bytes that Add saves is 48, expected 0")
def add_saves_its_operands(lesson: ModuleType) -> tuple[Any, ...]:
    add = on_arrays(
        lesson,
        "Add",
        lambda ctx, a, b: save_and(ctx, a, b, value=a + b),
        lambda ctx, gradient: (gradient, gradient),
    )
    return add, lesson.Mul


@wrong("02.operations", says="gradient 0 of Mul at [0] is")
def mul_swaps_its_gradients(lesson: ModuleType) -> tuple[Any, ...]:
    class Mul(lesson.Mul):  # type: ignore[misc, name-defined]
        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            a, b = ctx.saved_tensors
            return gradient * a, gradient * b

    return lesson.Add, Mul


@wrong("02.operations", says="bytes that Mul saves is 0, expected 48")
def mul_keeps_its_operands_as_attributes(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.a, ctx.b = a, b
        return a * b

    mul = on_arrays(lesson, "Mul", forward, lambda ctx, g: (g * ctx.b, g * ctx.a))
    return lesson.Add, mul


def _matmul(backward: Any, forward: Any = None) -> tuple[Any, ...]:
    forward = forward or (lambda ctx, a, b: save_and(ctx, a, b, value=a @ b))
    return (function("MatMul", forward, backward),)


@wrong("02.matmul", says="returned an invalid gradient at index 0 - got [3, 4]")
def returns_the_gradients_in_the_wrong_order(lesson: ModuleType) -> tuple[Any, ...]:
    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.saved_tensors
        return a.T @ gradient, gradient @ b.T

    return _matmul(backward)


@wrong("02.matmul", says="do not fit")
def forgets_the_transposes(lesson: ModuleType) -> tuple[Any, ...]:
    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.saved_tensors
        return gradient @ b, a @ gradient

    return _matmul(backward)


@wrong("02.matmul", says="MatMul saves a and b and the result, expected a and b")
def saves_the_product_too(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        result = a @ b
        ctx.save_for_backward(a, b, result)
        return result

    def backward(ctx: Any, gradient: Any) -> Any:
        a, b, _ = ctx.saved_tensors
        return gradient @ b.T, a.T @ gradient

    return _matmul(backward, forward)


def _exp_by(saved: str) -> Any:
    """Exp that saves "x", "result", "both"; or keeps its result as an attribute."""

    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        if saved == "attribute":
            ctx.result = result
        else:
            what = {"x": (x,), "result": (result,), "both": (x, result)}[saved]
            ctx.save_for_backward(*what)
        return result

    def backward(ctx: Any, gradient: Any) -> Any:
        if saved == "attribute":
            return gradient * ctx.result
        kept = ctx.saved_tensors[-1]
        return gradient * (kept.exp() if saved == "x" else kept)

    return function("Exp", forward, backward)


@wrong("02.exp_and_relu", says="Exp saves x, expected the result")
def exp_saves_its_input(lesson: ModuleType) -> tuple[Any, ...]:
    return _exp_by("x"), lesson.Relu


@wrong("02.exp_and_relu", says="Exp saves the result and x, expected the result")
def exp_saves_both(lesson: ModuleType) -> tuple[Any, ...]:
    return _exp_by("both"), lesson.Relu


@wrong("02.exp_and_relu", says="Exp saves nothing, expected the result")
def exp_keeps_its_result_as_an_attribute(lesson: ModuleType) -> tuple[Any, ...]:
    return _exp_by("attribute"), lesson.Relu


@wrong("02.exp_and_relu", says="the gradient of Exp at [0, 0] is")
def exp_forgets_the_incoming_gradient(lesson: ModuleType) -> tuple[Any, ...]:
    exp = function("Exp", lesson.Exp.forward, lambda ctx, gradient: ctx.saved_tensors[0])
    return exp, lesson.Relu


@wrong("02.exp_and_relu", says="the gradient of Relu at [0, 0] is")
def relu_asks_for_at_least_zero(lesson: ModuleType) -> tuple[Any, ...]:
    relu = function(
        "Relu",
        lesson.Relu.forward,
        lambda ctx, gradient: gradient * (ctx.saved_tensors[0] >= 0),
    )
    return lesson.Exp, relu


@wrong("02.exp_and_relu", says="Relu saves x, expected the result")
def relu_saves_its_input(lesson: ModuleType) -> tuple[Any, ...]:
    relu = function(
        "Relu",
        lambda ctx, x: save_and(ctx, x, value=x.clamp(min=0)),
        lambda ctx, gradient: gradient * (ctx.saved_tensors[0] > 0),
    )
    return lesson.Exp, relu


@wrong(
    "02.exp_and_relu", says="Relu saves another bool tensor of shape (2, 3), expected the result"
)
def relu_saves_a_mask(lesson: ModuleType) -> tuple[Any, ...]:
    relu = function(
        "Relu",
        lambda ctx, x: save_and(ctx, x > 0, value=x.clamp(min=0)),
        lambda ctx, gradient: gradient * ctx.saved_tensors[0],
    )
    return lesson.Exp, relu


def _mul(forward: Any, backward: Any) -> tuple[Any, ...]:
    return (function("LeanMul", forward, backward),)


def _gradients(ctx: Any, gradient: Any) -> Any:
    a, b = ctx.saved_tensors
    return None if b is None else gradient * b, None if a is None else gradient * a


@wrong("02.mul", says="when b is a constant, LeanMul saves a and b, expected b")
def always_saves_both(lesson: ModuleType) -> tuple[Any, ...]:
    return _mul(lambda ctx, a, b: save_and(ctx, a, b, value=a * b), _gradients)


@wrong("02.mul", says="when b is a constant, LeanMul saves a, expected b")
def saves_the_one_that_needs_a_gradient(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a if need_a else None, b if need_b else None)
        return a * b

    return _mul(forward, _gradients)


@wrong("02.mul", says="gradient 0 of LeanMul at [0, 0] is")
def swaps_the_gradients(lesson: ModuleType) -> tuple[Any, ...]:
    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.saved_tensors
        return None if a is None else gradient * a, None if b is None else gradient * b

    return _mul(lesson.LeanMul.forward, backward)


@wrong("02.mul", says="LeanMul saves nothing, expected a and b")
def keeps_both_as_attributes(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.a, ctx.b = a, b
        return a * b

    return _mul(forward, lambda ctx, gradient: (gradient * ctx.b, gradient * ctx.a))


@wrong("02.mul", says="the second derivative of LeanMul is wrong")
def saves_detached_operands(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a.detach() if need_b else None, b.detach() if need_a else None)
        return a * b

    return _mul(forward, _gradients)


def _power(forward: Any, backward: Any) -> tuple[Any, ...]:
    return (function("Power", forward, backward),)


def _derivative(gradient: Any, x: Any, exponent: Any) -> Any:
    return gradient * exponent * x ** (exponent - 1), None


@wrong("02.visible", says="Power keeps a tensor as ctx.x, where no hook sees it")
def keeps_the_tensor_as_an_attribute(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, x: Any, exponent: Any) -> Any:
        ctx.x, ctx.exponent = x, exponent
        return x**exponent

    return _power(forward, lambda ctx, g: _derivative(g, ctx.x, ctx.exponent))


@wrong("02.visible", says="Power keeps a tensor as ctx.copy, where no hook sees it")
def saves_the_tensor_and_keeps_it_as_well(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, x: Any, exponent: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.copy, ctx.exponent = [x], exponent
        return x**exponent

    return _power(forward, lambda ctx, g: _derivative(g, ctx.saved_tensors[0], ctx.exponent))


@wrong("02.visible", says="Power saves another float64 tensor of shape () and x, expected x")
def makes_a_tensor_of_the_number(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, x: Any, exponent: Any) -> Any:
        ctx.save_for_backward(x, tp.tensor(np.float64(exponent)))
        return x**exponent

    def backward(ctx: Any, gradient: Any) -> Any:
        x, exponent = ctx.saved_tensors
        return _derivative(gradient, x, exponent.item())

    return _power(forward, backward)


@wrong("02.visible", says="unpack called twice, expected once")
def fetches_the_tensor_twice(lesson: ModuleType) -> tuple[Any, ...]:
    def backward(ctx: Any, gradient: Any) -> Any:
        assert ctx.saved_tensors[0] is not None
        return _derivative(gradient, ctx.saved_tensors[0], ctx.exponent)

    return _power(lesson.Power.forward, backward)


@wrong("02.visible", says="save the tensor itself, not a detached copy, which has no history")
def saves_a_detached_tensor(lesson: ModuleType) -> tuple[Any, ...]:
    def forward(ctx: Any, x: Any, exponent: Any) -> Any:
        ctx.save_for_backward(x.detach())
        ctx.exponent = exponent
        return x**exponent

    return _power(forward, lambda ctx, g: _derivative(g, ctx.saved_tensors[0], ctx.exponent))
