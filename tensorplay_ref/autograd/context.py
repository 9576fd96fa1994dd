"""FunctionContext: the ctx of a Function, which is also the node in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag
from ..storage import new_storage
from ..tensor_base import TensorBase, detached, follow_base, new_tensor
from .accumulate import broadcasts_to
from .grad_mode import grad_enabled
from .node import Node, connect
from .packing import hook_stack
from .saved import SavedTensor, save

if TYPE_CHECKING:
    from .function import Function

_FLOAT32 = np.dtype(np.float32)


class FunctionContext(Node):
    """What forward and backward of a Function share. Attributes of one's own may be set freely.

    Attributes:
        needs_input_grad: for each input, whether its gradient will be wanted; readable in forward.
        result_forms: for each output (shape, dtype, device), None for what is no tensor.
    """

    __slots__ = (
        "function_class",
        "needs_input_grad",
        "_recording",
        "result_forms",
        "forward_arguments",
        "_tensor_inputs",
        "to_save",
        "__dict__",
    )
    # What few Functions set stands here for all the others, and goes into __dict__ when set.
    materialize_grads: bool = True
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()

    def __init__(self, function: type[Function], arguments: tuple[Any, ...]) -> None:
        needs, tensors = [], []
        for value in arguments:
            is_tensor = isinstance(value, TensorBase)
            if is_tensor and value._view is not None:
                follow_base(value)
            tensors.append(is_tensor)
            needs.append(is_tensor and value._requires_grad)
        self.function_class = function
        self.needs_input_grad, self._tensor_inputs = tuple(needs), tuple(tensors)
        self._recording = True in needs and grad_enabled.get()
        # Known while forward runs; dropped afterwards, since they would keep the outputs alive.
        self.forward_arguments = arguments
        self.to_save: tuple[Any, ...] = ()
        connect(self, arguments if self._recording else ())
        # Set when forward has had one tensor as its result.
        self.result_shape, self.result_dtype = None, _FLOAT32
        self.result_forms: list[Any] = []

    def name(self) -> str:
        """The Function's name with "Backward" behind it."""
        return f"{self.function_class.__name__}Backward"

    # -- in forward ------------------------------------------------------------------------------
    def save_for_backward(self, *tensors: TensorBase | None) -> None:
        """Save tensors (None stays None) for backward; hooks pack them now, in this order.

        The last call counts. Errors: TypeError naming position and type of what is no tensor,
        before anything is packed; whatever a pack hook raises.
        """
        for position, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save tensors or None, but argument {position} is "
                    f"of type {type(tensor).__name__}; keep other values as attributes of ctx"
                )
        if self.saved_slots:
            self.release()
            self.saved_slots = ()
        self.to_save = tensors
        if not self._recording:
            return
        slots: list[SavedTensor | None] = []
        hooked = hook_stack.get()
        for tensor in tensors:
            if tensor is None:
                slots.append(None)
                continue
            if hooked and self._may_be_output(tensor):
                # Packing an alias of it keeps the cycle output -> node -> packed -> output from
                # closing.
                tensor = detached(tensor)
            slots.append(save(tensor, self))
        self.saved_slots = tuple(slots)

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors as `saved_for_forward`; forward-mode derivatives are not computed here."""
        self.saved_for_forward = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for an output without gradient."""
        self.materialize_grads = flag("set_materialize_grads: value", value)

    def mark_dirty(self, *tensors: TensorBase) -> None:
        """Declare inputs that forward changed in place; each must be returned too."""
        self._only_tensors("mark_dirty", tensors)
        for tensor in tensors:
            if tensor._view is not None and self._recording:
                raise RuntimeError(
                    "mark_dirty: a view cannot be changed in place by a Function; pass its base, "
                    "or a clone"
                )
            version = tensor._storage.version
            tensor._storage.version = version + 1
            # What has been saved as it is now, after the change, is not counted as changed.
            for slot, saved in zip(self.saved_slots, self.to_save, strict=False):
                if saved is tensor and slot._version == version:
                    slot._version = version + 1
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: TensorBase) -> None:
        """Declare outputs that get no gradient."""
        self._only_tensors("mark_non_differentiable", tensors)
        self.non_differentiable = tensors

    def _only_tensors(self, method: str, tensors: tuple[Any, ...]) -> None:
        for position, tensor in enumerate(tensors):
            if not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"{method} only accepts tensors, argument {position} is of type "
                    f"{type(tensor).__name__}"
                )

    def is_input(self, tensor: TensorBase) -> bool:
        """Whether `tensor` is one of the inputs, the very object."""
        # A loop: `in` would ask the tensors whether they are equal, element by element.
        for value in self.forward_arguments:
            if value is tensor:
                return True
        return False

    def _may_be_output(self, tensor: TensorBase) -> bool:
        """Whether a tensor that forward saves is made by it; its inputs are, when it changed them.

        What requires a gradient was there before, like a parameter that forward reads without being
        given it.
        """
        if self.is_dirty(tensor):
            return True
        return not self.is_input(tensor) and not tensor.requires_grad

    def is_dirty(self, tensor: TensorBase) -> bool:
        """Whether forward declared that it changed `tensor`."""
        return any(tensor is value for value in self.dirty_tensors)

    def is_non_differentiable(self, tensor: TensorBase) -> bool:
        """Whether forward declared that `tensor` gets no gradient."""
        return any(tensor is value for value in self.non_differentiable)

    def check_dirty(self, outputs: list[Any]) -> None:
        """Refuse dirty leaves and dirty tensors that forward did not return."""
        for tensor in self.dirty_tensors:
            if not any(tensor is output for output in outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as "
                    "output. The inputs that are modified inplace must all be outputs of the "
                    "Function."
                )
            if self._recording and tensor._requires_grad and tensor._node is None:
                raise RuntimeError(
                    "a leaf Variable that requires grad has been used in an in-place operation."
                )

    def note_output(self, tensor: TensorBase, position: int) -> None:
        """Tell the saved slots that `tensor` is result `position` of this very node.

        What was saved of an input before forward changed it keeps the history of the input.
        """
        version = tensor._storage.version if self.is_input(tensor) else None
        for number, slot in enumerate(self.saved_slots):
            if self.to_save[number] is tensor and version in (None, slot._version):
                slot.becomes_output(position)

    def end_forward(self) -> None:
        """Drop what only forward needs."""
        self.forward_arguments = self.to_save = ()
        if self.dirty_tensors or self.non_differentiable:
            self.dirty_tensors = self.non_differentiable = ()

    # -- in backward -----------------------------------------------------------------------------
    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, unpacked anew at every read; () when nothing was.

        Errors: RuntimeError after the graph was freed, or when one was changed in place since.
        """
        if not self.saved_slots:
            return self.to_save
        return tuple(self.read())

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return self.saved_slots

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """Call the Function's backward and check what it returns; see Function."""
        # A gradient that stands alone is there: without one this node would not run.
        if self.materialize_grads and len(grads) > 1:
            grads = tuple(
                _zeros(grads, result) if grad is None and result is not None else grad
                for grad, result in zip(grads, self.result_forms, strict=True)
            )
        returned = self.function_class.gradient_rule()(self, *grads)
        gradients = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        expected = len(self.input_nodes)
        if len(gradients) != expected:
            if len(gradients) < expected or any(g is not None for g in gradients[expected:]):
                raise RuntimeError(
                    f"function {self.name()} returned an incorrect number of gradients "
                    f"(expected {expected}, got {len(gradients)})"
                )
            gradients = gradients[:expected]
        for position, gradient in enumerate(gradients):
            if gradient is not None:
                self._check_gradient(position, gradient)
        return gradients

    def _check_gradient(self, position: int, gradient: Any) -> None:
        if not isinstance(gradient, TensorBase):
            raise RuntimeError(
                f"function {self.name()}: expected Tensor or None as gradient {position} "
                f"(got {type(gradient).__name__})"
            )
        below = self.input_nodes[position]
        if below is None:
            if not self._tensor_inputs[position]:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{position + 1}, but the corresponding forward input was not a Tensor"
                )
            return
        shape = below.result_shape
        if shape is None:
            number = 0 if self.input_numbers is None else self.input_numbers[position]
            shape = below.result_forms[number][0]  # type: ignore[attr-defined]
        if gradient._array.shape != shape and not broadcasts_to(shape, gradient.shape):
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {position} - got "
                f"{list(gradient.shape)} but expected shape compatible with {list(shape)}"
            )


def _zeros(grads: tuple[Any, ...], result: tuple[Any, ...]) -> Any:
    shape, dtype, device = result
    kind = next(type(grad) for grad in grads if grad is not None)
    array = np.zeros(shape, dtype)
    return new_tensor(kind, array, new_storage(array, device, "zeros"))
