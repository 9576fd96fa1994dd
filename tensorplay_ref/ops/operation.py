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
from ..autograd.node import Node, accumulator_of, connect, edge, next_sequence
from ..autograd.observer import notify, watchers
from ..autograd.saved import SavedTensor, save
from ..device import CPU, Device
from ..storage import Array, CountedStorage, Storage, host_storage
from ..tensor_base import TensorBase, ViewOf, follow_base, new_tensor, wrap

ndarray = np.ndarray
default_float = np.dtype(np.float32)
NUMBERS = (bool, int, float, complex, np.generic)


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
        if arity == 1 and isinstance(args[0], TensorBase):
            tensors, params = args[:1], args[1:]
            device = args[0]._storage.device
            out = cls.forward(args[0]._array, *params)
        else:
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
        """Set `self.saved`; unless overridden to what `saves` says: self, other, or the result."""
        if self.saves:
            kept = []
            for name in self.saves:
                if name == "result":
                    kept.append(self.keep_result(result))
                else:
                    kept.append(self.keep(inputs[0 if name == "self" else 1]))
            self.saved = tuple(kept)

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
    node.shape, node.dtype = result._array.shape, result._array.dtype
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
        return new_tensor(kind, array, host_storage(array, device))
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


def unary(cls: type[Operation], a: Any) -> Any:
    """Apply an operation of one tensor and no parameters. The short path of `Operation.apply`."""
    x = a._array
    device = a._storage.device
    out = cls.forward(x)
    if type(out) is not ndarray:
        out = np.asarray(out)
    if device is CPU:
        result = new_tensor(type(a), out, host_storage(out, device))
    else:
        result = counted_result(cls, type(a), (a,), out, device)
    if a._view is not None:
        follow_base(a)
    if a._requires_grad and cls.differentiable and grad_enabled.get():
        node = cls()
        node.inputs = (edge(a),)
        node.numbers = (a._output_nr,) if a._output_nr else None
        node.sequence = next_sequence()
        node.shape, node.dtype = out.shape, out.dtype
        node.saved = node.params = ()
        node.extras = None
        if cls.saves:
            node.save(result, a)
        result._node = node
        result._requires_grad = True
        if watchers:
            notify("record", node, result=result, inputs=(a,))
    return result


def binary(cls: type[Operation], a: Any, b: Any) -> Any:
    """Apply an elementwise operation of two operands, broadcasting; one of them may be a number.

    A Python or NumPy number is weak: it takes the dtype of the tensor (an integer tensor with a
    floating number becomes float32, TensorPlay's and PyTorch's default dtype).
    """
    if type(a) is not type(b):
        return _binary_mixed(cls, a, b)
    x, y = a._array, b._array
    device = a._storage.device
    if b._storage.device is not device:
        common_device(cls, (a, b))
    if x.dtype is not y.dtype:
        x, y = promoted(x, y)
    try:
        out = cls.forward(x, y)
    except ValueError:
        raise shapes_differ(cls, x, y) from None
    if type(out) is not ndarray:
        out = np.asarray(out)
    if device is CPU:
        storage = Storage()
        storage.buffer = out
        storage.device = device
        storage.version = 0
        result = type(a)()
        result._array = out
        result._storage = storage
        result._requires_grad = False
        result._output_nr = 0
        result._node = result._view = result._grad = result._leaf = None
    else:
        result = counted_result(cls, type(a), (a, b), out, device)
    if a._view is not None:
        follow_base(a)
    if b._view is not None:
        follow_base(b)
    if (a._requires_grad or b._requires_grad) and cls.differentiable and grad_enabled.get():
        node = cls()
        node.inputs = (
            (a._node or accumulator_of(a)) if a._requires_grad else None,
            (b._node or accumulator_of(b)) if b._requires_grad else None,
        )
        first, second = a._output_nr, b._output_nr
        node.numbers = (first, second) if first or second else None
        node.sequence = next_sequence()
        node.shape, node.dtype = out.shape, out.dtype
        node.saved = node.params = ()
        node.extras = None
        if cls.saves:
            node.save(result, a, b)
        result._node = node
        result._requires_grad = True
        if watchers:
            notify("record", node, result=result, inputs=(a, b))
    return result


def _binary_mixed(cls: type[Operation], a: Any, b: Any) -> Any:
    """Operands of different classes: numbers, arrays, subclasses; unknown ones are not ours."""
    if (type(b) is float or type(b) is int) and a._array.dtype.kind == "f":
        # By far the most frequent case, and NumPy's own weak promotion gets it right.
        x, y, device = a._array, b, a._storage.device
    else:
        for value in (a, b):
            if not isinstance(value, (TensorBase, *NUMBERS, np.ndarray)):
                return NotImplemented
        kind = type(a) if isinstance(a, TensorBase) else type(b)
        a, b = (wrap(kind, v.copy()) if isinstance(v, np.ndarray) else v for v in (a, b))
        device = common_device(cls, (a, b))
        x, y = promoted(*(t._array if isinstance(t, TensorBase) else t for t in (a, b)))
    try:
        out = np.asarray(cls.forward(x, y))
    except ValueError:
        raise shapes_differ(cls, x, y) from None
    result = make_result(cls, (a, b), out, device)
    if recording((a, b)) and out.dtype.kind in "fc":
        record(cls, result, (a, b), ())
    return result


def promoted(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands in their common dtype, by the rules TensorPlay and PyTorch share.

    A tensor with axes decides over one without, and both over a number, within one kind (bool,
    integer, floating, complex); a higher kind decides over a lower one; integers with floating
    numbers give float32 unless a floating tensor says otherwise.
    """
    dtype = result_type(x, y)
    return _as(x, dtype), _as(y, dtype)


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.dtype == dtype else value.astype(dtype)
    return dtype.type(value)


_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def result_type(*operands: Any) -> np.dtype[Any]:
    """The dtype in which arrays (with or without axes) and numbers meet; see `promoted`."""
    groups: tuple[list[np.dtype[Any]], ...] = ([], [], [])
    for value in operands:
        if isinstance(value, np.ndarray):
            groups[0 if value.ndim else 1].append(value.dtype)
        else:
            groups[2].append(_number_dtype(value))
    result: np.dtype[Any] | None = None
    for group in groups:
        if not group:
            continue
        here = group[0]
        for dtype in group[1:]:
            here = _meet(here, dtype)
        if result is None:
            result = here
        elif _RANKS[here.kind] > _RANKS[result.kind]:
            result = _meet(result, here) if group is not groups[2] else _lift(result, here)
    assert result is not None
    return result


def _number_dtype(value: Any) -> np.dtype[Any]:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, int):
        return np.dtype(np.int64)
    return default_float if isinstance(value, float) else np.dtype(np.complex64)


def _lift(tensor: np.dtype[Any], number: np.dtype[Any]) -> np.dtype[Any]:
    # A number of a higher kind lifts the tensor to that kind, keeping the precision of floats.
    if number.kind == "c" and tensor == np.float64:
        return np.dtype(np.complex128)
    return number


def _meet(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    if (a.kind in "fc") != (b.kind in "fc"):
        return a if a.kind in "fc" else b
    return np.promote_types(a, b)


def shapes_differ(cls: type[Operation], x: Any, y: Any) -> RuntimeError:
    """The error for operands whose shapes do not broadcast."""
    return RuntimeError(
        f"{cls.__name__}: shapes {np.shape(x)} and {np.shape(y)} do not broadcast: counted from "
        "the last axis, lengths must be equal or 1"
    )
