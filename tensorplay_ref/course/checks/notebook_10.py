"""Checks of notebook 10: recomputation by hooks, the length of a region."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from ...utils.checkpoint import checkpoint as package_checkpoint
from ..check import Exercise
from ..compare import (
    Difference,
    a_tensor,
    freed,
    reference_counting,
    same_count,
    same_gradient,
    same_values,
)
from .programs import variable

recomputation = Exercise(
    "10.checkpoint",
    contract="`Region(function, args)` has a `pack` that returns the number of the tensor, and an "
    "`unpack` that gives the tensor with this number, running the region again only when its "
    "tensor is not at hand, and handing each collected tensor out once.",
    difficulty=4,
    minutes=20,
    takes=("checkpoint",),
)

segment = Exercise(
    "10.segment",
    contract="`segment(layers)` is the number of layers in each region for which a chain of so "
    "many equal layers has the lowest peak by the formula $P(k)$, counting whole regions; the last "
    "region may be shorter.",
    difficulty=2,
    minutes=10,
    takes=("segment",),
)

Checkpoint = Callable[..., Any]
RESULT = "the result"


def region(x: Any, w: Any) -> Any:
    """Saves five tensors: two constants of products, and results."""
    return ((x * w).exp() * w).sin() * x


def gradients(checkpoint: Checkpoint, walks: int = 1) -> tuple[Any, Any, Any]:
    """The result of a region and the gradients after some backward passes."""
    x, w = variable(0.5, -1.0, 2.0), variable(0.25, 1.5, -0.75)
    y = a_tensor(checkpoint(region, x, w), RESULT)
    for _ in range(walks):
        y.sum().backward(retain_graph=True)
    return y, x.grad, w.grad


@recomputation.case
def values(checkpoint: Checkpoint) -> None:
    """a region of two leaves"""
    y, for_x, for_w = gradients(checkpoint)
    expected, x, w = gradients(package_checkpoint)
    same_values(y, expected, RESULT)
    same_gradient(for_x, x, "the first argument")
    same_gradient(for_w, w, "the second argument")


@recomputation.case
def runs_once_more(checkpoint: Checkpoint) -> None:
    """counting the runs of a region with several saved tensors"""

    def runs(wrapped: Checkpoint) -> int:
        count = 0

        def counted(x: Any, w: Any) -> Any:
            nonlocal count
            count += 1
            return region(x, w)

        x, w = variable(0.5, -1.0), variable(0.25, 1.5)
        a_tensor(wrapped(counted, x, w), RESULT).sum().backward()
        return count

    same_count("the function was", runs(checkpoint), runs(package_checkpoint), "one backward")


def noting() -> tuple[Callable[[Any], Any], list[Callable[[], Any]]]:
    """A region with one result in between, and weak references to the memory of that result."""
    references: list[Callable[[], Any]] = []

    def noted(x: Any) -> Any:
        middle = x.exp()
        references.append(weakref.ref(middle.untyped_storage()))
        return middle.sin()

    return noted, references


@recomputation.case
def keeps_no_intermediate(checkpoint: Checkpoint) -> None:
    """what lives when forward has ended"""
    noted, references = noting()
    with reference_counting():
        y = checkpoint(noted, variable(0.5, -1.0))
        freed(references[0], "an intermediate result of the region")
    y.sum().backward()


@recomputation.case
def walked_twice(checkpoint: Checkpoint) -> None:
    """two backward passes through one region"""
    _, for_x, for_w = gradients(checkpoint, walks=2)
    _, x, w = gradients(package_checkpoint, walks=2)
    same_gradient(for_x, x, "the first argument after two backward passes")
    same_gradient(for_w, w, "the second argument after two backward passes")


@recomputation.case
def hands_out_once(checkpoint: Checkpoint) -> None:
    """what lives when backward has ended and the graph has not"""
    noted, references = noting()
    with reference_counting():
        y = checkpoint(noted, variable(0.5, -1.0))
        y.sum().backward(retain_graph=True)
        freed(references[-1], "a tensor that was handed out")
    del y


@recomputation.case
def read_in_part(checkpoint: Checkpoint) -> None:
    """a region with two results, of which one is walked twice"""

    def of(wrapped: Checkpoint) -> Any:
        x = variable(0.5, -1.0)
        first, _ = wrapped(lambda t: (t.exp(), t.sin()), x)
        for _ in range(2):
            first.sum().backward(retain_graph=True)
        return x.grad

    same_gradient(of(checkpoint), of(package_checkpoint), "the argument")


@recomputation.case
def collects_without_history(checkpoint: Checkpoint) -> None:
    """the nodes of the second run, while what it collected waits for unpack"""
    references: list[Callable[[], Any]] = []

    def noted(x: Any) -> tuple[Any, Any]:
        middle = x.exp()
        references.append(weakref.ref(middle.grad_fn))
        return middle.sin(), middle.cos()

    with reference_counting():
        first, second = checkpoint(noted, variable(0.5, -1.0))
        first.sum().backward(retain_graph=True)
        freed(references[-1], "a node of the second run, whose collected tensors wait for unpack,")
        second.sum().backward()


@recomputation.case
def second_derivative(checkpoint: Checkpoint) -> None:
    """a second derivative through the region"""

    def second(wrapped: Checkpoint) -> Any:
        x = variable(0.5, -1.0)
        y = a_tensor(wrapped(lambda t: t.exp() * t, x), RESULT)
        (first,) = tp.autograd.grad(y.sum(), x, create_graph=True)
        return tp.autograd.grad(first.sum(), x)[0]

    same_values(second(checkpoint), second(package_checkpoint), "the second derivative")


@recomputation.case
def of_a_closure(checkpoint: Checkpoint) -> None:
    """a parameter that the function closes over, an argument without gradient"""

    def of(wrapped: Checkpoint) -> Any:
        w = variable(0.25, 1.5)
        wrapped(lambda x: (x * w).exp(), tp.tensor([1.0, 2.0], dtype=tp.float64)).sum().backward()
        return w.grad

    same_gradient(of(checkpoint), of(package_checkpoint), "the parameter in the closure")


@segment.case
def lowest_by_the_formula(segment: Callable[[int], int]) -> None:
    """chains of 1 to 40 layers"""
    for layers in range(1, 41):
        found = segment(layers)
        if not isinstance(found, int) or found not in range(1, layers + 1):
            raise Difference(
                f"segment({layers}) is {found!r}, expected a whole number from 1 to {layers}"
            )
        held = [math.ceil(layers / length) + length for length in range(1, layers + 1)]
        if held[found - 1] > min(held):
            raise Difference(
                f"segment({layers}) is {found}: {held[found - 1]} tensors at the peak, expected "
                f"{min(held)}"
            )


@segment.case
def first_of_the_lowest(segment: Callable[[int], int]) -> None:
    """chains for which several lengths are equally good"""
    for layers in range(1, 41):
        held = [math.ceil(layers / length) + length for length in range(1, layers + 1)]
        found, first = segment(layers), 1 + held.index(min(held))
        if found != first:
            raise Difference(
                f"segment({layers}) is {found!r}; the first length with {min(held)} tensors at the "
                f"peak is {first}, expected the first such length"
            )


@segment.case
def lowest_as_measured(segment: Callable[[int], int]) -> None:
    """chains of 16 and 36 layers on the device, beside every length that divides them"""
    for layers in (16, 36):
        lengths = [length for length in range(1, layers + 1) if layers % length == 0]
        peaks = {length: peak_of(layers, length) for length in lengths}
        found = segment(layers)
        peak = peaks.get(found) or peak_of(layers, found)
        if peak > min(peaks.values()):
            raise Difference(
                f"segment({layers}) is {found}, which has a peak of {peak:,} bytes on the device; "
                f"another length has {min(peaks.values()):,}"
            )


def peak_of(layers: int, length: int) -> int:
    """The peak of a chain in regions of this length."""

    def through(weights: list[Any], h: Any) -> Any:
        for weight in weights:
            h = (h * weight).tanh()
        return h

    with tp.cuda.simulate(capacity=10_000_000):
        weights = [tp.tensor([0.9], device="cuda", requires_grad=True) for _ in range(layers)]
        h = tp.ones(500, device="cuda")
        for start in range(0, layers, length):
            h = package_checkpoint(through, weights[start : start + length], h)
        loss = h.sum()
        del h
        loss.backward()
        return tp.cuda.max_memory_allocated()
