"""The backward walk: iterative, in reverse order of creation, freeing saved values as it goes.

Creation order is a topological order (an input's node is always older), so one pass over the
reachable nodes, youngest first, meets every node after all its users. Nothing recurses, so depth
is bounded by memory alone.

A backward is atomic for gradients: what leaves receive is put down only when the whole walk has
succeeded, so a backward that is refused or fails changes no `.grad`. (A leaf with a
post-accumulate hook is the exception: it asked to be served as soon as its gradient is complete.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device import CPU
from .accumulate import fitted, put
from .anomaly import anomaly, check_for_nan
from .grad_mode import grad_enabled
from .multi_grad import Walk, current_walk
from .node import AccumulateGrad, Node
from .observer import notify, watchers

Target = tuple[Node, int]


def run(
    roots: Sequence[tuple[Node, int, Any]],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[Target] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Walk the graph below `roots` and return the gradients that arrive at `targets`.

    Args:
        roots: a node, the number of its result, and the gradient that starts there.
        retain_graph: keep saved values, so that the graph can be walked again.
        create_graph: record the walk itself, so that gradients can be differentiated.
        targets: where to stop and what to return; None walks to every leaf.
        accumulate: add to the `.grad` of the leaves met (of the targets among them, if given).

    Errors: whatever a hook, a custom backward or a saved tensor raises, as the same object.
    """
    order, visited, running = plan(roots, targets)
    wanted = frozenset(targets or ())
    found: dict[Target, Any] = {}
    arrived: list[tuple[AccumulateGrad, Any, bool]] = []
    retained: list[tuple[Any, Any]] = []
    # The gradient that has arrived so far at each node: a tensor, or a list for a node with several
    # results. `owned` names the nodes whose tensor is a sum made here, which nobody else holds.
    pending: dict[Node, Any] = {}
    owned: set[Node] = set()
    for node, number, grad in roots:
        deliver(node, number, grad, pending, owned, create_graph)
    array: Any = None
    below: Node | None = None
    mode_before, walk_before = grad_enabled.get(), current_walk.get()
    grad_enabled.set(create_graph)
    current_walk.set(Walk(order))
    try:
        # A backward formula may divide by zero on purpose (the gradient of sqrt at 0 is infinite).
        with np.errstate(all="ignore"):
            while order:
                node = order.pop()
                grad = pending.pop(node, None)
                if grad is None:
                    continue
                if node.extras is not None or type(node) is AccumulateGrad:
                    grad = run_tensor_hooks(node, grad, retained)
                if wanted:
                    _find(node, grad, wanted, found)
                if type(node) is AccumulateGrad:
                    if accumulate:
                        if node.variable._leaf is not None and node.variable._leaf.post_hooks:
                            put(node, grad, node in owned, create_graph)
                        else:
                            arrived.append((node, grad, node in owned))
                    continue
                if running is not None and node not in running:
                    continue
                if node.extras is not None and node.extras.prehooks:
                    grad = run_prehooks(node, grad)
                if watchers:
                    notify("backward", node, grad=grad)
                grads = node.backward(grad) if node.shape is not None else node.backward(*grad)
                if type(grads) is not tuple:
                    grads = (grads,)
                if node.extras is not None and node.extras.posthooks:
                    grads = run_posthooks(node, grads, grad)
                if anomaly.enabled:
                    check_for_nan(node, grads)
                if watchers:
                    notify("gradients", node, grads=grads)
                if node.saved and not retain_graph:
                    node.release()
                numbers = node.numbers
                position = 0
                for below in node.inputs:
                    if below is not None:
                        grad = grads[position]
                        if grad is not None and (visited is None or below in visited):
                            array = grad._array
                            if (
                                below not in pending
                                and array.shape == below.shape
                                and array.dtype is below.dtype
                            ):
                                pending[below] = grad
                            else:
                                number = 0 if numbers is None else numbers[position]
                                deliver(below, number, grad, pending, owned, create_graph)
                    position += 1
                # Names that outlive the step would hold one gradient more than the walk needs.
                grads = grad = array = None
    finally:
        grad_enabled.set(mode_before)
        current_walk.set(walk_before)
    while arrived:
        put(*arrived.pop(0), create_graph)
    for tensor, gradient in retained:
        tensor._grad = gradient
    return [found.get(target) for target in targets or ()]


