"""autograd.graph: the stack of hooks, its seam to a native engine, disabling, save_on_cpu."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Recorder, equal, leaf

graph = tp.autograd.graph


def identity(value: Any) -> Any:
    return value


# -- the stack ---------------------------------------------------------------------------------
def test_the_names_are_one_object() -> None:
    assert graph.saved_tensor_hooks is graph.saved_tensors_hooks
    assert tp.autograd.saved_tensor_hooks is tp.autograd.saved_tensors_hooks
    assert tp.autograd.saved_tensor_hooks is graph.saved_tensor_hooks
    assert {"saved_tensor_hooks", "saved_tensors_hooks", "save_on_cpu"} <= set(graph.__all__)
    assert issubclass(graph.save_on_cpu, graph.saved_tensor_hooks)


def test_only_the_innermost_pair_packs_and_the_outer_one_comes_back() -> None:
    outer, inner = Recorder(), Recorder()
    x = leaf([2.0])
    with outer.hooks():
        first = x.sin()
        with inner.hooks():
            second = x.sin()
        third = x.sin()
    fourth = x.sin()
    assert (len(outer.packed), len(inner.packed)) == (2, 1)
    (first + second + third + fourth).backward()
    assert (outer.unpacked, inner.unpacked) == (2, 1)
    equal(x.grad, [4 * np.cos(2.0)])


def test_the_current_pair_is_what_the_next_save_meets() -> None:
    outer, inner = Recorder(), Recorder()
    assert graph._current_pair() is None
    with outer.hooks():
        with inner.hooks():
            assert graph._current_pair() == (inner.pack, inner.unpack)
        assert graph._current_pair() == (outer.pack, outer.unpack)
    assert graph._current_pair() is None


def test_one_object_is_entered_again_and_inside_itself() -> None:
    recorder = Recorder()
    hooks = recorder.hooks()
    x = leaf([2.0])
    for _ in range(2):
        with hooks:
            with hooks:
                x.sin()
            x.sin()
        assert graph._current_pair() is None
    assert len(recorder.packed) == 4


def test_leaving_out_of_order_removes_ones_own_entry() -> None:
    first, second = Recorder(), Recorder()
    outer, inner = first.hooks(), second.hooks()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert graph._current_pair() == (second.pack, second.unpack)
    inner.__exit__(None, None, None)
    assert graph._current_pair() is None


def test_leaving_without_having_entered_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="without having been entered"):
        Recorder().hooks().__exit__(None, None, None)


def test_an_exception_in_the_body_takes_the_pair_off() -> None:
    recorder = Recorder()
    with pytest.raises(KeyError), recorder.hooks(), recorder.hooks():
        raise KeyError("body")
    assert graph._current_pair() is None


@pytest.mark.parametrize(
    ("pack", "unpack", "name"), [(3, identity, "pack"), (identity, None, "unpack")]
)
def test_what_cannot_be_called_is_refused_on_entering(pack: Any, unpack: Any, name: str) -> None:
    hooks = graph.saved_tensor_hooks(pack, unpack)
    with pytest.raises(TypeError, match=f"{name}_hook must be callable"):
        hooks.__enter__()
    assert graph._current_pair() is None


def test_as_a_decorator_it_is_open_during_each_call() -> None:
    recorder = Recorder()

    @recorder.hooks()
    def double(x: Any) -> Any:
        """Twice the sine."""
        return x.sin() * 2.0

    x = leaf([2.0])
    double(x)
    double(x=x)
    assert len(recorder.packed) == 2 and graph._current_pair() is None
    assert double.__name__ == "double" and double.__doc__ == "Twice the sine."


def test_a_subclass_is_a_pair() -> None:
    class Doubling(graph.saved_tensor_hooks):
        def __init__(self) -> None:
            super().__init__(identity, lambda t: t * 2.0)

    x = leaf([2.0])
    with Doubling():
        y = x * x
    y.backward()
    equal(x.grad, [8.0])


def test_a_pair_opened_by_pack_is_not_left_to_the_caller() -> None:
    inner = Recorder()

    def pack(tensor: Any) -> Any:
        with inner.hooks(), tp.enable_grad():
            tensor.sin()
        return tensor

    x = leaf([2.0])
    with graph.saved_tensor_hooks(pack, identity):
        before = graph._current_pair()
        x.cos()
        assert graph._current_pair() == before
    assert len(inner.packed) == 1


# -- threads and tasks -------------------------------------------------------------------------
def in_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join(20.0)
    return found[0]


def test_a_thread_starts_with_an_empty_stack_and_leaves_ours_alone() -> None:
    recorder = Recorder()

    def work() -> Any:
        before = graph._current_pair()
        graph.saved_tensor_hooks(identity, identity).__enter__()
        return before

    with recorder.hooks():
        assert in_thread(work) is None
        assert graph._current_pair() == (recorder.pack, recorder.unpack)


def test_a_pair_unpacks_in_whatever_thread_runs_backward() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    with recorder.hooks():
        y = x.sin()
    in_thread(y.backward)
    assert recorder.unpacked == 1
    equal(x.grad, [np.cos(2.0)])


def test_a_task_inherits_the_pair_and_its_own_stay_inside() -> None:
    outer, inner = Recorder(), Recorder()

    async def child() -> Any:
        found = graph._current_pair()
        inner.hooks().__enter__()
        await asyncio.sleep(0)
        return found

    async def main() -> None:
        with outer.hooks():
            assert await asyncio.create_task(child()) == (outer.pack, outer.unpack)
            assert graph._current_pair() == (outer.pack, outer.unpack)

    asyncio.run(main())


# -- disable -----------------------------------------------------------------------------------
def test_disabled_hooks_cannot_be_entered_and_saving_works() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="^not here$"), recorder.hooks():
            raise AssertionError("the body must not run")
        y = x.sin()
    y.backward()
    equal(x.grad, [np.cos(2.0)])
    with recorder.hooks():
        x.sin()
    assert len(recorder.packed) == 1


def test_disabling_nests_and_puts_the_former_message_back() -> None:
    hooks = Recorder().hooks()
    with graph.disable_saved_tensors_hooks("outer"):
        with pytest.raises(KeyError), graph.disable_saved_tensors_hooks("inner"):
            with pytest.raises(RuntimeError, match="inner"):
                hooks.__enter__()
            raise KeyError
        with pytest.raises(RuntimeError, match="outer"):
            hooks.__enter__()
    with hooks:
        pass


def test_disabling_inside_open_hooks_is_refused_and_they_stay_open() -> None:
    recorder = Recorder()
    with recorder.hooks():
        with pytest.raises(RuntimeError, match="too late"):
            with graph.disable_saved_tensors_hooks("too late"):
                raise AssertionError("the body must not run")
        leaf([2.0]).sin()
    assert len(recorder.packed) == 1


# -- save_on_cpu -------------------------------------------------------------------------------
@pytest.mark.parametrize("pinned", [False, True])
def test_save_on_cpu_brings_a_tensor_back_to_its_device(pinned: bool) -> None:
    x = tp.tensor([2.0, 3.0], dtype=tp.float32, device="cuda", requires_grad=True)
    with graph.save_on_cpu(pin_memory=pinned):
        y = (x * x).sum()
    packed = y.grad_fn.next_functions[0][0]._raw_saved_self.data
    host, device = packed
    assert host.device.type == "cpu" and host.is_pinned() is pinned and device == x.device
    y.backward()
    assert x.grad.device == x.device and x.grad.dtype == tp.float32
    equal(x.grad.cpu(), [4.0, 6.0])


def test_save_on_cpu_shares_the_memory_of_a_host_tensor() -> None:
    x = leaf([2.0])
    with graph.save_on_cpu(pin_memory=True, device_type="whatever"):
        y = x.sin()
    host, device = y.grad_fn._raw_saved_self.data
    assert host._storage is x._storage and device.type == "cpu"


# -- versions ----------------------------------------------------------------------------------
def test_increment_version_takes_one_or_many() -> None:
    x, y = leaf([2.0]), leaf([3.0])
    graph.increment_version(x)
    graph.increment_version([x, y])
    graph.increment_version(t for t in (y,))
    assert (x._version, y._version) == (2, 2)
    with pytest.raises(TypeError, match="int"):
        graph.increment_version([x, 3])
    with pytest.raises(TypeError, match="int"):
        graph.increment_version(3)
    assert x._version == 2
