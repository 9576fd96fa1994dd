"""Tensor: TensorBase with operators and methods. Each method calls one operation.

The methods stand by topic in `methods/`; here is what makes a tensor a part of a graph.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Self

import numpy as np

from .arguments import flag
from .autograd import differentiation
from .autograd.node import GradientEdge, register_tensor_hook, retain_grad, retains_grad
from .device import as_device
from .dtypes import DTypeLike, require_differentiable
from .formatting import tensor_text
from .handles import RemovableHandle
from .methods.arithmetic import ArithmeticMethods
from .methods.conversion import CastMethods, DeviceLike
from .methods.elementwise import ElementwiseMethods
from .methods.in_place import InPlaceMethods
from .methods.indexing import IndexingMethods
from .methods.numpy_protocol import NumpyMethods
from .methods.products import ProductMethods
from .methods.reductions import ReductionMethods
from .methods.shapes import ShapeMethods
from .number_data import array_of, number_of, sizes
from .ops.dims import sequence
from .storage import AliasStorage
from .tensor_base import TensorBase, detached, leaf_of, new_tensor, wrap
from .twins import twin_memory


class Tensor(
    ArithmeticMethods,
    ElementwiseMethods,
    ReductionMethods,
    ProductMethods,
    ShapeMethods,
    IndexingMethods,
    InPlaceMethods,
    NumpyMethods,
    CastMethods,
):
    """An n-dimensional array that can be differentiated; `tensor`, `zeros`, `randn` make one."""

    __slots__ = ()

    # -- the graph -------------------------------------------------------------------------------
    def backward(
        self,
        gradient: TensorBase | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[TensorBase | GradientEdge] | TensorBase | None = None,
    ) -> None:
        """Add the gradients of this tensor to the `.grad` of the leaves it was made from.

        Args:
            gradient: its own gradient, of its shape; may be left out for one element (then 1).
            retain_graph: keep saved values for another backward; by default what create_graph is.
            create_graph: record the backward, so that gradients can be differentiated.
            inputs: add to the `.grad` of these tensors only.
        """
        differentiation.backward(self, gradient, retain_graph, create_graph, inputs)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Begin (or cease) to need a gradient; for leaves of floating dtype."""
        self.requires_grad = requires_grad
        if requires_grad and self.is_leaf:
            self._storage.relabel("parameters")
        return self

    def detach(self) -> Self:
        """The same values in the same memory, cut from the graph."""
        return detached(self)

    def detach_(self) -> Self:
        """Become a leaf: cut this very tensor from the graph.

        Errors: RuntimeError for a view, whose history belongs to its base.
        """
        if self._view is not None:
            raise RuntimeError("detach_ cannot be used on a view; use .detach()")
        self._node, self._output_nr, self._requires_grad = None, 0, False
        return self

    def retain_grad(self) -> None:
        """Have backward fill `.grad` although this tensor is no leaf."""
        retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this tensor."""
        return retains_grad(self)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(grad)` when the gradient of this tensor is complete; it may return another."""
        return register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(tensor)` after backward has added to the `.grad` of this leaf.

        Errors: RuntimeError when it is no leaf that requires grad.
        """
        if not self.requires_grad:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient; "
                "set requires_grad=True first"
            )
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return RemovableHandle(leaf_of(self).post_hooks, hook)

    @property
    def data(self) -> Self:
        """The same memory without history and with a version counter of its own.

        Writing through it is not noticed by saved tensors; `detach()` is the careful way.
        """
        return new_tensor(type(self), self._array, AliasStorage(self._storage))

    @data.setter
    def data(self, value: TensorBase) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f".data must be a Tensor, found {type(value).__name__}")
        if value.dtype != self.dtype or value.device is not self.device:
            raise RuntimeError(
                f".data must keep dtype and device, {self.dtype} on {self.device}; found "
                f"{value.dtype} on {value.device}"
            )
        self._array, self._storage = value._array, value._storage

    # -- more of the same kind -------------------------------------------------------------------
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """A tensor with a copy of `data`, by default with dtype and device of this one."""
        array = array_of(data, dtype or self.dtype)
        return _made(self, array, device, requires_grad)

    def new_full(
        self,
        size: int | Sequence[int],
        fill_value: Any,
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """A tensor full of one value, by default with dtype and device of this one."""
        kind = np.dtype(dtype or self.dtype)
        value = fill_value
        if kind.kind != "f" or not isinstance(value, (int, float)):
            value = number_of("new_full", value, kind)
        array = np.full(sizes("new_full", (size,)), value, kind)
        return _made(self, array, device, requires_grad)

    def new_zeros(self, *size: Any, **options: Any) -> Self:
        """Zeros; options as of `new_full`."""
        return self.new_full(sequence("new_zeros", size), 0, **options)

    def new_ones(self, *size: Any, **options: Any) -> Self:
        """Ones; options as of `new_full`."""
        return self.new_full(sequence("new_ones", size), 1, **options)

    def new_empty(self, *size: Any, **options: Any) -> Self:
        """Zeros, since what stands in fresh memory is never shown; options as of `new_full`."""
        return self.new_full(sequence("new_empty", size), 0, **options)

    # -- copying and showing ---------------------------------------------------------------------
    def __deepcopy__(self, memo: dict[Any, Any]) -> Self:
        self._refuse_graph("copied deeply")
        twin = new_tensor(type(self), *twin_memory(self._array, self._storage, memo))
        memo[id(self)] = twin
        twin = twin.requires_grad_() if self._requires_grad else twin
        twin._grad = copy.deepcopy(self._grad, memo)
        return twin

    def __copy__(self) -> Self:
        """Another leaf over the same storage. Errors: RuntimeError for a result of a graph."""
        # Through `__reduce__` a second storage would stand over the same memory, with versions and
        # bytes of its own: a write through one name would not be noticed by slots of the other.
        self._refuse_graph("copied")
        twin = detached(self)
        return twin.requires_grad_() if self._requires_grad else twin

    def __reduce__(self) -> tuple[Any, ...]:
        self._refuse_graph("pickled")
        array = np.ascontiguousarray(self._array).reshape(self.shape)
        return _restored, (type(self), array, str(self.device), self._requires_grad)

    def _refuse_graph(self, what: str) -> None:
        if not self.is_leaf:
            raise RuntimeError(
                f"only leaf tensors can be {what}, since the graph cannot go with them; this one "
                f"is the result of {self._node.name() if self._node else ''}. Use .detach() first"
            )

    def __repr__(self) -> str:
        return tensor_text(self)


def _name_methods() -> None:
    """Call the methods Tensor's own, in error messages and in `help`, whichever file has them."""
    for methods in Tensor.__mro__:
        if methods.__module__.startswith(__package__):
            for method in vars(methods).values():
                if isinstance(method, FunctionType):
                    method.__qualname__ = f"Tensor.{method.__name__}"
                    method.__module__ = __name__


_name_methods()


def _made(like: Any, array: Any, device: DeviceLike | None, requires_grad: bool) -> Any:
    where = like.device if device is None else device
    if flag("requires_grad", requires_grad):
        require_differentiable(array.dtype)
    return _restored(type(like), array, where, requires_grad)


def _restored(kind: type[Tensor], array: Any, device: DeviceLike, requires_grad: bool) -> Tensor:
    restored = wrap(kind, array, as_device(device))
    return restored.requires_grad_() if requires_grad else restored
