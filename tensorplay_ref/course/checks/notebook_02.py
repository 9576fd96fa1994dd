"""Checks of notebook 02: what a Function saves, and that it goes through `save_for_backward`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ..check import Exercise, Step
from ..compare import (
    Difference,
    a_sequence,
    freed,
    reference_counting,
    same,
    same_count,
    same_values,
)
from .functions import (
    leaf,
    nothing_hidden,
    same_function,
    same_saved,
    saved_by,
    second_derivatives,
)

operations = Step(
    "02.operations",
    "`Add` and `Mul` on arrays: values, gradients, and the least that `ctx` must hold.",
    takes=("Add", "Mul"),
)

matmul = Step(
    "02.matmul",
    "`MatMul.apply(a, b)` is `a @ b` for matrices, as a Function.",
    takes=("MatMul",),
)

exp_and_relu = Exercise(
    "02.exp_and_relu",
    contract="`Exp` and `Relu` are the package's `exp` and `relu` written as Functions; each saves "
    "its result and nothing else.",
    difficulty=2,
    minutes=12,
    takes=("Exp", "Relu"),
)

mul = Exercise(
    "02.mul",
    contract="`LeanMul.apply(a, b)` is `a * b`; it saves `a` only if `b` needs a gradient, and `b` "
    "only if `a` does.",
    difficulty=2,
    minutes=12,
    takes=("LeanMul",),
)

visible = Exercise(
    "02.visible",
    contract="`Power.apply(x, exponent)` is `x ** exponent` for a tensor and a number; the tensor "
    "goes through `save_for_backward`, and is fetched once in backward.",
    difficulty=2,
    minutes=10,
    takes=("Power",),
)


@operations.case
def _array_values(add: Any, mul: Any) -> None:
    """values and gradients of Add and Mul"""
    a, b, g = np.random.default_rng(0).standard_normal((3, 4))
    x, y = (tp.tensor(array, requires_grad=True) for array in (a, b))
    for operation, theirs in ((add, x + y), (mul, x * y)):
        name = operation.__name__
        value, ctx = operation.apply(a, b)
        same_values(value, theirs.detach().numpy(), f"the value of {name}")
        expected = tp.autograd.grad(theirs, (x, y), tp.tensor(g))
        for position, gradient in enumerate(operation.backward(ctx, g)):
            wanted = expected[position].numpy()
            same_values(gradient, wanted, f"gradient {position} of {name}")


@operations.case
def _array_bytes(add: Any, mul: Any) -> None:
    """the bytes in ctx"""
    a, b = np.ones(3), np.ones(3)
    x, y = (tp.tensor(array, requires_grad=True) for array in (a, b))
    for operation, theirs in ((add, x + y), (mul, x * y)):
        node: Any = theirs.grad_fn
        expected = sum(tensor.nbytes for tensor in node.read())
        saved = operation.apply(a, b)[1].saved_tensors
        saved = a_sequence(saved, f"ctx.saved_tensors of {operation.__name__}")
        found = sum(tensor.nbytes for tensor in saved)
        same(found, expected, f"the number of bytes that {operation.__name__} saves")


@matmul.case
def _matmul_values(function: Any) -> None:
    """value and gradients of MatMul"""
    a, b = leaf(0, 2, 3), leaf(1, 3, 4)
    same_function("MatMul", function.apply, lambda a, b: a @ b, a, b)


@matmul.case
def _matmul_square(function: Any) -> None:
    """square matrices, where a missing transpose has the right shape"""
    a, b = leaf(0, 3, 3), leaf(1, 3, 3)
    same_function("MatMul", function.apply, lambda a, b: a @ b, a, b)


@matmul.case
def _matmul_saves(function: Any) -> None:
    """what MatMul saves"""
    a, b = leaf(0, 2, 3), leaf(1, 3, 4)
    names = {"a": a, "b": b}
    expected = saved_by(lambda a, b: a @ b, names, a, b)
    same_saved("MatMul", saved_by(function.apply, names, a, b), expected)
    nothing_hidden("MatMul", function.apply(a, b))


def _with_kinks() -> Any:
    return tp.tensor([[-1.5, 0.0, 2.0], [0.5, -0.0, -3.0]], dtype=tp.float64, requires_grad=True)


_UNARY = (("Exp", lambda x: x.exp()), ("Relu", lambda x: x.relu()))


@exp_and_relu.case
def _unary_values(*functions: Any) -> None:
    """values and gradients, also at 0"""
    for (name, package), function in zip(_UNARY, functions, strict=True):
        same_function(name, function.apply, package, _with_kinks())


@exp_and_relu.case
def _unary_saves(*functions: Any) -> None:
    """what is saved"""
    for (name, package), function in zip(_UNARY, functions, strict=True):
        x = _with_kinks()
        expected = saved_by(package, {"x": x}, x)
        same_saved(name, saved_by(function.apply, {"x": x}, x), expected)


@exp_and_relu.case
def _unary_hides_nothing(*functions: Any) -> None:
    """attributes of ctx"""
    for (name, _), function in zip(_UNARY, functions, strict=True):
        nothing_hidden(name, function.apply(_with_kinks()))


@exp_and_relu.case
def _unary_input_overwritten(*functions: Any) -> None:
    """the input is overwritten between forward and backward"""
    for (name, package), function in zip(_UNARY, functions, strict=True):
        gradients = []
        for apply in (function.apply, package):
            leaf = _with_kinks()
            h = leaf * 1.0
            y = apply(h)
            with tp.no_grad():
                h.fill_(9.0)
            y.sum().backward()
            gradients.append(leaf.grad)
        mine, theirs = gradients
        same_values(mine, theirs, f"after its input was overwritten, the gradient of {name}")


@exp_and_relu.case
def _unary_twice(*functions: Any) -> None:
    """second derivatives"""
    for (name, _), function in zip(_UNARY, functions, strict=True):
        x = tp.tensor([[-1.5, 2.0], [0.5, -3.0]], dtype=tp.float64, requires_grad=True)
        second_derivatives(name, function.apply, x)


def _constant(seed: int, *shape: int) -> Any:
    return leaf(seed, *shape).detach()


@mul.case
def _mul_values(function: Any) -> None:
    """value and gradients when both need one"""
    same_function("LeanMul", function.apply, lambda a, b: a * b, leaf(0, 2, 3), leaf(1, 2, 3))


@mul.case
def _mul_saves(function: Any) -> None:
    """what is saved when both, only a, or only b needs a gradient"""
    for what, a, b in (
        ("when both need a gradient", leaf(0, 3), leaf(1, 3)),
        ("when b is a constant", leaf(0, 3), _constant(1, 3)),
        ("when a is a constant", _constant(0, 3), leaf(1, 3)),
    ):
        names = {"a": a, "b": b}
        expected = saved_by(lambda a, b: a * b, names, a, b)
        same_saved(f"{what}, LeanMul", saved_by(function.apply, names, a, b), expected)


@mul.case
def _mul_constants(function: Any) -> None:
    """the gradient when one of the two is a constant"""
    a, b = leaf(0, 2, 3), _constant(1, 2, 3)
    same_function("LeanMul with a constant b", lambda a: function.apply(a, b), lambda a: a * b, a)
    same_function("LeanMul with a constant a", lambda a: function.apply(b, a), lambda a: a * b, a)


@mul.case
def _mul_hides_nothing(function: Any) -> None:
    """attributes of ctx"""
    nothing_hidden("LeanMul", function.apply(leaf(0, 3), leaf(1, 3)))


@mul.case
def _mul_twice(function: Any) -> None:
    """second derivatives"""
    second_derivatives("LeanMul", function.apply, leaf(0, 3), leaf(1, 3))


@mul.case
def _mul_same(function: Any) -> None:
    """one tensor in both places"""
    same_function("LeanMul(a, a)", lambda a: function.apply(a, a), lambda a: a * a, leaf(0, 3))


@visible.case
def _power_values(function: Any) -> None:
    """value and gradient for the exponents 3, 2 and 1"""
    for exponent in (3, 2.0, 1):
        name = f"Power with exponent {exponent}"
        x = leaf(0, 2, 3)
        same_function(
            name, lambda x, e=exponent: function.apply(x, e), lambda x, e=exponent: x**e, x
        )


@visible.case
def _power_hides_nothing(function: Any) -> None:
    """attributes of ctx"""
    nothing_hidden("Power", function.apply(leaf(0, 3), 3))


@visible.case
def _power_saves(function: Any) -> None:
    """what goes through the hooks"""
    x = leaf(0, 3)
    expected = saved_by(lambda x: x**3, {"x": x}, x)
    same_saved("Power", saved_by(function.apply, {"x": x}, x, 3), expected)


@visible.case
def _power_reads_once(function: Any) -> None:
    """how often unpack is called"""
    read: list[Any] = []

    def unpack(kept: Any) -> Any:
        read.append(kept)
        return kept

    with saved_tensor_hooks(lambda tensor: tensor.detach(), unpack):
        y = function.apply(leaf(0, 3), 3)
    y.sum().backward()
    same_count("unpack", len(read), 1)


@visible.case
def _power_is_released(function: Any) -> None:
    """what is left after backward"""
    with reference_counting():
        h = leaf(0, 3) * 1.0
        alive = weakref.ref(h._storage)
        y = function.apply(h, 3)
        del h
        y.sum().backward()
        freed(alive, "after backward, the tensor that Power kept")


@visible.case
def _power_notices_changes(function: Any) -> None:
    """the input is overwritten between forward and backward"""
    h = leaf(0, 3) * 1.0
    y = function.apply(h, 3)
    with tp.no_grad():
        h.fill_(5.0)
    try:
        y.sum().backward()
    except RuntimeError:
        return
    raise Difference("no error when x was overwritten after it had been saved, expected one")


@visible.case
def _power_twice(function: Any) -> None:
    """second derivatives"""
    second_derivatives("Power", lambda x: function.apply(x, 3), leaf(0, 3))
