"""Node: a recorded operation and where its gradients go. GradientEdge: one result of a node.

Edges and saved values are different things: an edge says where a gradient goes, a saved slot what
a backward formula reads.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..handles import Hook, HookTable, RemovableHandle
from ..tensor_base import TensorBase, leaf_lock, leaf_of
from .saved import SavedTensor

next_sequence = itertools.count().__next__


class NodeExtras:
    """What few nodes have: hooks and metadata, kept apart so that a plain node stays small."""

    __slots__ = ("tensor_hooks", "retained", "prehooks", "posthooks", "metadata")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, HookTable] = {}
        self.retained: dict[int, weakref.ref[TensorBase]] = {}
        self.prehooks = HookTable()
        self.posthooks = HookTable()
        self.metadata: dict[Any, Any] = {}


class _NodeClass(type):
    """Makes node classes: slotted, and with `_saved_<name>` for every name in `saves`.

    A graph of a million nodes needs no million dicts, and a plain property, unlike __getattr__,
    leaves the reading of all other attributes as fast as it was.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _NodeClass:
        namespace.setdefault("__slots__", ())
        for position, slot in enumerate(namespace.get("saves", ())):
            # A class may have its own, as indexing does: its one name stands for several tensors.
            namespace.setdefault(f"_saved_{slot}", _saved_value(position, slot))
            namespace.setdefault(f"_raw_saved_{slot}", _saved_slot(position, slot))
        return super().__new__(mcs, name, bases, namespace)


def _saved_value(position: int, name: str) -> property:
    def read(self: Node) -> Any:
        slot = self.saved_slots[position]
        return slot.unpack(self) if type(slot) is SavedTensor else slot

    return property(read, doc=f"The saved {name}, unpacked at each read; None if not needed.")


def _saved_slot(position: int, name: str) -> property:
    def slot(self: Node) -> Any:
        return self.saved_slots[position]

    return property(slot, doc=f"The slot that keeps {name}: a SavedTensor, a number, or None.")


class Node(metaclass=_NodeClass):
    """A recorded operation.

    Attributes:
        input_nodes: for each input the node that made it or its AccumulateGrad; None: no gradient.
        input_numbers: which result of that node each input was; None when all are result 0.
        saved_slots: what is saved, as SavedTensor, number or None, named by the class's `saves`.
        sequence_number: creation order; an input's node always has a smaller one.
        result_shape, result_dtype: of the single result; the shape is None if there may be several.
        params: the operation's other arguments.

    The names are long because a custom Function's ctx is a node, too: `ctx.shape`, `ctx.inputs` and
    the like belong to its author.
    """

    __slots__ = (
        "input_nodes",
        "input_numbers",
        "saved_slots",
        "sequence_number",
        "result_shape",
        "result_dtype",
        "params",
        "node_extras",
        "__weakref__",
    )
    input_nodes: tuple[Node | None, ...]
    input_numbers: tuple[int, ...] | None
    saved_slots: tuple[Any, ...]
    sequence_number: int
    result_shape: tuple[int, ...] | None
    result_dtype: np.dtype[Any]
    params: tuple[Any, ...]
    node_extras: NodeExtras | None

    saves: ClassVar[tuple[str, ...]] = ()
    # True when backward makes new arrays that it hands to nobody else: a leaf may then keep one as
    # its `.grad` without copying it.
    fresh: ClassVar[bool] = False

    def name(self) -> str:
        """The operation's name with "Backward" behind it, such as "MulBackward"."""
        return f"{type(self).__name__}Backward"

    def backward(self, grad: Any) -> Any:
        """The gradients of the inputs from the gradient of the result."""
        raise NotImplementedError(f"{self.name()} has no backward formula")

    # -- what a reader may ask -------------------------------------------------------------------
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input `(node, output_nr)`: where its gradient goes; `(None, 0)` for nowhere."""
        numbers = self.input_numbers or (0,) * len(self.input_nodes)
        return tuple(zip(self.input_nodes, numbers, strict=True))

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes on this node."""
        return self._extras().metadata

    @property
    def requires_grad(self) -> bool:
        """True: only operations that need a gradient are recorded."""
        return True

    def read(self) -> list[Any]:
        """The saved values in the order of `saves`; every packed one is unpacked anew."""
        values = []
        for slot in self.saved_slots:
            values.append(slot.unpack(self) if type(slot) is SavedTensor else slot)
        return values

    def release(self) -> None:
        """Drop the saved values, as the engine does when the node has run."""
        for slot in self.saved_slots:
            if type(slot) is SavedTensor:
                slot.release(self)

    # -- hooks -----------------------------------------------------------------------------------
    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node has run; it may replace grad_inputs.

        Both arguments are tuples; fn returns None or a tuple as long as grad_inputs.
        """
        return RemovableHandle(self._extras().posthooks, fn)

    def register_prehook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs; it may replace the tuple."""
        return RemovableHandle(self._extras().prehooks, fn)

    def _extras(self) -> NodeExtras:
        if self.node_extras is None:
            self.node_extras = NodeExtras()
        return self.node_extras

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"{self.name()} is a node of one graph and cannot be copied or pickled")


