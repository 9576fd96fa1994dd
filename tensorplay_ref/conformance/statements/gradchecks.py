"""gradcheck and gradgradcheck: formulas against central differences."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import raises, same
from ..functions import square
from ..statement import statement

TOPIC = "engine and gradients"


@statement(TOPIC, "engine")
def gradcheck_accepts_a_right_formula(api: Api) -> None:
    """gradcheck of x * x with the right backward is True."""
    x = api.leaf([0.5, 2.0])
    same(api.autograd.gradcheck(square(api).apply, (x,)), True, "gradcheck")


@statement(TOPIC, "engine")
def gradcheck_refuses_a_wrong_formula(api: Api) -> None:
    """gradcheck of x * 3 with the backward of x * 4 is an error."""
    wrong = api.function(lambda ctx, x: x * 3.0, lambda ctx, gradient: gradient * 4.0)
    raises(RuntimeError, lambda: api.autograd.gradcheck(wrong.apply, (api.leaf([0.5, 2.0]),)))


@statement(TOPIC, "engine")
def gradcheck_can_answer_instead_of_raising(api: Api) -> None:
    """gradcheck with raise_exception=False gives False for a wrong formula."""
    wrong = api.function(lambda ctx, x: x * 3.0, lambda ctx, gradient: gradient * 4.0)
    x = api.leaf([0.5, 2.0])
    same(api.autograd.gradcheck(wrong.apply, (x,), raise_exception=False), False, "gradcheck")


@statement(TOPIC, "engine")
def gradgradcheck_accepts_a_right_formula(api: Api) -> None:
    """gradgradcheck of sin(x) * x is True."""
    x = api.leaf([0.5, 2.0])
    same(api.autograd.gradgradcheck(lambda x: x.sin() * x, (x,)), True, "gradgradcheck")


@statement(TOPIC, "engine")
def gradgradcheck_refuses_a_backward_that_drops_a_term(api: Api) -> None:
    """A backward that uses a detached value passes gradcheck and is refused by gradgradcheck."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x.detach() * 2.0

    function = api.function(forward, backward)
    x = api.leaf([0.5, 2.0])
    same(api.autograd.gradcheck(function.apply, (x,)), True, "gradcheck")
    raises(RuntimeError, lambda: api.autograd.gradgradcheck(function.apply, (x,)))
