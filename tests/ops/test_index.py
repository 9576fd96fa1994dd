"""Indexing: NumPy's and PyTorch's meaning, repeated positions, what is saved, writing, errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, basic_indices

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks

from .gradients import (
    away_from_zero,
    check_differences,
    checks_of,
    needs_torch,
    saved_roles,
)
from .libraries import alike

matrix, cube = away_from_zero(4, 3), away_from_zero(4, 3, 2, seed=1)
vector = away_from_zero(4, seed=2)
positive_places = (matrix > 0).tolist()

CASES = [
    alike("integers", lambda lib, a: a[lib.tensor([0, 2, 0])] ** 2, matrix),
    alike("a list", lambda lib, a: a[[3, 3, -1]] ** 2, matrix),
    alike("an array", lambda lib, a: a[np.array([1, 0, 1])] ** 2, matrix),
    alike("a matrix of integers", lambda lib, a: a[lib.tensor([[0, 1], [1, 3]])] ** 2, cube),
    alike("a later axis", lambda lib, a: a[:, lib.tensor([2, 0, 2])] ** 2, cube),
    alike("the last axis", lambda lib, a: a[..., lib.tensor([1, 1, 0])] ** 2, cube),
    alike("pairs", lambda lib, a: a[lib.tensor([0, 0, 3]), lib.tensor([1, 1, 2])] ** 2, matrix),
    alike("crossed", lambda lib, a: a[lib.tensor([[0], [0]]), lib.tensor([1, 2])] ** 2, matrix),
    alike("apart", lambda lib, a: a[lib.tensor([0, 0]), :, lib.tensor([1, 1])] ** 2, cube),
    alike("with a slice", lambda lib, a: a[1:3, lib.tensor([0, 0])] ** 2, cube),
    alike("with an integer", lambda lib, a: a[1, lib.tensor([0, 0])] ** 2, cube),
    alike("with a new axis", lambda lib, a: a[None, lib.tensor([0, 0])] ** 2, matrix),
    alike("a mask", lambda lib, a: a[lib.tensor(positive_places)] ** 2, matrix),
    alike("a mask of rows", lambda lib, a: a[lib.tensor([True, False, True, True])] ** 2, cube),
    alike(
        "a mask and integers",
        lambda lib, a: a[lib.tensor([True, False, True, False]), lib.tensor([0, 2])] ** 2,
        matrix,
    ),
    alike("a tensor without axes", lambda lib, a: a[lib.tensor(2)] ** 2, matrix),
    alike("no positions", lambda lib, a: a[lib.tensor([], dtype=lib.int64)] ** 2, matrix),
    alike("index_select", lambda lib, a: a.index_select(1, lib.tensor([2, 2, 0])) ** 2, cube),
    alike("masked_select", lambda lib, a: a.masked_select(a.detach() > 0.0) ** 2, matrix),
    alike("gather", lambda lib, a: a.gather(1, lib.tensor([[0, 0], [2, 1]])) ** 2, matrix),
    alike("gather in columns", lambda lib, a: a.gather(0, lib.tensor([[3, 3, 0]])) ** 2, matrix),
    alike(
        "scatter_add",
        lambda lib, a, b: a.scatter_add(1, lib.tensor([[0, 0], [1, 0]]), b) ** 2,
        matrix,
        away_from_zero(2, 2, seed=3),
    ),
    alike(
        "index_add",
        lambda lib, a, b: a.index_add(0, lib.tensor([1, 1, 3]), b) ** 2,
        matrix,
        away_from_zero(3, 3, seed=4),
    ),
    alike(
        "index_put",
        lambda lib, a, b: a.index_put((lib.tensor([0, 3]), lib.tensor([1, 2])), b) ** 2,
        matrix,
        away_from_zero(2, seed=5),
    ),
    alike(
        "index_put of one for all",
        lambda lib, a, b: a.index_put((lib.tensor([0, 3]),), b) ** 2,
        matrix,
        np.array(0.5),
    ),
    alike(
        "index_put adding",
        lambda lib, a, b: a.index_put((lib.tensor([1, 1]),), b, accumulate=True) ** 2,
        matrix,
        away_from_zero(2, 3, seed=6),
    ),
    alike("sort", lambda lib, a: a.sort(0, descending=True)[0] ** 2 * a, matrix),
    alike("topk", lambda lib, a: a.topk(2, 0)[0] ** 2, cube),
    alike("smallest two", lambda lib, a: a.topk(2, -1, largest=False)[0] ** 2, cube),
]


TestCases = checks_of(CASES)


def test_the_part_of_a_source_beyond_the_index_gets_zeros() -> None:
    # PyTorch raises an internal error here.
    function = alike(
        "", lambda lib, a, b: a.scatter_add(1, lib.tensor([[2]]), b) ** 2, matrix, cube[0]
    )
    check_differences(function)


@given(data=st.data(), shape=array_shapes(max_dims=4, max_side=4))
def test_a_basic_key_means_what_it_means_to_numpy(data: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    key = data.draw(basic_indices(shape, allow_newaxis=True))
    tensor = tp.tensor(array.astype(np.float64), requires_grad=True)
    assert tensor[key].tolist() == array[key].tolist()
    (tensor[key] * 2.0).sum().backward()
    expected = np.zeros(shape)
    expected[key] = 2.0
    np.testing.assert_array_equal(tensor.grad, expected)


@given(data=st.data(), shape=array_shapes(min_dims=2, max_dims=3, max_side=4))
def test_repeated_positions_add_up(data: Any, shape: tuple[int, ...]) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    positions = st.integers(-shape[axis], shape[axis] - 1)
    index = data.draw(arrays(np.int64, array_shapes(max_dims=2, max_side=5), elements=positions))
    tensor = tp.tensor(np.ones(shape), requires_grad=True)
    key = (*(slice(None),) * axis, index)
    picked = tensor[key]
    weights = np.arange(1.0, 1.0 + picked.numel()).reshape(picked.shape)
    (picked * tp.tensor(weights)).sum().backward()
    expected = np.zeros(shape)
    np.add.at(expected, key, weights)
    np.testing.assert_allclose(tensor.grad, expected)


def _leaf(*shape: int) -> Any:
    return tp.tensor(away_from_zero(*shape), requires_grad=True)


SAVED: list[tuple[Any, list[str]]] = [
    (lambda a: a[1], []),
    (lambda a: a[1:, None], []),
    (lambda a: a[tp.tensor(1)], []),
    (lambda a: a[tp.tensor([1, 0])], ["int64"]),
    (lambda a: a[[1, 0]], ["int64"]),
    (lambda a: a[tp.tensor([1, 0]), tp.tensor([0, 0])], ["int64", "int64"]),
    (lambda a: a[a.detach() > 0.0], ["bool"]),
    (lambda a: a.index_select(0, tp.tensor([1])), ["int64"]),
    (lambda a: a.gather(0, tp.tensor([[1, 0]])), ["int64"]),
    (lambda a: a.scatter_add(0, tp.tensor([[1]]), a), ["int64"]),
    (lambda a: a.scatter_add(0, tp.tensor([[1]]), a.detach()), []),
    (lambda a: a.sort(0)[0], ["int64"]),
]


@pytest.mark.parametrize(("operation", "expected"), SAVED)
def test_indices_and_masks_are_saved_as_they_are(operation: Any, expected: list[str]) -> None:
    assert saved_roles(operation, _leaf(2, 3)) == expected


def test_the_saved_indices_can_be_read_from_the_node() -> None:
    rows, columns = tp.tensor([0, 1]), tp.tensor([2, 2])
    node = _leaf(2, 3)[rows, columns].grad_fn
    assert node._saved_indices == (rows, columns) or [
        each.tolist() for each in node._saved_indices
    ] == [[0, 1], [2, 2]]
    assert len(node._raw_saved_indices) == 2


def test_an_index_changed_in_place_is_noticed() -> None:
    index = tp.tensor([0, 1])
    result = _leaf(3)[index]
    index.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_an_index_of_the_caller_s_array_is_copied() -> None:
    index = np.array([0, 0])
    a = _leaf(3)
    result = a[index]
    index[:] = 2
    result.sum().backward()
    assert a.grad.tolist() == [2.0, 0.0, 0.0]


def test_hooks_may_move_indices_away() -> None:
    a = _leaf(4)
    with saved_tensor_hooks(lambda t: t.tolist(), lambda values: tp.tensor(values)):
        result = a[tp.tensor([3, 3])]
    result.sum().backward()
    assert a.grad.tolist() == [0.0, 0.0, 0.0, 2.0]


WRITES: list[tuple[Any, Any]] = [
    (1, 5.0),
    (slice(1, None), [1.0, 2.0, 3.0]),
    ((slice(None), 0), 7.0),
    (..., 1.0),
    ([0, 3], 9.0),
    (np.array([True, False, False, True]), [[1.0], [2.0]]),
    ((np.array([0, 3]), np.array([1, 2])), [1.0, 2.0]),
]


@pytest.mark.parametrize(("key", "value"), WRITES)
def test_assigning_does_what_numpy_does(key: Any, value: Any) -> None:
    array, tensor = matrix.copy(), tp.tensor(matrix)
    array[key] = value
    tensor[key] = value
    np.testing.assert_array_equal(tensor, array)
    assert tensor._version == 1


@pytest.mark.parametrize(("key", "value"), WRITES)
def test_assigning_is_recorded(key: Any, value: Any) -> None:
    a, b = _leaf(4, 3), tp.tensor(np.array(value), requires_grad=True)
    result = a * 1.0
    result[key] = b
    result.sum().backward()
    kept = np.ones((4, 3))
    kept[key] = 0.0
    np.testing.assert_array_equal(a.grad, kept)
    repetitions = (1.0 - kept).sum() / b.numel()
    np.testing.assert_allclose(b.grad, np.full(b.shape, repetitions))


def test_assigning_a_mask_of_a_recorded_result() -> None:
    a = tp.tensor([-1.0, 2.0], requires_grad=True)
    result = a * 3.0
    result[result < 0] = 0.0
    assert result.tolist() == [0.0, 6.0]
    result.sum().backward()
    assert a.grad.tolist() == [0.0, 3.0]


def test_writing_to_a_leaf_is_refused() -> None:
    a = _leaf(3)
    for key in (0, [0, 1], a.detach() > 0.0):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            a[key] = 1.0
    assert a._version == 0
    with tp.no_grad():
        a[0] = 1.0
    assert a[0].item() == 1.0


def test_scatter_add_and_index_put_in_place() -> None:
    a, source = _leaf(3), _leaf(2)
    result = a * 1.0
    result.scatter_add_(0, tp.tensor([2, 2]), source)
    result.index_put_((tp.tensor([0]),), tp.zeros(1, dtype=tp.float64))
    result.sum().backward()
    assert a.grad.tolist() == [0.0, 1.0, 1.0]
    assert source.grad.tolist() == [1.0, 1.0]


def test_sorting_keeps_equal_elements_in_order() -> None:
    tensor = tp.tensor([2, 1, 2, 1])
    assert tensor.argsort().tolist() == [1, 3, 0, 2]
    assert tensor.argsort(descending=True).tolist() == [0, 2, 1, 3]
    values, indices = tensor.sort()
    assert (values.tolist(), indices.tolist()) == ([1, 1, 2, 2], [1, 3, 0, 2])
    assert tp.tensor(3.0).sort().values.item() == 3.0


@needs_torch
@pytest.mark.parametrize(
    "key",
    [
        (0, slice(None), [1, 0]),
        ([1, 0], slice(None), 0),
        (slice(None), [1, 0], slice(None), 1),
        (slice(None), 0, slice(None), [1, 0]),
        (0, ..., [1, 0]),
        (0, None, slice(1, None), [[1, 0], [0, 0]]),
        (-1, [[True, False], [False, True], [True, True]]),
        (slice(None), [2, 0], 1, [1, 0]),
    ],
)
def test_an_integer_beside_a_tensor_is_taken_first_as_in_pytorch(key: Any) -> None:
    import torch

    values = away_from_zero(2, 3, 2, 4)
    ours, theirs = tp.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)

    def as_tensors(lib: Any) -> Any:
        return tuple(lib.tensor(part) if isinstance(part, list) else part for part in key)

    mine, other = ours[as_tensors(tp)], theirs[as_tensors(torch)]
    assert np.array_equal(mine.detach().numpy(), other.detach().numpy())
    (mine * mine).sum().backward()
    (other * other).sum().backward()
    assert ours.grad is not None
    assert np.array_equal(ours.grad.numpy(), theirs.grad.numpy())
    mine, other = tp.zeros(2, 3, 2, 4), torch.zeros(2, 3, 2, 4)
    part = np.arange(other[as_tensors(torch)].numel(), dtype=np.float32)
    part = part.reshape(tuple(other[as_tensors(torch)].shape))
    mine[as_tensors(tp)] = tp.tensor(part)
    other[as_tensors(torch)] = torch.tensor(part)
    assert np.array_equal(mine.numpy(), other.numpy())


def test_nonzero_lists_positions() -> None:
    assert tp.tensor([[0, 3], [5, 0]]).nonzero().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: a[2], IndexError, "out of bounds"),
        (lambda a: a[tp.tensor([0, 2])], IndexError, "out of bounds"),
        (lambda a: a[0, 0, 0], IndexError, "too many indices"),
        (lambda a: a[tp.tensor([0.0])], IndexError, "integer or boolean tensor; found float32"),
        (lambda a: a["b"], IndexError, "found <U1"),
        (lambda a: a[tp.tensor([True, False, True])], IndexError, "boolean"),
        (lambda a: a.gather(0, tp.tensor([0])), IndexError, "2 axes"),
        (lambda a: a.gather(0, tp.tensor([[2]])), IndexError, "between 0 and 1"),
        (lambda a: a.gather(0, tp.tensor([[-1]])), IndexError, "between 0 and 1"),
        (lambda a: a.gather(1, tp.zeros(3, 1, dtype=tp.int64)), RuntimeError, "must not be longer"),
        (lambda a: a.index_select(0, tp.tensor([[0]])), IndexError, "expected an integer vector"),
        (lambda a: a.topk(4), RuntimeError, "4 of 3"),
        (
            lambda a: a.index_put((tp.tensor([0]),), tp.ones(2, dtype=tp.float64)),
            RuntimeError,
            "IndexPut",
        ),
    ],
)
def test_wrong_use_names_what_was_expected(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(_leaf(2, 3))
