"""In-place operations: recorded, rebased, refused on leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0

TOPIC = "versions and in-place"


def _gradient(api: Api, change: Callable[[Any], Any], value: list[float]) -> Any:
    """The gradient of the sum of h after ``change(h)``, where h is a copy of the leaf."""
    x = api.leaf(value)
    h = x * 1.0
    change(h)
    h.sum().backward()
    return x.grad


@statement(TOPIC, "in place")
def an_in_place_operation_gives_back_its_tensor(api: Api) -> None:
    """h.add_(1) and h.mul_(2) return h itself."""
    h = api.leaf([2.0]) * 1.0
    true(h.add_(1.0) is h and h.mul_(2.0) is h, "another object was returned")


@statement(TOPIC, "in place")
def in_place_arithmetic_is_recorded(api: Api) -> None:
    """add_, sub_, mul_ and div_ on an intermediate are differentiated."""
    for change, expected in (
        (lambda h: h.add_(3.0), 1.0),
        (lambda h: h.sub_(3.0), 1.0),
        (lambda h: h.mul_(3.0), 3.0),
        (lambda h: h.div_(4.0), 0.25),
    ):
        equal(api, _gradient(api, change, [2.0]), [expected])


@tensorplay_1_0("gives the name another object over the same memory", shows="made another tensor")
@statement(TOPIC, "in place")
def augmented_assignment_is_recorded(api: Api) -> None:
    """h += c and h *= c on an intermediate are in-place operations and are differentiated."""
    x = api.leaf([2.0])
    h = x * 1.0
    alias = h
    h += 5.0
    h *= 3.0
    true(h is alias, "the assignment made another tensor")
    h.sum().backward()
    equal(api, x.grad, [3.0])


@tensorplay_1_0("is not recorded", shows="found [1., 1.]")
@statement(TOPIC, "in place")
def zeroing_cuts_the_gradient(api: Api) -> None:
    """After h.zero_() or h.fill_(7) nothing flows back to where h came from."""
    for change in (lambda h: h.zero_(), lambda h: h.fill_(7.0)):
        equal(api, _gradient(api, change, [2.0, 3.0]), [0.0, 0.0])


@tensorplay_1_0("is not recorded", shows="found None")
@statement(TOPIC, "in place")
def copying_redirects_the_gradient(api: Api) -> None:
    """After h.copy_(w) the gradient goes to w and not to where h came from."""
    x, w = api.leaf([2.0]), api.leaf([5.0])
    h = x * 1.0
    h.copy_(w)
    (h * 3.0).sum().backward()
    equal(api, w.grad, [3.0], "the gradient of w")
    equal(api, x.grad, [0.0], "the gradient of x")


@tensorplay_1_0("is not recorded", shows="found [1., 1.]")
@statement(TOPIC, "in place")
def an_assigned_constant_cuts_its_element(api: Api) -> None:
    """After h[0] = 10 the gradient of that element is 0 and of the others as before."""

    def change(h: Any) -> None:
        h[0] = 10.0

    equal(api, _gradient(api, change, [2.0, 3.0]), [0.0, 1.0])


@tensorplay_1_0("is not recorded", shows="found None")
@statement(TOPIC, "in place")
def an_assigned_tensor_gets_the_gradient_of_its_element(api: Api) -> None:
    """After h[0] = w the gradient of that element goes to w."""
    x, w = api.leaf([2.0, 3.0]), api.leaf(5.0)
    h = x * 1.0
    h[0] = w
    (h * api.constant([7.0, 11.0])).sum().backward()
    equal(api, w.grad, 7.0, "the gradient of w")
    equal(api, x.grad, [0.0, 11.0], "the gradient of x")


@tensorplay_1_0("is not recorded", shows="found [1., 1.]")
@statement(TOPIC, "in place")
def in_place_exp_is_recorded(api: Api) -> None:
    """h.exp_() is differentiated, with the new value of h as the derivative."""
    equal(api, _gradient(api, lambda h: h.exp_(), [0.0, 1.0]), [1.0, np.e])


@tensorplay_1_0("is not recorded", shows="found [1.]")
@statement(TOPIC, "in place")
def in_place_negation_is_recorded(api: Api) -> None:
    """h.neg_() is differentiated."""
    equal(api, _gradient(api, lambda h: h.neg_(), [2.0]), [-1.0])


@tensorplay_1_0("tanh_ and sigmoid_ are not recorded", shows="found [1., 1.]")
@statement(TOPIC, "in place")
def in_place_activations_are_recorded(api: Api) -> None:
    """h.relu_(), h.tanh_() and h.sigmoid_() are differentiated."""
    for change, expected in (
        (lambda h: h.relu_(), [0.0, 1.0]),
        (lambda h: h.tanh_(), list(1.0 - np.tanh([-1.0, 2.0]) ** 2)),
        (lambda h: h.sigmoid_(), list(np.exp([1.0, -2.0]) / (1.0 + np.exp([1.0, -2.0])) ** 2)),
    ):
        equal(api, _gradient(api, change, [-1.0, 2.0]), expected)


@tensorplay_1_0("are not recorded", shows="found [1.]")
@statement(TOPIC, "in place")
def in_place_roots_and_clamps_are_recorded(api: Api) -> None:
    """h.sqrt_() and h.clamp_(0, 3) are differentiated."""
    equal(api, _gradient(api, lambda h: h.sqrt_(), [4.0]), [0.25])
    equal(api, _gradient(api, lambda h: h.clamp_(0.0, 3.0), [-1.0, 2.0, 9.0]), [0.0, 1.0, 0.0])


@statement(TOPIC, "in place")
def an_in_place_operation_changes_the_node(api: Api) -> None:
    """After an in-place operation h has that operation's node as its grad_fn."""
    h = api.leaf([2.0]) * 1.0
    before = h.grad_fn
    h.add_(1.0)
    true(h.grad_fn is not before, "the node is the old one")
    true(before in api.next_nodes(h.grad_fn), "the new node does not lead to the old one")


