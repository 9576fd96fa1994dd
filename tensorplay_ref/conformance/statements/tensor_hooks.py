"""Hooks on tensors, retain_grad, and grad modes."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, tensorplay_lacks

TOPIC = "engine and gradients"


@statement(TOPIC, "engine")
def a_hook_on_a_result_sees_its_gradient(api: Api) -> None:
    """A hook on an intermediate gets its whole gradient, once."""
    seen: list[list[float]] = []
    x = api.leaf([2.0])
    h = x * 1.0
    h.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (h * 3.0 + h * 4.0).sum().backward()
    same(seen, [[7.0]], "gradients that the hook got")


@statement(TOPIC, "engine")
def a_hook_on_a_result_may_replace_its_gradient(api: Api) -> None:
    """What a hook returns replaces the gradient that flows on."""
    x = api.leaf([2.0])
    h = x * 1.0
    h.register_hook(lambda gradient: gradient * 10.0)
    (h * 3.0).sum().backward()
    equal(api, x.grad, [30.0])


@statement(TOPIC, "engine")
def hooks_run_in_the_order_of_registration(api: Api) -> None:
    """Each hook gets what the one before it returned."""
    x = api.leaf([2.0])
    h = x * 1.0
    h.register_hook(lambda gradient: gradient + 1.0)
    h.register_hook(lambda gradient: gradient * 10.0)
    (h * 3.0).sum().backward()
    equal(api, x.grad, [40.0])


@statement(TOPIC, "engine")
def a_hook_can_be_removed(api: Api) -> None:
    """The handle of a hook takes it off."""
    x = api.leaf([2.0])
    h = x * 1.0
    handle = h.register_hook(lambda gradient: gradient * 10.0)
    api.remove(handle)
    h.sum().backward()
    equal(api, x.grad, [1.0])


@tensorplay_1_0("a hook registered before the forward pass never runs", shows="found []")
@statement(TOPIC, "engine")
def a_hook_on_a_leaf_runs_in_every_backward(api: Api) -> None:
    """A hook on a leaf, registered before any forward, runs in each backward."""
    seen: list[list[float]] = []
    x = api.leaf([2.0])
    x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    (x * 3.0).sum().backward()
    (x * 4.0).sum().backward()
    same(seen, [[3.0], [4.0]], "gradients that the hook got")


@tensorplay_1_0("a hook registered before the forward pass never runs", shows="found []")
@statement(TOPIC, "engine")
def a_hook_after_accumulation_sees_the_leaf(api: Api) -> None:
    """A post-accumulate hook gets the leaf, with the new gradient in .grad."""
    seen: list[list[float]] = []
    x = api.leaf([2.0])
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (x * 3.0).sum().backward()
    (x * 4.0).sum().backward()
    same(seen, [[3.0], [7.0]], "x.grad in the hook")


@tensorplay_1_0("a hook registered before the forward pass never runs", shows="found [2.]")
@statement(TOPIC, "engine")
def an_optimizer_step_can_run_inside_backward(api: Api) -> None:
    """A post-accumulate hook may update its leaf and drop the gradient."""
    x = api.leaf([2.0])

    def step(leaf: Any) -> None:
        with api.no_grad():
            leaf.sub_(leaf.grad * 0.5)
        leaf.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 3.0).sum().backward()
    equal(api, x, [0.5], "x")
    same(x.grad, None, "x.grad")


@tensorplay_1_0("the error names a list", shows="Unable to cast Python instance")
@statement(TOPIC, "bad input")
def a_hook_must_return_a_tensor_or_none(api: Api) -> None:
    """A hook that returns a number is a TypeError."""
    h = api.leaf([2.0]) * 1.0
    h.register_hook(lambda gradient: 3)
    raises((TypeError, RuntimeError), lambda: h.sum().backward(), "int")


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_hook_must_keep_the_shape(api: Api) -> None:
    """A hook that returns another shape is an error."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    h.register_hook(lambda gradient: gradient[0:1])
    raises(RuntimeError, lambda: h.sum().backward())
    same(x.grad, None, "x.grad")


@statement(TOPIC, "bad input")
def a_constant_takes_no_hook(api: Api) -> None:
    """Registering a hook on a tensor that does not require grad is an error."""
    raises(RuntimeError, lambda: api.constant([2.0]).register_hook(print), "require")


@statement(TOPIC, "engine")
def an_exception_in_a_hook_comes_out(api: Api) -> None:
    """An exception in a tensor hook reaches the caller of backward as the same object."""
    error = KeyError("hook")

    def hook(gradient: Any) -> Any:
        raise error

    h = api.leaf([2.0]) * 1.0
    h.register_hook(hook)
    true(raises(KeyError, lambda: h.sum().backward()) is error, "another exception came out")


