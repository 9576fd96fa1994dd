"""Checks of notebook 03: gradcheck by random projection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd import Function
from ..check import Exercise
from ..compare import Difference, same, shown, unchanged

projected_gradcheck = Exercise(
    "03.projected_gradcheck",
    contract="`projected_gradcheck(function, x, rng)` says, True or False, whether backward agrees "
    "with a central difference, both projected on one random direction of the input and one of the "
    "output; it calls `function` three times.",
    difficulty=4,
    minutes=25,
    takes=("projected_gradcheck",),
)


class _Square(Function):
    """The square of a tensor; a subclass has the backward that is to be tried."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x


def _with_rule(name: str, rule: Callable[..., Any]) -> Any:
    def run_backward(ctx: Any, gradient: Any) -> Any:
        return rule(gradient, *ctx.saved_tensors)

    kind: Any = type(name, (_Square,), {"backward": staticmethod(run_backward)})
    return kind.apply


_SQUARES = {
    "with the right backward": (True, lambda g, x: 2.0 * x * g),
    "with a backward that is 1 percent too large": (False, lambda g, x: 2.02 * x * g),
    "with a backward that forgets the factor 2": (False, lambda g, x: x * g),
    "with a backward that forgets the gradient that came in": (False, lambda g, x: 2.0 * x),
    "with a backward that hands the gradients out in reverse order": (
        False,
        lambda g, x: (2.0 * x * g).flip(0),
    ),
    "with a backward of zeros": (False, lambda g, x: 0.0 * g),
}


def _ask(checker: Any, function: Any, x: Any, seed: int = 0) -> bool:
    answer = checker(function, x, np.random.default_rng(seed))
    if isinstance(answer, np.bool_):
        return bool(answer)
    if not isinstance(answer, bool):
        raise Difference(f"the answer is {shown(answer)}, expected True or False")
    return answer


def _point(*shape: int) -> Any:
    values = np.random.default_rng(3).uniform(0.5, 1.5, shape)
    return tp.tensor(values, requires_grad=True)


@projected_gradcheck.case
def _right_formulas(checker: Any) -> None:
    """operations of the package, which are right"""
    weight = tp.tensor(np.random.default_rng(5).standard_normal((3, 2)))
    for name, function, shape in (
        ("exp", lambda x: x.exp(), (4,)),
        ("x @ w", lambda x: x @ weight, (5, 3)),
        ("sum", lambda x: x.sum(), (2, 3)),
        ("x * x.sum()", lambda x: x * x.sum(), (3,)),
    ):
        same(_ask(checker, function, _point(*shape)), True, f"the answer for {name}")


@projected_gradcheck.case
def _wrong_formulas(checker: Any) -> None:
    """squares with a wrong backward"""
    for number, (name, (right, rule)) in enumerate(_SQUARES.items()):
        answer = _ask(checker, _with_rule(f"Square{number}", rule), _point(6))
        same(answer, right, f"the answer for a square {name}")


@projected_gradcheck.case
def _curved(checker: Any) -> None:
    """cos(300 x), which is strongly curved"""
    same(_ask(checker, lambda x: (x * 300.0).cos(), _point(50)), True, "the answer for cos(300 x)")


@projected_gradcheck.case
def _calls(checker: Any) -> None:
    """how often the function is called"""
    calls = 0

    def function(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x.sin()

    _ask(checker, function, _point(100))
    if calls > 3:
        raise Difference(
            f"function called {calls} times for 100 elements, expected 3 times: one direction "
            "needs two values, and one more call is differentiated"
        )


@projected_gradcheck.case
def _twice(checker: Any) -> None:
    """the same x, asked about twice"""
    x = _point(4)
    with unchanged(x=x):
        for which in ("first", "second"):
            answer = _ask(checker, lambda x: x.exp(), x, seed=len(which))
            same(answer, True, f"asked about the same x, the {which} answer")