class AccumulateGrad(Node):
    """The end of an edge at a leaf: adds the arriving gradient to `variable.grad`."""

    __slots__ = ("variable",)
    variable: TensorBase

    def name(self) -> str:
        """Its name in the field: "AccumulateGrad"."""
        return "AccumulateGrad"


class GradientEdge(NamedTuple):
    """One result of a node, where a tensor is expected: in `grad` and `backward(inputs=)`.

    `ownership_token` keeps the node's graph alive; it is there for PyTorch's signature.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def accumulator_of(leaf: TensorBase) -> AccumulateGrad:
    """The leaf's AccumulateGrad node, made at first use, kept alive by the graphs that use it."""
    record = leaf._leaf or leaf_of(leaf)
    if record.stands_for is not None:
        return accumulator_of(record.stands_for)
    node = record.accumulator()
    if node is None:
        with leaf_lock:
            node = record.accumulator()
            if node is None:
                node = _new_accumulator(leaf)
                record.accumulator = weakref.ref(node)
    return node


def _new_accumulator(leaf: TensorBase) -> AccumulateGrad:
    node = AccumulateGrad()
    node.variable = leaf
    node.input_nodes, node.input_numbers, node.saved_slots, node.params = (), None, (), ()
    node.result_shape, node.result_dtype = leaf._array.shape, leaf._array.dtype
    node.node_extras = None
    node.sequence_number = next_sequence()
    return node


def edge(tensor: TensorBase) -> Node | None:
    """Where the gradient of `tensor` goes: its node, a leaf's accumulator, or None: nowhere."""
    if not tensor._requires_grad:
        return None
    return tensor._node or accumulator_of(tensor)


def connect(node: Node, tensors: tuple[Any, ...]) -> None:
    """Set the edges of a new node: one for each of `tensors`, None for what is no tensor."""
    inputs: list[Node | None] = []
    numbers: list[int] = []
    for tensor in tensors:
        if isinstance(tensor, TensorBase):
            inputs.append(edge(tensor))
            numbers.append(tensor._output_nr)
        else:
            inputs.append(None)
            numbers.append(0)
    node.input_nodes = tuple(inputs)
    node.input_numbers = tuple(numbers) if any(numbers) else None
    node.sequence_number = next_sequence()
    node.saved_slots = node.params = ()
    node.node_extras = None


def get_gradient_edge(tensor: TensorBase) -> GradientEdge:
    """The edge that stands for `tensor`: its node (AccumulateGrad for a leaf) and result number.

    Errors: RuntimeError when the tensor does not require a gradient; TypeError for no tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"get_gradient_edge: expected a Tensor, found {type(tensor).__name__}")
    if not tensor.requires_grad:
        raise RuntimeError(
            "it is not possible to get the gradient edge of a tensor that does not require "
            "gradients; set requires_grad=True before it is used"
        )
    node = edge(tensor)
    assert node is not None
    return GradientEdge(node, tensor._output_nr)


def register_tensor_hook(tensor: TensorBase, hook: Hook) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of `tensor` is complete; it may return another one.

    A result's hooks belong to the node that made it (an in-place write afterwards leaves them
    there), a leaf's to the leaf.

    Errors: RuntimeError when the tensor does not require a gradient.
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "cannot register a hook on a tensor that doesn't require gradient; "
            "set requires_grad=True first"
        )
    node = tensor.grad_fn
    if node is None:
        leaf = tensor if leaf_of(tensor).stands_for is None else leaf_of(tensor).stands_for
        assert leaf is not None
        return RemovableHandle(leaf_of(leaf).hooks, hook)
    hooks = node._extras().tensor_hooks.setdefault(tensor._output_nr, HookTable())
    return RemovableHandle(hooks, hook)


def retain_grad(tensor: TensorBase) -> None:
    """Have backward fill `.grad` of a result too; for a leaf this is so anyway.

    Errors: RuntimeError when the tensor does not require a gradient.
    """
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = tensor.grad_fn
    if node is not None:
        node._extras().retained[tensor._output_nr] = weakref.ref(tensor)


def retains_grad(tensor: TensorBase) -> bool:
    """Whether `retain_grad` was called on this result."""
    node = tensor.grad_fn
    if node is None or node.node_extras is None:
        return False
    kept = node.node_extras.retained.get(tensor._output_nr)
    return kept is not None and kept() is tensor
