"""The stack of hook pairs, and for whom a tensor is being packed.

A hook sees a tensor and not its reader. Some policies need to know the reader: the result of relu
may shrink to a bit mask where relu's own backward reads it, and not where a matmul does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .node import Node


class HookPair(NamedTuple):
    """A pack function with the unpack function that reverses it."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]
    owner: Any = None  # the context that pushed it, which alone may take it off
    native_pop: Callable[[], Any] | None = None


# Innermost pair last. A ContextVar, so each thread and each asyncio task has a stack of its own.
# The tuple is replaced and never changed, so a task that inherits it cannot disturb its parent.
hook_stack: ContextVar[tuple[HookPair, ...]] = ContextVar("hook_stack", default=())

# For each thread, by its identifier, the node that is saving: a pack hook never waits, so no other
# task of the thread comes between. Set by SavedTensor around the call of a hook, by nobody else.
saving_node: dict[int, Node | None] = {}


def operation_name(node: Node | None) -> str:
    """The name of the operation behind a node, such as "Matmul"; "" for no node."""
    return "" if node is None else node.name().removesuffix("Backward")


def packing_node() -> Node | None:
    """Inside a pack hook: the node that saves the tensor; None elsewhere."""
    return saving_node.get(get_ident())


def packing_operation() -> str:
    """Inside a pack hook: the name of the operation that saves the tensor; "" elsewhere.

    The name is the operation's class, such as "Matmul", or that of a custom Function.
    """
    return operation_name(packing_node())
