"""Wrong builds of notebook 01."""

from types import ModuleType
from typing import Any

import numpy as np

from tests.course.builds import wrong


@wrong("01.views", says="the last element is 5.0, expected 50.0")
def the_transpose_is_a_copy(lesson: ModuleType) -> tuple[Any, ...]:
    def transpose(t: Any) -> Any:
        return lesson.Tensor(
            lesson.Storage(t.storage.buffer), t.shape[::-1], t.strides[::-1], t.offset
        )

    def column(t: Any, j: int) -> Any:
        return lesson.row(transpose(t), j)

    return lesson.Storage, lesson.Tensor, lesson.values, transpose, lesson.row, column


@wrong("01.views", says="the strides of the transpose is (3, 1), expected (1, 3)")
def the_transpose_keeps_its_strides(lesson: ModuleType) -> tuple[Any, ...]:
    def transpose(t: Any) -> Any:
        return lesson.Tensor(t.storage, t.shape[::-1], t.strides, t.offset)

    return lesson.Storage, lesson.Tensor, lesson.values, transpose, lesson.row, lesson.column


@wrong("01.views", says="the offset of the last row is 0, expected 3")
def a_row_begins_at_the_start(lesson: ModuleType) -> tuple[Any, ...]:
    def row(t: Any, i: int) -> Any:
        return lesson.Tensor(t.storage, t.shape[1:], t.strides[1:], t.offset)

    return lesson.Storage, lesson.Tensor, lesson.values, lesson.transpose, row, lesson.column


@wrong("01.views", says="the offset of a row of the transpose is 4, expected 2")
def a_row_is_as_far_as_the_matrix_is_wide(lesson: ModuleType) -> tuple[Any, ...]:
    def row(t: Any, i: int) -> Any:
        return lesson.Tensor(t.storage, t.shape[1:], t.strides[1:], t.offset + i * t.shape[-1])

    return lesson.Storage, lesson.Tensor, lesson.values, lesson.transpose, row, lesson.column


@wrong("01.shares_storage", says="two tensors with equal values, made apart is True")
def compares_values(lesson: ModuleType) -> tuple[Any, ...]:
    def shares_storage(a: Any, b: Any) -> bool:
        return sorted(a.numpy().ravel()) == sorted(b.numpy().ravel())

    return (shares_storage,)


@wrong("01.shares_storage", says="a matrix and its last row, which starts elsewhere is False")
def compares_the_addresses_of_the_first_elements(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda a, b: a.data_ptr() == b.data_ptr(),)


@wrong("01.shares_storage", says="two rows of one matrix, which have no element in common is False")
def asks_whether_bytes_overlap(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda a, b: np.shares_memory(a.numpy(), b.numpy()),)


@wrong("01.shares_storage", says="two tensors with equal values, made apart is True")
def compares_the_sizes_of_the_storages(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda a, b: a.untyped_storage().nbytes() == b.untyped_storage().nbytes(),)


@wrong("01.shares_storage", says="a matrix and its transpose is False")
def asks_whether_it_is_the_same_object(lesson: ModuleType) -> tuple[Any, ...]:
    return (lambda a, b: a is b,)


@wrong("01.unbroadcast", says="from (2, 3) to (2, 1) has shape (), expected (2, 1)")
def sums_axis_0_until_the_size_fits(lesson: ModuleType) -> tuple[Any, ...]:
    def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
        while gradient.size > np.prod(shape):
            gradient = gradient.sum(axis=0)
        return gradient

    return (unbroadcast,)


@wrong("01.unbroadcast", says="from (2, 3) to (2, 1) has shape (2,), expected (2, 1)")
def drops_the_axes_of_length_one(lesson: ModuleType) -> tuple[Any, ...]:
    def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
        while gradient.ndim > len(shape):
            gradient = gradient.sum(axis=0)
        axes = tuple(
            axis for axis, length in enumerate(shape) if length == 1 and gradient.shape[axis] > 1
        )
        return gradient.sum(axis=axes)

    return (unbroadcast,)


@wrong("01.unbroadcast", says="from (2, 3) to (2, 1) at [0, 0] is")
def reshapes_and_sums_the_front(lesson: ModuleType) -> tuple[Any, ...]:
    def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
        return gradient.reshape(-1, *shape).sum(axis=0)

    return (unbroadcast,)


@wrong("01.unbroadcast", says="from (3, 3) to (3,) at [0] is")
def sums_the_last_axes_instead_of_the_first(lesson: ModuleType) -> tuple[Any, ...]:
    def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
        while gradient.ndim > len(shape):
            short = [a for a in range(gradient.ndim) if gradient.shape[a] not in shape]
            gradient = gradient.sum(axis=short[0] if short else -1)
        for axis, length in enumerate(shape):
            if length == 1:
                gradient = gradient.sum(axis=axis, keepdims=True)
        return gradient

    return (unbroadcast,)


@wrong("01.unbroadcast", says="from (2, 3) to (3,) at [0] is")
def takes_the_mean(lesson: ModuleType) -> tuple[Any, ...]:
    def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
        padded = (1,) * (gradient.ndim - len(shape)) + shape
        axes = tuple(a for a, length in enumerate(padded) if gradient.shape[a] != length)
        return gradient.mean(axis=axes, keepdims=True).reshape(shape)

    return (unbroadcast,)


@wrong("01.unbroadcast", says="gradient was changed in place")
def adds_up_in_place(lesson: ModuleType) -> tuple[Any, ...]:
    def unbroadcast(gradient: Any, shape: tuple[int, ...]) -> Any:
        while gradient.ndim > len(shape):
            total = gradient[0]
            for part in gradient[1:]:
                total += part
            gradient = total
        for axis, length in enumerate(shape):
            if length == 1:
                gradient = gradient.sum(axis=axis, keepdims=True)
        return gradient

    return (unbroadcast,)
