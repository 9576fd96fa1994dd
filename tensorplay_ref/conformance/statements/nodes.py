"""Nodes and edges: what a recorded graph shows, hooks on nodes, gradient edges."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..functions import square
from ..statement import statement, tensorplay_1_0, tensorplay_lacks

TOPIC = "graph and nodes"


@statement(TOPIC, "PyTorch's graph")
def a_leaf_has_no_node(api: Api) -> None:
    """A leaf has grad_fn None and is_leaf True; a recorded result has a node and is no leaf."""
    x = api.leaf([2.0])
    y = x.sin()
    same((x.grad_fn is None, x.is_leaf), (True, True), "no node, is_leaf of x")
    same((y.grad_fn is None, y.is_leaf), (False, False), "no node, is_leaf of y")


@statement(TOPIC, "PyTorch's graph")
def the_node_of_a_result_is_one_object(api: Api) -> None:
    """Reading grad_fn twice gives the same node."""
    y = api.leaf([2.0]).sin()
    true(y.grad_fn is y.grad_fn, "two reads gave two nodes")


@statement(TOPIC, "PyTorch's graph")
def a_node_is_named_after_its_operation(api: Api) -> None:
    """The nodes of sin and exp have names that begin with SinBackward and ExpBackward."""
    x = api.leaf([2.0])
    found = [api.node_name(y.grad_fn)[:11] for y in (x.sin(), x.exp())]
    same(found, ["SinBackward", "ExpBackward"], "names")


@statement(TOPIC, "PyTorch's graph")
def edges_lead_to_the_nodes_of_the_inputs(api: Api) -> None:
    """next_functions holds one pair (node, number) for each input, in their order."""
    a, b = api.leaf([2.0]).sin(), api.leaf([3.0]).exp()
    edges = (a * b).grad_fn.next_functions
    same(len(edges), 2, "edges")
    true(edges[0][0] is a.grad_fn and edges[1][0] is b.grad_fn, "other nodes")
    same([number for _, number in edges], [0, 0], "result numbers")


@tensorplay_1_0("it is a list", shows="it is a list")
@statement(TOPIC, "PyTorch's graph")
def next_functions_is_a_tuple(api: Api) -> None:
    """next_functions is a tuple, so nobody can change the graph through it."""
    edges = api.leaf([2.0]).sin().grad_fn.next_functions
    true(isinstance(edges, tuple), f"it is a {type(edges).__name__}")


@statement(TOPIC, "PyTorch's graph")
def a_constant_has_no_edge(api: Api) -> None:
    """The edge of an input that does not require grad leads to None."""
    y = api.leaf([2.0]) * api.constant([3.0])
    same([node is None for node in api.next_nodes(y.grad_fn)], [False, True], "edge to None")


@statement(TOPIC, "PyTorch's graph")
def the_edge_of_a_leaf_ends_in_its_accumulator(api: Api) -> None:
    """The edge of a leaf leads to a node AccumulateGrad whose variable is the leaf."""
    x = api.leaf([2.0])
    (end,) = api.next_nodes(x.sin().grad_fn)
    same(api.node_name(end), "AccumulateGrad", "the name of the last node")
    true(api.same_memory(end.variable, x), "its variable is another tensor")
    same(api.next_nodes(end), [], "edges of the last node")


@statement(TOPIC, "PyTorch's graph")
def two_uses_of_a_leaf_end_in_one_accumulator(api: Api) -> None:
    """All edges of one leaf lead to the same AccumulateGrad."""
    x = api.leaf([2.0])
    a, b = x.sin(), x.cos()
    true(api.next_nodes(a.grad_fn)[0] is api.next_nodes(b.grad_fn)[0], "two accumulators")


@tensorplay_1_0("both have number 0", shows="found [0, 0]")
@statement(TOPIC, "PyTorch's graph")
def the_results_of_a_split_are_numbered(api: Api) -> None:
    """The pieces of a split are results 0 and 1 of one node."""
    first, second = api.leaf([2.0, 3.0]).split(1)
    true(first.grad_fn is second.grad_fn, "the pieces have two nodes")
    same([api.output_number(each) for each in (first, second)], [0, 1], "result numbers")


@tensorplay_1_0("both have number 0", shows="found [0, 0]")
@statement(TOPIC, "PyTorch's graph")
def the_results_of_a_function_are_numbered(api: Api) -> None:
    """Two outputs of one Function are results 0 and 1 of one node."""
    function = api.function(lambda ctx, x: (x * 2.0, x * 3.0))
    first, second = function.apply(api.leaf([2.0]))
    true(first.grad_fn is second.grad_fn, "the outputs have two nodes")
    same([api.output_number(each) for each in (first, second)], [0, 1], "result numbers")


@tensorplay_lacks("autograd.graph.Node")
@statement(TOPIC, "PyTorch's graph")
def nodes_are_instances_of_node(api: Api) -> None:
    """The nodes of built-in operations and of custom Functions are instances of graph.Node."""
    x = api.leaf([2.0])
    for y in (x.sin(), square(api).apply(x)):
        true(isinstance(y.grad_fn, api.graph.Node), f"{y.grad_fn} is no Node")


@tensorplay_lacks("Node.metadata")
@statement(TOPIC, "PyTorch's graph")
def a_node_has_metadata(api: Api) -> None:
    """A node has a dict metadata for its user, the same at each read."""
    node = api.leaf([2.0]).sin().grad_fn
    node.metadata["key"] = 7
    same(node.metadata, {"key": 7}, "metadata")


@tensorplay_lacks("autograd.graph.get_gradient_edge")
@statement(TOPIC, "PyTorch's graph")
def a_gradient_edge_names_node_and_number(api: Api) -> None:
    """get_gradient_edge(y) holds the node of y and which of its results y is."""
    _, second = api.function(lambda ctx, x: (x * 2.0, x * 3.0)).apply(api.leaf([2.0]))
    edge = api.graph.get_gradient_edge(second)
    true(edge.node is second.grad_fn, "another node")
    same(edge.output_nr, 1, "output_nr")


@tensorplay_lacks("autograd.graph.get_gradient_edge")
@statement(TOPIC, "PyTorch's graph")
def a_gradient_edge_stands_for_its_tensor(api: Api) -> None:
    """autograd.grad takes gradient edges as outputs and as inputs."""
    x = api.leaf([2.0])
    h = x * 3.0
    y = h.square().sum()
    edges = [api.graph.get_gradient_edge(each) for each in (y, h)]
    (gradient,) = api.grad(edges[0], edges[1])
    equal(api, gradient, [12.0])


@tensorplay_lacks("autograd.graph.get_gradient_edge")
@statement(TOPIC, "PyTorch's graph")
def the_edge_of_a_leaf_is_its_accumulator(api: Api) -> None:
    """get_gradient_edge(leaf) holds the leaf's AccumulateGrad node."""
    edge = api.graph.get_gradient_edge(api.leaf([2.0]))
    same(api.node_name(edge.node), "AccumulateGrad", "the name of the node")


