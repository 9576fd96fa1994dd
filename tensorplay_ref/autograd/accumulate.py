"""Putting a gradient down: fitting it to its tensor, and adding it to a leaf's `.grad`.

No two gradients and no caller's array share a buffer: a gradient that is not known to be the
engine's own is copied when it becomes a `.grad`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import CPU
from ..storage import Array, new_storage
from ..tensor_base import host_tensor, leaf_lock, new_tensor
from .mutation import before_write
from .node import AccumulateGrad
from .observer import notify, watchers


def fitted(grad: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """`grad` summed over broadcast axes to `shape`, and cast to `dtype`.

    Errors: RuntimeError when `shape` does not broadcast to the gradient's shape.
    """
    array = grad._array
    if array.shape != shape:
        if not broadcasts_to(shape, array.shape):
            raise RuntimeError(
                f"got a gradient of shape {array.shape} for a tensor of shape {shape}"
            )
        if grad._requires_grad or grad._storage.device is not CPU:
            grad = grad.sum_to_size(*shape)
        else:
            # The same without a node and an operation: every bias takes this way in every step.
            array = summed(array, shape)
            grad = host_tensor(type(grad), array)
    return grad if grad._array.dtype == dtype else grad.to(dtype)


def summed(array: Array, shape: tuple[int, ...]) -> Array:
    """A new array of `shape`: summed over the axes along which `shape` was broadcast."""
    leading = array.ndim - len(shape)
    if array.shape[leading:] == shape:
        # A bias and its like: nothing but whole axes in front.
        return np.asarray(np.add.reduce(array, axis=tuple(range(leading))))
    repeated = [
        leading + axis
        for axis, length in enumerate(shape)
        if length == 1 and array.shape[leading + axis] != 1
    ]
    total = array.sum(axis=(*range(leading), *repeated), keepdims=True)
    return np.asarray(total).reshape(shape)


def broadcasts_to(shape: tuple[int, ...], wider: tuple[int, ...]) -> bool:
    """Whether an array of `shape` can be broadcast to `wider`."""
    if len(shape) > len(wider):
        return False
    tail = wider[len(wider) - len(shape) :]
    return tail == shape or all(
        length in (1, other) for length, other in zip(shape, tail, strict=True)
    )


def put(node: AccumulateGrad, grad: Any, owned: bool, create_graph: bool) -> None:
    """Add an arriving gradient to the leaf, then call its post-accumulate hooks."""
    variable = node.variable
    with leaf_lock:
        put_down(node, grad, owned, create_graph)
    if variable._leaf is not None:
        for hook in tuple(variable._leaf.post_hooks.values()):
            hook(variable)


def put_down(node: AccumulateGrad, grad: Any, owned: bool, create_graph: bool) -> None:
    """Add an arriving gradient to the leaf and tell who watches; the caller holds `leaf_lock`."""
    variable = node.variable
    variable._grad = added(variable._grad, grad, owned, create_graph)
    if watchers:
        notify("accumulate", node, variable=variable, grad=variable._grad)


def added(held: Any, grad: Any, owned: bool, create_graph: bool) -> Any:
    """What `.grad` becomes: a gradient of its own, the sum in place, or a recorded sum."""
    if held is None:
        own = grad
        if not owned:
            own = grad.clone() if create_graph else own_copy(grad)
        own._storage.relabel("gradients")
        return own
    array = held._array
    # An expanded tensor that somebody has assigned to `.grad` cannot be written.
    if create_graph or held._requires_grad or grad._requires_grad or not array.flags.writeable:
        return held + grad
    if held._storage.device is CPU:
        guard = before_write.get()
        if guard is not None:
            guard(held._storage)
        array += grad._array
        held._storage.version += 1
        return held
    return held.add_(grad)


def own_copy(grad: Any) -> Any:
    """The gradient in a buffer of its own, contiguous and writeable."""
    array = np.array(grad._array, order="C", copy=True)
    return new_tensor(type(grad), array, new_storage(array, grad._storage.device, "AccumulateGrad"))
