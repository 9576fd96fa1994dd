"""quantize: the error of each element, the mask of relu, and what is left as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorplay_ref as tp
from tensorplay_ref.saving import quantize
from tests.saving.round_trip import arrays, bits, round_trip


@given(
    array=arrays(["float16", "float32", "float64"]),
    bits_=st.sampled_from([8, 4]),
    axis=st.sampled_from([-1, 0, 1, None, 5]),
)
@settings(max_examples=100, deadline=None)
def test_each_element_is_within_its_step(array: Any, bits_: int, axis: int | None) -> None:
    found = round_trip(quantize(bits_, axis), array)
    if not array.size or not np.isfinite(array).all():
        assert bits(found) == bits(array)
        return
    real = array.astype(np.longdouble)
    along = axis if axis is not None and -array.ndim <= axis < array.ndim else None
    step = np.abs(real).max(axis=along, keepdims=True) / (127 if bits_ == 8 else 7)
    error = np.abs(found.astype(np.longdouble) - real)
    # Beside the bound, one rounding of the scale and one of the product in the dtype itself.
    limits = np.finfo(array.dtype)
    rounding = 4 * limits.eps * np.abs(real) + float(limits.smallest_subnormal)
    would_vanish = np.abs(real) <= step / 2 * (1 + 1e-5)
    bound = np.where(would_vanish, step, step / 2) * (1 + 1e-5) + rounding
    assert (error <= bound).all()
    assert np.array_equal(np.sign(found), np.sign(array))


def test_the_bytes_are_a_quarter_or_an_eighth_and_the_scales() -> None:
    x = tp.rand(100, 256)
    assert [p.nbytes for p in quantize().pack_hook(x).packed.parts] == [25_600, 400]
    assert [p.nbytes for p in quantize(4).pack_hook(x).packed.parts] == [12_800, 400]
    assert [p.nbytes for p in quantize(axis=0).pack_hook(x).packed.parts] == [25_600, 1_024]
    assert [p.nbytes for p in quantize(axis=None).pack_hook(x).packed.parts] == [25_600, 4]


def test_rows_of_different_size_do_not_disturb_each_other() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    rows *= np.array([[1e-6], [1.0], [1e6], [0.0]], np.float32)
    error = np.abs(round_trip(quantize(), rows) - rows).max(axis=1)
    assert (error <= np.abs(rows).max(axis=1) / 127 * 1.0001).all()


def hidden_layers(policy: Any) -> Any:
    rng = np.random.default_rng(0)
    x = tp.tensor(rng.standard_normal((64, 128)).astype(np.float32))
    weights = [
        tp.tensor((rng.standard_normal((128, 128)) / 8).astype(np.float32), requires_grad=True)
        for _ in range(3)
    ]
    with policy:
        for w in weights:
            x = (x @ w).relu()
        loss = (x * x).mean()
    loss.backward()
    return [w.grad.numpy() for w in weights]


class RoundsToZero(quantize):
    """The usual mistake: plain rounding, so that small results of relu become zero."""

    def pack(self, tensor: Any) -> Any:
        packed = super().pack(tensor)
        if packed is tensor:
            return tensor
        codes, scale = packed.parts
        values = tensor.numpy() / np.where(scale.numpy() == 0, 1, scale.numpy())
        codes.numpy()[:] = np.rint(values)
        return packed


def test_keeping_non_zeros_keeps_the_gradients_of_relu() -> None:
    right = hidden_layers(quantize(min_bytes=10**9))

    def error(policy: Any) -> float:
        found = hidden_layers(policy)
        return max(np.abs(f - r).max() / np.abs(r).max() for f, r in zip(found, right, strict=True))

    assert error(quantize()) < 0.01
    assert error(RoundsToZero()) > 2 * error(quantize())


def test_on_results_of_tanh_the_gradient_is_good_to_half_a_percent() -> None:
    def gradient(policy: Any) -> Any:
        x = tp.linspace(-2.0, 2.0, 10_000).requires_grad_()
        with policy:
            y = x
            for _ in range(20):
                y = y.tanh()
        y.sum().backward()
        return x.grad.numpy()

    right = gradient(quantize(min_bytes=10**9))
    assert np.abs(gradient(quantize()) - right).max() < 5e-3 * np.abs(right).max()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e-42])
def test_rows_without_a_normal_step_are_left(value: float) -> None:
    array = np.full((2, 64), 1 / 3, np.float32)
    array[0] = value
    assert bits(round_trip(quantize(), array)) == bits(array)


def test_what_would_not_become_smaller_is_left() -> None:
    for shape in ((), (1,), (50, 1)):
        array = np.full(shape, 1 / 3, np.float32)
        assert bits(round_trip(quantize(), array)) == bits(array)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="8 or 4, found 3"):
        quantize(bits=3)
    with pytest.raises(TypeError, match="axis"):
        quantize(axis="rows")  # type: ignore[arg-type]
