"""Assertions whose messages say what was expected and what was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .api import Api, NotOffered


def equal(
    api: Api, found: Any, expected: Any, what: str = "the gradient", tolerance: float = 1e-9
) -> None:
    """Assert that a tensor has the expected shape and values (NaN equals NaN)."""
    wanted = np.asarray(expected)
    if found is None:
        raise AssertionError(f"{what}: expected {_short(wanted)}, found None")
    values = api.array(found)
    if values.shape != wanted.shape:
        raise AssertionError(
            f"{what}: expected shape {wanted.shape}, found shape {values.shape} {_short(values)}"
        )
    if not np.allclose(values, wanted, rtol=tolerance, atol=tolerance * 1e-3, equal_nan=True):
        raise AssertionError(f"{what}: expected {_short(wanted)}, found {_short(values)}")


def same(found: Any, expected: Any, what: str) -> None:
    """Assert that two Python values are equal, or that the one found is None when it should be."""
    if found is not None if expected is None else found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


def true(condition: Any, otherwise: str) -> None:
    """Assert a condition; ``otherwise`` says what is the case when it does not hold."""
    if not condition:
        raise AssertionError(otherwise)


def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...],
    call: Callable[[], Any],
    *fragments: str,
) -> BaseException:
    """Assert that a call raises ``kind`` with all fragments in its message; return the error."""
    names = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
    try:
        result = call()
    except kind as error:
        for fragment in fragments:
            if fragment.lower() not in str(error).lower():
                raise AssertionError(
                    f"the message lacks {fragment!r}: {_line(str(error))}"
                ) from error
        return error
    except (NotOffered, AttributeError):
        raise
    except Exception as error:
        raise AssertionError(
            f"expected {names}, found {type(error).__name__}: {_line(str(error))}"
        ) from error
    raise AssertionError(
        f"expected {names}, nothing was raised; the result is {_line(repr(result))}"
    )


def raises_itself(error: BaseException, call: Callable[[], Any]) -> None:
    """Assert that a call raises this very object."""
    try:
        call()
    except NotOffered:
        raise
    except BaseException as found:
        if found is not error:
            raise AssertionError(
                f"expected the hook's own {type(error).__name__}, "
                f"found {type(found).__name__}: {_line(str(found))}"
            ) from found
        return
    raise AssertionError(f"expected the hook's own {type(error).__name__}, nothing was raised")


def _short(values: Any) -> str:
    text = np.array2string(np.asarray(values), precision=6, separator=", ", threshold=12)
    return " ".join(text.split())


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
