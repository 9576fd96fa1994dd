"""Comparisons for self-checks: each agrees silently or raises `Difference`, in a student's words.

Values, counts, traces, errors, changes of an argument, lifetimes. What is expected is always
computed with the package by the caller; here only the words are made.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..tensor_base import TensorBase

# Relative; what two correct ways of computing the same may differ by.
_TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-10, "complex64": 1e-5}


class Difference(Exception):
    """What a build does otherwise than the package, in one sentence."""


def times(number: int) -> str:
    """A count in words: never, once, twice, 3 times."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def same_count(what: str, found: int, expected: int, where: str = "") -> None:
    """A function was called as often as expected; `where` is put in brackets."""
    if found != expected:
        place = f" ({where})" if where else ""
        raise Difference(f"{what} called {times(found)}, expected {times(expected)}{place}")


def same(found: Any, expected: Any, what: str) -> None:
    """A plain value (number, text, shape, list, bool) is the expected one, and of its type."""
    try:
        agrees = bool(found == expected)
    except Exception:
        agrees = False
    if not agrees or isinstance(found, bool) != isinstance(expected, bool):
        raise Difference(f"{what} is {shown(found)}, expected {shown(expected)}")


def same_object(found: Any, expected: Any, what: str) -> None:
    """`found` is the very object, not an equal one."""
    if found is not expected:
        raise Difference(f"{what} is another object than expected: {shown(found)}")


def a_tensor(found: Any, what: str) -> Any:
    """It is a tensor; gives it back."""
    if not isinstance(found, TensorBase):
        raise Difference(f"{what} is {shown(found)}, expected a Tensor")
    return found


def a_sequence(found: Any, what: str) -> Sequence[Any]:
    """It is a list or a tuple; gives it back. Nothing else is sure to have an end."""
    if not isinstance(found, (list, tuple)):
        raise Difference(f"{what} is {shown(found)}, expected a list or a tuple")
    return found


def a_pair(found: Any, made_by: str) -> tuple[Any, Any]:
    """It is a pair of hooks; gives it back."""
    if not isinstance(found, (list, tuple)) or len(found) != 2:
        raise Difference(f"{made_by} returned {shown(found)}, expected a pair (pack, unpack)")
    pack, unpack = found
    return pack, unpack


def a_mapping(found: Any, what: str) -> Mapping[Any, Any]:
    """It is a dict; gives it back."""
    if not isinstance(found, Mapping):
        raise Difference(f"{what} is {shown(found)}, expected a dict")
    return found


def same_values(found: Any, expected: Any, what: str, tolerance: float | None = None) -> None:
    """A tensor has the expected shape, dtype and values; floats within a relative tolerance.

    `expected` is a tensor or an array; an array is found in the same way as a tensor.
    """
    wanted = _array(expected)
    if not isinstance(found, TensorBase if isinstance(expected, TensorBase) else np.ndarray):
        kind = "Tensor" if isinstance(expected, TensorBase) else "NumPy array"
        raise Difference(
            f"{what} is {_a(type(found).__name__)}, expected a {kind} of shape {wanted.shape}"
        )
    values = _array(found)
    if values.shape != wanted.shape:
        raise Difference(f"{what} has shape {values.shape}, expected {wanted.shape}")
    if values.dtype != wanted.dtype:
        raise Difference(f"{what} has dtype {values.dtype}, expected {wanted.dtype}")
    close = _close(values, wanted, tolerance)
    if not close.all():
        place = tuple(int(index[0]) for index in np.nonzero(~close))
        at = f" at {list(place)}" if place else ""
        raise Difference(
            f"{what}{at} is {_number(values[place])}, expected {_number(wanted[place])}"
        )


def same_gradient(found: Any, expected: Any, name: str) -> None:
    """The gradient of the tensor called `name` is there and as expected, or absent as expected."""
    if (found is None) != (expected is None):
        raise Difference(
            f"{name} got {'no' if found is None else 'a'} gradient, expected "
            f"{'none' if expected is None else 'one'}"
        )
    if expected is not None:
        same_values(found, expected, f"the gradient of {name}")


