"""Positions by index tensors: what is not there is refused, and so is what would be cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.nn.functional import embedding
from tensorplay_ref.ops.index import outside

TAKING: dict[str, Callable[[Any, Any], Any]] = {
    "index_select": lambda x, index: x.index_select(0, index),
    "index_add": lambda x, index: x.index_add(0, index, tp.ones(1, 2)),
    "index_add_": lambda x, index: (x * 1.0).index_add_(0, index, tp.ones(1, 2)),
    "embedding": lambda x, index: embedding(index, x),
    "gather": lambda x, index: x.gather(0, index.reshape(1, 1)),
    "scatter_add": lambda x, index: x.scatter_add(0, index.reshape(1, 1), tp.ones(1, 1)),
    "scatter_add_": lambda x, index: (x * 1.0).scatter_add_(0, index.reshape(1, 1), tp.ones(1, 1)),
}


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("position", [-1, 3, 2**40])
def test_a_position_that_is_not_there_is_refused(name: str, position: int) -> None:
    x = tp.ones(3, 2, requires_grad=True)
    words = rf"between 0 and 2.*, found {position} to {position}"
    with pytest.raises(IndexError, match=words):
        TAKING[name](x, tp.tensor([position]))


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("dtype", [tp.int64, tp.int32, tp.int16, tp.int8, tp.uint8])
def test_integers_of_any_dtype_are_positions(name: str, dtype: Any) -> None:
    x = tp.ones(3, 2, requires_grad=True)
    index = tp.tensor([2])
    expected, found = (TAKING[name](x, i) for i in (index, index.to(dtype)))
    assert found.tolist() == expected.tolist()
    slopes = [tp.autograd.grad((each * each).sum(), x)[0].tolist() for each in (expected, found)]
    assert slopes[0] == slopes[1]


@pytest.mark.parametrize("dtype", [tp.int8, tp.uint8])
def test_a_narrow_index_reaches_into_a_long_axis(dtype: Any) -> None:
    x = tp.zeros(300, 2, requires_grad=True)
    embedding(tp.tensor([100, 100], dtype=dtype), x).sum().backward()
    assert x.grad is not None and x.grad[100].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_counts_negative_positions_from_the_end_and_refuses_others(
    accumulate: bool,
) -> None:
    x = tp.zeros(3)
    put = x.index_put((tp.tensor([-1]),), tp.tensor([2.0]), accumulate)
    assert put.tolist() == [0.0, 0.0, 2.0]
    for position in (3, -4):
        with pytest.raises(IndexError, match=f"{position}.* out of bounds for axis 0 with size 3"):
            x.index_put((tp.tensor([position]),), tp.tensor([2.0]), accumulate)


@pytest.mark.parametrize("axes", [0, 1])
def test_an_index_without_axes_is_a_vector_of_one(axes: int) -> None:
    x = tp.tensor([[1.0, 2.0], [3.0, 4.0]])
    index = tp.tensor([1]) if axes else tp.tensor(1)
    assert x.index_select(0, index).tolist() == [[3.0, 4.0]]
    assert x.index_add(0, index, tp.ones(1, 2)).tolist() == [[1.0, 2.0], [4.0, 5.0]]


def test_what_is_outside_is_seen_in_every_integer_dtype() -> None:
    for dtype in (np.int64, np.int8, np.uint8):
        assert not outside(np.array([[0, 2], [1, 1]], dtype).T, 3)
        assert outside(np.array([[0, 3], [1, 1]], dtype).T, 3)
        assert not outside(np.array([], dtype), 0)
    assert outside(np.array([0, -1], np.int8), 100)
    assert not outside(np.array(2), 3) and outside(np.array(-3), 3)


@pytest.mark.parametrize("key", [tp.tensor([0, 2]), slice(None, None, 2)])
def test_a_value_with_more_axes_of_length_one_gets_its_gradient(key: Any) -> None:
    x, value = tp.zeros(3, 2), tp.ones(1, 1, 2, requires_grad=True)
    x[key] = value
    x.sum().backward()
    assert x.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    assert value.grad is not None and value.grad.tolist() == [[[2.0, 2.0]]]
    x[key] = np.full((1, 1, 2), 3.0)
    assert x.tolist() == [[3.0, 3.0], [0.0, 0.0], [3.0, 3.0]]
    with pytest.raises(RuntimeError, match="broadcast"):
        x[0] = tp.ones(2, 1, 2)


x, row = tp.zeros(3, 2), tp.zeros(2)
index, wide = tp.tensor([0, 1]), tp.ones(2, 2, dtype=tp.float64)
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: x.index_select(0, tp.tensor([True, False, True])), IndexError, "found bool"),
    (lambda: x.index_select(0, tp.tensor([0.0])), IndexError, "found float32"),
    (lambda: x.index_select(0, tp.tensor([[0]])), IndexError, r"shape \(1, 1\)"),
    (lambda: x.index_select(0, [0]), TypeError, "found list"),  # type: ignore[arg-type]
    (lambda: x.index_add(0, index, tp.ones(1, 2)), RuntimeError, r"\(2, 2\), found \(1, 2\)"),
    (lambda: x.index_add(0, index, row), RuntimeError, r"\(2, 2\), found \(2,\)"),
    (lambda: x.index_add(0, index, wide), RuntimeError, "dtype float32, found float64"),
    (lambda: x.index_put((index,), wide), RuntimeError, "dtype float32, found float64"),
    (lambda: x.clone().index_put_((index,), wide), RuntimeError, "found float64"),
    (lambda: row.scatter_add(0, index, wide[0]), RuntimeError, "dtype float32, found float64"),
    (lambda: row.scatter_add(0, index, row[:1]), RuntimeError, r"shape \(1,\) for \(2,\)"),
    (lambda: row.scatter_add(0, index, x), RuntimeError, r"shape \(3, 2\) for \(2,\)"),
    (lambda: row.masked_select(index), TypeError, "boolean tensor, found int64"),
    (lambda: row.masked_select(tp.tensor([True] * 3)), RuntimeError, r"\(2,\) and \(3,\) do not"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_wrong_use_names_what_was_expected(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()
