"""Axes and lengths that are not there: refused by name, with what was expected and found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorplay_ref as tp

x, number = tp.ones(3, 2), tp.tensor(2.0)

OUT_OF_RANGE: dict[str, Callable[[], Any]] = {
    "transpose": lambda: x.transpose(0, 2),
    "flip": lambda: x.flip(-3),
    "diagonal": lambda: x.diagonal(0, 0, 2),
    "roll": lambda: x.roll(1, 2),
    "unsqueeze": lambda: x.unsqueeze(3),
    "cat": lambda: tp.cat([x, x], 2),
    "stack": lambda: tp.stack([x, x], 3),
    "squeeze": lambda: x.squeeze(2),
    "movedim": lambda: x.movedim(0, 2),
    "flatten": lambda: number.flatten(0, 1),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_an_axis_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(IndexError, match=f"^{name}: dimension out of range: expected one in"):
        OUT_OF_RANGE[name]()


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: x.flip(0, -2), RuntimeError, "flip: dim 0 appears more than once"),
    (lambda: x.diagonal(0, 1, 1), RuntimeError, "diagonal: dim 1 appears more than once"),
    (lambda: x[0].diagonal(), RuntimeError, r"at least 2 axes, found shape \(2,\)"),
    (lambda: x[0].tril(), RuntimeError, r"tril: expected at least 2 axes, found shape \(2,\)"),
    (lambda: x[0].triu(), RuntimeError, r"triu: expected at least 2 axes, found shape \(2,\)"),
    (lambda: x.movedim((0, 1), (1,)), RuntimeError, "name different numbers"),
    (lambda: x.roll((1, 2), (0,)), RuntimeError, "roll: 2 shifts for 1 dims"),
    (lambda: number.roll(1, 0), RuntimeError, "roll: expected at least 1 axes"),
    (lambda: x.reshape(3, -2), RuntimeError, r"reshape: .* below -1, found \(3, -2\)"),
    (lambda: x.view(3, -2), RuntimeError, r"view: .* below -1, found \(3, -2\)"),
    (lambda: x.expand(-1, 3, 2), RuntimeError, r"expand: .* below 0, found \(-1,\)"),
    (lambda: x.split([4, -1]), RuntimeError, r"split: .* below 0, found \(4, -1\)"),
    (lambda: number.split(1), RuntimeError, "split: expected at least 1 axes"),
    (lambda: number.chunk(1), RuntimeError, "chunk: expected at least 1 axes"),
    (lambda: number.narrow(0, 0, 1), RuntimeError, "narrow: expected at least 1 axes"),
    (lambda: number.unflatten(0, (1, -1)), RuntimeError, "unflatten: expected at least 1 axes"),
    (
        lambda: number.index_select(0, tp.tensor([0])),
        RuntimeError,
        "index_select: expected at least 1 axes",
    ),
    (lambda: x.repeat(-1, 1), RuntimeError, r"repeat: .* below 0, found \(-1, 1\)"),
    (lambda: x.tile(-1, 1), RuntimeError, r"below 0, found \(-1, 1\)"),
    (lambda: x.repeat_interleave(-1, 0), RuntimeError, r"below 0, found \(-1,\)"),
    (lambda: tp.cat([x, 1.0]), TypeError, "cat: element 1 must be a Tensor, found float"),
    (lambda: tp.stack([x, None]), TypeError, "stack: element 1 must be a Tensor, found None"),
    (lambda: tp.allclose(x, 1.0), TypeError, "allclose: other must be a Tensor, found float"),
    (lambda: tp.allclose(x, tp.ones(4)), RuntimeError, r"\(3, 2\) and \(4,\) do not broadcast"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_wrong_use_names_what_was_expected(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_number_has_no_axes_to_change() -> None:
    for same in (number.flip(0), number.transpose(0, -1), number.movedim(0, 0), number.squeeze(0)):
        assert same.shape == () and same.item() == 2.0


def test_flatten_gives_back_what_has_nothing_to_merge() -> None:
    row = tp.ones(3, requires_grad=True)
    assert row.flatten() is row and x.flatten(1) is x and x.flatten(-2, 0) is x
    assert number.flatten().shape == (1,) and row.ravel() is not row


def test_broadcast_to_keeps_a_length_like_expand() -> None:
    assert x.broadcast_to((2, -1, -1)).shape == (2, 3, 2)


def test_nothing_is_cut_into_as_many_parts_as_were_asked_for() -> None:
    assert [part.shape for part in tp.zeros(2, 0).chunk(3, 1)] == [(2, 0)] * 3
