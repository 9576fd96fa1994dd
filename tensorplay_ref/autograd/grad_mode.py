"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, is_grad_enabled.

The mode is private to each thread and each asyncio task. Source of the behaviour: PyTorch's page
"Locally disabling gradient computation", TensorPlay's `autograd.grad_mode`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from ..arguments import call_text, flag, require_callable
from ..completion import public_names

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]

__dir__ = public_names(__name__)

F = TypeVar("F", bound=Callable[..., Any])

grad_enabled: ContextVar[bool] = ContextVar("grad_enabled", default=True)
# What each open context puts back when it is left. Kept here and not in the context object, which
# several threads or tasks may have entered at the same time.
_entered: ContextVar[tuple[tuple[_GradMode, bool], ...]] = ContextVar("_entered", default=())


def is_grad_enabled() -> bool:
    """True when operations on tensors that require a gradient are recorded."""
    return grad_enabled.get()


class _GradMode:
    """A context manager and decorator that holds grad mode at one value; re-enterable."""

    def __init__(self, mode: bool) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        self._enter(grad_enabled.get())

    def _enter(self, former: bool) -> None:
        before = _entered.get()
        try:
            _entered.set((*before, (self, former)))
            grad_enabled.set(self._mode)
        except BaseException:
            # An interrupt, after which nobody will call __exit__.
            grad_enabled.set(former)
            _entered.set(before)
            raise

    def __exit__(self, *exception: object) -> None:
        stack = _entered.get()
        for position in range(len(stack) - 1, -1, -1):
            owner, former = stack[position]
            if owner is self:
                try:
                    grad_enabled.set(former)
                finally:
                    _entered.set(stack[:position] + stack[position + 1 :])
                return
        raise RuntimeError(
            f"{type(self).__name__}: left without having been entered in this thread or task"
        )

    def __call__(self, function: F) -> F:
        """Decorate `function`; a generator function is in this mode only while it runs."""
        mode = self._mode
        if inspect.isgeneratorfunction(function):
            return _generator_wrapper(function, mode)  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with _GradMode(mode):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]

    def __repr__(self) -> str:
        return call_text(type(self).__name__)


def _generator_wrapper(function: Callable[..., Any], mode: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[[Any], Any] = generator.send
        value: Any = None
        try:
            while True:
                try:
                    with _GradMode(mode):
                        item = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    value = yield item
                    step = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step, value = generator.throw, error
        finally:
            with _GradMode(mode):
                generator.close()

    return wrapper


class _Mode(_GradMode):
    """A grad mode without arguments, so that a decorator may stand without parentheses."""

    def __new__(cls, function: F | None = None) -> Self:
        """The context, or the decorated function, as in PyTorch."""
        if function is None:
            return super().__new__(cls)
        require_callable(
            f"{cls.__name__} takes no argument but the function it decorates; it", function
        )
        decorated: Any = cls()(function)
        return decorated  # type: ignore[no-any-return]

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        """Nothing to set: the mode belongs to the class."""


class no_grad(_Mode):
    """Operations inside are not recorded and save nothing: `with no_grad():`, `@no_grad`."""

    _mode = False


class enable_grad(_Mode):
    """Operations inside are recorded again, also inside `no_grad`."""

    _mode = True


class set_grad_enabled(_GradMode):
    """Set grad mode at once; used as a context manager, put the former mode back at the end."""

    def __init__(self, mode: bool) -> None:
        super().__init__(flag("set_grad_enabled: mode", mode))
        self._before = grad_enabled.get()
        grad_enabled.set(self._mode)

    def __enter__(self) -> None:
        self._enter(self._before)

    def __call__(self, function: F) -> F:
        """Decorate `function`: it runs in this mode, and the program goes back to the former."""
        grad_enabled.set(self._before)
        return super().__call__(function)

    def __repr__(self) -> str:
        return call_text("set_grad_enabled", mode=self._mode)
