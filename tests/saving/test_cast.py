"""cast: the error of each element, and what is left as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tensorplay_ref as tp
from tensorplay_ref.saving import cast
from tests.saving.round_trip import arrays, bits, round_trip


def finite(array: Any) -> Any:
    return np.isfinite(array)


@given(array=arrays(["float32", "float64"]))
@settings(max_examples=100, deadline=None)
def test_float16_keeps_each_element_within_its_bound(array: Any) -> None:
    found = round_trip(cast("float16"), array)
    if (np.abs(array[finite(array)]) > 65504).any():
        # What rounds to 65504 still fits; nothing finite ever becomes infinite.
        assert np.array_equal(finite(found), finite(array))
        return
    bound = np.maximum(np.abs(array) * 2.0**-11, 2.0**-24)
    ok = finite(array)
    assert (np.abs(found[ok] - array[ok]) <= bound[ok]).all()
    assert np.array_equal(found[~ok], array[~ok], equal_nan=True)


@given(array=arrays(["float32", "float64"]))
@settings(max_examples=100, deadline=None)
def test_bfloat16_keeps_each_element_within_its_bound(array: Any) -> None:
    found = round_trip(cast("bfloat16"), array)
    ok = finite(array)
    assert np.array_equal(finite(found), ok)
    # Below the normal numbers of float32 the steps are equally wide.
    bound = np.maximum(np.abs(array[ok]) * 2.0**-8, 2.0**-133)
    assert (np.abs(found[ok] - array[ok]) <= bound).all()
    assert np.array_equal(found[~ok], array[~ok], equal_nan=True)


def test_bfloat16_rounds_to_nearest_even() -> None:
    step = 2.0**-7
    values = np.array([1, 1 + step / 2, 1 + 1.5 * step, 1 + 0.51 * step, -1 - step / 2], np.float32)
    rounded = [1, 1, 1 + 2 * step, 1 + step, -1]
    assert round_trip(cast("bfloat16"), values).tolist() == rounded


@pytest.mark.parametrize("pattern", [0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F80FFFF])
def test_every_nan_stays_nan_in_bfloat16(pattern: int) -> None:
    values = np.array([pattern, 0x3F800000], np.uint32).view(np.float32)
    found = round_trip(cast("bfloat16"), values)
    assert np.isnan(found[0]) and found[1] == 1.0


@pytest.mark.parametrize(
    ("dtype", "value"), [("float16", 1e5), ("float16", 65520.0), ("bfloat16", 3.4e38)]
)
def test_a_tensor_that_does_not_fit_is_left_as_it_is(dtype: str, value: float) -> None:
    array = np.array([1 / 3, value], np.float32)
    assert bits(round_trip(cast(dtype), array)) == bits(array)


def test_the_bytes_are_halved() -> None:
    x = tp.ones(1000)
    for dtype in ("float16", "bfloat16"):
        assert cast(dtype).pack_hook(x).packed.parts[0].nbytes == 2000
    assert cast("float32").pack_hook(tp.ones(10, dtype=tp.float64)).packed.parts[0].nbytes == 40


def test_tiny_results_of_relu_do_not_lose_their_gradient() -> None:
    def gradient(policy: Any) -> Any:
        x = tp.tensor([1e-9, -1e-9, 1e-30, 2.0], requires_grad=True)
        with policy:
            y = x.relu()
        y.sum().backward()
        return x.grad.tolist()

    for dtype in ("float16", "bfloat16"):
        assert gradient(cast(dtype)) == [1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["int8", "bool", "complex64"])
def test_only_floating_dtypes_are_taken(dtype: str) -> None:
    with pytest.raises(TypeError, match=f"found {dtype}"):
        cast(dtype)
