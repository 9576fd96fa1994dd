"""Operation: a node that also knows how to compute its result; applying one, recording it.

Every built-in operation is a small class with
    forward   a static function on arrays (or a ufunc): the values;
    save      which tensors its backward formula reads; called only when a graph is recorded;
    backward  the gradients, written in tensor operations, so that it can be differentiated again.
A backward formula need not undo broadcasting: the engine sums a gradient to the shape of its input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from ..autograd.grad_mode import grad_enabled
from ..autograd.node import Node, accumulator_of, connect, next_sequence
from ..autograd.observer import notify, watchers
from ..autograd.saved import SavedTensor, save
from ..device import CPU, Device
from ..storage import Array, CountedStorage, host_storage
from ..tensor_base import TensorBase, ViewOf, follow_base, host_tensor, new_tensor
from .promotion import NUMBERS


class Operation(Node):
    """Base of the built-in operations: `Op.apply(tensors..., parameters...)`.

    `arity` tensors come first; `arity = None` means one sequence of tensors. `extra` says that
    forward returns `(result, more...)` where `more` is handed to `save` and to nobody else.
    `differentiable = False` is for results that are never floating, such as a comparison's.
    """

    arity: ClassVar[int | None] = 1
    extra: ClassVar[bool] = False
    differentiable: ClassVar[bool] = True
    forward: ClassVar[Callable[..., Any]]

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Compute on the tensors among `args` and record the operation if a gradient is needed."""
        arity = cls.arity
        if arity == 1 and not cls.extra and isinstance(args[0], TensorBase):
            return unary(cls, *args)
        if arity is None:
            tensors, params = tuple(args[0]), args[1:]
        else:
            tensors, params = args[:arity], args[arity:]
        device = common_device(cls, tensors)
        arrays = [tensor._array for tensor in tensors]
        out = cls.forward(arrays, *params) if arity is None else cls.forward(*arrays, *params)
        more: tuple[Any, ...] = ()
        if cls.extra:
            out, *rest = out
            more = tuple(rest)
        result = make_result(cls, tensors, out, device)
        if recording(tensors) and result._array.dtype.kind in "fc":
            record(cls, result, tensors, params, more)
        return result

    def save(self, result: Any, *inputs: Any) -> None:
        """Set `self.saved_slots`; unless overridden to what `saves` says: self, other, result."""
        if self.saves == ("result",):
            # The most frequent case, without a loop.
            self.saved_slots = (save(result, self, True),)
        elif self.saves:
            kept = []
            for name in self.saves:
                if name == "result":
                    kept.append(self.keep_result(result))
                else:
                    kept.append(self.keep(inputs[0 if name == "self" else 1]))
            self.saved_slots = tuple(kept)

    def keep(self, value: Any) -> Any:
        """A slot for an input: saved and packed when a tensor, kept as it is when a number."""
        return save(value, self) if isinstance(value, TensorBase) else value

    def keep_result(self, result: TensorBase) -> SavedTensor:
        """A slot for the operation's own result."""
        return save(result, self, True)

    @classmethod
    def flops(cls, arrays: Iterable[Array], out: Array) -> int:
        """Arithmetic operations of one call, for the simulated clock: one per element of `out`."""
        return int(out.size)


def unary(cls: type[Operation], a: Any, *params: Any) -> Any:
    """Apply an operation of one tensor: the short way of `Operation.apply`.

    Written out instead of called, because every instruction here is paid at every operation.
    """
    device = a._storage.device
    out = cls.forward(a._array, *params)
    if type(out) is not np.ndarray:
        out = np.asarray(out)
    if device is CPU:
        result = host_tensor(type(a), out)
    else:
        result = counted_result(cls, type(a), (a,), out, device)
    if a._view is not None:
        follow_base(a)
    if a._requires_grad and grad_enabled.get() and out.dtype.kind in "fc":
        node = cls()
        node.input_nodes = (a._node or accumulator_of(a),)
        node.input_numbers = (a._output_nr,) if a._output_nr else None
        node.sequence_number = next_sequence()
        node.result_shape, node.result_dtype = out.shape, out.dtype
        node.saved_slots = ()
        node.params = params
        node.node_extras = None
        node.save(result, a)
        result._node = node
        result._requires_grad = True
        if watchers:
            notify("record", node, result=result, inputs=(a,))
    return result


def recording(tensors: Iterable[Any]) -> bool:
    """Whether an operation on `tensors` enters the graph: grad mode is on and one requires grad."""
    needed = False
    for tensor in tensors:
        if isinstance(tensor, TensorBase):
            if tensor._view is not None:
                follow_base(tensor)
            needed = needed or tensor._requires_grad
    return needed and grad_enabled.get()


