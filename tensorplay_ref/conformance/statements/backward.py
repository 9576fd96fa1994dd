"""backward: arguments, accumulation, freeing, refusing."""

from __future__ import annotations

from typing import Any

from ..api import Api, NotOffered
from ..expect import equal, raises, same
from ..functions import product
from ..statement import statement, tensorplay_1_0, tensorplay_lacks, torch_2_13

TOPIC = "engine and gradients"


@statement(TOPIC, "engine")
def gradients_are_added_to_those_that_are_there(api: Api) -> None:
    """Two backwards over different graphs add their gradients in .grad."""
    x = api.leaf([1.0, 2.0])
    (x * 3.0).sum().backward()
    (x * 4.0).sum().backward()
    equal(api, x.grad, [7.0, 7.0])


@statement(TOPIC, "engine")
def a_node_used_twice_runs_once_with_the_sum(api: Api) -> None:
    """A node with two consumers runs once, with the sum of their gradients."""
    seen: list[list[float]] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        seen.append(api.array(gradient).tolist())
        return gradient

    x = api.leaf([2.0])
    h = api.function(lambda ctx, x: x * 1.0, backward).apply(x)
    (h * 3.0 + h * 4.0).sum().backward()
    same(seen, [[7.0]], "gradients that the node got")
    equal(api, x.grad, [7.0])


@statement(TOPIC, "engine")
def a_node_waits_for_all_its_consumers(api: Api) -> None:
    """A node used near the end and far from it runs after both: 24 x**4 + 2 x at 2 is 770."""
    a = api.leaf(2.0)
    b = a + a
    c = b * b
    d = c + b * a
    (d * c + b).backward()
    equal(api, a.grad, 96.0 * 8.0 + 2.0)


@statement(TOPIC, "engine")
def a_diamond_of_sixty_levels_is_walked_once(api: Api) -> None:
    """Sixty times h = h + h is walked node by node, not path by path: the gradient is 2**60."""
    x = api.leaf(1.0)
    h = x
    for _ in range(60):
        h = h + h
    h.backward()
    equal(api, x.grad, 2.0**60)


@statement(TOPIC, "engine")
def a_gradient_is_needed_for_several_elements(api: Api) -> None:
    """backward() without a gradient on a tensor of several elements is an error."""
    raises(RuntimeError, lambda: (api.leaf([1.0, 2.0]) * 2.0).backward(), "scalar")


@statement(TOPIC, "engine")
def one_element_of_any_rank_needs_no_gradient(api: Api) -> None:
    """backward() works on a tensor with one element, whatever its rank."""
    x = api.leaf([[[2.0]]])
    (x * 3.0).backward()
    equal(api, x.grad, [[[3.0]]])


@statement(TOPIC, "engine")
def the_given_gradient_is_multiplied_in(api: Api) -> None:
    """backward(gradient) gives the product of the gradient with the derivative."""
    x = api.leaf([1.0, 2.0])
    x.square().backward(api.constant([10.0, 100.0]))
    equal(api, x.grad, [20.0, 400.0])


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "engine")
def a_given_gradient_must_have_the_shape_of_the_output(api: Api) -> None:
    """backward(gradient) with another shape is an error, and no leaf gets a gradient."""
    x = api.leaf([1.0, 2.0])
    y = x * 2.0
    raises(RuntimeError, lambda: y.backward(api.constant([1.0, 1.0, 1.0])), "shape")
    same(x.grad, None, "x.grad")


@statement(TOPIC, "engine")
def a_tensor_without_a_graph_has_no_backward(api: Api) -> None:
    """backward of a tensor that does not require grad is an error that says so."""
    raises(RuntimeError, lambda: api.constant(2.0).backward(), "does not require grad")


@tensorplay_1_0("does nothing and raises nothing", shows="nothing was raised")
@statement(TOPIC, 11)
def a_second_backward_is_an_error(api: Api) -> None:
    """A second backward over saved tensors says "a second time" and names retain_graph."""
    y = api.leaf([2.0]).exp().sum()
    y.backward()
    raises(RuntimeError, y.backward, "second time", "retain_graph")


@tensorplay_1_0("does nothing and raises nothing", shows="nothing was raised")
@statement(TOPIC, 11)
def a_second_backward_over_a_product_is_an_error(api: Api) -> None:
    """A second backward over saved inputs is an error and leaves the gradients alone."""
    x = api.leaf([2.0])
    y = (x * x).sum()
    y.backward()
    raises(RuntimeError, y.backward, "second time")
    equal(api, x.grad, [4.0])


@tensorplay_1_0("does nothing and raises nothing", shows="nothing was raised")
@statement(TOPIC, 11)
def a_second_backward_over_a_function_is_an_error(api: Api) -> None:
    """A second backward over a custom Function that reads what it saved is an error."""
    a, b = api.leaf([2.0]), api.leaf([3.0])
    y = product(api).apply(a, b)
    y.backward(api.constant([1.0]))
    raises(RuntimeError, lambda: y.backward(api.constant([1.0])), "second time")
    equal(api, a.grad, [3.0])


