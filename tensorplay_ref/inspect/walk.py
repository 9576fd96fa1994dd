"""The operations that a tensor's history holds, numbered in the order in which they ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..autograd.context import FunctionContext
from ..autograd.node import AccumulateGrad, GradientEdge, Node
from ..ops.inplace import CopySlices
from ..tensor_base import TensorBase

# What a report may be asked about: a tensor, an edge, a node, or several of them.
Root = TensorBase | GradientEdge | Node
Roots = Root | Iterable[Root]
Names = Mapping[str, TensorBase]


class Walk:
    """The reachable part of a graph. Keeps it alive, so it is used by a report and dropped.

    Attributes:
        operations: the recorded operations, oldest first; number n is at position n - 1.
        leaves: the ends of the edges at leaves, in the order in which operations name them.
        roots: (node, number of the result) of each tensor asked about; a leaf has none.
    """

    def __init__(self, roots: Roots, names: Names | None = None) -> None:
        self.names = dict(named("names", names or {}))
        self.roots = [found for root in _listed(roots) if (found := _origin(root)) is not None]
        self.operations, self.leaves = _reachable(node for node, _ in self.roots)
        self._numbers = {node: n for n, node in enumerate(self.operations, 1)}
        self._name_of_variable = self._name_leaves()

    def number(self, node: Node) -> int:
        """The number of an operation, counted from 1."""
        return self._numbers[node]

    def label(self, node: Node) -> str:
        """Number and name of an operation; one to which no edge leads any more has no number."""
        number = self._numbers.get(node)
        name = operation_name(node)
        return name if number is None else f"{number} {name}"

    def leaf_name(self, leaf: AccumulateGrad) -> str:
        """The name given to the leaf, else "leaf 1", "leaf 2" and so on."""
        return self._name_of_variable[id(leaf.variable)]

    def variable_name(self, variable: TensorBase) -> str:
        """The same for a leaf tensor; one that no operation here names has only a given name."""
        return self._name_of_variable.get(id(variable), "") or self.name_of(variable)

    def name_of(self, tensor: TensorBase | None) -> str:
        """The name given to this very tensor, or ""."""
        return next((name for name, named in self.names.items() if named is tensor), "")

    def result_name(self, node: Node, number: int = 0) -> str:
        """The name given to a result of `node`, or ""."""
        for name, tensor in self.names.items():
            if tensor._node is node and tensor._output_nr == number:
                return name
        return ""

    def _name_leaves(self) -> dict[int, str]:
        given = {id(tensor): name for name, tensor in self.names.items()}
        variables = [id(leaf.variable) for leaf in self.leaves]
        return {key: given.get(key, f"leaf {n}") for n, key in enumerate(variables, 1)}


def named(role: str, tensors: Names) -> Names:
    """The mapping itself, when it is one from names to tensors. Errors: TypeError otherwise."""
    if not isinstance(tensors, Mapping):
        raise TypeError(
            f'{role} must be a mapping from names to tensors, such as {{"x": x}}, found '
            f"{type(tensors).__name__}"
        )
    for name, tensor in tensors.items():
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"{role}[{name!r}] must be a Tensor, found {type(tensor).__name__}")
    return tensors


def _listed(roots: Roots) -> list[Root]:
    if isinstance(roots, (TensorBase, GradientEdge, Node)):
        return [roots]
    if not isinstance(roots, Iterable):
        raise TypeError(
            "expected a Tensor (or an edge or a node of a graph), or several of them, found "
            f"{type(roots).__name__}"
        )
    listed = list(roots)
    for position, root in enumerate(listed):
        if not isinstance(root, (TensorBase, GradientEdge, Node)):
            raise TypeError(
                f"expected a Tensor (or an edge or a node of a graph), found "
                f"{type(root).__name__} at position {position}"
            )
    return listed


def _origin(root: Root) -> tuple[Node, int] | None:
    if isinstance(root, Node):
        return root, 0
    if isinstance(root, GradientEdge):
        return root.node, root.output_nr
    node = root.grad_fn
    return None if node is None else (node, root._output_nr)


def _reachable(starts: Iterable[Node]) -> tuple[list[Node], list[AccumulateGrad]]:
    seen = dict.fromkeys(starts)
    order = list(seen)
    for node in order:  # the list grows while it is walked
        for below in node.input_nodes:
            if below is not None and below not in seen:
                seen[below] = None
                order.append(below)
    operations = sorted(
        (node for node in order if type(node) is not AccumulateGrad),
        key=lambda node: node.sequence_number,
    )
    leaves = dict.fromkeys(
        below for node in operations for below in node.input_nodes if type(below) is AccumulateGrad
    )
    leaves.update(dict.fromkeys(node for node in order if type(node) is AccumulateGrad))
    return operations, list(leaves)


def operation_name(node: Node) -> str:
    """The operation's own name, without "Backward"."""
    return node.name().removesuffix("Backward")


def slot_names(node: Node) -> tuple[str, ...]:
    """What each saved slot is called; of a custom Function "saved_tensors[0]" and so on."""
    # A write through a view holds the slots of the operation that was written.
    saves = type(node.fn if isinstance(node, CopySlices) else node).saves
    if len(saves) == len(node.saved_slots) and not isinstance(node, FunctionContext):
        return saves
    return tuple(f"saved_tensors[{position}]" for position in range(len(node.saved_slots)))


def result_of(node: Node, number: int = 0) -> tuple[tuple[int, ...] | None, np.dtype[Any] | None]:
    """Shape and dtype of a result; both None for what is no tensor."""
    if not hasattr(node, "result_forms"):
        return node.result_shape, node.result_dtype
    forms = node.result_forms[number : number + 1]
    return forms[0][:2] if forms and forms[0] else (None, None)
