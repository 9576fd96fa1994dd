"""save_on_cpu: its signature, what it does with host tensors, and that it is a pair of hooks."""

from __future__ import annotations

import inspect
from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..functions import exponential, product, square
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "save_on_cpu"


@statement(TOPIC, 13)
def save_on_cpu_has_two_parameters(api: Api) -> None:
    """The parameters are pin_memory=False and device_type="cuda", in this order."""
    parameters = inspect.signature(api.graph.save_on_cpu).parameters
    found = [(each.name, each.default) for each in parameters.values()]
    same(found, [("pin_memory", False), ("device_type", "cuda")], "parameters and defaults")


@torch_2_13("exports it from autograd.graph only", shows="exports None")
@statement(TOPIC, 13)
def autograd_exports_save_on_cpu(api: Api) -> None:
    """Where autograd exports the hooks, it exports save_on_cpu of its graph module too."""
    exported = getattr(api.module.autograd, "save_on_cpu", None)
    true(exported is api.graph.save_on_cpu, f"autograd exports {exported}")


@statement(TOPIC, 13)
def save_on_cpu_changes_no_gradient(api: Api) -> None:
    """Values and gradients are as without save_on_cpu."""
    x, w = api.leaf([[0.1, 0.2], [0.3, 0.4]]), api.leaf([[0.5, -0.6], [0.7, 0.8]])

    def gradients() -> list[Any]:
        return [api.array(each) for each in api.grad(((x @ w).exp() * x).sum(), [x, w])]

    plain = gradients()
    with api.graph.save_on_cpu():
        moved = gradients()
    for expected, found in zip(plain, moved, strict=True):
        equal(api, found, expected)


@statement(TOPIC, 13)
def a_host_tensor_is_kept_without_a_copy(api: Api) -> None:
    """A tensor on the host is kept, not copied: what is read back shares the input's memory."""
    shared: list[bool] = []
    x = api.leaf([2.0, 3.0])

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        shared.append(api.same_memory(ctx.saved_tensors[0], x))
        return gradient

    with api.graph.save_on_cpu():
        y = api.function(forward, backward).apply(x)
    y.sum().backward()
    same(shared, [True], "shares memory")


@torch_2_13("gives the gradient of the changed value", shows="nothing was raised")
@tensorplay_1_0("gives the gradient of the changed value", shows="nothing was raised")
@statement(TOPIC, 10)
def a_host_tensor_written_to_after_saving_is_an_error(api: Api) -> None:
    """A host tensor kept by save_on_cpu and then changed in place is an error in backward."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    with api.graph.save_on_cpu():
        y = h.square().sum()
    with api.no_grad():
        h.add_(1.0)
    raises(RuntimeError, y.backward, "modified by an inplace operation")
    true(x.grad is None, "x got a gradient")


@torch_2_13("gives the gradient of the changed value", shows="nothing was raised")
@tensorplay_1_0("gives the gradient of the changed value", shows="nothing was raised")
@statement(TOPIC, 10)
def a_host_tensor_written_to_in_a_function_is_an_error(api: Api) -> None:
    """The check holds for what a custom Function saved under save_on_cpu."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    with api.graph.save_on_cpu():
        y = square(api).apply(h)
    with api.no_grad():
        h.add_(1.0)
    raises(RuntimeError, lambda: y.sum().backward(), "modified by an inplace operation")


@statement(TOPIC, 13)
def device_type_is_accepted_and_unused(api: Api) -> None:
    """Any device_type is accepted and changes nothing."""
    x = api.leaf([3.0])
    for name in ("cuda", "cpu", "banana"):
        with api.graph.save_on_cpu(device_type=name):
            y = x.square()
        (gradient,) = api.grad(y.sum(), x)
        equal(api, gradient, [6.0])


@statement(TOPIC, 13)
def second_derivatives_pass_through_save_on_cpu(api: Api) -> None:
    """Under save_on_cpu the second derivative of exp(x) * x at 0 is 2."""
    x = api.leaf([0.0])
    with api.graph.save_on_cpu():
        y = (exponential(api).apply(x) * x).sum()
    (first,) = api.grad(y, x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, second, [2.0], "the second derivative")


