"""Numbers beside tensors: what does not fit into the dtype is refused and not wrapped round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorplay_ref as tp
from tensorplay_ref.ops.promotion import number_as

SMALL = tp.tensor([1, 2, 3], dtype=tp.int8)
MASK = tp.tensor([True, False, True])


def assigned(x: Any, key: Any, value: Any) -> Any:
    x = x.clone()
    x[key] = value
    return x


TAKING: dict[str, Callable[[Any], Any]] = {
    "add": lambda n: SMALL + n,
    "multiply": lambda n: n * SMALL,
    "compare": lambda n: SMALL < n,
    "in place": lambda n: SMALL.clone().add_(n),
    "fill_": lambda n: SMALL.clone().fill_(n),
    "masked_fill": lambda n: SMALL.masked_fill(MASK, n),
    "clamp": lambda n: SMALL.clamp(max=n),
    "where": lambda n: tp.where(MASK, SMALL, n),
    "assign": lambda n: assigned(SMALL, 0, n),
    "assign by a mask": lambda n: assigned(SMALL, MASK, n),
}


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("number", [300, np.int64(300), -129, 2**70])
def test_a_number_that_does_not_fit_is_named_with_the_limits(name: str, number: int) -> None:
    words = f"^{number} cannot be stored as int8, which holds -128 to 127"
    with pytest.raises(OverflowError, match=words):
        TAKING[name](number)
    assert SMALL.tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", TAKING)
def test_the_limits_themselves_fit(name: str) -> None:
    for number in (127, np.int16(-128), True):
        assert TAKING[name](number).shape == (3,)


WRITING = ["fill_", "masked_fill", "assign", "assign by a mask"]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (float("nan"), OverflowError, "nan cannot be stored as int8"),
        (1e300, OverflowError, "cannot be stored as int8"),
        (1j, TypeError, "1j cannot be stored as int8: it is a complex number"),
        (None, TypeError, "NoneType"),
        ("3", TypeError, "str"),
    ],
)
def test_what_is_no_such_number_is_not_written(
    name: str, value: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        TAKING[name](value)


def test_a_complex_number_is_not_written_into_floats() -> None:
    for x in (tp.ones(3), tp.ones(3, dtype=tp.float16)):
        with pytest.raises(TypeError, match="1j cannot be stored as float"):
            x.fill_(1j)
        with pytest.raises(TypeError, match="1j cannot be stored as float"):
            x[MASK] = 1j
    assert (tp.ones(1) + 1j).dtype == tp.complex64


def test_a_float_overflows_to_infinity() -> None:
    assert tp.zeros(1).fill_(1e300).item() == np.inf
    assert number_as(2**70, np.dtype(np.float16)) == np.inf
    with pytest.raises(OverflowError, match="it is too large"):
        number_as(10**400, np.dtype(np.float64))


@given(st.integers(-300, 300) | st.floats(-300, 300), st.sampled_from(["int8", "uint8", "int16"]))
def test_what_fits_keeps_its_value(number: Any, name: str) -> None:
    dtype, limits = np.dtype(name), np.iinfo(name)
    if limits.min <= number <= limits.max:
        assert number_as(number, dtype) == int(number)
    else:
        with pytest.raises(OverflowError):
            number_as(number, dtype)


def test_fill_takes_one_value() -> None:
    assert tp.zeros(2).fill_(tp.tensor(3.0)).tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"fill_: expected a value without axes, found .*\(2,\)"):
        tp.zeros(2).fill_(tp.ones(2))


def test_an_index_is_one_integer() -> None:
    assert ["a", "b"][tp.tensor(1)] == "b" and list(range(tp.tensor([2]))) == [0, 1]
    for wrong in (tp.tensor(1.0), tp.tensor([1, 2])):
        with pytest.raises(TypeError, match="only an integer tensor with one element"):
            ["a", "b"][wrong]
    with pytest.raises(TypeError):
        "a" * tp.tensor([1, 2])  # type: ignore[operator]
