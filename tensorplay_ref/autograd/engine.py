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
from ..tensor_base import leaf_lock
from .accumulate import own_copy, put, put_down
from .anomaly import anomaly, check_for_nan
from .grad_mode import grad_enabled
from .hooks import fitted_to_result, run_posthooks, run_prehooks, run_tensor_hooks
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
    array: Any = None
    below: Node | None = None
    mode_before, walk_before = grad_enabled.get(), current_walk.get()
    try:
        grad_enabled.set(create_graph)
        current_walk.set(Walk(order))
        for node, number, grad in roots:
            deliver(node, number, grad, pending, owned, create_graph)
        # A backward formula may divide by zero on purpose (the gradient of sqrt at 0 is infinite).
        with np.errstate(all="ignore"):
            while order:
                node = order.pop()
                grad = pending.pop(node, None)
                if grad is None:
                    continue
                if type(node) is AccumulateGrad:
                    own = node in owned
                    leaf = node.variable._leaf
                    if leaf is not None and leaf.hooks or node.node_extras is not None:
                        own = False  # a hook may have kept what it was shown
                        grad = run_tensor_hooks(node, grad, retained, create_graph)
                    if wanted:
                        _find(node, grad, wanted, found)
                    if not accumulate:
                        continue
                    if node.node_extras is not None:
                        put_with_hooks(node, grad, create_graph)
                    elif leaf is not None and leaf.post_hooks:
                        put(node, grad, own, create_graph)
                    else:
                        arrived.append((node, grad, own))
                    continue
                extras = node.node_extras
                if extras is not None:
                    grad = run_tensor_hooks(node, grad, retained, create_graph)
                if wanted:
                    _find(node, grad, wanted, found)
                if running is not None and node not in running:
                    continue
                if extras is not None and extras.prehooks:
                    grad = run_prehooks(node, grad)
                    if grad is None:
                        # A prehook has answered (None,): nothing goes on from here.
                        if not retain_graph:
                            node.release()
                        continue
                if watchers:
                    notify("backward", node, grad=grad)
                grads = (
                    node.backward(grad) if node.result_shape is not None else node.backward(*grad)
                )
                if type(grads) is not tuple:
                    grads = (grads,)
                if node.node_extras is not None and node.node_extras.posthooks:
                    grads = run_posthooks(node, grads, grad)
                if anomaly.enabled:
                    check_for_nan(node, grads)
                if watchers:
                    notify("gradients", node, grads=grads)
                if node.saved_slots and not retain_graph:
                    node.release()
                numbers = node.input_numbers
                position = 0
                for below in node.input_nodes:
                    if below is not None:
                        grad = grads[position]
                        if grad is not None and (visited is None or below in visited):
                            array = grad._array
                            if (
                                below not in pending
                                and array.shape == below.result_shape
                                and array.dtype is below.result_dtype
                            ):
                                pending[below] = grad
                                if type(below) is AccumulateGrad and exclusive(node):
                                    owned.add(below)
                            else:
                                number = 0 if numbers is None else numbers[position]
                                deliver(below, number, grad, pending, owned, create_graph)
                    position += 1
                # Names that outlive the step would hold one gradient more than the walk needs.
                grads = grad = array = None
        put_all(arrived, create_graph)
    finally:
        try:
            grad_enabled.set(mode_before)
        finally:
            current_walk.set(walk_before)
    for tensor, gradient in retained:
        tensor._grad = gradient
    return [found.get(target) for target in targets or ()]


def exclusive(node: Node) -> bool:
    """Whether nobody but the engine can hold the gradients that `node` has just made."""
    # Whoever was shown them, a hook or a watcher, may have kept them.
    return (
        node.fresh and not watchers and (node.node_extras is None or not node.node_extras.posthooks)
    )


def plan(
    roots: Sequence[tuple[Node, int, Any]], targets: Sequence[Target] | None
) -> tuple[list[Node], set[Node] | None, set[Node] | None]:
    """The reachable nodes, oldest first; with targets also those to visit and those to run.

    A node is visited when it is a target or leads to one, and runs when it leads to one.
    """
    seen = {root[0] for root in roots}
    order = list(seen)
    for node in order:  # the list grows while it is walked
        for below in node.input_nodes:
            if below is not None and below not in seen:
                seen.add(below)
                order.append(below)
    order.sort(key=_age)
    if targets is None:
        return order, None, None
    visited = {node for node, _ in targets}
    running: set[Node] = set()
    for node in order:
        for below in node.input_nodes:
            if below in visited:
                running.add(node)
                visited.add(node)
                break
    return [node for node in order if node in visited], visited, running


def _age(node: Node) -> int:
    return node.sequence_number


def deliver(
    node: Node,
    number: int,
    grad: Any,
    pending: dict[Node, Any],
    owned: set[Node],
    create_graph: bool,
) -> None:
    """Add a gradient to what has arrived at result `number` of `node`, fitted to its shape."""
    arriving = grad
    grad = fitted_to_result(grad, node, number)
    if node.result_shape is None:
        slots = pending.setdefault(node, [None] * len(node.result_forms))  # type: ignore[attr-defined]
        slots[number] = grad if slots[number] is None else slots[number] + grad
        return
    held = pending.get(node)
    if held is None:
        pending[node] = grad
        if grad._storage is not arriving._storage:
            owned.add(node)
    elif node not in owned or create_graph:
        # Never in place the first time: what came first may be shared with another input, with a
        # saved tensor, or with the caller.
        pending[node] = held + grad
        owned.add(node)
    elif held._storage.device is CPU:
        np.add(held._array, grad._array, out=held._array)
    else:
        held.add_(grad)


def put_all(arrived: list[tuple[AccumulateGrad, Any, bool]], create_graph: bool) -> None:
    """Add the gradients that have arrived to their leaves: all of them or none.

    Only an interrupt by the user can come between two of them.
    """
    if not create_graph:
        # First everything that can fail for want of memory, then the adding, which cannot.
        for position, (node, grad, own) in enumerate(arrived):
            if not own and node.variable._grad is None:
                arrived[position] = (node, own_copy(grad), True)
    arrived.reverse()
    with leaf_lock:
        while arrived:
            put_down(*arrived.pop(), create_graph)


def put_with_hooks(node: AccumulateGrad, grad: Any, create_graph: bool) -> None:
    """Add a gradient to a leaf whose AccumulateGrad node has hooks of its own."""
    assert node.node_extras is not None
    if node.node_extras.prehooks:
        grad = run_prehooks(node, grad)
    if grad is None:
        return
    put(node, grad, False, create_graph)
    if node.node_extras.posthooks:
        run_posthooks(node, (), grad)


def _find(node: Node, grad: Any, wanted: frozenset[Target], found: dict[Target, Any]) -> None:
    grads = [grad] if node.result_shape is not None else grad
    for number, one in enumerate(grads):
        if (node, number) in wanted:
            found[node, number] = one
