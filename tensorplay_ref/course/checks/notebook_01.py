"""Checks of notebook 01: views by strides; shared storage; unbroadcast for any pair of shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ..check import Exercise, Step
from ..compare import Difference, a_sequence, same, same_values, shown, unchanged

views = Step(
    "01.views",
    "`transpose`, `row` and `column` are views, as the package makes them.",
    takes=("Storage", "Tensor", "values", "transpose", "row", "column"),
)


def _views(make: tuple[Any, ...], rows: int, columns: int) -> Iterator[tuple[str, Any, Any]]:
    """Views of one matrix by the reader's functions and by the package, with their names."""
    storage, tensor, _, transpose, row, column = make
    mine = tensor(storage(range(rows * columns)), (rows, columns), (columns, 1))
    theirs = tp.arange(rows * columns, dtype=tp.float32).reshape(rows, columns)
    yield "the transpose", transpose(mine), theirs.T
    yield "the last row", row(mine, rows - 1), theirs[rows - 1]
    yield "the first column", column(mine, 0), theirs[:, 0]
    yield "a row of the transpose", row(transpose(mine), columns - 1), theirs.T[columns - 1]
    yield "a column of the transpose", column(transpose(mine), rows - 1), theirs.T[:, rows - 1]


@views.case
def _strides(*make: Any) -> None:
    """shapes, strides and offsets"""
    for name, mine, theirs in (*_views(make, 2, 3), *_views(make, 4, 2)):
        shape = a_sequence(mine.shape, f"the shape of {name}")
        same(tuple(shape), theirs.shape, f"the shape of {name}")
        strides = a_sequence(mine.strides, f"the strides of {name}")
        same(tuple(strides), theirs.stride(), f"the strides of {name}")
        same(mine.offset, theirs.storage_offset(), f"the offset of {name}")


@views.case
def _elements(*make: Any) -> None:
    """the elements"""
    for name, mine, theirs in (*_views(make, 2, 3), *_views(make, 4, 2)):
        same_values(make[2](mine), theirs.numpy(), name)


@views.case
def _one_storage(*make: Any) -> None:
    """a write to the storage"""
    storage, tensor, values, transpose, _, _ = make
    matrix = tensor(storage(range(6)), (2, 3), (3, 1))
    turned = transpose(matrix)
    matrix.storage.buffer[5] = 50.0
    same(float(values(turned)[2, 1]), 50.0, "after a write to the storage, the last element")


shares_storage = Exercise(
    "01.shares_storage",
    contract="`shares_storage(a, b)` says, True or False, whether two tensors look into the same "
    "storage, whichever parts of it they look at.",
    difficulty=1,
    minutes=8,
    takes=("shares_storage",),
)


def _matrix() -> Any:
    return tp.arange(12, dtype=tp.float32).reshape(3, 4)


def _both_ways(shares: Any, a: Any, b: Any, what: str) -> None:
    expected = a._storage is b._storage
    for answer in (shares(a, b), shares(b, a)):
        answer = bool(answer) if isinstance(answer, np.bool_) else answer
        same(answer, expected, f"the answer for {what}")


@shares_storage.case
def _views_of_one_tensor(shares: Any) -> None:
    """a matrix and its transpose"""
    a = _matrix()
    _both_ways(shares, a, a, "a tensor and itself")
    _both_ways(shares, a, a.T, "a matrix and its transpose")
    _both_ways(shares, a, a.detach(), "a tensor and its detach()")


@shares_storage.case
def _equal_values(shares: Any) -> None:
    """two tensors with equal values, made apart"""
    a = _matrix()
    _both_ways(shares, a, _matrix(), "two tensors with equal values, made apart")
    _both_ways(shares, a, a.clone(), "a tensor and its clone()")
    _both_ways(shares, a, a + 0, "a and a + 0")


@shares_storage.case
def _another_start(shares: Any) -> None:
    """a matrix and its last row, which starts elsewhere"""
    a = _matrix()
    _both_ways(shares, a, a[2], "a matrix and its last row, which starts elsewhere")
    _both_ways(shares, a[1:], a[:, 1:], "a without its first row and a without its first column")