def same_trace(found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    """Two records of what happened agree; tells the first event that differs."""
    for number, (mine, theirs) in enumerate(zip(found, expected, strict=False), 1):
        if mine != theirs:
            raise Difference(f"{what}: step {number} is {shown(mine)}, expected {shown(theirs)}")
    if len(found) < len(expected):
        missing = shown(expected[len(found)])
        raise Difference(f"{what}: ends after step {len(found)}, expected {missing} then")
    if len(found) > len(expected):
        more = shown(found[len(expected)])
        raise Difference(f"{what}: step {len(expected) + 1} is {more}, expected nothing more")


def raises(
    kind: type[BaseException], action: Callable[[], Any], when: str, saying: Sequence[str] = ()
) -> BaseException:
    """`action` raises an error of this kind whose text holds every word of `saying`."""
    try:
        action()
    except kind as error:
        for word in saying:
            if word.lower() not in str(error).lower():
                raise Difference(
                    f"the {type(error).__name__} {when} does not name {word!r}"
                ) from error
        return error
    except NotImplementedError:
        raise
    except Exception as error:
        raise Difference(
            f"{type(error).__name__} {when}, expected {kind.__name__}: {error}"
        ) from error
    raise Difference(f"no error {when}, expected {kind.__name__}")


@contextmanager
def unchanged(**tensors: Any) -> Iterator[None]:
    """Nothing is written into these tensors or arrays inside the context."""
    before = {name: _array(tensor).copy() for name, tensor in tensors.items()}
    told: Difference | None = None
    try:
        yield
    except Difference as difference:
        # A changed argument is the likelier cause of whatever else differs.
        told = difference
    for name, values in before.items():
        now = _array(tensors[name])
        if now.shape != values.shape or not np.array_equal(now, values, equal_nan=_floating(now)):
            raise Difference(f"{name} was changed in place, expected it as it was") from told
    if told is not None:
        raise told


@contextmanager
def reference_counting() -> Iterator[None]:
    """The cyclic garbage collector is off: what is freed inside is freed by reference counting."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def freed(reference: Callable[[], Any], what: str) -> None:
    """A weak reference is dead."""
    if reference() is not None:
        raise Difference(f"{what} is still alive, expected it to be freed")


def alive(reference: Callable[[], Any], what: str) -> None:
    """A weak reference is not dead yet."""
    if reference() is None:
        raise Difference(f"{what} was freed too early")


def shown(value: Any) -> str:
    """A value as a message shows it: short, the same on every machine, tensors by their shape."""
    if isinstance(value, TensorBase):
        return f"a {value.dtype} tensor of shape {value.shape}"
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, type):
        return value.__name__
    return _a(type(value).__name__)


def _array(value: Any) -> Any:
    return value._array if isinstance(value, TensorBase) else np.asarray(value)


def _floating(array: Any) -> bool:
    return bool(array.dtype.kind in "fc")


def _close(found: Any, expected: Any, tolerance: float | None) -> Any:
    if not _floating(expected):
        return found == expected
    relative = _TOLERANCE.get(str(expected.dtype), 1e-10) if tolerance is None else tolerance
    finite = np.abs(expected[np.isfinite(expected)]).astype(np.float64)
    # Cancellation leaves errors of the size of the numbers that met, not of their difference.
    absolute = relative * (float(finite.max()) if finite.size else 0.0)
    return np.isclose(found, expected, rtol=relative, atol=absolute, equal_nan=True)


def _number(value: Any) -> str:
    number = value.item() if isinstance(value, np.generic) else value
    return f"{number:.6g}" if isinstance(number, float) else repr(number)


def _a(name: str) -> str:
    if name == "NoneType":
        return "None"
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"
