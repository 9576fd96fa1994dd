"""Running the hooks of tensors and nodes during the backward walk, and checking their answers."""

from __future__ import annotations

from typing import Any

from ..tensor_base import TensorBase
from .accumulate import fitted, own_copy
from .node import AccumulateGrad, Node


def run_tensor_hooks(
    node: Node, grad: Any, retained: list[tuple[Any, Any]], create_graph: bool
) -> Any:
    """Call the hooks of the tensors that this node made (of the leaf), then note `retain_grad`."""
    if isinstance(node, AccumulateGrad):
        leaf = node.variable._leaf
        for hook in () if leaf is None else tuple(leaf.hooks.values()):
            grad = _replaced(hook, hook(grad), grad)
        return grad
    extras = node.node_extras
    assert extras is not None
    grads = [grad] if node.result_shape is not None else grad
    for number, hooks in tuple(extras.tensor_hooks.items()):
        for hook in tuple(hooks.values()):
            if grads[number] is not None:
                grads[number] = _replaced(hook, hook(grads[number]), grads[number])
    for number, reference in tuple(extras.retained.items()):
        tensor, gradient = reference(), grads[number]
        if tensor is not None and gradient is not None:
            if tensor._grad is not None:
                gradient = tensor._grad + gradient
            else:
                gradient = gradient.clone() if create_graph else own_copy(gradient)
            retained.append((tensor, gradient))
    return grads[0] if node.result_shape is not None else grads


def run_prehooks(node: Node, grad: Any) -> Any:
    """Call the node's prehooks with a tuple of the gradients of its results."""
    assert node.node_extras is not None
    grads = (grad,) if node.result_shape is not None else tuple(grad)
    for hook in tuple(node.node_extras.prehooks.values()):
        grads = _replaced_all(hook, hook(grads), grads)
    return grads[0] if node.result_shape is not None else list(grads)


def run_posthooks(node: Node, grads: tuple[Any, ...], grad: Any) -> tuple[Any, ...]:
    """Call the node's hooks with the gradients of its inputs and of its results."""
    assert node.node_extras is not None
    outputs = (grad,) if node.result_shape is not None else tuple(grad)
    grads = tuple(
        gradient if gradient is None or below is None else fitted_to_result(gradient, below, number)
        for gradient, (below, number) in zip(grads, node.next_functions, strict=True)
    )
    for hook in tuple(node.node_extras.posthooks.values()):
        grads = _replaced_all(hook, hook(grads, outputs), grads)
    return grads


def fitted_to_result(grad: Any, node: Node, number: int) -> Any:
    """`grad` in the shape and dtype of result `number` of `node`."""
    if node.result_shape is not None:
        return fitted(grad, node.result_shape, node.result_dtype)
    shape, dtype, _ = node.result_forms[number]  # type: ignore[attr-defined]
    return fitted(grad, shape, dtype)


def _replaced_all(hook: Any, answer: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer is None:
        return grads
    name = _name(hook)
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but hook {name!r} returned {type(answer).__name__!r}")
    if len(answer) != len(grads):
        raise RuntimeError(
            f"hook {name!r} has returned an incorrect number of values (got {len(answer)}, but "
            f"expected {len(grads)})"
        )
    for one, grad in zip(answer, grads, strict=True):
        if one is not None:
            if grad is None:
                raise RuntimeError(f"hook {name!r} can't replace a None gradient by a Tensor")
            _replaced(hook, one, grad)
    return answer


def _replaced(hook: Any, answer: Any, grad: Any) -> Any:
    """The gradient after one hook: its answer, or the old one when it answered None."""
    if answer is None:
        return grad
    name = _name(hook)
    if not isinstance(answer, TensorBase):
        raise TypeError(
            f"hook {name!r} must return a Tensor or None, found {type(answer).__name__}"
        )
    if answer.shape != grad.shape:
        raise RuntimeError(
            f"hook {name!r} has changed the size of value: expected {grad.shape}, "
            f"found {answer.shape}"
        )
    if answer.dtype != grad.dtype:
        raise RuntimeError(
            f"hook {name!r} has changed the type of value: expected {grad.dtype}, "
            f"found {answer.dtype}"
        )
    if answer.device is not grad.device:
        raise RuntimeError(
            f"hook {name!r} has changed the device of value: expected {grad.device}, "
            f"found {answer.device}"
        )
    return answer


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