@shares_storage.case
def _disjoint_parts(shares: Any) -> None:
    """two rows of one matrix, which have no element in common"""
    a = _matrix()
    _both_ways(shares, a[0], a[2], "two rows of one matrix, which have no element in common")
    _both_ways(shares, a[:, ::2], a[:, 1::2], "the even and the odd columns of one matrix")


@shares_storage.case
def _copies(shares: Any) -> None:
    """a matrix and rows chosen by a list, which is a copy"""
    a = _matrix()
    _both_ways(shares, a, a[[0, 1]], "a matrix and rows of it chosen by a list")
    _both_ways(shares, a, a.T.reshape(12), "a matrix and its transpose, reshaped to 12")
    _both_ways(shares, a, a.reshape(2, 6), "a matrix and itself, reshaped to (2, 6)")


@shares_storage.case
def _tensors_of_one_element(shares: Any) -> None:
    """a column and its expansion"""
    column = tp.ones(3, 1)
    _both_ways(shares, column, column.expand(3, 4), "a column and its expansion to (3, 4)")
    _both_ways(shares, column.expand(3, 4), tp.ones(3, 4), "an expanded column and ones(3, 4)")


unbroadcast = Exercise(
    "01.unbroadcast",
    contract="`unbroadcast(gradient, shape)` sums a NumPy array over every axis along which an "
    "array of that shape was repeated, and returns an array of exactly that shape.",
    difficulty=2,
    minutes=15,
    takes=("unbroadcast",),
)


def _expected(gradient: Any, shape: tuple[int, ...]) -> Any:
    """The gradient that the package gives a tensor of `shape` that was expanded."""
    leaf = tp.zeros(*shape, dtype=tp.float64).requires_grad_()
    leaf.expand(*gradient.shape).backward(tp.tensor(gradient))
    assert leaf.grad is not None
    return leaf.grad.numpy()


def _try(unbroadcast: Any, wide: tuple[int, ...], shape: tuple[int, ...]) -> None:
    gradient = np.random.default_rng(len(wide)).standard_normal(wide)
    with unchanged(gradient=gradient):
        found = unbroadcast(gradient, shape)
    if isinstance(found, np.generic):
        found = np.asarray(found)
    if found is None:
        raise Difference(f"unbroadcast returned None, expected an array of shape {shown(shape)}")
    same_values(found, _expected(gradient, shape), f"unbroadcast from {wide} to {shape}")


@unbroadcast.case
def _nothing_to_do(unbroadcast: Any) -> None:
    """equal shapes"""
    _try(unbroadcast, (2, 3), (2, 3))
    _try(unbroadcast, (1, 3), (1, 3))


@unbroadcast.case
def _axes_in_front(unbroadcast: Any) -> None:
    """from (2, 3) to (3,)"""
    _try(unbroadcast, (2, 3), (3,))
    _try(unbroadcast, (4, 2, 3), (3,))


@unbroadcast.case
def _axes_of_length_one(unbroadcast: Any) -> None:
    """from (2, 3) to (2, 1)"""
    _try(unbroadcast, (2, 3), (2, 1))
    _try(unbroadcast, (2, 3), (1, 3))
    _try(unbroadcast, (2, 3), (1, 1))


@unbroadcast.case
def _square(unbroadcast: Any) -> None:
    """from (3, 3), where a sum over the wrong axis has the right number of elements"""
    for shape in ((3,), (1, 3), (3, 1)):
        _try(unbroadcast, (3, 3), shape)


@unbroadcast.case
def _both_kinds(unbroadcast: Any) -> None:
    """from (5, 2, 3, 4) to (2, 1, 4)"""
    _try(unbroadcast, (5, 2, 3, 4), (2, 1, 4))
    _try(unbroadcast, (2, 2, 2, 2), (1, 2, 1))
    _try(unbroadcast, (6, 5, 1, 4), (5, 1, 1))


@unbroadcast.case
def _scalar(unbroadcast: Any) -> None:
    """from (2, 3) to (), a number"""
    _try(unbroadcast, (2, 3), ())
    _try(unbroadcast, (), ())


@unbroadcast.case
def _no_elements(unbroadcast: Any) -> None:
    """from (0, 3), which has no elements, to (1, 3)"""
    _try(unbroadcast, (0, 3), (1, 3))
    _try(unbroadcast, (0, 3), (3,))
