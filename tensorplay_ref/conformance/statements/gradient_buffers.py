"""Whose buffer a gradient is, and what may be assigned to .grad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "engine and gradients"


@tensorplay_1_0("makes a new tensor each time", shows="found [3.]")
@statement(TOPIC, "engine")
def gradients_are_added_in_place(api: Api) -> None:
    """A later backward adds to the tensor that .grad is, so a reference to it sees the sum."""
    x = api.leaf([2.0])
    (x * 3.0).sum().backward()
    gradient = x.grad
    (x * 4.0).sum().backward()
    equal(api, gradient, [7.0], "the gradient seen through the old reference")


@tensorplay_1_0("makes a new wrapper object at each read", shows="two objects")
@statement(TOPIC, "engine")
def the_gradient_is_one_object(api: Api) -> None:
    """Reading .grad twice gives the same object."""
    x = api.leaf([2.0])
    (x * 3.0).sum().backward()
    true(x.grad is x.grad, "two reads gave two objects")


@tensorplay_1_0(".grad is the caller's tensor", shows="found [0., 0.]")
@statement(TOPIC, "engine")
def a_given_gradient_is_copied(api: Api) -> None:
    """x.backward(g) and (x + 0).backward(g) leave the caller's g alone when .grad is zeroed."""
    routes: tuple[Callable[[Any], Any], ...] = (lambda x: x, lambda x: x + 0.0)
    for through in routes:
        x, g = api.leaf([1.0, 2.0]), api.constant([5.0, 6.0])
        through(x).backward(g)
        with api.no_grad():
            x.grad.zero_()
        equal(api, g, [5.0, 6.0], "the caller's gradient")


@tensorplay_1_0("both leaves share one buffer", shows="found [0., 0.]")
@statement(TOPIC, "engine")
def two_leaves_share_no_gradient_buffer(api: Api) -> None:
    """After (a + b).backward(g), zeroing a.grad leaves b.grad alone."""
    a, b = api.leaf([1.0, 2.0]), api.leaf([3.0, 4.0])
    (a + b).backward(api.constant([5.0, 6.0]))
    with api.no_grad():
        a.grad.zero_()
    equal(api, b.grad, [5.0, 6.0], "the gradient of b")


@tensorplay_1_0("both leaves share one buffer", shows="found [0.]")
@statement(TOPIC, "engine")
def a_function_may_return_one_gradient_twice(api: Api) -> None:
    """A Function that returns (g, g) gives its two inputs gradients of their own."""
    a, b = api.leaf([1.0]), api.leaf([2.0])
    function = api.function(lambda ctx, a, b: a + b, lambda ctx, gradient: (gradient, gradient))
    function.apply(a, b).backward(api.constant([5.0]))
    with api.no_grad():
        a.grad.zero_()
    equal(api, b.grad, [5.0], "the gradient of b")


@statement(TOPIC, "engine")
def the_gradient_of_a_sum_can_be_written_to(api: Api) -> None:
    """The gradient of sum() has a cell for each element: writing one changes no other."""
    x = api.leaf([1.0, 2.0, 3.0])
    x.sum().backward()
    with api.no_grad():
        x.grad[0] = 9.0
    equal(api, x.grad, [9.0, 1.0, 1.0])


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_gradient_of_another_shape_cannot_be_assigned(api: Api) -> None:
    """Assigning a tensor of another shape to .grad is an error."""
    x = api.leaf([1.0, 2.0])

    def assign() -> None:
        x.grad = api.constant([1.0])

    raises(RuntimeError, assign)
    same(x.grad, None, "x.grad")


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_gradient_of_another_dtype_cannot_be_assigned(api: Api) -> None:
    """Assigning a tensor of another dtype to .grad is an error."""
    x = api.leaf([1.0, 2.0])

    def assign() -> None:
        x.grad = api.constant([1.0, 2.0], api.float32)

    raises(RuntimeError, assign)
    same(x.grad, None, "x.grad")


@statement(TOPIC, "bad input")
def a_number_cannot_be_assigned_as_gradient(api: Api) -> None:
    """Assigning a Python number to .grad is a TypeError."""
    x = api.leaf([1.0])

    def assign() -> None:
        x.grad = 3

    raises(TypeError, assign)


@statement(TOPIC, "engine")
def a_gradient_can_be_taken_off(api: Api) -> None:
    """After x.grad = None the next backward starts from nothing."""
    x = api.leaf([2.0])
    (x * 3.0).sum().backward()
    x.grad = None
    (x * 4.0).sum().backward()
    equal(api, x.grad, [4.0])


@tensorplay_1_0(".grad is the caller's tensor", shows="found [0., 0.]")
@statement(TOPIC, "engine")
def a_given_gradient_is_copied_under_create_graph(api: Api) -> None:
    """Under create_graph, too, .grad is another buffer than the gradient that was given."""
    x, g = api.leaf([1.0, 2.0]), api.constant([5.0, 6.0])
    (x + 0.0).backward(g, create_graph=True)
    with api.no_grad():
        x.grad.zero_()
    equal(api, g, [5.0, 6.0], "the caller's gradient")


@tensorplay_1_0("a hook registered before the forward pass never runs", shows="found [5., 6.]")
@statement(TOPIC, "engine")
def a_given_gradient_is_copied_for_a_leaf_with_hooks(api: Api) -> None:
    """A leaf with a post-accumulate hook has a .grad of its own, too."""
    x, g = api.leaf([1.0, 2.0]), api.constant([5.0, 6.0])

    def zero(leaf: Any) -> None:
        with api.no_grad():
            leaf.grad.zero_()

    x.register_post_accumulate_grad_hook(zero)
    (x + 0.0).backward(g)
    equal(api, x.grad, [0.0, 0.0])
    equal(api, g, [5.0, 6.0], "the caller's gradient")


@tensorplay_1_0("makes a new tensor each time", shows="nothing was raised")
@statement(TOPIC, 10)
def a_saved_gradient_that_was_added_to_is_an_error(api: Api) -> None:
    """Adding to .grad counts as a write: a gradient saved before it is an error in backward."""
    x, w = api.leaf([2.0]), api.leaf([5.0])
    (x * 3.0).sum().backward()
    y = (x.grad * w).sum()
    (x * 4.0).sum().backward()
    raises(RuntimeError, y.backward, "inplace")


@torch_2_13("leaves that were reached have their gradient", shows="found [False, True]")
@tensorplay_1_0("leaves that were reached have their gradient", shows="found [False, True]")
@statement(TOPIC, "engine")
def a_backward_that_fails_late_changes_no_gradient(api: Api) -> None:
    """A backward that fails has changed no gradient, not even of leaves that it reached before."""

    def refuse(ctx: Any, gradient: Any) -> Any:
        raise KeyError("late")

    a, x = api.leaf([2.0]), api.leaf([3.0])
    h = api.function(lambda ctx, x: x * 1.0, refuse).apply(x)
    y = (h + 1.0) * a
    raises(KeyError, lambda: y.sum().backward())
    same([a.grad is None, x.grad is None], [True, True], "no gradient of a, of x")
