"""In-place operations: check, compute, save what is needed, then write, count and rebase.

Nothing is written before everything that can fail has succeeded, so a refused in-place operation
leaves values, version and history as they were.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.mutation import before_write
from ..autograd.node import Node, connect
from ..autograd.observer import notify, watchers
from ..autograd.packing import hook_stack
from ..autograd.saved import SavedTensor
from ..tensor_base import TensorBase, follow_base, keep_retaining, leaf_of, new_tensor, wrap
from ..transfer import copy_to
from .elementwise import shapes_differ
from .index import integers_first, tensor_key
from .operation import Operation, common_device, recording
from .promotion import NUMBERS, number_as, promoted
from .temporaries import zeros
from .writable import check_writable


def inplace(cls: type[Operation], target: Any, *rest: Any) -> Any:
    """`target` becomes `cls(target, *rest)`: the in-place form of an operation of the same shape.

    `rest` holds the other tensors or numbers, then the operation's parameters.

    Errors: RuntimeError for a leaf that requires grad (or a view of one), a result of another shape
    or of a dtype that the target cannot hold, an expanded target; then nothing has been changed.
    """
    count = (cls.arity or 1) - 1
    others = tuple(
        wrap(type(target), other.copy()) if isinstance(other, np.ndarray) else other
        for other in rest[:count]
    )
    params = rest[count:]
    operands = (target, *others)
    common_device(cls, operands)
    recorded = recording(operands)
    check_writable(cls.__name__, target, recorded)
    out, more = _compute(cls, operands, params)
    _check_result(cls, target, out)
    node = _record(cls, target, others, params, more) if recorded else None
    write(cls.__name__, target, out)
    if node is not None:
        rebase(target, node, others)
    return target


def copy_(target: Any, source: Any, operation: str = "copy_") -> Any:
    """Write `source`, a tensor or a number, into `target`, broadcast and cast to its dtype.

    The gradient goes to the source; what was overwritten gets none.

    Errors: as `inplace`; RuntimeError when the source does not broadcast to the target.
    """
    if isinstance(source, TensorBase):
        if source._storage.device is not target._storage.device:
            source = source.to(target._storage.device)  # type: ignore[attr-defined]
    elif isinstance(source, np.ndarray):
        source = wrap(type(target), source.copy(), target._storage.device)
    elif not isinstance(source, NUMBERS):
        raise TypeError(
            f"{operation}: expected a number or a Tensor, found {type(source).__name__}"
        )
    operands = (target, source)
    common_device(CopyInto, operands)
    recorded = recording(operands)
    check_writable(operation, target, recorded)
    dtype = target._array.dtype
    values = source._array if isinstance(source, TensorBase) else number_as(source, dtype)
    try:
        out = np.broadcast_to(values, target._array.shape)
    except ValueError:
        raise RuntimeError(
            f"{operation}: shapes {target.shape} and {values.shape} do not broadcast to the first: "
            "counted from the last axis, lengths of the second must be equal or 1"
        ) from None
    if np.may_share_memory(out, target._array):
        out = out.copy()
    node = _record(CopyInto, target, (source,), (), ()) if recorded else None
    write(operation, target, out)
    if node is not None:
        rebase(target, node, (source,))
    return target


def assign(target: Any, index: Any, value: Any, put: type[Operation]) -> None:
    """`target[index] = value`: a copy into a view for basic indices, else the operation `put`.

    `put` is the out-of-place form, `put.apply(target, value, index)`.
    """
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if _is_basic(index):
        view = target[index]
        more = getattr(value, "ndim", 0) - view.ndim
        if more > 0 and set(value.shape[:more]) == {1}:
            # Axes of length 1 in front of the value do not count, as in NumPy.
            value = value.reshape(value.shape[more:])
        copy_(view, value, "setitem")
        return
    if not isinstance(value, TensorBase):
        array = value if isinstance(value, np.ndarray) else number_as(value, target.dtype)
        value = wrap(type(target), np.asarray(array, target.dtype), target._storage.device)
    target, index = integers_first(target, tensor_key(target, index))
    inplace(put, target, value, index)


def _is_basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, slice)
        or (isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)))
        for part in parts
    )


class CopyInto(Operation):
    """The recorded form of copy_, fill_, zero_ and of assignment. Gradients: 0, and g.

    Saves: nothing.
    """

    arity = 2

    def backward(self, grad: Any) -> Any:
        return None if self.input_nodes[0] is None else zeros(grad), grad


class CopySlices(Node):
    """A write through a view, as its base sees it: outside the view the gradient passes, inside it
    goes through `fn`, the node of what was written.

    Saves: what `fn` saves.
    """

    __slots__ = ("fn", "steps")
    fn: Node
    steps: tuple[Any, ...]

    def backward(self, grad: Any) -> Any:
        result = grad.clone()
        view = result
        for operation, arguments in self.steps:
            view = operation.apply(view, *arguments)
        inner = self.fn.backward(view.clone())
        if not isinstance(inner, tuple):
            inner = (inner,)
        copy_(view, 0.0 if inner[0] is None else inner[0])
        return (result, *inner[1:])


def _compute(
    cls: type[Operation], operands: tuple[Any, ...], params: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...]]:
    values = [t._array if isinstance(t, TensorBase) else t for t in operands]
    if len(values) == 2 and not params:
        values = list(promoted(*values))
    try:
        out = cls.forward(*values, *params)
    except ValueError:
        if len(values) == 2:
            raise shapes_differ(cls, *values) from None
        raise
    out, *more = out if cls.extra else (out,)
    return np.asarray(out), tuple(more)


def _check_result(cls: type[Operation], target: Any, out: Any) -> None:
    if out.shape != target._array.shape:
        raise RuntimeError(
            f"{cls.__name__} in place: the result has shape {out.shape}, the target "
            f"{target._array.shape}; the target of an in-place operation is not broadcast"
        )
    if not np.can_cast(out.dtype, target._array.dtype, "same_kind"):
        raise RuntimeError(
            f"{cls.__name__} in place: a result of dtype {out.dtype} cannot be written to a "
            f"{target._array.dtype} tensor; use the operation that returns a new tensor"
        )


def _record(
    cls: type[Operation],
    target: Any,
    others: tuple[Any, ...],
    params: tuple[Any, ...],
    more: tuple[Any, ...],
) -> Node:
    """The node of the write, with everything saved that its formula reads; before the write.

    What is saved from the target's own storage is a copy, since it is about to be overwritten. With
    hooks open the copies are made beforehand, because pack must see what it will have to restore;
    without, only the slots that were really saved are copied.
    """
    node = cls()
    connect(node, (target, *others))
    node.params = params
    node.result_shape, node.result_dtype = target._array.shape, target._array.dtype
    storage = target._storage
    result = new_tensor(type(target), target._array, storage)
    if not hook_stack.get():
        node.save(result, target, *others, *more)
        for slot in node.saved_slots:
            if type(slot) is SavedTensor:
                slot.copy_if_shared(storage)
        return node
    before = [
        copy_with_history(t) if isinstance(t, TensorBase) and t._storage is storage else t
        for t in (target, *others)
    ]
    if "result" in cls.saves:
        values = [t._array if isinstance(t, TensorBase) else t for t in before]
        out = np.asarray(cls.forward(*values, *params)).astype(target._array.dtype, copy=False)
        result = wrap(type(target), out, storage.device, cls.__name__)
    node.save(result, *before, *more)
    return node


def copy_with_history(tensor: Any) -> Any:
    """A copy of the values that stands at the same place in the graph."""
    copy = copy_to(tensor, tensor.device, operation="clone")
    copy._requires_grad = tensor._requires_grad
    copy._node, copy._output_nr = tensor._node, tensor._output_nr
    if tensor._requires_grad and tensor._node is None:
        leaf_of(copy).stands_for = tensor
    return copy


def write(operation: str, target: Any, out: Any) -> None:
    """Write the values, count the change, and move the accelerator's clock on."""
    storage = target._storage
    guard = before_write.get()
    if guard is not None:
        guard(storage)
    np.copyto(target._array, out, casting="unsafe")
    storage.version += 1
    if watchers:
        notify("write", None, operation=operation, target=target)
    accelerator = storage.device.accelerator
    if accelerator is not None:
        reads = [storage.allocation] if storage.allocation is not None else []
        nbytes = int(target._array.nbytes)
        accelerator.compute(operation, 2 * nbytes, int(out.size), reads, storage.allocation)


def rebase(target: Any, node: Node, others: tuple[Any, ...]) -> None:
    """Make `node` the history of what was written; for a view, of its base and so of all views."""
    for slot in node.saved_slots:
        if type(slot) is SavedTensor:
            slot.written(target._storage)
    if watchers:
        notify("record", node, result=target, inputs=(target, *others))
    written = target
    if target._view is not None:
        written = target._view.base
        through = CopySlices()
        connect(through, (written, *others))
        through.fn, through.steps = node, target._view.steps
        through.saved_slots = node.saved_slots
        through.result_shape, through.result_dtype = written._array.shape, written._array.dtype
        node = through
    former, number = written._node, written._output_nr
    written._node, written._output_nr, written._requires_grad = node, 0, True
    keep_retaining(written, former, number)
    if written is not target:
        follow_base(target)
