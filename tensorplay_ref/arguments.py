"""Arguments: how they are shown, never by an address, and how wrong ones are refused."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def flag(name: str, value: Any) -> bool:
    """The truth of an argument that switches something; numbers and None count as in Python.

    Errors: TypeError naming the argument for anything else, such as "yes" or a function.
    """
    if isinstance(value, (bool, int, np.bool_)) or value is None:
        return bool(value)
    raise TypeError(f"{name} must be True or False, found {shown(value)}")


def amount(name: str, value: Any) -> Any:
    """The argument itself, when it is a number. Errors: TypeError naming it otherwise."""
    if isinstance(value, (int, float, np.integer, np.floating)):
        return value
    raise TypeError(f"{name} must be a number, found {shown(value)}")


def whole(name: str, value: Any) -> int:
    """The argument as an int, of 64 bits at most, since NumPy takes no longer one.

    Errors: TypeError naming it when it is no whole number, OverflowError when it is too long.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, found {shown(value)}") from None
    if not -(2**63) <= number < 2**63:
        raise OverflowError(f"{name} must be a whole number of at most 64 bits, found {number}")
    return number


def require_callable(name: str, value: Any) -> None:
    """Refuse what cannot be called. Errors: TypeError naming the argument."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, found {type(value).__name__}")


def many(name: str, values: Any, expected: str = "a sequence") -> list[Any]:
    """The values as a list. Errors: TypeError naming the argument when they are no sequence."""
    try:
        iterator = iter(values)
    except TypeError:
        raise TypeError(f"{name} must be {expected}, found {type(values).__name__}") from None
    return list(iterator)


def shown(value: Any) -> str:
    """An argument as text: a function by its name, an object that has no text by its class."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        inside = ", ".join(shown(item) for item in value)
        if type(value) is list:
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if inspect.isroutine(value) or isinstance(value, (type, functools.partial)):
        return function_name(value)
    if isinstance(value, np.dtype):
        return str(value)
    if getattr(type(value), "__repr__", None) is object.__repr__:
        return f"a {type(value).__name__}"
    return repr(value)


def call_text(name: str, *args: Any, **kwargs: Any) -> str:
    """A call as it was written, such as "quantize(4, axis=None)"."""
    parts = [shown(value) for value in args]
    parts += [f"{keyword}={shown(value)}" for keyword, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function without the functions around it: "pack", "Store.pack", "<lambda>"."""
    while isinstance(function, functools.partial):
        function = function.func
    qualified = getattr(function, "__qualname__", None)
    return type(function).__name__ if qualified is None else qualified.rsplit("<locals>.", 1)[-1]


def hook_name(hook: Callable[..., Any]) -> str:
    """What a reader calls a hook: the class or function around it, else its own name.

    A bound method has the name of its object's class, and a function made inside another one that
    of the outermost: the unpack of `save_on_cpu` is "save_on_cpu". A lambda at the top is "lambda".
    """
    while isinstance(hook, functools.partial):
        hook = hook.func
    if inspect.ismethod(hook):
        owner = hook.__self__
        return (owner if isinstance(owner, type) else type(owner)).__name__
    qualified = getattr(hook, "__qualname__", None)
    if qualified is None:
        return type(hook).__name__
    for part in qualified.split("."):
        if part not in ("<locals>", "<lambda>"):
            return str(part)
    return "lambda"
