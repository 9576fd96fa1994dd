"""Hooks on tensors, nodes, leaves and sets of tensors, and their order."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import constant, equal, function, leaf

graph = tp.autograd.graph


# -- on tensors --------------------------------------------------------------------------------
def test_tensor_hooks_run_in_order_and_replace() -> None:
    seen: list[float] = []

    def triple(grad: Any) -> Any:
        seen.append(float(grad))
        return grad * 3.0

    def look(grad: Any) -> None:
        seen.append(float(grad))

    x = leaf([2.0])
    h = x * 5.0
    h.register_hook(triple)
    h.register_hook(look)
    x.register_hook(look)
    (h * 2.0).backward()
    assert seen == [2.0, 6.0, 30.0]
    equal(x.grad, [30.0])


def test_a_hook_sees_the_complete_gradient_once() -> None:
    seen: list[float] = []
    x = leaf([2.0])
    h = x * 1.0
    h.register_hook(lambda grad: seen.append(float(grad)))
    x.register_hook(lambda grad: seen.append(float(grad)))
    (h * 2.0 + h * 3.0 + x * 4.0).backward()
    assert seen == [5.0, 9.0]


def test_a_leafs_hook_stays_for_every_graph_until_removed() -> None:
    seen: list[float] = []
    x = leaf([2.0])
    handle = x.register_hook(lambda grad: seen.append(float(grad)))
    (x * 2.0).backward()
    (x * 3.0).backward()
    handle.remove()
    handle.remove()
    (x * 4.0).backward()
    assert seen == [2.0, 3.0]


def test_a_handle_is_a_context() -> None:
    seen: list[float] = []
    x = leaf([2.0])
    y = x * 2.0
    with pytest.raises(KeyError), y.register_hook(lambda grad: seen.append(float(grad))):
        y.backward(retain_graph=True)
        raise KeyError
    y.backward()
    assert seen == [1.0]


def test_a_hook_that_removes_itself_and_one_that_adds_another() -> None:
    seen: list[str] = []
    x = leaf([2.0])
    y = x * 2.0
    handle = y.register_hook(lambda grad: (seen.append("once"), handle.remove())[1])
    y.register_hook(lambda grad: None if seen.count("adds") else (seen.append("adds"), late())[1])

    def late() -> None:
        y.register_hook(lambda grad: seen.append("late"))

    y.backward(retain_graph=True)
    assert seen == ["once", "adds"]
    y.backward()
    assert seen == ["once", "adds", "late"]


def test_hooks_of_a_written_tensor_stay_with_what_it_was() -> None:
    seen: list[Any] = []
    x = leaf([2.0])
    h = x * 1.0
    h.register_hook(lambda grad: seen.append(("before", float(grad))))
    h.mul_(10.0)
    h.register_hook(lambda grad: seen.append(("after", float(grad))))
    (h * 3.0).backward()
    assert seen == [("after", 3.0), ("before", 30.0)]


def test_hooks_of_two_results_of_one_node() -> None:
    seen: list[Any] = []
    f = function(lambda ctx, x: (x * 1.0, x * 2.0), lambda ctx, a, b: a + b * 2.0)
    first, second = f.apply(leaf([1.0]))
    second.register_hook(lambda grad: seen.append(("second", float(grad))))
    first.register_hook(lambda grad: seen.append(("first", float(grad))))
    (first * 3.0 + second * 5.0).backward(retain_graph=True)
    assert sorted(seen) == [("first", 3.0), ("second", 5.0)]
    first.backward()
    assert sorted(seen) == [("first", 1.0), ("first", 3.0), ("second", 5.0)]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (3, TypeError, "must return a Tensor or None, found int"),
        (constant([1.0, 2.0]), RuntimeError, r"changed the size of value: .*\(1,\).*\(2,\)"),
        (tp.tensor([1.0]), RuntimeError, "changed the type of value: .*float64.*float32"),
        (tp.ones(1, dtype=tp.float64, device="cuda"), RuntimeError, "changed the device"),
    ],
)
@pytest.mark.parametrize("place", ["leaf", "result"])
def test_what_a_hook_may_not_return(answer: Any, error: Any, text: str, place: str) -> None:
    def odd_hook(grad: Any) -> Any:
        return answer

    x = leaf([2.0])
    h = x * 3.0
    (x if place == "leaf" else h).register_hook(odd_hook)
    with pytest.raises(error, match=f"odd_hook.*{text}"):
        h.backward()
    assert x.grad is None


def test_hooks_are_refused_where_no_gradient_comes() -> None:
    for call in (
        lambda: constant([1.0]).register_hook(print),
        lambda: constant([1.0]).retain_grad(),
        lambda: constant([1.0]).register_post_accumulate_grad_hook(print),
        lambda: graph.get_gradient_edge(constant([1.0])),
    ):
        with pytest.raises(RuntimeError, match="gradient|requires_grad"):
            call()
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf([1.0]) * 2.0).register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match="hook must be callable, found int"):
        leaf([1.0]).register_hook(3)


def test_a_kept_handle_keeps_no_graph() -> None:
    with reference_counting():
        y = leaf([2.0]) * 2.0
        handle = y.register_hook(lambda grad: None)
        watched = weakref.ref(y.grad_fn)
        del y
        assert watched() is None
    handle.remove()


# -- on nodes ----------------------------------------------------------------------------------
def test_node_hooks_get_tuples_and_replace_them() -> None:
    seen: list[Any] = []

    def post(inputs: Any, outputs: Any) -> Any:
        seen.append((type(inputs), [float(g) for g in inputs], float(outputs[0])))
        return (inputs[0] * 10.0, None)

    x, w = leaf([2.0]), leaf([5.0])
    y = x * w
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3.0,))
    y.grad_fn.register_hook(post)
    y.backward()
    assert seen == [(tuple, [15.0, 6.0], 3.0)]
    equal(x.grad, [150.0])
    assert w.grad is None


def test_node_hooks_see_gradients_in_the_shape_of_the_inputs() -> None:
    shapes: list[Any] = []
    x, w = leaf([2.0]), leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * w
    y.grad_fn.register_hook(lambda inputs, outputs: shapes.append([g.shape for g in inputs]))
    y.sum().backward()
    assert shapes == [[(1,), (2, 2)]]
    equal(x.grad, [10.0])


def test_order_around_a_node() -> None:
    order: list[str] = []

    def unpack(tensor: Any) -> Any:
        order.append("unpack")
        return tensor

    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: t.detach(), unpack):
        y = x.sin()
    y.grad_fn.register_hook(lambda inputs, outputs: order.append("node hook"))
    y.grad_fn.register_prehook(lambda outputs: order.append("prehook"))
    y.register_hook(lambda grad: order.append("tensor hook"))
    x.register_hook(lambda grad: order.append("leaf hook"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    y.backward()
    assert order == ["tensor hook", "prehook", "unpack", "node hook", "leaf hook", "accumulated"]


def test_a_prehook_that_takes_the_gradient_away_ends_the_walk_there() -> None:
    x, other = leaf([2.0]), leaf([3.0])
    h = (x * 5.0).sin()
    h.grad_fn.register_prehook(lambda grads: (None,))
    loss = (h * other).sum()
    loss.backward()
    assert x.grad is None
    equal(other.grad, h.detach())
    with pytest.raises(RuntimeError, match="a second time"):
        h.grad_fn._saved_self  # noqa: B018


@pytest.mark.parametrize("kind", ["register_hook", "register_prehook"])
@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (3, TypeError, "expected tuple, but hook '<lambda>' returned 'int'"),
        ((), RuntimeError, r"got 0, but expected 1"),
        ((3,), TypeError, "found int"),
        ((constant([1.0, 2.0]),), RuntimeError, "changed the size"),
    ],
)
def test_what_a_node_hook_may_not_return(kind: str, answer: Any, error: Any, text: str) -> None:
    x = leaf([2.0])
    y = x.sin()
    getattr(y.grad_fn, kind)(lambda *grads: answer)
    with pytest.raises(error, match=text):
        y.backward()
    assert x.grad is None


def test_a_node_hook_cannot_make_up_a_gradient() -> None:
    y = leaf([2.0]) * constant([3.0])
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        y.backward()


def test_hooks_on_the_node_of_a_leaf() -> None:
    seen: list[Any] = []
    x = leaf([2.0])
    node = graph.get_gradient_edge(x).node
    assert node.name() == "AccumulateGrad" and node.variable is x
    node.register_prehook(lambda grads: (grads[0] * 2.0,))
    node.register_hook(lambda inputs, outputs: seen.append((inputs, float(x.grad))))
    (x * 3.0).backward()
    assert seen == [((), 6.0)]
    equal(x.grad, [6.0])


def test_what_a_node_tells() -> None:
    x, c = leaf([2.0]), constant([3.0])
    h = x * 2.0
    y = h * c
    node = y.grad_fn
    assert node.name() == "MulBackward" and repr(node) == "<MulBackward>" and node.requires_grad
    assert node.next_functions == ((h.grad_fn, 0), (None, 0))
    assert h.grad_fn.next_functions[0][0].name() == "AccumulateGrad"
    node.metadata["note"] = 3
    assert y.grad_fn.metadata == {"note": 3}
    assert y.grad_fn is node and isinstance(node, graph.Node)


# -- after accumulating ------------------------------------------------------------------------
def test_post_accumulate_hooks_get_the_leaf_with_its_gradient() -> None:
    seen: list[Any] = []
    x, w = leaf([2.0]), leaf([3.0])

    def step(tensor: Any) -> None:
        seen.append((tensor is x, float(tensor.grad)))
        with tp.no_grad():
            tensor.sub_(tensor.grad * 0.5)
        tensor.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * w).backward()
    assert seen == [(True, 3.0)] and x.grad is None
    equal(x, [0.5])
    handle.remove()
    (x * w).backward()
    assert len(seen) == 1
    tp.autograd.grad(x * w, x)
    assert len(seen) == 1