def plan(
    roots: Sequence[tuple[Node, int, Any]], targets: Sequence[Target] | None
) -> tuple[list[Node], set[Node] | None, set[Node] | None]:
    """The reachable nodes, oldest first; with targets also those to visit and those to run.

    A node is visited when it is a target or leads to one, and runs when it leads to one.
    """
    seen = {root[0] for root in roots}
    order = list(seen)
    for node in order:  # the list grows while it is walked
        for below in node.inputs:
            if below is not None and below not in seen:
                seen.add(below)
                order.append(below)
    order.sort(key=_age)
    if targets is None:
        return order, None, None
    visited = {node for node, _ in targets}
    running: set[Node] = set()
    for node in order:
        for below in node.inputs:
            if below in visited:
                running.add(node)
                visited.add(node)
                break
    return [node for node in order if node in visited], visited, running


def _age(node: Node) -> int:
    return node.sequence


def deliver(
    node: Node,
    number: int,
    grad: Any,
    pending: dict[Node, Any],
    owned: set[Node],
    create_graph: bool,
) -> None:
    """Add a gradient to what has arrived at result `number` of `node`, fitted to its shape."""
    if node.shape is None:
        shape, dtype, _ = node.results[number]  # type: ignore[attr-defined]
        grad = fitted(grad, shape, dtype)
        slots = pending.setdefault(node, [None] * len(node.results))  # type: ignore[attr-defined]
        slots[number] = grad if slots[number] is None else slots[number] + grad
        return
    grad = fitted(grad, node.shape, node.dtype)
    held = pending.get(node)
    if held is None:
        pending[node] = grad
    elif node not in owned or create_graph:
        # Never in place the first time: what came first may be shared with another input, with a
        # saved tensor, or with the caller.
        pending[node] = held + grad
        owned.add(node)
    elif held._storage.device is CPU:
        np.add(held._array, grad._array, out=held._array)
    else:
        held.add_(grad)


def _find(node: Node, grad: Any, wanted: frozenset[Target], found: dict[Target, Any]) -> None:
    grads = [grad] if node.shape is not None else grad
    for number, one in enumerate(grads):
        if (node, number) in wanted:
            found[node, number] = one


def run_tensor_hooks(node: Node, grad: Any, retained: list[tuple[Any, Any]]) -> Any:
    """Call the hooks of the tensors that this node made (of the leaf), then note `retain_grad`."""
    if isinstance(node, AccumulateGrad):
        leaf = node.variable._leaf
        for hook in () if leaf is None else tuple(leaf.hooks.values()):
            grad = _replaced(hook, hook(grad), grad)
        return grad
    extras = node.extras
    assert extras is not None
    grads = [grad] if node.shape is not None else grad
    for number, hooks in tuple(extras.tensor_hooks.items()):
        for hook in tuple(hooks.values()):
            if grads[number] is not None:
                grads[number] = _replaced(hook, hook(grads[number]), grads[number])
    for number, reference in tuple(extras.retained.items()):
        tensor = reference()
        if tensor is not None and grads[number] is not None:
            held = tensor._grad
            retained.append((tensor, grads[number] if held is None else held + grads[number]))
    return grads[0] if node.shape is not None else grads


def _replaced(hook: Any, answer: Any, grad: Any) -> Any:
    """The gradient after one hook: its answer, or the old one when it answered None."""
    if answer is None:
        return grad
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(answer, type(grad)) and not hasattr(answer, "_array"):
        raise TypeError(
            f"hook {name!r} must return a Tensor or None, found {type(answer).__name__}"
        )
    if answer.shape != grad.shape:
        raise RuntimeError(
            f"hook {name!r} has changed the size of value: expected {grad.shape}, "
            f"found {answer.shape}"
        )
    return answer


def run_prehooks(node: Node, grad: Any) -> Any:
    """Call the node's prehooks with a tuple of the gradients of its results."""
    assert node.extras is not None
    grads = (grad,) if node.shape is not None else tuple(grad)
    for hook in tuple(node.extras.prehooks.values()):
        grads = _replaced_all(hook, hook(grads), grads)
    return grads[0] if node.shape is not None else list(grads)


def run_posthooks(node: Node, grads: tuple[Any, ...], grad: Any) -> tuple[Any, ...]:
    """Call the node's hooks with the gradients of its inputs and of its results."""
    assert node.extras is not None
    outputs = (grad,) if node.shape is not None else tuple(grad)
    for hook in tuple(node.extras.posthooks.values()):
        grads = _replaced_all(hook, hook(grads, outputs), grads)
    return grads


def _replaced_all(hook: Any, answer: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer is None:
        return grads
    name = getattr(hook, "__name__", type(hook).__name__)
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but hook {name!r} returned {type(answer).__name__!r}")
    if len(answer) != len(grads):
        raise RuntimeError(
            f"hook {name!r} has returned an incorrect number of values (got {len(answer)}, but "
            f"expected {len(grads)})"
        )
    return answer