def record(
    cls: type[Operation],
    result: TensorBase,
    tensors: tuple[Any, ...],
    params: tuple[Any, ...],
    more: tuple[Any, ...] = (),
) -> None:
    """Make the node of an operation that has been computed, save what it needs, attach it."""
    node = cls()
    connect(node, tensors)
    node.params = params
    node.result_shape, node.result_dtype = result._array.shape, result._array.dtype
    node.save(result, *tensors, *more)
    result._node = node
    result._requires_grad = True
    if watchers:
        notify("record", node, result=result, inputs=tensors)


def make_result(
    cls: type[Operation], tensors: tuple[Any, ...], out: Any, device: Device
) -> TensorBase:
    """A tensor over a fresh array, of the class of the first tensor input, counted on `device`."""
    kind = type(tensors[0])
    if not issubclass(kind, TensorBase):
        kind = next(type(t) for t in tensors if isinstance(t, TensorBase))
    array = np.asarray(out)
    if device is CPU:
        return host_tensor(kind, array)
    return counted_result(cls, kind, tensors, array, device)


def counted_result(
    cls: type[Operation],
    kind: type[TensorBase],
    tensors: tuple[Any, ...],
    array: Array,
    device: Device,
) -> TensorBase:
    """The same on the simulated accelerator: its memory is counted and its clock moves on."""
    if device.accelerator is None:
        return new_tensor(kind, array, host_storage(array, device))
    name = cls.__name__
    storage = CountedStorage(array, device, name)
    inputs = [tensor for tensor in tensors if isinstance(tensor, TensorBase)]
    arrays = [tensor._array for tensor in inputs]
    device.accelerator.compute(
        name,
        sum(int(a.nbytes) for a in arrays) + int(array.nbytes),
        cls.flops(arrays, array),
        [t._storage.allocation for t in inputs if t._storage.allocation is not None],
        storage.allocation,
    )
    return new_tensor(kind, array, storage)


def common_device(cls: type[Operation], tensors: tuple[Any, ...]) -> Device:
    """The one device of all tensor inputs.

    Errors: RuntimeError naming both devices when they differ; TypeError for what is no tensor.
    """
    device: Device | None = None
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            if isinstance(tensor, NUMBERS):
                continue
            raise TypeError(
                f"{cls.__name__}: argument {position} must be a Tensor, "
                f"found {type(tensor).__name__}"
            )
        here = tensor._storage.device
        if device is None:
            device = here
        elif here is not device:
            raise RuntimeError(
                f"{cls.__name__}: expected all tensors on the same device, found {device} and "
                f"{here}; move one of them with .to(device)"
            )
    if device is None:
        raise TypeError(f"{cls.__name__}: expected at least one Tensor")
    return device


class View(Operation):
    """An operation whose result looks into the storage of its input instead of copying it.

    Saves: nothing. When `forward` could not avoid a copy, the result is an ordinary one.
    """

    @classmethod
    def apply(cls, *args: Any) -> Any:
        tensor, params = args[0], args[1:]
        if not isinstance(tensor, TensorBase):
            common_device(cls, (tensor,))
        if tensor._view is not None:
            follow_base(tensor)
        result = cls.look(tensor, params)
        if tensor._requires_grad and grad_enabled.get():
            record(cls, result, (tensor,), params)
        return result

    @classmethod
    def look(cls, tensor: TensorBase, params: tuple[Any, ...]) -> TensorBase:
        """The view before it is recorded; a copy where `forward` had to make one."""
        array = tensor._array
        out = cls.forward(array, *params)
        if out.size and not np.may_share_memory(array, out):
            return make_result(cls, (tensor,), out, tensor._storage.device)
        result = new_tensor(type(tensor), out, tensor._storage)
        if out.dtype.kind in "fc":
            memory = tensor._view
            step = ((cls, params),)
            if memory is None:
                result._view = ViewOf(tensor, step, tensor._node, not grad_enabled.get())
            else:
                unrecorded = memory.made_without_grad or not grad_enabled.get()
                steps = memory.steps + step
                result._view = ViewOf(memory.base, steps, memory.base_node, unrecorded)
        return result

    @classmethod
    def replay(cls, tensor: TensorBase, params: tuple[Any, ...]) -> TensorBase:
        """The same view of another tensor, recorded whatever the grad mode is."""
        array = cls.forward(tensor._array, *params)
        result = new_tensor(type(tensor), array, tensor._storage)
        if tensor._requires_grad:
            record(cls, result, (tensor,), params)
        return result
