"""autograd.grad, and derivatives of higher order."""

from __future__ import annotations

import math

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, tensorplay_lacks

TOPIC = "engine and gradients"


@statement(TOPIC, "engine")
def grad_gives_a_tuple_and_touches_no_leaf(api: Api) -> None:
    """autograd.grad returns a tuple with one gradient per input and leaves every .grad alone."""
    a, b = api.leaf([2.0]), api.leaf([3.0])
    found = api.grad((a * b).sum(), [a, b])
    true(isinstance(found, tuple), f"the result is a {type(found).__name__}")
    equal(api, found[0], [3.0], "the gradient of a")
    equal(api, found[1], [2.0], "the gradient of b")
    same([a.grad is None, b.grad is None], [True, True], "no gradient of a, of b")


@statement(TOPIC, "engine")
def grad_reaches_intermediates(api: Api) -> None:
    """autograd.grad with respect to a result gives the gradient there."""
    x = api.leaf([2.0])
    h = x * 3.0
    (gradient,) = api.grad(h.square().sum(), h)
    equal(api, gradient, [12.0])


@statement(TOPIC, "engine")
def grad_of_a_tensor_by_itself_is_one(api: Api) -> None:
    """autograd.grad(y, y) is 1."""
    y = (api.leaf([2.0]) * 3.0).sum()
    equal(api, api.grad(y, y)[0], 1.0)


@statement(TOPIC, "engine")
def an_input_may_be_asked_for_twice(api: Api) -> None:
    """autograd.grad(y, [x, x]) gives the whole gradient twice."""
    x = api.leaf([2.0])
    for gradient in api.grad(x.square().sum(), [x, x]):
        equal(api, gradient, [4.0])


@statement(TOPIC, "engine")
def an_unused_input_is_an_error(api: Api) -> None:
    """autograd.grad with respect to a tensor that was not used is an error."""
    x, other = api.leaf([2.0]), api.leaf([3.0])
    raises(RuntimeError, lambda: api.grad(x.square().sum(), other), "not", "used")


@statement(TOPIC, "engine")
def an_unused_input_may_be_allowed(api: Api) -> None:
    """With allow_unused=True the gradient of a tensor that was not used is None."""
    x, other = api.leaf([2.0]), api.leaf([3.0])
    first, second = api.grad(x.square().sum(), [x, other], allow_unused=True)
    equal(api, first, [4.0])
    same(second, None, "the gradient of the unused tensor")


@tensorplay_lacks("autograd.grad(materialize_grads=)")
@statement(TOPIC, "engine")
def an_unused_input_may_be_materialized(api: Api) -> None:
    """With materialize_grads=True the gradient of a tensor that was not used is zeros."""
    x, other = api.leaf([2.0]), api.leaf([3.0, 4.0])
    found = api.grad(x.square().sum(), [x, other], materialize_grads=True)
    equal(api, found[1], [0.0, 0.0], "the gradient of the unused tensor")


@statement(TOPIC, "engine")
def an_input_that_needs_no_gradient_is_an_error(api: Api) -> None:
    """autograd.grad with respect to a constant is an error that says so."""
    x, c = api.leaf([2.0]), api.constant([3.0])
    y = (x * c).sum()
    raises(RuntimeError, lambda: api.grad(y, c), "require grad")


@tensorplay_1_0("says that the input was not used", shows="was not used in the graph")
@statement(TOPIC, "engine")
def grad_frees_the_graph(api: Api) -> None:
    """autograd.grad without retain_graph frees what it walked."""
    x = api.leaf([2.0])
    y = x.square().sum()
    api.grad(y, x)
    raises(RuntimeError, lambda: api.grad(y, x), "second time")


@statement(TOPIC, "engine")
def grad_does_not_run_what_is_below_its_inputs(api: Api) -> None:
    """autograd.grad(y, h) does not run the nodes below h, so they can still be walked."""
    x = api.leaf([2.0])
    h = x.square()
    y = h.exp().sum()
    api.grad(y, h)
    h.sum().backward()
    equal(api, x.grad, [4.0])


@statement(TOPIC, "engine")
def grad_outputs_are_multiplied_in(api: Api) -> None:
    """autograd.grad takes the gradients of its outputs."""
    x = api.leaf([1.0, 2.0])
    (found,) = api.grad(x.square(), x, grad_outputs=api.constant([10.0, 100.0]))
    equal(api, found, [20.0, 400.0])


@statement(TOPIC, "bad input")
def grad_outputs_must_have_the_shape_of_the_outputs(api: Api) -> None:
    """autograd.grad with a gradient of another shape is an error."""
    x = api.leaf([1.0, 2.0])
    raises(
        RuntimeError,
        lambda: api.grad(x.square(), x, grad_outputs=api.constant([1.0, 1.0, 1.0])),
        "shape",
    )


@statement(TOPIC, "engine")
def a_gradient_without_create_graph_is_constant(api: Api) -> None:
    """A gradient taken without create_graph does not require grad; with it, it does."""
    x = api.leaf([2.0])
    y = x.square().sum()
    (plain,) = api.grad(y, x, retain_graph=True)
    (linked,) = api.grad(y, x, create_graph=True)
    same((plain.requires_grad, linked.requires_grad), (False, True), "requires_grad")


@statement(TOPIC, "engine")
def derivatives_of_any_order_are_right(api: Api) -> None:
    """Four derivatives of x**5 at 2 are 80, 160, 240, 240."""
    x = api.leaf(2.0)
    y = x * x * x * x * x
    found = []
    for _ in range(4):
        (y,) = api.grad(y, x, create_graph=True)
        found.append(api.array(y).item())
    same(found, [80.0, 160.0, 240.0, 240.0], "derivatives")


@tensorplay_1_0("silently loses a term", shows="found 0.419974")
@statement(TOPIC, "engine")
def second_derivatives_of_activations_are_right(api: Api) -> None:
    """The second derivatives of x * tanh(x) and x * sigmoid(x) at 1 lose no term."""
    t, s = math.tanh(1.0), 1.0 / (1.0 + math.exp(-1.0))
    dt, ds = 1.0 - t * t, s * (1.0 - s)
    expected = {
        "tanh": 2.0 * dt - 2.0 * t * dt,
        "sigmoid": 2.0 * ds + ds * (1.0 - 2.0 * s),
    }
    for name, value in expected.items():
        x = api.leaf(1.0)
        (first,) = api.grad(x * getattr(x, name)(), x, create_graph=True)
        (second,) = api.grad(first, x)
        equal(api, second, value, f"the second derivative with {name}")


@tensorplay_1_0("silently loses a term", shows="found 1.")
@statement(TOPIC, "engine")
def second_derivatives_of_rectifiers_are_right(api: Api) -> None:
    """The second derivatives of x * relu(x) and x * gelu(x) at 1 lose no term."""
    distribution = 0.5 * (1.0 + math.erf(math.sqrt(0.5)))
    density = math.exp(-0.5) / math.sqrt(2.0 * math.pi)
    expected = {"relu": 2.0, "gelu": 2.0 * distribution + 3.0 * density}
    for name, value in expected.items():
        x = api.leaf(1.0)
        (first,) = api.grad(x * getattr(api.functional, name)(x), x, create_graph=True)
        (second,) = api.grad(first, x)
        equal(api, second, value, f"the second derivative with {name}")
