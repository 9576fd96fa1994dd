"""For whom a tensor is being packed: what a pack hook may ask beside the tensor that it is given.

A hook sees a tensor and not its reader. Some policies need to know the reader: the result of relu
may shrink to a bit mask where relu's own backward reads it, and not where a matmul does.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Node

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
