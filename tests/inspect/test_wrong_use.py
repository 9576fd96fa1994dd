"""Reports that are asked about something else say what they expected and what they found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorplay_ref as tp
from tensorplay_ref import inspect

x = tp.ones(2, requires_grad=True)
y = x * 2.0

EXPECTED = r"expected a Tensor \(or an edge or a node of a graph\), or several of them"
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: inspect.saved(3), TypeError, f"{EXPECTED}, found int"),  # type: ignore[arg-type]
    (lambda: inspect.graph(None), TypeError, f"{EXPECTED}, found NoneType"),  # type: ignore[arg-type]
    (lambda: inspect.graph([y, 3]), TypeError, "found int at position 1"),  # type: ignore[list-item]
    (lambda: inspect.graph(y, fold_above=0), ValueError, "whole number from 1, found 0"),
    (lambda: inspect.graph(y, fold_above="a"), ValueError, "found 'a'"),  # type: ignore[arg-type]
    (lambda: inspect.saved(y, [x]), TypeError, "names must be a mapping .* found list"),  # type: ignore[arg-type]
    (lambda: inspect.saved(y, {"x": 3}), TypeError, r"names\['x'\] must be a Tensor, found int"),  # type: ignore[dict-item]
    (lambda: inspect.trace(3), TypeError, "names must be a mapping .* found int"),  # type: ignore[arg-type]
    (lambda: inspect.memory_strip(x), TypeError, "tensors must be a mapping .* found Tensor"),  # type: ignore[arg-type]
    (lambda: inspect.version_lines(inspect.trace(), x), TypeError, "tensors must be a mapping"),  # type: ignore[arg-type]
    (lambda: inspect.show(3), TypeError, "expected axes or a figure, found int"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_wrong_use_names_what_was_expected(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()
