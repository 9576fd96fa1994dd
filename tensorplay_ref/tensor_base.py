"""TensorBase: a view of a Storage plus what autograd needs to know about it. No operators.

The split opens the circle that every such package falls into: operations make tensors and tensors
offer operations. `autograd` and `ops` need this class only; `tensor.py` stands above them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .arguments import flag
from .buffers import LARGE
from .device import CPU, Device
from .dtypes import require_differentiable
from .forking import hold_through_fork
from .handles import HookTable
from .storage import Array, LargeStorage, Storage, new_storage

if TYPE_CHECKING:
    from .autograd.node import AccumulateGrad, Node

T = TypeVar("T", bound="TensorBase")
# Two threads may come to the same leaf at once: to make its record or its accumulator, or to add
# to its gradient, which is a read and a write.
leaf_lock = threading.RLock()
hold_through_fork(leaf_lock.acquire, leaf_lock.release)
# One step from a base to its view: the view operation and its arguments, to be applied again.
ViewStep = tuple[Any, tuple[Any, ...]]


class ViewOf:
    """What a differentiable view remembers: its base, the way from it, the base's history then."""

    __slots__ = ("base", "steps", "base_node", "made_without_grad")

    def __init__(
        self,
        base: TensorBase,
        steps: tuple[ViewStep, ...],
        base_node: Node | None,
        made_without_grad: bool,
    ) -> None:
        self.base = base
        self.steps = steps
        self.base_node = base_node
        self.made_without_grad = made_without_grad


class Leaf:
    """What only a leaf needs: its hooks, and the node that adds to its `.grad`.

    The accumulator holds the leaf, so the leaf holds the accumulator weakly: no reference cycle.
    """

    __slots__ = ("accumulator", "hooks", "post_hooks", "stands_for")

    def __init__(self) -> None:
        self.accumulator: Callable[[], AccumulateGrad | None] = _no_accumulator
        self.hooks = HookTable()
        self.post_hooks = HookTable()
        # Set when a saved leaf came back from a hook as another object: its gradient is the leaf's.
        self.stands_for: TensorBase | None = None


def _no_accumulator() -> None:
    return None


