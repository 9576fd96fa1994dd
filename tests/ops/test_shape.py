"""Shapes: views and joins, their derivatives, what shares memory, what is saved, and errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import tensorplay_ref as tp

from .gradients import away_from_zero, checks_of, saved_roles
from .libraries import alike

matrix, cube = away_from_zero(2, 3), away_from_zero(2, 3, 4, seed=1)
square, vector = away_from_zero(3, 3, seed=2), away_from_zero(4, seed=3)

# Each is squared, so that the second derivative passes through the operation, too.
CASES = [
    alike("reshape", lambda lib, a: a.reshape(3, -1) ** 2, matrix),
    alike("reshape of a transposed tensor", lambda lib, a: a.t().reshape(6) ** 2, matrix),
    alike("view", lambda lib, a: a.view(3, 2) ** 2, matrix),
    alike("flatten", lambda lib, a: a.flatten(1, 2) ** 2, cube),
    alike("unflatten", lambda lib, a: a.unflatten(2, (2, -1)) ** 2, cube),
    alike("transpose", lambda lib, a: a.transpose(0, -1) ** 2, cube),
    alike("permute", lambda lib, a: a.permute(2, 0, 1) ** 2, cube),
    alike("T", lambda lib, a: a.T**2, matrix),
    alike("mT", lambda lib, a: a.mT**2, cube),
    alike("movedim", lambda lib, a: a.movedim((0, 1), (-1, 0)) ** 2, cube),
    alike("squeeze", lambda lib, a: a.unsqueeze(1).unsqueeze(0).squeeze(0) ** 2, matrix),
    alike("expand", lambda lib, a: a.unsqueeze(1).expand(-1, 4, -1) ** 2, matrix),
    alike("expand in front", lambda lib, a: a.expand(5, 2, 3) ** 2, matrix),
    alike("select", lambda lib, a: a.select(1, -1) ** 2, cube),
    alike("narrow", lambda lib, a: a.narrow(2, 1, 2) ** 2, cube),
    alike("split", lambda lib, a: a.split(3, 2)[0] ** 2 * a.split([1, 3], 2)[1], cube),
    alike("chunk", lambda lib, a: a.chunk(3)[-1] ** 2, vector),
    alike("unbind", lambda lib, a: a.unbind(1)[0] ** 2 * a.unbind(1)[2], cube),
    alike("diagonal", lambda lib, a: a.diagonal() ** 2, square),
    alike("diagonal beside", lambda lib, a: a.diagonal(1, 2, 0) ** 2, cube),
    alike("slice", lambda lib, a: a[1:, ::2, None, -1] ** 2, cube),
    alike("slice with an ellipsis", lambda lib, a: a[..., 1:3] ** 2, cube),
    alike("cat", lambda lib, a, b: lib.cat([a, b, a], dim=1) ** 2, matrix, away_from_zero(2, 1)),
    alike("cat with nothing", lambda lib, a, n: lib.cat([n, a, n, a], 1) ** 2, matrix, np.ones(0)),
    alike("cat of nothing", lambda lib, n: lib.cat([n, n]) ** 2, np.ones(0)),
    alike("cat of one", lambda lib, a: lib.cat([a], dim=-1) ** 2, matrix),
    alike("stack", lambda lib, a, b: lib.stack([a, b, a], dim=-1) ** 2, matrix, matrix + 1.0),
    alike("contiguous", lambda lib, a: a.t().contiguous() ** 2, matrix),
    alike("repeat", lambda lib, a: a.repeat(2, 1, 3) ** 2, matrix),
    alike("tile", lambda lib, a: a.tile((2,)) ** 2, matrix),
    alike("repeat_interleave", lambda lib, a: a.repeat_interleave(2, 0) ** 2, matrix),
    alike("flip", lambda lib, a: a.flip(0, 2) ** 2, cube),
    alike("roll", lambda lib, a: a.roll((1, -1), (0, 2)) ** 2, cube),
    alike("roll without axes", lambda lib, a: a.roll(2) ** 2, matrix),
    alike("tril", lambda lib, a: a.tril(-1) ** 2, square),
    alike("triu", lambda lib, a: a.triu(1) ** 2, cube),
    alike("pad", lambda lib, a: lib.nn.functional.pad(a, (1, 2, 0, 1), value=0.5) ** 2, matrix),
    alike("no elements", lambda lib, a: a.reshape(3, 0).transpose(0, 1) ** 2, np.zeros((0, 3))),
    alike("no axes", lambda lib, a: a.reshape(1, 1).squeeze() ** 2, np.array(1.5)),
]


TestCases = checks_of(CASES)


def _leaf(*shape: int) -> Any:
    return tp.tensor(away_from_zero(*shape), requires_grad=True)


VIEWS = [
    lambda a: a.reshape(6, 4),
    lambda a: a.view(24),
    lambda a: a.transpose(0, 1),
    lambda a: a.permute(2, 0, 1),
    lambda a: a.unsqueeze(0),
    lambda a: a[:, 1:],
    lambda a: a[0, 0, 0],
    lambda a: a.expand(5, 2, 3, 4),
    lambda a: a.diagonal(),
    lambda a: a.split(1)[1],
    lambda a: a.unbind()[0],
    lambda a: a.contiguous(),
]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shares_storage_and_version_and_saves_nothing(view: Any) -> None:
    a = tp.tensor(cube)
    assert view(a).storage() is a.storage()
    assert saved_roles(view, _leaf(2, 3, 4)) == []
    part = view(a)
    if 0 not in part.stride():
        part.add_(1.0)
        assert a._version == 1


COPIES = [
    lambda a: a.t().reshape(6),
    lambda a: a.t().contiguous(),
    lambda a: a.flip(0),
    lambda a: a.repeat(1, 1),
    lambda a: a.roll(0),
    lambda a: tp.cat([a]),
    lambda a: tp.stack([a]),
    lambda a: a.tril(5),
]


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_has_its_own_memory_and_saves_nothing(copy: Any) -> None:
    a = tp.tensor(matrix)
    assert not np.may_share_memory(copy(a).numpy(), a.numpy())
    assert saved_roles(copy, _leaf(2, 3)) == []


def test_a_copying_view_of_a_rewritten_base_has_the_new_history() -> None:
    a = _leaf(2, 3)
    base = a * 1.0
    view = base[:, :2]
    base.mul_(10.0)
    view.reshape(4).sum().backward()  # the reshape has to copy
    assert a.grad.tolist() == [[10.0, 10.0, 0.0]] * 2


def test_a_part_of_a_split_can_be_written_and_its_base_knows() -> None:
    a = _leaf(4)
    base = a * 1.0
    first, second = base.split(2)
    second.mul_(3.0)
    base.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0, 3.0, 3.0]


def test_parts_without_a_gradient_count_as_zero() -> None:
    a = _leaf(3)
    parts = a.unbind()
    (parts[2] * 5.0).backward()
    assert a.grad.tolist() == [0.0, 0.0, 5.0]


def test_cat_and_stack_take_the_common_dtype() -> None:
    double, single, whole = tp.tensor([1.0], dtype=tp.float64), tp.tensor([1.0]), tp.tensor([1])
    assert tp.cat([single, whole]).dtype == tp.float32
    assert tp.stack([single, double]).dtype == tp.float64
    assert tp.cat([whole, tp.tensor([True])]).dtype == tp.int64


def test_cat_gives_no_gradient_to_a_constant() -> None:
    a = _leaf(2)
    result = tp.cat([a, tp.ones(2, dtype=tp.float64)])
    assert result.grad_fn.next_functions[1] == (None, 0)
    result.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0]


def test_sum_to_size_is_the_reverse_of_expand() -> None:
    a = _leaf(2, 3, 4)
    assert a.sum_to_size(3, 1).tolist() == a.detach().sum((0, 2)).reshape(3, 1).tolist()
    assert a.sum_to_size((2, 3, 4)) is a
    with pytest.raises(RuntimeError, match="sum_to_size"):
        a.sum_to_size(5, 4)


@given(shape=array_shapes(min_dims=1, max_dims=4, max_side=4), data=st.data())
def test_split_parts_join_to_the_whole(shape: tuple[int, ...], data: Any) -> None:
    a = tp.tensor(np.arange(np.prod(shape), dtype=np.float64).reshape(shape), requires_grad=True)
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = data.draw(st.integers(1, 5))
    joined = tp.cat(a.split(size, dim), dim)
    assert joined.tolist() == a.tolist()
    stacked = tp.stack(a.unbind(dim), dim)
    assert stacked.tolist() == a.tolist()
    (joined * 2.0 + stacked).sum().backward()
    assert a.grad.tolist() == np.full(shape, 3.0).tolist()


@given(shape=array_shapes(min_dims=1, max_dims=4, max_side=4), data=st.data())
def test_permuting_there_and_back_is_the_identity(shape: tuple[int, ...], data: Any) -> None:
    a = tp.tensor(np.arange(np.prod(shape)).reshape(shape))
    order = data.draw(st.permutations(range(len(shape))))
    back = [order.index(axis) for axis in range(len(shape))]
    assert a.permute(*order).permute(back).tolist() == a.tolist()
    assert a.permute(order).shape == tuple(shape[axis] for axis in order)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: a.reshape(4), RuntimeError, r"\(4,\) is invalid .* \(2, 3\)"),
        (lambda a: a.t().view(6), RuntimeError, r"view: .* use .reshape"),
        (lambda a: a.transpose(0, 2), IndexError, "out of"),
        (lambda a: a.permute(0, 0), RuntimeError, "each of 2 axes once"),
        (lambda a: a.expand(4, 3), RuntimeError, r"\(2, 3\) cannot be expanded to \(4, 3\)"),
        (lambda a: a.narrow(1, 2, 2), RuntimeError, "exceeds the 3 elements"),
        (lambda a: a.split([1, 1], 1), RuntimeError, r"\[1, 1\] do not add up to 3"),
        (lambda a: a.split(0), RuntimeError, "positive"),
        (lambda a: a.chunk(0), RuntimeError, "positive"),
        (lambda a: a.size(2), IndexError, "size"),
        (lambda a: a[0].mT, RuntimeError, "at least 2 axes"),
        (lambda a: a[None].t(), RuntimeError, "use .mT"),
        (lambda a: a.flatten(1, 0), RuntimeError, "comes after"),
        (lambda a: a.repeat(2), RuntimeError, "fewer numbers than axes"),
        (lambda a: tp.cat([a, a[0]]), RuntimeError, r"\(2, 3\), \(3,\) must be equal except"),
        (lambda a: tp.cat([]), RuntimeError, "at least one"),
        (lambda a: tp.cat(a), TypeError, "list or tuple"),
        (lambda a: tp.stack([a, a[0]]), RuntimeError, "Stack"),
        (lambda a: tp.nn.functional.pad(a, (1,)), RuntimeError, "pairs"),
        (lambda a: tp.nn.functional.pad(a, (1, 1), "reflect"), NotImplementedError, "reflect"),
    ],
)
def test_wrong_use_names_what_was_expected(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(_leaf(2, 3))