@statement(TOPIC, 13)
def save_on_cpu_inside_hooks_wins(api: Api) -> None:
    """save_on_cpu opened inside a pair of hooks replaces them."""
    recorder = Recorder()
    x = api.leaf([3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        with api.graph.save_on_cpu():
            y = x.square()
    y.sum().backward()
    same(recorder.counts, (0, 0), "calls of the outer pair")
    equal(api, x.grad, [6.0])


@statement(TOPIC, 13)
def hooks_inside_save_on_cpu_win(api: Api) -> None:
    """A pair of hooks opened inside save_on_cpu replaces it."""
    recorder = Recorder()
    x = api.leaf([3.0])
    with api.graph.save_on_cpu():
        with api.hooks(recorder.pack, recorder.unpack):
            y = x.square()
    (gradient,) = api.grad(y, x, api.constant([1.0]))
    same(recorder.counts, (1, 1), "calls of the inner pair")
    equal(api, gradient, [6.0])


@statement(TOPIC, 13)
def save_on_cpu_keeps_integer_indices(api: Api) -> None:
    """An int64 index saved under save_on_cpu selects the same gradient."""
    x = api.leaf([1.0, 2.0, 3.0])
    with api.graph.save_on_cpu():
        y = x[api.tensor([2, 2, 0])]
    y.sum().backward()
    equal(api, x.grad, [1.0, 0.0, 2.0])


@statement(TOPIC, 13)
def save_on_cpu_works_for_functions(api: Api) -> None:
    """What a custom Function saves under save_on_cpu keeps value, dtype and shape."""
    x = api.leaf([[1.0, 2.0]], api.float32)
    w = api.leaf([[3.0, 4.0]], api.float32)
    with api.graph.save_on_cpu():
        y = product(api).apply(x, w)
    y.sum().backward()
    true(x.grad.dtype == api.float32, f"the gradient has dtype {x.grad.dtype}")
    equal(api, x.grad, [[3.0, 4.0]])


@statement(TOPIC, 13)
def pinning_on_the_host_changes_no_gradient(api: Api) -> None:
    """save_on_cpu(pin_memory=True) on host tensors gives the same gradient."""
    x = api.leaf([3.0])
    with api.graph.save_on_cpu(pin_memory=True):
        y = x.square()
    y.sum().backward()
    equal(api, x.grad, [6.0])


@tensorplay_1_0("is a function", shows="not a subclass")
@statement(TOPIC, 2)
def save_on_cpu_is_a_pair_of_hooks(api: Api) -> None:
    """save_on_cpu is a subclass of saved_tensors_hooks."""
    base, derived = api.graph.saved_tensors_hooks, api.graph.save_on_cpu
    both = isinstance(base, type) and isinstance(derived, type)
    true(both and issubclass(derived, base), "save_on_cpu is not a subclass")


@tensorplay_1_0("is a generator, which runs once", shows="_GeneratorContextManager")
@statement(TOPIC, 2)
def save_on_cpu_can_be_used_again(api: Api) -> None:
    """One save_on_cpu object can be entered again after it was left."""
    x = api.leaf([3.0])
    context = api.graph.save_on_cpu()
    for _ in range(2):
        with context:
            y = x.square()
    (gradient,) = api.grad(y.sum(), x)
    equal(api, gradient, [6.0])


@torch_2_13("has no __call__", shows="no decorator")
@statement(TOPIC, 2)
def save_on_cpu_is_a_decorator(api: Api) -> None:
    """A save_on_cpu object decorates a function."""
    x = api.leaf([3.0])
    decorate = api.graph.save_on_cpu()
    true(callable(decorate), "the context cannot be called, so it is no decorator")
    y = decorate(lambda: x.square())()
    same(api.innermost_pair(), None, "the innermost pair after the call")
    (gradient,) = api.grad(y.sum(), x)
    equal(api, gradient, [6.0])


@statement(TOPIC, "bad input")
def save_on_cpu_refuses_unknown_arguments(api: Api) -> None:
    """An unknown keyword and a third positional argument are TypeErrors."""
    raises(TypeError, lambda: api.graph.save_on_cpu(banana=True))
    raises(TypeError, lambda: api.graph.save_on_cpu(False, "cuda", 1))


@statement(TOPIC, 2)
def an_exception_in_the_body_takes_save_on_cpu_off(api: Api) -> None:
    """An exception in the body of save_on_cpu goes on to the caller and the pair is gone."""

    def body() -> None:
        with api.graph.save_on_cpu():
            raise KeyError("body")

    raises(KeyError, body)
    same(api.innermost_pair(), None, "the innermost pair")
