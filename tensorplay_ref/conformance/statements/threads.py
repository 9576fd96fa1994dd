"""Hook stacks, grad mode and graphs in several threads and tasks."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

from ..api import Api
from ..expect import equal, same, true
from ..functions import square
from ..instruments import Recorder, in_thread
from ..statement import statement, tensorplay_1_0, torch_2_13, torch_lacks

TOPIC = "hooks: threads and tasks"


def _together(works: list[Callable[[], Any]]) -> None:
    """Run each piece of work in its own thread, all at once; raise the first failure."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def body(work: Callable[[], Any]) -> None:
        try:
            barrier.wait(20.0)
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    true(not any(thread.is_alive() for thread in threads), "a thread did not end")
    if failures:
        raise failures[0]


@statement(TOPIC, 1)
def built_in_operations_of_another_thread_meet_no_foreign_hooks(api: Api) -> None:
    """A pair entered in one thread does not pack the built-in operations of another."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        in_thread(lambda: api.leaf([2.0]).sin())
    same(len(recorder.packed), 0, "packs")


@tensorplay_1_0("keeps one list for all threads", shows="found 1")
@statement(TOPIC, 1)
def functions_of_another_thread_meet_no_foreign_hooks(api: Api) -> None:
    """A pair entered in one thread does not pack the custom Functions of another."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        in_thread(lambda: square(api).apply(api.leaf([2.0])))
    same(len(recorder.packed), 0, "packs")


@torch_lacks("autograd.graph._current_pair")
@tensorplay_1_0("keeps one list for all threads", shows="expected [None], found [(")
@statement(TOPIC, 1)
def a_new_thread_starts_without_a_pair(api: Api) -> None:
    """_current_pair() is None in a thread that was started inside a context."""
    with api.hooks(lambda tensor: tensor, lambda packed: packed):
        found = in_thread(lambda: [api.graph._current_pair()])
    same(found, [None], "the current pair in the new thread")


@tensorplay_1_0("removes the pair of the other thread", shows="another one")
@statement(TOPIC, 1)
def leaving_in_one_thread_keeps_the_pair_of_another(api: Api) -> None:
    """When a thread leaves its context, this thread's pair is still its current pair."""
    mine = Recorder()
    entered, leave = threading.Event(), threading.Event()

    def other() -> bool:
        with api.hooks(lambda tensor: tensor, lambda packed: packed):
            entered.set()
            leave.wait(20.0)
        return True

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    entered.wait(20.0)
    with api.hooks(mine.pack, mine.unpack):
        leave.set()
        thread.join(20.0)
        pair = api.innermost_pair()
        square(api).apply(api.leaf([2.0]))
    true(pair is not None and pair[0] == mine.pack, "the current pair is another one")
    same(len(mine.packed), 1, "packs")


@statement(TOPIC, 1)
def eight_threads_pack_with_their_own_pairs(api: Api) -> None:
    """In eight threads at once each pair packs its own thread's saves, and nothing else."""
    recorders = [Recorder() for _ in range(8)]

    def work(number: int) -> None:
        x = api.leaf([float(number)])
        with api.hooks(recorders[number].pack, recorders[number].unpack):
            for _ in range(20):
                square(api).apply(x)

    _together([functools.partial(work, number) for number in range(8)])
    found = [{each.item() for each in recorder.packed} for recorder in recorders]
    same(found, [{float(number)} for number in range(8)], "values packed in each thread")
    same([len(recorder.packed) for recorder in recorders], [20] * 8, "packs in each thread")


@torch_2_13("all tasks of a thread share one stack", shows="found [[], [1.0, 2.0]]")
@tensorplay_1_0("all tasks of a thread share one stack", shows="found [[], [1.0, 2.0]]")
@statement(TOPIC, 1)
def interleaved_tasks_pack_with_their_own_pairs(api: Api) -> None:
    """Two asyncio tasks that wait inside their contexts pack each with its own pair."""
    first, second = Recorder(), Recorder()

    async def task(recorder: Recorder, value: float) -> None:
        with api.hooks(recorder.pack, recorder.unpack):
            await asyncio.sleep(0)
            api.leaf([value]).sin()
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(task(first, 1.0), task(second, 2.0))

    asyncio.run(both())
    found = [[each.item() for each in recorder.packed] for recorder in (first, second)]
    same(found, [[1.0], [2.0]], "values packed by either task")


