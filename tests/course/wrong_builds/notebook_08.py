"""Mistakes in notebook 08: one byte for each number."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tests.course.builds import wrong


def int8_class(lesson: Any, pack: Callable[[Any], Any]) -> Any:
    """The solution with another pack for float32 arrays."""

    def packed(self: Any, tensor: Any) -> Any:
        if tensor.dtype != tp.float32 or tensor.dim() == 0:
            return tensor
        return pack(tensor.detach().numpy())

    return (type("Int8Rows", (lesson.Int8Rows,), {"pack": packed}),)


def scales_of(array: Any) -> Any:
    largest = np.abs(array).max(axis=-1, keepdims=True)
    return np.where(largest == 0, 1, largest / 127).astype(np.float32)


def codes_of(array: Any, scales: Any) -> Any:
    codes = np.rint(array / scales)
    codes = np.where((codes == 0) & (array != 0), np.sign(array), codes)
    return codes.astype(np.int8)


@wrong("08.int8", says="the shape of the scales of a matrix of shape (5, 40) is (1, 1)")
def takes_one_scale_for_the_tensor(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = np.full((1,) * array.ndim, np.abs(array).max() / 127, np.float32)
        return codes_of(array, scales), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="a matrix: -5.25229 at [0, 0] came back as -5.16868; half a step")
def spreads_one_scale_over_all_rows(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = np.full((*array.shape[:-1], 1), np.abs(array).max() / 127, np.float32)
        scales = np.maximum(scales, np.float32(1e-30))
        return codes_of(array, scales), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="a row of tiny elements: 1e-12 at [0, 0] came back as")
def has_a_least_scale(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        largest = np.abs(array).max(axis=-1, keepdims=True)
        scales = (np.maximum(largest, 1e-8) / 127).astype(np.float32)
        return codes_of(array, scales), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="give the class")
def is_an_object(lesson: Any) -> Any:
    return (lesson.Int8Rows(),)


@wrong("08.int8", says="0.1 beside 100 came back as 0, expected its sign")
def rounds_small_elements_to_zero(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = scales_of(array)
        return np.rint(array / scales).astype(np.int8), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="half a step of its row is")
def cuts_off_instead_of_rounding(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = scales_of(array)
        codes = (array / scales).astype(np.int8)
        return np.where((codes == 0) & (array != 0), np.sign(array), codes).astype(np.int8), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="came back as")
def forgets_that_elements_may_be_negative(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        largest = np.maximum(array.max(axis=-1, keepdims=True), np.float32(1e-6))
        scales = (largest / 127).astype(np.float32)
        with np.errstate(invalid="ignore"):
            return codes_of(array, scales), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="FloatingPointError: invalid value encountered in divide")
def divides_by_the_scale_of_a_row_of_zeros(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = (np.abs(array).max(axis=-1, keepdims=True) / 127).astype(np.float32)
        return codes_of(array, scales), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="a matrix: 0 at [0, 1] came back as 0.117954")
def makes_a_step_of_every_zero(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = scales_of(array)
        codes = np.rint(array / scales)
        return np.where(codes == 0, np.where(array < 0, -1, 1), codes).astype(np.int8), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="a matrix: -0.043472 at [0, 3] came back as 0.117954")
def forgets_the_sign_of_small_elements(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = scales_of(array)
        codes = np.rint(array / scales)
        return np.where((codes == 0) & (array != 0), 1, codes).astype(np.int8), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="the dtype of the scales of a matrix of shape (5, 40) is 'float64'")
def keeps_scales_in_double(lesson: Any) -> Any:
    def pack(array: Any) -> Any:
        scales = scales_of(array).astype(np.float64)
        return codes_of(array, scales), scales

    return int8_class(lesson, pack)


@wrong("08.int8", says="what pack returned for int64 is another object than expected")
def takes_labels_for_numbers(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        if tensor.dim() == 0:
            return tensor
        array = tensor.detach().numpy().astype(np.float32)
        return codes_of(array, scales_of(array)), scales_of(array)

    return (type("Int8Rows", (lesson.Int8Rows,), {"pack": pack}),)


@wrong("08.int8", says="a tensor that only its packed form can still hold is still alive")
def keeps_the_tensor_beside_the_codes(lesson: Any) -> Any:
    kept: list[Any] = []

    def pack(self: Any, tensor: Any) -> Any:
        kept.append(tensor)
        return lesson.Int8Rows.pack(self, tensor)

    return (type("Int8Rows", (lesson.Int8Rows,), {"pack": pack}),)
