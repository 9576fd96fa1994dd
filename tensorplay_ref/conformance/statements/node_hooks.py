"""Hooks on nodes."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same
from ..statement import statement, tensorplay_lacks

TOPIC = "graph and nodes"


@tensorplay_lacks("Node.register_hook")
@statement(TOPIC, "PyTorch's graph")
def a_hook_on_a_built_in_node_sees_and_replaces_gradients(api: Api) -> None:
    """A hook on a node gets the tuples grad_inputs and grad_outputs, and may replace the first."""
    seen: list[Any] = []

    def hook(inputs: Any, outputs: Any) -> Any:
        seen.append((api.array(inputs[0]).tolist(), api.array(outputs[0]).tolist()))
        return (inputs[0] * 10.0,)

    x = api.leaf([0.0])
    y = x.sin()
    y.grad_fn.register_hook(hook)
    (y * 3.0).sum().backward()
    same(seen, [([3.0], [3.0])], "grad_inputs and grad_outputs")
    equal(api, x.grad, [30.0])


@tensorplay_lacks("Node.register_prehook")
@statement(TOPIC, "PyTorch's graph")
def a_prehook_on_a_built_in_node_replaces_grad_outputs(api: Api) -> None:
    """A prehook on a node gets the tuple of grad_outputs first, and may replace it."""
    x = api.leaf([0.0])
    y = x.sin()
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10.0,))
    (y * 3.0).sum().backward()
    equal(api, x.grad, [30.0])


@tensorplay_lacks("Node.register_hook")
@statement(TOPIC, "PyTorch's graph")
def a_hook_on_a_built_in_node_can_be_removed(api: Api) -> None:
    """The handle that register_hook of a node returns takes the hook off."""
    x = api.leaf([0.0])
    y = x.sin()
    api.remove(y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10.0,)))
    y.sum().backward()
    equal(api, x.grad, [1.0])


@tensorplay_lacks("Node.register_hook")
@statement(TOPIC, "bad input")
def a_hook_on_a_node_must_return_a_tuple(api: Api) -> None:
    """A hook on a node that returns a number is a TypeError that names the type."""
    y = api.leaf([0.0]).sin()
    y.grad_fn.register_hook(lambda inputs, outputs: 3)
    raises(TypeError, lambda: y.sum().backward(), "int")


@tensorplay_lacks("Node.register_hook")
@statement(TOPIC, "bad input")
def a_hook_on_a_node_must_return_as_many_gradients(api: Api) -> None:
    """A hook on a node that returns a tuple of another length is an error with both counts."""
    y = api.leaf([0.0]).sin()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    raises(RuntimeError, lambda: y.sum().backward(), "2", "1")


@tensorplay_lacks("Node.register_hook")
@statement(TOPIC, 8)
def hooks_run_around_unpack_in_a_fixed_order(api: Api) -> None:
    """Around a node run: the tensor's hooks, the prehooks, unpack, the node's hooks."""
    order: list[str] = []

    def unpack(packed: Any) -> Any:
        order.append("unpack")
        return packed

    with api.hooks(lambda tensor: tensor.detach(), unpack):
        y = api.leaf([2.0]).sin()
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("node hook"))
    y.grad_fn.register_prehook(lambda outputs: order.append("prehook"))
    y.register_hook(lambda gradient: order.append("tensor hook"))
    y.sum().backward()
    same(order, ["tensor hook", "prehook", "unpack", "node hook"], "order")