@tensorplay_1_0("the second gradient is silently missing", shows="nothing was raised")
@statement(TOPIC, 11)
def two_losses_over_a_freed_part_are_an_error(api: Api) -> None:
    """When one loss has freed a shared part, the backward of the other is an error."""
    x = api.leaf([2.0])
    h = x.square()
    first, second = h.sum(), (h * 3.0).sum()
    first.backward()
    raises(RuntimeError, second.backward, "second time")
    equal(api, x.grad, [4.0])


@tensorplay_1_0("the gradient is silently missing", shows="nothing was raised")
@statement(TOPIC, 11)
def a_new_operation_on_a_freed_result_is_an_error_in_backward(api: Api) -> None:
    """What is computed from a result whose graph was freed cannot be differentiated."""
    x = api.leaf([2.0])
    y = x.square()
    y.sum().backward()
    raises(RuntimeError, lambda: (y * 3.0).sum().backward(), "second time")
    equal(api, x.grad, [4.0])


@tensorplay_1_0("the second walk adds nothing", shows="found [2.]")
@statement(TOPIC, 11)
def a_graph_that_saved_nothing_can_be_walked_again(api: Api) -> None:
    """A graph without saved tensors is walked a second time without retain_graph."""
    x = api.leaf([2.0])
    y = (x + x + 1.0).sum()
    y.backward()
    y.backward()
    equal(api, x.grad, [4.0])


@statement(TOPIC, "engine")
def retain_graph_keeps_the_graph(api: Api) -> None:
    """With retain_graph each further backward adds the same gradient."""
    x = api.leaf([2.0])
    y = (x * x * x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    equal(api, x.grad, [36.0])


@statement(TOPIC, "engine")
def create_graph_keeps_the_graph_too(api: Api) -> None:
    """create_graph alone retains the graph."""
    x = api.leaf([2.0])
    y = (x * x).sum()
    y.backward(create_graph=True)
    y.backward(retain_graph=True)
    equal(api, x.grad, [8.0])


@tensorplay_1_0("gives a wrong second derivative", shows="nothing was raised")
@statement(TOPIC, 11)
def create_graph_without_retaining_frees_the_first_graph(api: Api) -> None:
    """With create_graph=True and retain_graph=False the second derivative is refused, not wrong."""
    x = api.leaf([3.0])
    y = (x * x * x).sum()
    (first,) = api.grad(y, x, create_graph=True, retain_graph=False)
    raises(RuntimeError, lambda: api.grad(first.sum(), x), "second time")


@statement(TOPIC, "engine")
def several_outputs_can_be_differentiated_at_once(api: Api) -> None:
    """autograd.backward of two tensors adds the gradients of both."""
    x = api.leaf([2.0])
    api.backward([(x * 3.0).sum(), x.square().sum()])
    equal(api, x.grad, [7.0])


@statement(TOPIC, "engine")
def several_outputs_take_their_gradients(api: Api) -> None:
    """autograd.backward takes one gradient for each output."""
    x = api.leaf([2.0, 3.0])
    gradients = [api.constant([10.0, 20.0]), api.constant([1.0, 2.0])]
    api.backward([x * 1.0, x * 2.0], gradients)
    equal(api, x.grad, [12.0, 24.0])


@torch_2_13("ignores the surplus", shows="nothing was raised")
@statement(TOPIC, "bad input")
def as_many_gradients_as_outputs_are_needed(api: Api) -> None:
    """autograd.backward with one gradient too many is an error."""
    x = api.leaf([2.0])
    ones = api.constant([1.0])
    raises(RuntimeError, lambda: api.backward([x * 1.0], [ones, ones]))
    same(x.grad, None, "x.grad")


@tensorplay_lacks("autograd.backward(inputs=)")
@statement(TOPIC, "engine")
def backward_can_be_limited_to_inputs(api: Api) -> None:
    """backward(inputs=[a]) gives a gradient to a only."""
    a, b = api.leaf([2.0]), api.leaf([3.0])
    api.backward([(a * b).sum()], inputs=[a])
    equal(api, a.grad, [3.0], "the gradient of a")
    same(b.grad, None, "the gradient of b")


@tensorplay_lacks("Tensor.backward(inputs=)")
@statement(TOPIC, "engine")
def a_tensors_own_backward_can_be_limited_to_inputs(api: Api) -> None:
    """y.backward(inputs=[h]) reaches an intermediate and gives it a gradient."""
    x = api.leaf([2.0])
    h = x * 1.0
    y = h.square().sum()
    try:
        y.backward(inputs=[h])
    except TypeError as error:
        raise NotOffered("Tensor.backward(inputs=)") from error
    equal(api, h.grad, [4.0])
    same(x.grad, None, "x.grad")


@statement(TOPIC, "engine")
def backward_works_under_no_grad(api: Api) -> None:
    """A graph recorded before can be walked under no_grad."""
    x = api.leaf([3.0])
    y = x.square().sum()
    with api.no_grad():
        y.backward()
    equal(api, x.grad, [6.0])


@statement(TOPIC, "engine")
def a_leaf_is_its_own_gradient(api: Api) -> None:
    """backward on a leaf itself adds the given gradient to it."""
    x = api.leaf([3.0, 4.0])
    x.backward(api.constant([5.0, 6.0]))
    equal(api, x.grad, [5.0, 6.0])
