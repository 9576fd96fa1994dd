"""Checks of notebook 03: the topological order, and the walk that adds up and frees."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ..check import Exercise, Step
from ..compare import (
    Difference,
    freed,
    raises,
    reference_counting,
    same,
    same_gradient,
    shown,
)

topological_order = Exercise(
    "03.topological_order",
    contract="`topological_order(root, below)` lists every node that can be reached from `root` "
    "once, and each before all nodes of `below(node)`; it does not recurse.",
    difficulty=3,
    minutes=20,
    takes=("topological_order",),
)

backward = Step(
    "03.backward",
    "`backward(y)` adds the gradients to the leaves as the package does, and frees what was saved.",
    takes=("backward",),
)


def _try_order(order: Callable[..., Any], edges: Mapping[str, Sequence[str]], root: str) -> None:
    """Compare the answer for one graph with what a topological order is."""
    asked = 0

    def below(node: str) -> list[str]:
        nonlocal asked
        asked += 1
        if asked > 50 * len(edges):
            raise Difference(
                f"below was asked {asked} times about a graph of {len(edges)} nodes: nodes are "
                "visited again and again"
            )
        return list(edges[node])

    found = order(root, below)
    if not isinstance(found, list):
        raise Difference(f"the answer is {shown(found)}, expected a list of nodes")
    place = {node: position for position, node in enumerate(found)}
    for node in found:
        if found.count(node) > 1 if len(found) < 1000 else len(place) < len(found):
            raise Difference(f"node {node} stands in the list more than once")
    missing = sorted(set(_reachable(edges, root)) - set(found))
    if missing:
        raise Difference(f"node {missing[0]} is missing in the list")
    for node in found:
        for next_node in edges[node]:
            if place[next_node] < place[node]:
                raise Difference(
                    f"node {next_node} stands before node {node}, which still has a gradient for it"
                )


def _reachable(edges: Mapping[str, Sequence[str]], root: str) -> list[str]:
    found = {root: None}
    waiting = [root]
    while waiting:
        for node in edges[waiting.pop()]:
            if node not in found:
                found[node] = None
                waiting.append(node)
    return list(found)


@topological_order.case
def _chain(order: Any) -> None:
    """a chain y -> b -> a -> x"""
    _try_order(order, {"y": "b", "b": "a", "a": "x", "x": ""}, "y")


@topological_order.case
def _two_branches(order: Any) -> None:
    """y = h*h - h: two branches that meet"""
    edges = {"y": ["square", "minus"], "square": ["h", "h"], "minus": ["h"], "h": ["x", "x"]}
    _try_order(order, {**edges, "x": []}, "y")


@topological_order.case
def _shortcut(order: Any) -> None:
    """y = h + h*h: a short way and a long one to the same node"""
    _try_order(order, {"y": ["h", "square"], "square": ["h", "h"], "h": ["x"], "x": []}, "y")


@topological_order.case
def _what_is_not_reached(order: Any) -> None:
    """a graph with a node that the root does not lead to"""
    edges = {"y": ["a"], "a": ["x"], "z": ["a"], "x": []}
    _try_order(order, edges, "y")
    same("z" in order("y", edges.__getitem__), False, "node z, which y does not lead to, in list:")


@topological_order.case
def _sixty_levels(order: Any) -> None:
    """sixty times h = h + h"""
    edges = {f"h{level}": [f"h{level - 1}"] * 2 for level in range(1, 61)}
    _try_order(order, {**edges, "h0": []}, "h60")


@topological_order.case
def _random_graphs(order: Any) -> None:
    """graphs drawn at random"""
    rng = np.random.default_rng(0)
    for _ in range(30):
        size = int(rng.integers(2, 12))
        edges = {
            f"n{node}": [f"n{rng.integers(0, node)}" for _ in range(rng.integers(1, 4))]
            for node in range(1, size)
        }
        _try_order(order, {**edges, "n0": []}, f"n{size - 1}")


@topological_order.case
def _deep(order: Any) -> None:
    """a chain of 20,000 nodes"""
    edges = {f"h{level}": [f"h{level - 1}"] for level in range(1, 20_000)}
    _try_order(order, {**edges, "h0": []}, "h19999")


def _compare_walk(walk: Any, program: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.5, 1.5, shape) for shape in shapes]
    mine = [tp.tensor(value, requires_grad=True) for value in values]
    theirs = [tp.tensor(value, requires_grad=True) for value in values]
    walk(program(*mine))
    program(*theirs).backward()
    for position, (found, expected) in enumerate(zip(mine, theirs, strict=True)):
        same_gradient(found.grad, expected.grad, f"input {position} of {program.__doc__}")


@backward.case
def _one_path(walk: Any) -> None:
    """a chain of operations"""

    def program(x: Any) -> Any:
        """sum(exp(x) * 3)"""
        return (x.exp() * 3.0).sum()

    _compare_walk(walk, program, (3,))


@backward.case
def _several_paths(walk: Any) -> None:
    """a value that several operations use"""

    def program(x: Any) -> Any:
        """h*h + 3*h + h, where h = x*x"""
        h = x * x
        return (h * h + h * 3.0 + h).sum()

    _compare_walk(walk, program, (3,))


@backward.case
def _broadcasting(walk: Any) -> None:
    """operands that were broadcast, and a matrix product"""

    def program(x: Any, w: Any, b: Any) -> Any:
        """sum(relu(x @ w + b))"""
        return (x @ w + b).relu().sum()

    _compare_walk(walk, program, (4, 2), (2, 3), (3,))


@backward.case
def _again(walk: Any) -> None:
    """two backwards, one after the other"""
    x = tp.tensor([2.0], requires_grad=True)
    for total in (4.0, 8.0):
        walk((x * x).sum())
        assert x.grad is not None
        same(x.grad.item(), total, "the gradient after this many backwards")


@backward.case
def _own_buffers(walk: Any) -> None:
    """two leaves that get the same gradient"""
    a, b = tp.ones(2, requires_grad=True), tp.ones(2, requires_grad=True)
    walk(((a + b) * 1.0).sum())
    assert a.grad is not None and b.grad is not None
    a.grad.zero_()
    same(b.grad.tolist(), [1.0, 1.0], "after a.grad.zero_(), b.grad")


@backward.case
def _frees(walk: Any) -> None:
    """what is alive after backward"""
    with reference_counting():
        x = tp.ones(3, requires_grad=True)
        h = x * 2.0
        alive = weakref.ref(h._storage)
        y = (h * h).sum()
        del h
        walk(y)
        freed(alive, "after backward, the tensor that the product saved")


@backward.case
def _retained(walk: Any) -> None:
    """two walks over one graph, the first with retain_graph"""
    x = tp.tensor([2.0], requires_grad=True)
    y = (x * x).sum()
    walk(y, retain_graph=True)
    walk(y)
    assert x.grad is not None
    same(x.grad.item(), 8.0, "the gradient after two walks over one graph")


@backward.case
def _second_time(walk: Any) -> None:
    """a second backward over the same graph"""
    x = tp.ones(3, requires_grad=True)
    y = (x * x).sum()
    walk(y)
    raises(RuntimeError, lambda: walk(y), "in a second backward over a product", ["second time"])
