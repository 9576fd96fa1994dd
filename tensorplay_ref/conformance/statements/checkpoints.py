"""checkpoint: a region is computed again instead of saved."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, same, true
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0

TOPIC = "checkpoint"


class Region:
    """exp(x * x), counting how often it runs."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, x: Any) -> Any:
        """Count and compute."""
        self.runs += 1
        return (x * x).exp()


def _derivative(value: float) -> float:
    return float(2.0 * value * np.exp(value * value))


@statement(TOPIC, "checkpoint")
def a_checkpoint_changes_no_value_and_no_gradient(api: Api) -> None:
    """A checkpointed region gives the value and the gradients of the region itself."""
    x, w = api.leaf([[0.1, 0.2], [0.3, 0.4]]), api.leaf([[0.5, -0.6], [0.7, 0.8]])

    def region(x: Any, w: Any) -> Any:
        return ((x @ w).exp() * x).sum()

    plain = region(x, w)
    expected = [api.array(each) for each in api.grad(plain, [x, w])]
    found = api.checkpoint(region, x, w)
    equal(api, found, api.array(plain), "the value")
    for gradient, wanted in zip(api.grad(found, [x, w]), expected, strict=True):
        equal(api, gradient, wanted)


@statement(TOPIC, "checkpoint")
def a_region_runs_once_more_in_backward(api: Api) -> None:
    """The region runs once in the forward pass and once in the backward pass."""
    region = Region()
    x = api.leaf([0.5])
    y = api.checkpoint(region, x)
    same(region.runs, 1, "runs after the forward pass")
    y.sum().backward()
    same(region.runs, 2, "runs after the backward pass")
    equal(api, x.grad, [_derivative(0.5)])


@statement(TOPIC, "checkpoint")
def a_region_without_backward_runs_once(api: Api) -> None:
    """A region whose result is not differentiated runs once."""
    region = Region()
    y = api.checkpoint(region, api.leaf([0.5]))
    del y
    same(region.runs, 1, "runs")


@tensorplay_1_0("keeps the inputs outside of the hooks", shows="found []")
@statement(TOPIC, "checkpoint")
def outer_hooks_see_the_inputs_of_the_region_only(api: Api) -> None:
    """Hooks around a checkpoint pack the region's input, once, and nothing that it computes."""
    recorder = Recorder()
    x = api.leaf([0.5])
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.checkpoint(Region(), x)
    same([each.tolist() for each in recorder.packed], [[0.5]], "values packed")
    y.sum().backward()
    equal(api, x.grad, [_derivative(0.5)])


@statement(TOPIC, "checkpoint")
def intermediates_of_a_region_are_not_kept(api: Api) -> None:
    """What the region computes and its operations would save is freed after the forward pass."""
    watched: list[Any] = []

    def region(x: Any) -> Any:
        h = x * x
        watched.append(weakref.ref(h))
        return h.sin()

    y = api.checkpoint(region, api.leaf([0.5]))
    true(watched[0]() is None, "the intermediate is kept alive")
    true(y.requires_grad, "the result does not require grad")


@statement(TOPIC, "checkpoint")
def parameters_in_a_closure_get_gradients(api: Api) -> None:
    """Parameters that the region uses without being its arguments get their gradients."""
    w, x = api.leaf([2.0, 3.0]), api.constant([5.0, 7.0])
    y = api.checkpoint(lambda x: (x * w * w).sum(), x)
    true(y.requires_grad, "the result does not require grad")
    y.backward()
    equal(api, w.grad, [20.0, 42.0])


@statement(TOPIC, "checkpoint")
def arguments_of_any_kind_pass_through(api: Api) -> None:
    """None, text and keyword arguments reach the region; outputs that are no tensors come out."""

    def region(x: Any, nothing: Any, text: str, *, scale: float) -> Any:
        assert nothing is None and text == "text"
        return x * x * scale, {"key": text}

    x = api.leaf([2.0])
    y, extra = api.checkpoint(region, x, None, "text", scale=3.0)
    same(extra, {"key": "text"}, "the second output")
    y.sum().backward()
    equal(api, x.grad, [12.0])


@statement(TOPIC, "checkpoint")
def under_no_grad_a_region_just_runs(api: Api) -> None:
    """Under no_grad a checkpoint runs its region once and gives a plain tensor."""
    region = Region()
    with api.no_grad():
        y = api.checkpoint(region, api.leaf([0.5]))
    same((region.runs, y.requires_grad), (1, False), "runs, requires_grad")


@tensorplay_1_0("keeps the recomputed values", shows="expected 4, found 2")
@statement(TOPIC, "checkpoint")
def a_region_can_be_walked_several_times(api: Api) -> None:
    """With retain_graph each of three backwards computes the region anew."""
    region = Region()
    x = api.leaf([0.5])
    y = api.checkpoint(region, x)
    for _ in range(3):
        y.backward(retain_graph=True)
    same(region.runs, 4, "runs")
    equal(api, x.grad, [3.0 * _derivative(0.5)])