@tensorplay_1_0(".grad stays None", shows="found None")
@statement(TOPIC, "engine")
def retain_grad_keeps_the_gradient_of_a_result(api: Api) -> None:
    """After h.retain_grad() the backward leaves the gradient of h in h.grad."""
    h = api.leaf([2.0]) * 1.0
    h.retain_grad()
    (h * 3.0).sum().backward()
    equal(api, h.grad, [3.0])
    same(h.retains_grad, True, "retains_grad")


@statement(TOPIC, "engine")
def a_result_keeps_no_gradient_by_itself(api: Api) -> None:
    """Without retain_grad only leaves get a .grad."""
    x = api.leaf([2.0])
    h = x * 1.0
    (h * 3.0).sum().backward()
    true(x.grad is not None, "the leaf got no gradient")
    same(h.grad, None, "h.grad")


@tensorplay_1_0(".grad stays None", shows="found None")
@statement(TOPIC, "engine")
def retain_grad_sees_what_the_hooks_made(api: Api) -> None:
    """retain_grad keeps the gradient after the tensor's hooks, whichever came first."""
    h = api.leaf([2.0]) * 1.0
    h.retain_grad()
    h.register_hook(lambda gradient: gradient * 10.0)
    (h * 3.0).sum().backward()
    equal(api, h.grad, [30.0])


@tensorplay_1_0("loses it with the write", shows="expected [3.], found None")
@statement(TOPIC, "engine")
def retain_grad_may_be_called_again(api: Api) -> None:
    """retain_grad called twice on a result, also after a write in place, keeps one gradient."""
    x = api.leaf([2.0])
    h = x * 2.0
    h.retain_grad()
    h.retain_grad()
    h.mul_(5.0)
    h.retain_grad()
    (h * 3.0).sum().backward()
    equal(api, h.grad, [3.0], "the gradient of the result")
    equal(api, x.grad, [30.0])


@tensorplay_lacks("Node._saved_result")
@statement(TOPIC, "engine")
def the_last_of_two_handles_retains_the_gradient(api: Api) -> None:
    """Of two tensors that stand for one result, the one that asked last has its gradient."""
    with api.hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        h = api.leaf([1.0]).exp()
    twin = h.grad_fn._saved_result
    h.retain_grad()
    twin.retain_grad()
    (h * 3.0 + twin * 5.0).sum().backward()
    true(h.grad is None, "the one that asked first has a gradient")
    equal(api, twin.grad, [8.0])


@tensorplay_1_0("is accepted", shows="nothing was raised")
@statement(TOPIC, "bad input")
def a_constant_cannot_retain_grad(api: Api) -> None:
    """retain_grad on a tensor that does not require grad is an error."""
    raises(RuntimeError, lambda: api.constant([2.0]).retain_grad(), "requires_grad=False")


@statement(TOPIC, "engine")
def no_grad_nests_with_enable_grad(api: Api) -> None:
    """enable_grad inside no_grad records; the modes come back one by one."""
    x = api.leaf([2.0])
    found = []
    with api.no_grad():
        found.append((x * 1.0).requires_grad)
        with api.enable_grad():
            found.append((x * 1.0).requires_grad)
        found.append((x * 1.0).requires_grad)
    found.append((x * 1.0).requires_grad)
    same(found, [False, True, False, True], "requires_grad")


@statement(TOPIC, "engine")
def grad_mode_comes_back_after_an_exception(api: Api) -> None:
    """An exception in the body of no_grad restores the mode."""

    def body() -> None:
        with api.no_grad():
            raise KeyError("body")

    raises(KeyError, body)
    same(api.is_grad_enabled(), True, "grad mode")


@statement(TOPIC, "engine")
def no_grad_is_a_decorator(api: Api) -> None:
    """A function decorated with no_grad() runs with grad off in every call."""
    x = api.leaf([2.0])
    decorated = api.no_grad()(lambda: (x * 1.0).requires_grad)
    same([decorated(), decorated(), api.is_grad_enabled()], [False, False, True], "grad")


@statement(TOPIC, "engine")
def set_grad_enabled_acts_at_once(api: Api) -> None:
    """set_grad_enabled(False) as a context switches grad off, and it is on again after it."""
    with api.set_grad_enabled(False):
        off = api.is_grad_enabled()
    same((off, api.is_grad_enabled()), (False, True), "grad mode inside and after")


@statement(TOPIC, "engine")
def anomaly_mode_names_the_operation_that_made_nan(api: Api) -> None:
    """Under detect_anomaly a backward that makes NaN is an error that names the node."""
    x = api.leaf([0.0])
    with api.autograd.detect_anomaly():
        y = (x.sqrt() * 0.0).sum()
        raises(RuntimeError, y.backward, "sqrt", "nan")
