"""When unpack runs, where, and that its result is what backward computes with."""

from __future__ import annotations

import threading
from typing import Any

from ..api import Api
from ..expect import equal, same
from ..instruments import Recorder, in_thread
from ..statement import statement, torch_2_13

TOPIC = "hooks: unpacking"


@statement(TOPIC, 8)
def unpack_runs_once_per_slot_and_backward(api: Api) -> None:
    """One backward unpacks each slot once: twice for x * x, and not before the backward."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = x * x
    same(recorder.counts, (2, 0), "calls before backward")
    y.backward(api.constant([1.0, 1.0]))
    same(recorder.counts, (2, 2), "calls after backward")
    equal(api, x.grad, [4.0, 6.0])


@statement(TOPIC, 8)
def every_retained_backward_unpacks_again(api: Api) -> None:
    """Three backwards through one graph unpack three times what was packed once."""
    recorder = Recorder()
    x = api.leaf([2.0, 3.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = x.sin()
    for _ in range(3):
        y.backward(api.constant([1.0, 1.0]), retain_graph=True)
    same(recorder.counts, (1, 3), "calls of pack and unpack")


@statement(TOPIC, 8)
def every_read_of_saved_tensors_unpacks(api: Api) -> None:
    """Each read of ctx.saved_tensors calls unpack anew; nothing is cached."""
    recorder = Recorder()

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, gradient: Any) -> Any:
        values = [ctx.saved_tensors[0] for _ in range(3)]
        return gradient * (values[0] + values[1])

    x = api.leaf([2.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.function(forward, backward).apply(x)
    y.sum().backward()
    same(recorder.counts, (1, 3), "calls of pack and unpack")
    equal(api, x.grad, [4.0])


@statement(TOPIC, 8)
def every_read_gives_a_new_tensor(api: Api) -> None:
    """Under hooks each read of ctx.saved_tensors gives another tensor object."""
    objects: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        objects.extend(ctx.saved_tensors[0] for _ in range(3))
        return gradient

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, lambda packed: packed):
        y = api.function(forward, backward).apply(x)
    y.sum().backward()
    same(len({id(each) for each in objects}), 3, "different objects in three reads")


@statement(TOPIC, 8)
def without_hooks_a_saved_input_is_the_input(api: Api) -> None:
    """Without hooks ctx.saved_tensors gives back the very tensor that was an input."""
    found: list[bool] = []
    x = api.leaf([2.0])

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        found.append(ctx.saved_tensors[0] is x)
        return gradient

    api.function(forward, backward).apply(x).sum().backward()
    same(found, [True], "saved_tensors[0] is x")


@statement(TOPIC, 8)
def a_backward_that_never_looks_unpacks_nothing(api: Api) -> None:
    """A Function whose backward does not read ctx.saved_tensors calls no unpack."""
    recorder = Recorder()

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 3.0

    x = api.leaf([2.0])
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.function(forward, lambda ctx, gradient: gradient * 3.0).apply(x)
    y.sum().backward()
    same(recorder.counts, (1, 0), "calls of pack and unpack")
    equal(api, x.grad, [3.0])


@statement(TOPIC, 8)
def a_dropped_graph_unpacks_nothing(api: Api) -> None:
    """Dropping a graph without a backward calls no unpack."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.leaf([2.0]).sin()
    del y
    same(recorder.counts, (1, 0), "calls of pack and unpack")


@statement(TOPIC, 8)
def branches_that_are_not_asked_for_unpack_nothing(api: Api) -> None:
    """autograd.grad of one input leaves the slots of a branch that does not lead to it alone."""
    asked, other = Recorder(), Recorder()
    a, b = api.leaf([2.0]), api.leaf([5.0])
    with api.hooks(asked.pack, asked.unpack):
        left = a.sin()
    with api.hooks(other.pack, other.unpack):
        right = b.sin()
    api.grad((left + right).sum(), a)
    same((asked.counts, other.counts), ((1, 1), (1, 0)), "calls on either branch")


@statement(TOPIC, 8)
def unpack_runs_with_grad_off_in_a_plain_backward(api: Api) -> None:
    """In a plain backward unpack runs with grad off."""
    modes: list[bool] = []

    def unpack(packed: Any) -> Any:
        modes.append(api.is_grad_enabled())
        return packed

    with api.hooks(lambda tensor: tensor, unpack):
        y = api.leaf([2.0]).sin()
    y.sum().backward()
    same(modes, [False], "grad mode in unpack")


@statement(TOPIC, 8)
def unpack_runs_with_grad_on_when_a_graph_is_created(api: Api) -> None:
    """In a backward with create_graph unpack runs with grad on, the mode of its reader."""
    modes: list[bool] = []

    def unpack(packed: Any) -> Any:
        modes.append(api.is_grad_enabled())
        return packed

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, unpack):
        y = x.sin()
    api.grad(y.sum(), x, create_graph=True)
    same(modes, [True], "grad mode in unpack")


@statement(TOPIC, 8)
def unpack_runs_in_the_thread_that_calls_backward(api: Api) -> None:
    """unpack runs in the thread of the backward, though another thread packed."""
    threads: list[int] = []

    def unpack(packed: Any) -> Any:
        threads.append(threading.get_ident())
        return packed

    def work() -> int:
        y.sum().backward()
        return threading.get_ident()

    x = api.leaf([2.0])
    with api.hooks(lambda tensor: tensor, unpack):
        y = x.square()
    same(threads + [in_thread(work)], threads[:1] * 2, "threads of unpack and of backward")
    equal(api, x.grad, [4.0])


@statement(TOPIC, 8)
def slots_are_unpacked_in_the_order_of_the_backward(api: Api) -> None:
    """sin(x).exp() packs sin's input first and unpacks it last: backward runs in reverse."""
    numbers = iter(range(10))
    order: list[int] = []

    def pack(tensor: Any) -> Any:
        return next(numbers), tensor.detach()

    def unpack(packed: Any) -> Any:
        order.append(packed[0])
        return packed[1]

    with api.hooks(pack, unpack):
        y = api.leaf([2.0]).sin().exp()
    y.sum().backward()
    same(order, [1, 0], "order of unpacking")


@torch_2_13("gives () until forward has returned", shows="found ([0], (1, 0))")
@statement(TOPIC, 8)
def reading_saved_tensors_inside_forward_is_possible(api: Api) -> None:
    """ctx.saved_tensors can be read inside forward, after saving; under hooks that unpacks."""
    recorder = Recorder()
    read: list[int] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        read.append(len(ctx.saved_tensors))
        return x * 1.0

    with api.hooks(recorder.pack, recorder.unpack):
        api.function(forward).apply(api.leaf([2.0]))
    same((read, recorder.counts), ([1], (1, 1)), "tensors read, calls of pack and unpack")
