"""context: contextlib's `contextmanager`, with a text that says which call made the context."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import _GeneratorContextManager
from typing import Any, ParamSpec, TypeVar

from .arguments import call_text

P = ParamSpec("P")
T = TypeVar("T")


class Context(_GeneratorContextManager[T]):
    """A context manager and decorator made from a generator function.

    Attributes:
        text: what it prints as: the call that made it.
    """

    def __init__(
        self, function: Callable[..., Iterator[T]], args: tuple[Any, ...], kwds: dict[str, Any]
    ) -> None:
        super().__init__(function, args, kwds)  # type: ignore[arg-type]
        self.text = call_text(function.__name__.lstrip("_"), *args, **kwds)

    def __repr__(self) -> str:
        return self.text


def context(function: Callable[P, Iterator[T]]) -> Callable[P, Context[T]]:
    """Decorate a generator function that yields once: its calls are contexts."""

    @functools.wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> Context[T]:
        return Context(function, args, kwargs)

    return made
