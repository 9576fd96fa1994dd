"""Custom Functions that many statements use."""

from __future__ import annotations

from typing import Any

from .api import Api


def square(api: Api) -> Any:
    """x * x, saving its input."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x * 2.0

    return api.function(forward, backward, name="Square")


def exponential(api: Api) -> Any:
    """exp(x), saving its output."""

    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Any, gradient: Any) -> Any:
        (y,) = ctx.saved_tensors
        return gradient * y

    return api.function(forward, backward, name="Exponential")


def product(api: Api) -> Any:
    """a * b, saving both."""

    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a * b

    def backward(ctx: Any, gradient: Any) -> Any:
        a, b = ctx.saved_tensors
        return gradient * b, gradient * a

    return api.function(forward, backward, name="Product")
