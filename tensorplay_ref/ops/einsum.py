"""Sums of products by letters, made of transposes, products and sums, which are differentiable.

`"ij,jk->ik"`: a letter names an axis; axes of one letter run together; a letter that is not in the
output is summed over; `...` stands for any axes more, which broadcast. Without `->` the output has
the letters that occur once, in alphabetical order.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..tensor_base import TensorBase

# One label for each axis: a letter, or "…3" for the third axis from the right under an ellipsis.
Labels = list[str]


def einsum(equation: str, *operands: Any) -> Any:
    """The sum of products that `equation` describes, over one or more tensors.

    Errors: RuntimeError for an equation that does not fit the operands, naming the letter;
    TypeError for an operand that is no tensor.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        raise TypeError(f"einsum: equation must be a str, found {type(equation).__name__}")
    for position, operand in enumerate(operands):
        if not isinstance(operand, TensorBase):
            raise TypeError(
                f"einsum: operand {position} must be a Tensor, found {type(operand).__name__}"
            )
    inputs, output = parse(equation, operands)
    sizes = _sizes(equation, inputs, operands)
    terms = []
    for position, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        elsewhere = {
            label for other in inputs[:position] + inputs[position + 1 :] for label in other
        }
        terms.append(_alone(operand, labels, elsewhere | set(output)))
    tensor, labels = terms[0]
    for position, (other, other_labels) in enumerate(terms[1:], start=1):
        later = {label for _, rest in terms[position + 1 :] for label in rest}
        tensor, labels = _product(tensor, labels, other, other_labels, later | set(output), sizes)
    return tensor.permute([labels.index(label) for label in output]) if labels else tensor


def parse(equation: str, operands: tuple[Any, ...]) -> tuple[list[Labels], Labels]:
    """The labels of every operand and of the output."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        raise RuntimeError(
            f"einsum: {equation!r} names {len(texts)} operands, {len(operands)} were given"
        )
    inputs = [
        _labels(equation, text, operand.dim() - len(text.replace("...", "")), operand.dim())
        for text, operand in zip(texts, operands, strict=True)
    ]
    wide = max((labels for labels in inputs), key=_ellipsis_length)
    ellipsis = [label for label in wide if label.startswith("…")]
    if arrow:
        output = _labels(equation, right, len(ellipsis), len(right.replace("...", "")))
    else:
        letters = [label for labels in inputs for label in labels if not label.startswith("…")]
        output = ellipsis + sorted(label for label in set(letters) if letters.count(label) == 1)
    known = {label for labels in inputs for label in labels}
    for label in output:
        if label not in known or output.count(label) > 1:
            raise RuntimeError(
                f"einsum: the output letter {label!r} of {equation!r} must occur in an operand, "
                "and only once in the output"
            )
    return inputs, output


def _ellipsis_length(labels: Labels) -> int:
    return sum(label.startswith("…") for label in labels)


def _labels(equation: str, text: str, more: int, axes: int) -> Labels:
    """The labels of one term; `more` axes hide under its ellipsis."""
    letters = text.replace("...", "", 1)
    if not (letters.isalpha() and letters.isascii() or letters == ""):
        raise RuntimeError(f"einsum: {text!r} in {equation!r} must be letters and at most one ...")
    if "..." not in text:
        if more and axes != len(letters):
            raise RuntimeError(f"einsum: {text!r} in {equation!r} does not name all {axes} axes")
        return list(letters)
    if more < 0:
        raise RuntimeError(f"einsum: {text!r} in {equation!r} names more axes than there are")
    before, _, after = text.partition("...")
    return [*before, *(f"…{axis}" for axis in range(more, 0, -1)), *after]


def _sizes(equation: str, inputs: list[Labels], operands: tuple[Any, ...]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, operand in zip(inputs, operands, strict=True):
        for label, length in zip(labels, operand.shape, strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, length) and known != length:
                raise RuntimeError(
                    f"einsum: {label!r} in {equation!r} stands for axes of lengths {known} and "
                    f"{length}"
                )
            sizes[label] = length if known == 1 else known
    return sizes


def _alone(tensor: Any, labels: Labels, needed: set[str]) -> tuple[Any, Labels]:
    """One operand with its repeated letters on a diagonal and its own letters summed over."""
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = tensor.diagonal(0, first, second)
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
    own = tuple(axis for axis, label in enumerate(labels) if label not in needed)
    if own:
        tensor = tensor.sum(own)
    return tensor, [label for label in labels if label in needed]


def _product(
    a: Any, a_labels: Labels, b: Any, b_labels: Labels, needed: set[str], sizes: dict[str, int]
) -> tuple[Any, Labels]:
    """Two operands multiplied, and summed over the letters that nobody needs any more."""
    both = [label for label in a_labels if label in b_labels]
    batch = [label for label in both if label in needed]
    summed = [label for label in both if label not in needed]
    rows = [label for label in a_labels if label not in both]
    columns = [label for label in b_labels if label not in both]
    a = _arranged(a, a_labels, batch, rows, summed, sizes)
    b = _arranged(b, b_labels, batch, summed, columns, sizes)
    labels = batch + rows + columns
    return (a @ b).reshape([sizes[label] for label in labels]), labels


def _arranged(
    tensor: Any,
    labels: Labels,
    batch: Labels,
    first: Labels,
    second: Labels,
    sizes: dict[str, int],
) -> Any:
    """The axes in three groups: a matrix, or a batch of matrices where there is a batch."""
    order = batch + first + second
    tensor = tensor.permute([labels.index(label) for label in order])
    tensor = tensor.expand([sizes[label] for label in order]) if order else tensor
    lengths = [prod(sizes[label] for label in group) for group in (batch, first, second)]
    return tensor.reshape(lengths if batch else lengths[1:])