class TensorBase:
    """An n-dimensional array over a Storage, with a place in the graph of recorded operations.

    Any shape, any NumPy dtype. Attributes with an underscore belong to the package:
    `_array` (the NumPy view of the storage), `_storage`, `_requires_grad`, `_node` and `_output_nr`
    (the recorded operation that made it and which of its results it is), `_view`, `_leaf`, `_grad`.
    """

    __slots__ = (
        "_array",
        "_storage",
        "_requires_grad",
        "_node",
        "_output_nr",
        "_view",
        "_grad",
        "_leaf",
        "__weakref__",
    )
    _array: Array
    _storage: Storage
    _requires_grad: bool
    _node: Node | None
    _output_nr: int
    _view: ViewOf | None
    _grad: TensorBase | None
    _leaf: Leaf | None
    # NumPy's operators ask this method first, so `array * tensor` is a tensor (see tensor.py).
    __array_priority__ = 1000

    # -- what it is ------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes, a tuple."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def device(self) -> Device:
        """Where the storage lives."""
        return self._storage.device

    @property
    def nbytes(self) -> int:
        """Bytes of the elements of this view (not of the whole storage)."""
        return int(self._array.nbytes)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self._array.itemsize)

    @property
    def _version(self) -> int:
        """How many times the storage was written in place, through whatever view."""
        return self._storage.version

    # -- its place in the graph ------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for it; settable on floating or complex leaves."""
        if self._view is not None:
            follow_base(self)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self.grad_fn is not None:
            if value:
                return
            raise RuntimeError(
                "requires_grad can be changed on leaf tensors only; this one is the result of "
                f"{self._node.name() if self._node else ''}. "
                "Use .detach() to cut it from the graph."
            )
        if flag("requires_grad", value):
            require_differentiable(self.dtype)
            self._storage.relabel("parameters")
        self._requires_grad = bool(value)

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made it; None for a leaf."""
        if self._view is not None:
            follow_base(self)
        return self._node

    @property
    def output_nr(self) -> int:
        """Which result of `grad_fn` it is, counted from 0."""
        return self._output_nr

    @property
    def is_leaf(self) -> bool:
        """True when no recorded operation made it."""
        return self.grad_fn is None

    @property
    def grad(self: T) -> T | None:
        """The gradient that backward has added up here; None before the first one."""
        return self._grad  # type: ignore[return-value]

    @grad.setter
    def grad(self: T, value: T | None) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(f".grad must be a Tensor or None, found {type(value).__name__}")
            if value is self:
                raise RuntimeError(".grad of a tensor cannot be the tensor itself")
            if value.shape != self.shape or value.dtype != self.dtype:
                raise RuntimeError(
                    f".grad must have the shape and dtype of its tensor, {self.shape} "
                    f"{self.dtype}; found {value.shape} {value.dtype}"
                )
            if value.device != self.device:
                raise RuntimeError(
                    f".grad must be on the device of its tensor, {self.device}; "
                    f"found {value.device}"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _base(self) -> TensorBase | None:
        """The tensor whose storage this view looks into; None when it is no differentiable view."""
        return None if self._view is None else self._view.base


def new_tensor(cls: type[T], array: Array, storage: Storage) -> T:
    """A tensor over `storage` without history and without need of a gradient."""
    tensor = cls()
    tensor._array = array
    tensor._storage = storage
    tensor._requires_grad = False
    tensor._output_nr = 0
    tensor._node = tensor._view = tensor._grad = tensor._leaf = None
    return tensor


def host_tensor(cls: type[T], array: Array) -> T:
    """The same over a new array in ordinary host memory: most results are such tensors.

    Written out instead of calling `host_storage` and `new_tensor`, because every operation and
    every gradient takes this way.
    """
    storage = Storage() if array.nbytes < LARGE else LargeStorage()
    storage.buffer = array
    storage.device = CPU
    storage.version = 0
    tensor = cls()
    tensor._array = array
    tensor._storage = storage
    tensor._requires_grad = False
    tensor._output_nr = 0
    tensor._node = tensor._view = tensor._grad = tensor._leaf = None
    return tensor


def wrap(cls: type[T], array: Array, device: Device = CPU, operation: str = "tensor") -> T:
    """A tensor that owns `array`, counted in the ledger of `device` under the operation's name."""
    array = np.asanyarray(array)
    return new_tensor(cls, array, new_storage(array, device, operation))


def detached(tensor: T) -> T:
    """Another tensor over the same storage, sharing the version counter but not the history."""
    return new_tensor(type(tensor), tensor._array, tensor._storage)


def follow_base(view: TensorBase) -> None:
    """Bring the history of a view up to date after its base got a new one.

    A recorded in-place write gives the base a new node. The views made before take the same steps
    again from it when somebody next looks at them. To a Function's result none lead: RuntimeError.
    """
    memory = view._view
    assert memory is not None
    base = memory.base
    if base._node is memory.base_node or (base._node is None and not memory.steps):
        return
    if not memory.steps:
        raise RuntimeError(
            "this result of a Function shares memory with a tensor that was written in place "
            "since, which the Function's backward cannot know; return a .clone() from forward"
        )
    # A write under no_grad leaves the histories as they are, so a differing node means a recorded
    # one; the steps are repeated with recording on, whatever the mode of the reader.
    from_base = base
    for operation, arguments in memory.steps:
        from_base = operation.replay(from_base, arguments)
    former, number = view._node, view._output_nr
    view._node, view._output_nr = from_base._node, from_base._output_nr
    view._requires_grad = from_base._requires_grad
    memory.base_node = base._node
    keep_retaining(view, former, number)


def keep_retaining(tensor: TensorBase, former: Node | None, number: int) -> None:
    """Have a tensor that retains its gradient retain that of its new history, not of the former."""
    if former is None or former.node_extras is None or tensor._node is None:
        return
    reference = former.node_extras.retained.get(number)
    if reference is not None and reference() is tensor:
        del former.node_extras.retained[number]
        tensor._node._extras().retained[tensor._output_nr] = reference


def leaf_of(tensor: TensorBase) -> Leaf:
    """The leaf's record, made at first use."""
    leaf = tensor._leaf
    if leaf is None:
        with leaf_lock:
            leaf = tensor._leaf
            if leaf is None:
                leaf = tensor._leaf = Leaf()
    return leaf
