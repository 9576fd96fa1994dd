"""register_multi_grad_hook: one function for the gradients of several tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, ref

from ..arguments import many, require_callable, shown
from ..forking import hold_through_fork
from ..tensor_base import TensorBase
from .node import AccumulateGrad, Node, edge, register_tensor_hook

# For the states of all hooks; a child is forked between two entries.
lock = threading.RLock()
hold_through_fork(lock.acquire, lock.release)


class Walk:
    """One backward while it runs: the nodes that have not run yet, oldest first."""

    __slots__ = ("order", "__weakref__")

    def __init__(self, order: list[Node]) -> None:
        self.order = order


# The innermost backward of this thread or task. A backward inside a hook is a walk of its own.
current_walk: ContextVar[Walk | None] = ContextVar("current_walk", default=None)


class MultiGradHandle:
    """What register_multi_grad_hook returns: `remove()` takes the hook off every tensor."""

    def __init__(self, handles: Sequence[Any], text: str) -> None:
        self._handles = handles
        self._text = text

    def remove(self) -> None:
        """Take the hook off all its tensors."""
        for handle in self._handles:
            handle.remove()
        self._text = "removed"

    def __repr__(self) -> str:
        return f"MultiGradHandle({self._text})"


def register_multi_grad_hook(
    tensors: Sequence[TensorBase], fn: Callable[..., Any], *, mode: str = "all"
) -> MultiGradHandle:
    """Call `fn` once in each backward that reaches the tensors.

    Args:
        tensors: each must require a gradient.
        fn: with mode "all" called as fn(list of gradients) when every gradient that this backward
            computes is there, with None for the others; with "any" as fn(gradient) on the first.
        mode: "all" or "any".

    Errors: ValueError for another mode; TypeError for what is no tensor or cannot be called;
    RuntimeError for a tensor without requires_grad.
    Source: PyTorch's `torch.autograd.graph.register_multi_grad_hook`.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', found {mode!r}")
    require_callable("register_multi_grad_hook: fn", fn)
    tensors = many("register_multi_grad_hook: tensors", tensors)
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                "register_multi_grad_hook: expected Tensors, found "
                f"{type(tensor).__name__} at position {position}"
            )
        if not tensor.requires_grad:
            raise RuntimeError(
                f"register_multi_grad_hook: tensor {position} does not require a gradient"
            )
    # The state belongs to the walk, so a walk that fails leaves nothing for the next one.
    states: WeakKeyDictionary[Walk, _State] = WeakKeyDictionary()
    # The hook below must hold neither the tensors nor their nodes, which hold the hook.
    nodes = [_weak_node(tensor) for tensor in tensors]
    count = len(tensors)

    def collect(position: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            walk = current_walk.get()
            assert walk is not None
            with lock:
                first = walk not in states
                if first:
                    ahead, here = set(walk.order), nodes[position]()
                    missing = sum(n() is here or n() in ahead for n in nodes)
                    states[walk] = _State(count, missing)
                state = states[walk]
                state.grads[position] = grad
                state.missing -= 1
                last = state.missing == 0
            if mode == "any" and first:
                fn(grad)
            elif mode == "all" and last:
                fn(list(state.grads))

        return hook

    handles = [register_tensor_hook(t, collect(position)) for position, t in enumerate(tensors)]
    return MultiGradHandle(handles, f"{shown(fn)}, mode={mode!r}, tensors={count}")


def _weak_node(tensor: TensorBase) -> Callable[[], Node | None]:
    """A function that gives the node where the gradient of `tensor` arrives.

    It holds neither the node, whose hooks would hold it in turn, nor the tensor. A leaf gets a new
    AccumulateGrad with each graph, so it is asked anew.
    """
    node = edge(tensor)
    if not isinstance(node, AccumulateGrad):
        assert node is not None
        return ref(node)
    leaf = ref(node.variable)

    def accumulator() -> Node | None:
        variable = leaf()
        return None if variable is None else edge(variable)

    return accumulator


class _State:
    """How far one walk has come with the tensors of one hook."""

    def __init__(self, count: int, missing: int) -> None:
        self.grads: list[Any] = [None] * count
        self.missing = missing