@statement(TOPIC, "in place")
def a_write_to_a_view_is_differentiated_through_the_base(api: Api) -> None:
    """After v = h[0:1]; v.mul_(10) the gradient through h has the factor for that element."""

    def change(h: Any) -> None:
        h[0:1].mul_(10.0)

    equal(api, _gradient(api, change, [2.0, 3.0]), [10.0, 1.0])


@statement(TOPIC, "in place")
def a_write_to_the_base_is_differentiated_through_the_view(api: Api) -> None:
    """A view made before h.mul_(10) has the new values and the new history."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    view = h[0:1]
    h.mul_(10.0)
    equal(api, view, [20.0], "the view")
    view.sum().backward()
    equal(api, x.grad, [10.0, 0.0])


@statement(TOPIC, "in place")
def a_write_to_a_transposed_view_lands_in_the_base(api: Api) -> None:
    """A write through a transposed slice changes the right elements and their gradients."""
    x = api.leaf([[1.0, 2.0], [3.0, 4.0]])
    h = x * 1.0
    h.transpose(0, 1)[0].mul_(10.0)
    equal(api, h, [[10.0, 2.0], [30.0, 4.0]], "h")
    h.sum().backward()
    equal(api, x.grad, [[10.0, 1.0], [10.0, 1.0]])


@tensorplay_1_0("uses the new value", shows="found [-0.75]")
@statement(TOPIC, "in place")
def an_in_place_division_uses_the_old_value(api: Api) -> None:
    """The gradient of w in h.div_(w) is -h / w**2 with h as it was before."""
    h, w = api.leaf([6.0]) * 1.0, api.leaf([2.0])
    h.div_(w)
    h.sum().backward()
    equal(api, w.grad, [-1.5])


@tensorplay_1_0("the first derivative is wrong already", shows="found [16.]")
@statement(TOPIC, "in place")
def an_in_place_product_is_differentiable_twice(api: Api) -> None:
    """With h = x * x and h.mul_(x) the second derivative of x**3 at 2 is 12."""
    x = api.leaf([2.0])
    h = x * x
    h.mul_(x)
    (first,) = api.grad(h.sum(), x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, first, [12.0], "the first derivative")
    equal(api, second, [12.0], "the second derivative")


@tensorplay_1_0("zero_ is accepted", shows="nothing was raised")
@statement(TOPIC, "in place")
def a_leaf_that_requires_grad_refuses_writes(api: Api) -> None:
    """An in-place operation on a leaf that requires grad is an error, and writes nothing."""
    x = api.leaf([2.0])
    for write in (lambda: x.add_(1.0), lambda: x.zero_(), lambda: x.mul_(x)):
        raises(RuntimeError, write, "leaf")
    equal(api, x, [2.0], "x")
    same((x._version, x.is_leaf), (0, True), "version, is_leaf")


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "in place")
def a_leaf_that_requires_grad_refuses_assignment(api: Api) -> None:
    """x[0] = 3 on a leaf that requires grad is an error, and writes nothing."""
    x = api.leaf([2.0, 5.0])

    def assign() -> None:
        x[0] = 3.0

    raises(RuntimeError, assign, "leaf")
    equal(api, x, [2.0, 5.0], "x")


@statement(TOPIC, "in place")
def a_view_of_a_leaf_refuses_writes(api: Api) -> None:
    """A write to a view of a leaf that requires grad is an error that speaks of the view."""
    x = api.leaf([2.0, 5.0])
    raises(RuntimeError, lambda: x[0:1].add_(1.0), "view", "leaf")
    equal(api, x, [2.0, 5.0], "x")


@statement(TOPIC, "in place")
def a_leaf_may_be_written_under_no_grad(api: Api) -> None:
    """Under no_grad a leaf that requires grad is updated in place and stays a leaf."""
    w = api.leaf([2.0])
    (w * 3.0).sum().backward()
    with api.no_grad():
        w -= 0.5 * w.grad
    equal(api, w, [0.5], "w")
    same((w.is_leaf, w.requires_grad), (True, True), "is_leaf, requires_grad")


@tensorplay_1_0("uses the new value", shows="found [6.]")
@statement(TOPIC, "in place")
def a_constant_written_with_a_variable_joins_the_graph(api: Api) -> None:
    """A constant that is multiplied in place by a leaf requires grad from then on."""
    c, x = api.constant([3.0]), api.leaf([2.0])
    c.mul_(x)
    same((c.requires_grad, c.is_leaf), (True, False), "requires_grad, is_leaf")
    c.sum().backward()
    equal(api, x.grad, [3.0])
