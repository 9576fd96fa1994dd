"""backward and grad: the two ways into the backward walk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import flag, many
from ..storage import new_storage
from ..tensor_base import TensorBase, new_tensor
from .accumulate import added, own_copy
from .engine import Target, run
from .grad_mode import enable_grad
from .node import AccumulateGrad, GradientEdge, Node, edge, retains_grad

Tensors = Any  # a tensor, a GradientEdge, or a sequence of them


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves below them.

    Args:
        tensors: one or several results; a result with more than one element needs its gradient.
        grad_tensors: the gradient of each, of its shape; None for 1 (one-element results only).
        retain_graph: keep saved values; by default what `create_graph` is.
        create_graph: record the walk, so that the gradients can be differentiated.
        inputs: add to the `.grad` of these tensors only; results are allowed, too.

    Errors: RuntimeError when a result has no graph, a gradient is missing or of another shape, or
    the graph was freed. A backward that raises changes no `.grad`.
    """
    create_graph = flag("create_graph", create_graph)
    outputs = _many("backward: tensors", tensors)
    if not outputs:
        raise RuntimeError("backward requires at least one tensor")
    roots = _roots(outputs, _gradients(outputs, grad_tensors))
    retain = create_graph if retain_graph is None else flag("retain_graph", retain_graph)
    if inputs is None:
        run(roots, retain_graph=retain, create_graph=create_graph)
        return
    wanted = _many("backward: inputs", inputs)
    if not wanted:
        raise RuntimeError("backward: inputs cannot be empty; leave it out to reach every leaf")
    targets = _targets(wanted)
    results = {}
    for position, (tensor, target) in enumerate(zip(wanted, targets, strict=True)):
        if isinstance(target[0], AccumulateGrad):
            continue
        if isinstance(tensor, GradientEdge):
            raise RuntimeError(
                f"backward: inputs[{position}] is the GradientEdge of a result, which has no .grad "
                "to add to; pass the tensor itself, or use grad()"
            )
        if not retains_grad(tensor):
            results[id(tensor)] = position
    found = run(roots, retain_graph=retain, create_graph=create_graph, targets=targets)
    for position in results.values():
        tensor, gradient = wanted[position], found[position]
        if gradient is not None:
            tensor._grad = added(tensor._grad, gradient, False, create_graph)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched.

    Args:
        outputs: one or several results.
        inputs: tensors (or GradientEdges) of the graph, leaves or results.
        grad_outputs: the gradient of each output; None for 1 (one-element results only).
        retain_graph: keep saved values; by default what `create_graph` is.
        create_graph: record the walk, so that the gradients can be differentiated.
        allow_unused: give None for an input that the outputs do not depend on, instead of an error.
        materialize_grads: give zeros for it.

    Errors: as `backward`; RuntimeError for an input without requires_grad or not used in the graph.
    """
    create_graph = flag("create_graph", create_graph)
    allow_unused = flag("grad: allow_unused", allow_unused) if allow_unused is not None else None
    wanted, results = _many("grad: inputs", inputs), _many("grad: outputs", outputs)
    if not wanted:
        raise RuntimeError("grad requires at least one input tensor")
    if not results:
        raise RuntimeError("grad requires at least one output tensor")
    if flag("grad: materialize_grads", materialize_grads) and allow_unused is False:
        raise ValueError(
            "grad: materialize_grads=True gives unused inputs zeros, so allow_unused "
            "must not be False"
        )
    roots = _roots(results, _gradients(results, grad_outputs))
    targets = _targets(wanted)
    retain = create_graph if retain_graph is None else flag("retain_graph", retain_graph)
    found = run(
        roots, retain_graph=retain, create_graph=create_graph, targets=targets, accumulate=False
    )
    answers = []
    taken = {gradient._storage for _, _, gradient in roots}
    for position, (tensor, gradient) in enumerate(zip(wanted, found, strict=True)):
        if gradient is not None:
            if gradient._storage in taken:
                # Two gradients of one buffer, or the caller's own: writing one would change both.
                gradient = _recorded_clone(gradient) if create_graph else own_copy(gradient)
            taken.add(gradient._storage)
        elif materialize_grads:
            if isinstance(tensor, GradientEdge):
                raise RuntimeError(
                    f"grad: inputs[{position}] is a GradientEdge that the outputs do not depend "
                    "on; materialize_grads knows no shape for its zeros, so pass the tensor itself"
                )
            array = np.zeros(tensor.shape, tensor.dtype)
            gradient = new_tensor(type(tensor), array, new_storage(array, tensor.device, "zeros"))
            gradient._requires_grad = create_graph  # so that it can be differentiated again
        elif not allow_unused:
            raise RuntimeError(
                f"One of the differentiated Tensors was not used in the graph: input {position}. "
                "Set allow_unused=True if that is as it should be."
            )
        answers.append(gradient)
    return tuple(answers)


@enable_grad()
def _recorded_clone(gradient: Any) -> Any:
    return gradient.clone()


def _many(name: str, tensors: Tensors) -> list[Any]:
    if isinstance(tensors, (TensorBase, GradientEdge)):
        return [tensors]
    return many(name, tensors, "a Tensor or a sequence of them")


def _edge_of(value: Any, what: str, position: int) -> Target:
    if isinstance(value, GradientEdge):
        return value.node, value.output_nr
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"{what}: expected a Tensor, found {type(value).__name__} at position {position}"
        )
    if not value.requires_grad:
        raise RuntimeError(
            f"One of the differentiated Tensors does not require grad: input {position}"
            if what == "inputs"
            else f"element {position} of tensors does not require grad and does not have a grad_fn"
        )
    node = edge(value)
    assert node is not None
    return node, value._output_nr


def _targets(wanted: Sequence[Any]) -> list[Target]:
    return [_edge_of(value, "inputs", position) for position, value in enumerate(wanted)]


def _gradients(outputs: Sequence[Any], given: Any) -> list[Any]:
    if given is None:
        return [None] * len(outputs)
    gradients = _many("grad_outputs", given)
    if len(gradients) != len(outputs):
        raise RuntimeError(
            "The number of grad_outputs must match the number of outputs: "
            f"found {len(gradients)} for {len(outputs)}"
        )
    return gradients


def _roots(outputs: Sequence[Any], gradients: Sequence[Any]) -> list[tuple[Node, int, Any]]:
    roots = []
    for position, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        node, number = _edge_of(output, "outputs", position)
        if isinstance(output, GradientEdge):
            if gradient is None:
                gradient = _one_for(node, number)
        elif gradient is None:
            gradient = _one(output)
        elif not isinstance(gradient, TensorBase):
            raise TypeError(
                "gradients can be either Tensors or None, "
                f"found {type(gradient).__name__} for output {position}"
            )
        elif gradient.shape != output.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and "
                f"output[{position}] has a shape of {output.shape}."
            )
        elif gradient.device != output.device:
            raise RuntimeError(
                f"grad_output[{position}] is on {gradient.device}, its output on {output.device}; "
                "move it with .to(device)"
            )
        roots.append((node, number, gradient))
    return roots


def _one_for(node: Node, number: int) -> TensorBase:
    """The gradient 1 of a result of which only the edge is known."""
    shape, dtype = (
        (node.result_shape, node.result_dtype)
        if node.result_shape is not None
        else node.result_forms[number][:2]  # type: ignore[attr-defined]
    )
    below: Node = node
    while not isinstance(below, AccumulateGrad):
        below = next(one for one in below.input_nodes if one is not None)
    # The class and the device of the tensor are those of a leaf that it was made from.
    array = np.broadcast_to(np.zeros((), dtype), shape)
    return _one(new_tensor(type(below.variable), array, below.variable._storage))


def _one(output: TensorBase) -> TensorBase:
    array = output._array
    if array.size != 1:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs; this one has shape "
            f"{array.shape}: pass its gradient, or take .sum() first"
        )
    if array.dtype.kind == "c":
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs; this one is complex"
        )
    # Of all ways to an array of ones this is the fastest, and every backward begins with it.
    one = np.empty(array.shape, array.dtype)
    one.fill(1)
    return new_tensor(type(output), one, new_storage(one, output._storage.device, "ones_like"))
