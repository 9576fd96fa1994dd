"""checkpoint: random numbers, early stop, errors, contexts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..api import Api
from ..expect import equal, raises, raises_itself, same, true
from ..statement import statement, tensorplay_1_0

TOPIC = "checkpoint"


@statement(TOPIC, "checkpoint")
def random_numbers_are_the_same_in_the_recomputation(api: Api) -> None:
    """A random mask inside a region is the same when it is computed again."""
    api.manual_seed(1)
    x = api.leaf(np.ones(16).tolist())
    y = api.checkpoint(lambda x: x.square() * api.rand(16, dtype=api.float64), x)
    mask = api.array(y)
    api.rand(3)
    y.sum().backward()
    equal(api, x.grad, 2.0 * mask)


@statement(TOPIC, "checkpoint")
def the_recomputation_leaves_the_random_stream_alone(api: Api) -> None:
    """What comes next from the random stream does not depend on a recomputation."""

    def following(walk: bool) -> Any:
        api.manual_seed(1)
        y = api.checkpoint(lambda x: x.square() * api.rand(1, dtype=api.float64), api.leaf([2.0]))
        if walk:
            y.sum().backward()
        return api.array(api.rand(4)).tolist()

    same(following(walk=True), following(walk=False), "the numbers that follow")


@statement(TOPIC, "checkpoint")
def the_random_stream_can_be_left_to_itself(api: Api) -> None:
    """With preserve_rng_state=False the recomputation draws new numbers."""
    api.manual_seed(1)
    x = api.leaf(np.ones(16).tolist())
    y = api.checkpoint(
        lambda x: x.square() * api.rand(16, dtype=api.float64), x, preserve_rng_state=False
    )
    mask = api.array(y)
    y.sum().backward()
    true(not np.allclose(api.array(x.grad), 2.0 * mask), "the mask was the same")


class Changing:
    """Runs one function the first time and another from then on."""

    def __init__(self, first: Any, later: Any) -> None:
        self._functions = [first]
        self._later = later

    def __call__(self, x: Any) -> Any:
        """Run the function whose turn it is."""
        return (self._functions.pop() if self._functions else self._later)(x)


@statement(TOPIC, "checkpoint")
def a_checkpoint_error_is_a_runtime_error(api: Api) -> None:
    """CheckpointError is a RuntimeError."""
    true(issubclass(api.CheckpointError, RuntimeError), "it is another kind of exception")


@statement(TOPIC, "checkpoint")
def fewer_saves_in_the_recomputation_are_an_error(api: Api) -> None:
    """A recomputation that saves fewer tensors is a CheckpointError with both numbers."""
    region = Changing(lambda x: (x * x).exp(), lambda x: x.exp())
    y = api.checkpoint(region, api.leaf([0.5]))
    raises(api.CheckpointError, lambda: y.sum().backward(), "3", "1")


@tensorplay_1_0("names no shape", shows="saved value metadata changed")
@statement(TOPIC, "checkpoint")
def another_shape_in_the_recomputation_is_an_error(api: Api) -> None:
    """A recomputation that saves another shape is a CheckpointError that names both shapes."""
    region = Changing(lambda x: x.sin().sum(), lambda x: x[0:2].sin().sum())
    x = api.leaf([0.1, 0.2, 0.3])
    y = api.checkpoint(region, x)
    error = str(raises(api.CheckpointError, y.backward))
    true("3" in error and "2" in error and "shape" in error, f"the message is {error!r}")
    same(x.grad, None, "x.grad")


@tensorplay_1_0("names no dtype", shows="saved value metadata changed")
@statement(TOPIC, "checkpoint")
def another_dtype_in_the_recomputation_is_an_error(api: Api) -> None:
    """A recomputation that saves another dtype is a CheckpointError that names both dtypes."""
    region = Changing(lambda x: x.sin(), lambda x: x.to(api.float32).sin())
    y = api.checkpoint(region, api.leaf([0.5]))
    raises(api.CheckpointError, lambda: y.sum().backward(), "float64", "float32")


@statement(TOPIC, "checkpoint")
def more_saves_without_early_stop_are_an_error(api: Api) -> None:
    """Without early stop a recomputation that saves more tensors is a CheckpointError."""
    region = Changing(lambda x: x.sin(), lambda x: x.sin().exp())
    y = api.checkpoint(region, api.leaf([0.5]), early_stop=False)
    raises(api.CheckpointError, lambda: y.sum().backward())


@tensorplay_1_0("does not name the wrong one", shows="must be 'default' or 'none'")
@statement(TOPIC, "bad input")
def determinism_check_knows_two_values(api: Api) -> None:
    """A determinism_check other than "default" and "none" is a ValueError that names it."""
    raises(
        ValueError,
        lambda: api.checkpoint(lambda x: x.sin(), api.leaf([0.5]), determinism_check="some"),
        "some",
    )


@statement(TOPIC, "checkpoint")
def the_determinism_check_can_be_switched_off(api: Api) -> None:
    """With determinism_check="none" a recomputation that saves another float dtype is taken."""
    region = Changing(lambda x: x.square(), lambda x: x.to(api.float32).square())
    x = api.leaf([0.5])
    y = api.checkpoint(region, x, determinism_check="none")
    y.sum().backward()
    equal(api, x.grad, [1.0])


@statement(TOPIC, "checkpoint")
def an_exception_in_the_region_comes_out(api: Api) -> None:
    """An exception of the region in the forward pass comes out, and the hooks are off."""
    error = KeyError("region")

    def region(x: Any) -> Any:
        x.sin()
        raise error

    raises_itself(error, lambda: api.checkpoint(region, api.leaf([0.5])))
    same(api.innermost_pair(), None, "the innermost pair")


@statement(TOPIC, "checkpoint")
def an_exception_in_the_recomputation_comes_out(api: Api) -> None:
    """An exception of the region in the backward pass comes out, and no leaf has a gradient."""
    error = KeyError("recomputation")

    def refuse(x: Any) -> Any:
        raise error

    x = api.leaf([0.5])
    y = api.checkpoint(Changing(lambda x: x.sin(), refuse), x).sum()
    raises_itself(error, y.backward)
    same([x.grad is None, api.innermost_pair()], [True, None], "no gradient, innermost pair")


@statement(TOPIC, "checkpoint")
def the_recomputation_stops_early(api: Api) -> None:
    """The recomputation ends with the last tensor it needs: what follows does not run again."""
    events: list[str] = []

    def region(x: Any) -> Any:
        y = x.sin()
        events.append("after the last save")
        return y + 1.0

    x = api.leaf([0.5])
    api.checkpoint(region, x).sum().backward()
    same(len(events), 1, "runs of what follows the last save")
    equal(api, x.grad, [np.cos(0.5)])


@statement(TOPIC, "checkpoint")
def the_recomputation_can_run_to_its_end(api: Api) -> None:
    """With early_stop=False the recomputation runs to the end of the region."""
    events: list[str] = []

    def region(x: Any) -> Any:
        y = x.sin()
        events.append("after the last save")
        return y + 1.0

    api.checkpoint(region, api.leaf([0.5]), early_stop=False).sum().backward()
    same(len(events), 2, "runs of what follows the last save")


@statement(TOPIC, "checkpoint")
def the_recomputation_runs_with_grad_on(api: Api) -> None:
    """The region is computed again with grad on, also in a plain backward."""
    modes: list[bool] = []

    def region(x: Any) -> Any:
        modes.append(api.is_grad_enabled())
        return x.sin()

    api.checkpoint(region, api.leaf([0.5])).sum().backward()
    same(modes, [True, True], "grad mode in both runs")
    true(api.is_grad_enabled(), "grad mode is off afterwards")


@statement(TOPIC, "checkpoint")
def contexts_can_be_given_for_both_runs(api: Api) -> None:
    """context_fn gives one context for the forward run and one for the recomputation."""
    events: list[str] = []

    @contextmanager
    def context(name: str) -> Iterator[None]:
        events.append(f"enter {name}")
        try:
            yield
        finally:
            events.append(f"leave {name}")

    y = api.checkpoint(
        lambda x: x.sin(),
        api.leaf([0.5]),
        context_fn=lambda: (context("forward"), context("recomputation")),
    )
    same(events, ["enter forward", "leave forward"], "events in the forward pass")
    y.sum().backward()
    same(events[2:], ["enter recomputation", "leave recomputation"], "events in backward")


@statement(TOPIC, "checkpoint")
def a_region_of_constants_is_not_recorded(api: Api) -> None:
    """A region in which nothing requires grad gives a plain tensor."""
    y = api.checkpoint(lambda x: (x * x).exp(), api.constant([0.5]))
    same((y.requires_grad, y.grad_fn is None), (False, True), "requires_grad, no grad_fn")


@statement(TOPIC, "checkpoint")
def one_leaf_in_two_regions_adds_up(api: Api) -> None:
    """A parameter used in two regions gets the sum of both gradients."""
    w = api.leaf([0.5])
    y = api.checkpoint(lambda x: x.square(), w) + api.checkpoint(lambda x: x * x * x, w)
    y.sum().backward()
    equal(api, w.grad, [1.0 + 0.75])


@statement(TOPIC, "checkpoint")
def a_function_inside_a_region_is_applied_again(api: Api) -> None:
    """A custom Function inside a region saves anew in the recomputation and is differentiated."""
    forwards: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        forwards.append(1)
        ctx.save_for_backward(x)
        return x * x

    function = api.function(forward, lambda ctx, g: g * 2.0 * ctx.saved_tensors[0])
    x = api.leaf([3.0])
    api.checkpoint(function.apply, x).sum().backward()
    same(len(forwards), 2, "runs of forward")
    equal(api, x.grad, [6.0])