@tensorplay_lacks("autograd.graph.get_gradient_edge")
@statement(TOPIC, "PyTorch's graph")
def a_constant_has_no_gradient_edge(api: Api) -> None:
    """get_gradient_edge of a tensor that does not require grad is an error."""
    edge_of = api.graph.get_gradient_edge
    raises(RuntimeError, lambda: edge_of(api.constant([2.0])), "gradient")


def _multi_hook(api: Api, mode: str) -> tuple[list[Any], Any, Any, Any]:
    """A multi-gradient hook on two results of x * 1, its handle, and the results."""
    calls: list[Any] = []
    x = api.leaf([1.0])
    a, b = x * 1.0, x * 1.0
    handle = api.graph.register_multi_grad_hook([a, b], calls.append, mode=mode)
    return calls, handle, a, b


@tensorplay_lacks("autograd.graph.register_multi_grad_hook")
@statement(TOPIC, "PyTorch's graph")
def a_multi_hook_waits_for_all_gradients(api: Api) -> None:
    """register_multi_grad_hook in mode "all" calls once with the list of all gradients."""
    calls, _, a, b = _multi_hook(api, "all")
    (a * 3.0 + b * 4.0).sum().backward()
    same([[each.tolist() for each in call] for call in calls], [[[3.0], [4.0]]], "calls")


@tensorplay_lacks("autograd.graph.register_multi_grad_hook")
@statement(TOPIC, "PyTorch's graph")
def a_multi_hook_has_none_for_tensors_out_of_reach(api: Api) -> None:
    """In mode "all" a tensor that the backward does not reach stands as None in the list."""
    calls, _, a, _ = _multi_hook(api, "all")
    (a * 3.0).sum().backward()
    found = [[each if each is None else each.tolist() for each in call] for call in calls]
    same(found, [[[3.0], None]], "calls")


@tensorplay_lacks("autograd.graph.register_multi_grad_hook")
@statement(TOPIC, "PyTorch's graph")
def a_multi_hook_may_act_on_the_first_gradient(api: Api) -> None:
    """In mode "any" the hook is called once per backward, with the first gradient."""
    calls, _, a, b = _multi_hook(api, "any")
    y = (a * 3.0 + b * 3.0).sum()
    y.backward(retain_graph=True)
    y.backward()
    same([call.tolist() for call in calls], [[3.0], [3.0]], "calls")


@tensorplay_lacks("autograd.graph.register_multi_grad_hook")
@statement(TOPIC, "PyTorch's graph")
def a_multi_hook_can_be_removed(api: Api) -> None:
    """The handle of a multi-gradient hook takes it off."""
    calls, handle, a, b = _multi_hook(api, "all")
    api.remove(handle)
    (a + b).sum().backward()
    same(calls, [], "calls")


@tensorplay_lacks("autograd.graph.register_multi_grad_hook")
@statement(TOPIC, "bad input")
def a_multi_hook_knows_two_modes(api: Api) -> None:
    """register_multi_grad_hook with another mode is a ValueError that names it."""
    raises(ValueError, lambda: _multi_hook(api, "some"), "some")