@statement(TOPIC, "checkpoint")
def a_region_can_be_differentiated_by_grad(api: Api) -> None:
    """autograd.grad works through a checkpoint."""
    x = api.leaf([0.5])
    (gradient,) = api.grad(api.checkpoint(Region(), x).sum(), x)
    equal(api, gradient, [_derivative(0.5)])


@statement(TOPIC, "checkpoint")
def a_region_can_be_differentiated_twice(api: Api) -> None:
    """The second derivative through a checkpoint is that of the region: of x**3 at 2 it is 12."""
    x = api.leaf([2.0])
    y = api.checkpoint(lambda x: x * x * x, x)
    (first,) = api.grad(y.sum(), x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, first, [12.0], "the first derivative")
    equal(api, second, [12.0], "the second derivative")


@statement(TOPIC, "checkpoint")
def regions_in_a_row_run_once_more_each(api: Api) -> None:
    """Of two regions in a row the later is computed again first, and each once."""
    order: list[str] = []

    def region(name: str) -> Any:
        def body(x: Any) -> Any:
            order.append(name)
            return x.sin()

        return body

    x = api.leaf([0.5])
    y = api.checkpoint(region("second"), api.checkpoint(region("first"), x))
    y.backward()
    same(order, ["first", "second", "second", "first"], "order of the runs")
    equal(api, x.grad, [np.cos(np.sin(0.5)) * np.cos(0.5)])


@statement(TOPIC, "checkpoint")
def a_region_that_is_not_asked_for_is_not_run_again(api: Api) -> None:
    """A region on a branch that does not lead to the requested input is not computed again."""
    region = Region()
    x, other = api.leaf([0.5]), api.leaf([0.5])
    y = api.checkpoint(region, other) + x.square()
    (gradient,) = api.grad(y.sum(), x)
    same(region.runs, 1, "runs")
    equal(api, gradient, [1.0])


@statement(TOPIC, "checkpoint")
def several_outputs_need_one_recomputation(api: Api) -> None:
    """A backward through both outputs of a region computes it again once."""
    runs: list[int] = []

    def region(x: Any) -> Any:
        runs.append(1)
        return x.sin(), x.exp()

    x = api.leaf([0.5])
    a, b = api.checkpoint(region, x)
    (a + b).backward()
    same(len(runs), 2, "runs")
    equal(api, x.grad, [np.cos(0.5) + np.exp(0.5)])


@statement(TOPIC, "checkpoint")
def nested_regions_work(api: Api) -> None:
    """Of nested regions the outer runs twice and the inner three times; the gradient is right."""
    outer, inner = [], []

    def inner_region(x: Any) -> Any:
        inner.append(1)
        return x.sin().sin()

    def outer_region(x: Any) -> Any:
        outer.append(1)
        return api.checkpoint(inner_region, x.square()).square()

    x = api.leaf([0.5])
    y = api.checkpoint(outer_region, x)
    y.sum().backward()
    s = np.sin(0.25)
    equal(api, x.grad, [2.0 * np.sin(s) * np.cos(s) * np.cos(0.25) * 1.0])
    same((len(outer), len(inner)), (2, 3), "runs of the outer and the inner region")


@statement(TOPIC, "checkpoint")
def a_pair_inside_a_region_packs_for_itself(api: Api) -> None:
    """A pair opened inside the region replaces the checkpoint's: nothing is computed again."""
    recorder = Recorder(lambda tensor: tensor.detach().clone())
    runs: list[int] = []

    def region(x: Any) -> Any:
        runs.append(1)
        with api.hooks(recorder.pack, recorder.unpack):
            return x.sin()

    x = api.leaf([0.5])
    api.checkpoint(region, x).sum().backward()
    same((len(runs), recorder.counts), (1, (1, 1)), "runs, calls of pack and unpack")
    equal(api, x.grad, [np.cos(0.5)])


@statement(TOPIC, "checkpoint")
def a_checkpoint_works_under_save_on_cpu(api: Api) -> None:
    """save_on_cpu around a checkpoint keeps its inputs, and the gradient is right."""
    x = api.leaf([0.5])
    with api.graph.save_on_cpu():
        y = api.checkpoint(Region(), x)
    y.sum().backward()
    equal(api, x.grad, [_derivative(0.5)])


@tensorplay_1_0("gives the gradient of the changed value", shows="nothing was raised")
@statement(TOPIC, "checkpoint")
def an_input_is_saved_with_its_version(api: Api) -> None:
    """An input of a region that is changed in place before backward is an error."""
    x = api.leaf([0.5])
    h = x * 1.0
    y = api.checkpoint(Region(), h)
    with api.no_grad():
        h.add_(1.0)
    try:
        y.sum().backward()
    except RuntimeError as error:
        true("inplace" in str(error), f"another error: {error}")
    else:
        raise AssertionError(f"nothing was raised; the gradient is {x.grad.tolist()}")


@statement(TOPIC, "checkpoint")
def an_input_may_be_dropped_by_the_caller(api: Api) -> None:
    """The region keeps its input: the caller may drop it before backward."""
    x = api.leaf([0.5])
    h = x * 1.0
    y = api.checkpoint(Region(), h)
    del h
    y.sum().backward()
    equal(api, x.grad, [_derivative(0.5)])