@torch_2_13("all tasks of a thread share one stack", shows="found 1")
@tensorplay_1_0("all tasks of a thread share one stack", shows="found 1")
@statement(TOPIC, 1)
def a_task_does_not_see_the_pair_that_a_sibling_entered(api: Api) -> None:
    """While one task waits inside its context, another that has none packs nothing."""
    recorder = Recorder()

    async def inside() -> None:
        with api.hooks(recorder.pack, recorder.unpack):
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def outside() -> None:
        await asyncio.sleep(0)
        api.leaf([2.0]).sin()

    async def both() -> None:
        await asyncio.gather(inside(), outside())

    asyncio.run(both())
    same(len(recorder.packed), 0, "packs")


@statement(TOPIC, 1)
def grad_mode_belongs_to_the_thread(api: Api) -> None:
    """no_grad in one thread leaves grad on in another."""
    with api.no_grad():
        found = in_thread(lambda: [api.is_grad_enabled(), (api.leaf([2.0]) * 1.0).requires_grad])
    same(found, [True, True], "grad mode, requires_grad in the other thread")


@torch_2_13("all tasks of a thread share one grad mode", shows="found [False]")
@tensorplay_1_0("all tasks of a thread share one grad mode", shows="found [False]")
@statement(TOPIC, 1)
def grad_mode_belongs_to_the_task(api: Api) -> None:
    """no_grad held by one waiting task leaves grad on in another."""
    found: list[bool] = []

    async def inside() -> None:
        with api.no_grad():
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def outside() -> None:
        await asyncio.sleep(0)
        found.append(api.is_grad_enabled())

    async def both() -> None:
        await asyncio.gather(inside(), outside())

    asyncio.run(both())
    same(found, [True], "grad mode of the other task")


@statement(TOPIC, "engine")
def a_graph_can_be_walked_in_another_thread(api: Api) -> None:
    """backward works in another thread than the one that recorded the graph."""
    x = api.leaf([3.0])
    y = square(api).apply(x).sum()
    in_thread(lambda: [y.backward()])
    equal(api, x.grad, [6.0])


@tensorplay_1_0("loses a gradient in some runs", shows="expected [80., 80.]", sometimes=True)
@statement(TOPIC, "engine")
def backwards_over_a_shared_leaf_add_up(api: Api) -> None:
    """Eight threads that differentiate graphs of their own over one leaf add up their gradients."""
    x = api.leaf([1.0, 2.0])

    def work() -> None:
        for _ in range(5):
            (x * 2.0).sum().backward()

    _together([work] * 8)
    equal(api, x.grad, [80.0, 80.0])


@tensorplay_1_0("loses a gradient in some runs", shows="expected [16.]", sometimes=True)
@statement(TOPIC, "engine")
def backwards_over_one_retained_graph_add_up(api: Api) -> None:
    """Eight threads that walk one retained graph of x**2 at 1 add up to 16."""
    x = api.leaf([1.0])
    y = x.square().sum()
    _together([lambda: y.backward(retain_graph=True)] * 8)
    equal(api, x.grad, [16.0])


@statement(TOPIC, 1)
def an_exception_in_a_threads_hook_stays_there(api: Api) -> None:
    """A pack that raises in one thread does not touch the operations of this one."""
    mine = Recorder()

    def refuse(tensor: Any) -> Any:
        raise KeyError("other thread")

    def work() -> str:
        try:
            with api.hooks(refuse, lambda packed: packed):
                square(api).apply(api.leaf([2.0]))
        except KeyError:
            return "raised"
        return "silent"

    with api.hooks(mine.pack, mine.unpack):
        same(in_thread(work), "raised", "the other thread")
        square(api).apply(api.leaf([2.0]))
    same(len(mine.packed), 1, "packs of this thread")
