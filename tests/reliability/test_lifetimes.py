"""With the collector off: what was packed, files, storages and ctx end with their graph."""

from __future__ import annotations

import itertools
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.observer import watching
from tensorplay_ref.course.compare import reference_counting
from tensorplay_ref.saving import on_disk
from tests.autograd.tools import (
    Parcel,
    Recorder,
    equal,
    function,
    leaf,
    square,
)
from tests.reliability.program_hooks import Faults, Pairs
from tests.reliability.program_operations import OPERATIONS, WRITES

graph = tp.autograd.graph
ALL = {**OPERATIONS, **WRITES}
PACKS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda t: t,
    "detach": lambda t: t.detach(),
    "clone": lambda t: t.clone(),
}


def watch(tensor: Any) -> list[weakref.ref[Any]]:
    """Weak references to a tensor, its storage and its node."""
    parts = [tensor, tensor._storage, tensor.grad_fn]
    return [weakref.ref(part) for part in parts if part is not None]


def alive(watched: list[weakref.ref[Any]]) -> list[Any]:
    return [part for reference in watched if (part := reference()) is not None]


ENDS = ("dropped", "after backward", "after create_graph")


@pytest.mark.parametrize("name", ALL)
def test_an_operation_goes_with_its_result(name: str) -> None:
    for pack, end in itertools.product([None, *PACKS.values()], ENDS):
        # A hook that returns the very tensor makes a cycle with one that is written in place.
        if name in WRITES and pack is PACKS["identity"]:
            continue
        with reference_counting():
            watched: list[weakref.ref[Any]] = []
            if pack is None:
                use(name, end, watched)
            else:
                with graph.saved_tensor_hooks(pack, lambda t: t):
                    use(name, end, watched)
            assert len(watched) > 8 and alive(watched) == []


def use(name: str, end: str, watched: list[weakref.ref[Any]]) -> None:
    """Run an operation to one of the ends, and note everything that was made."""
    x, w = leaf([[0.5, -1.5, 2.0]]), leaf([0.7])
    h, g = x * 1.0, w * 1.0
    result = ALL[name](tp, h, g, 2)
    if name in WRITES:
        result = h
    if end == "after backward":
        result.sum().backward()
    elif end == "after create_graph":
        grads = tp.autograd.grad(result.sum(), [x, w], create_graph=True, allow_unused=True)
        watched.extend(part for grad in grads if grad is not None for part in watch(grad))
    for tensor in (x, w, h, g, result):
        watched.extend(watch(tensor))


def test_packed_objects_end_with_backward_node_by_node_and_with_the_graph() -> None:
    with reference_counting():
        recorder = Recorder()
        x = leaf([2.0])
        with recorder.hooks():
            y = square().apply(x).sin()
        y.backward(retain_graph=True)
        assert recorder.alive == 2
        y.backward()
        assert recorder.alive == 0
        with recorder.hooks():
            y = square().apply(x).sin()
        assert recorder.alive == 2
        del y
        assert recorder.alive == 0


@pytest.mark.parametrize("place", ["hook", "function", "unpack", "node hook"])
def test_after_a_failed_backward_nothing_is_left(place: str) -> None:
    watched: list[weakref.ref[Any]] = []
    recorder = Recorder()

    def fail(*anything: Any) -> Any:
        raise KeyError(place)

    def run() -> None:
        x = leaf([2.0])
        h = x.sin()
        if place == "function":
            h = function(lambda ctx, h: h * 1.0, fail).apply(h)
        y = h.exp()
        if place == "hook":
            h.register_hook(fail)
        elif place == "node hook":
            h.grad_fn.register_hook(fail)
        if place == "unpack":
            with graph.saved_tensor_hooks(recorder.pack, fail):
                h.sin().backward()
        for tensor in (x, h, y):
            watched.extend(watch(tensor))
        y.backward()

    with reference_counting():
        with pytest.raises(KeyError) as caught, recorder.hooks():
            run()
        caught.value.__traceback__ = None
        del caught
        assert alive(watched) == [] and recorder.alive == 0


def test_after_an_exception_in_forward_nothing_is_left() -> None:
    recorder = Recorder()
    watched: list[weakref.ref[Any]] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.parcel = Parcel(None)
        y = x * 2.0
        ctx.save_for_backward(x, y)
        watched.extend([weakref.ref(ctx), weakref.ref(ctx.parcel), *watch(y)])
        raise KeyError("forward")

    with reference_counting():
        x = leaf([2.0])
        try:
            with recorder.hooks():
                function(forward).apply(x)
        except KeyError:
            pass
        assert len(watched) == 4 and alive(watched) == [] and recorder.alive == 0


def test_after_an_exception_in_pack_nothing_is_left() -> None:
    recorder = Recorder()
    watched: list[weakref.ref[Any]] = []

    def pack(tensor: Any) -> Any:
        if len(recorder.packed) == 1:
            raise KeyError("pack")
        watched.append(weakref.ref(tensor))
        return recorder.pack(tensor)

    with reference_counting():
        try:
            with graph.saved_tensor_hooks(pack, recorder.unpack):
                (leaf([2.0]) * 1.0) * (leaf([3.0]) * 1.0)
        except KeyError:
            pass
        assert recorder.alive == 0 and alive(watched) == []


def test_files_end_with_their_graph(tmp_path: Path) -> None:
    pairs = Pairs(tp, Faults(None, 0), tmp_path)
    with reference_counting():
        x = leaf([2.0])
        with pairs.context("disk"):
            y = square().apply(x).sin()
            z = x.cos()
        assert len(os.listdir(tmp_path)) == 3
        y.backward()
        assert len(os.listdir(tmp_path)) == 1
        del z
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_half_written_file_goes_though_others_keep_its_directory(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = np.save

    def full(file: Any, array: Any, allow_pickle: bool) -> None:
        save(file, array[: len(array) // 2], allow_pickle=allow_pickle)
        raise error

    x = leaf(np.ones(1000))
    with on_disk(tmp_path, min_bytes=0):
        y = (x * 1.0).sin()
        with monkeypatch.context() as patch, pytest.raises(type(error)):
            patch.setattr(np, "save", full)
            y.exp()
        assert len(list(tmp_path.rglob("*.npy"))) == 1
    y.sum().backward()
    equal(x.grad, np.cos(np.ones(1000)))


def test_intermediate_values_that_nothing_saves_end_at_once() -> None:
    with reference_counting():
        h = leaf([2.0]) * 1.0
        watched = [weakref.ref(h), weakref.ref(h._storage)]
        y = (h + 1.0).sum() * 3.0
        del h
        assert alive(watched) == [] and y.requires_grad


def test_device_bytes_end_with_their_graph() -> None:
    with reference_counting():
        before = tp.cuda.memory_allocated()
        x = tp.ones(1000, device="cuda", requires_grad=True)
        y = (x * x).sin().exp().sum()
        y.backward()
        del x, y
        assert tp.cuda.memory_allocated() == before
        x = tp.ones(1000, device="cuda", requires_grad=True)
        with graph.save_on_cpu(pin_memory=True):
            y = (x * x).sin().exp()
        del x, y
        assert tp.cuda.memory_allocated() == before


def test_a_gradient_with_a_graph_is_the_one_cycle_and_can_be_cut() -> None:
    with reference_counting():
        x = leaf([2.0])
        (x * x).backward(create_graph=True)
        watched = watch(x)
        x.grad = None
        del x
        assert alive(watched) == []


def test_a_saved_tensor_that_is_written_with_what_was_made_from_it_is_no_cycle() -> None:
    with reference_counting():
        h = leaf([2.0]) * 1.0
        with graph.save_on_cpu():
            y = h.sin()
        h.add_(y)
        watched = [*watch(h), *watch(y)]
        del h, y
        assert alive(watched) == []


def test_retaining_a_gradient_is_no_cycle() -> None:
    with reference_counting():
        h = leaf([2.0]) * 1.0
        h.retain_grad()
        h.sin().backward()
        watched = watch(h)
        del h
        assert alive(watched) == []


def test_a_gradient_that_was_summed_is_gone_before_the_next_node_runs() -> None:
    made: list[weakref.ref[Any]] = []
    found: list[Any] = []

    def watcher(kind: str, node: Any, details: dict[str, Any]) -> None:
        if node is not None and node.name() == "MulBackward" and kind == "gradients":
            made.append(weakref.ref(details["grads"][0]))
        if node is not None and node.name() == "SinBackward" and kind == "backward":
            found.extend(alive(made))

    with reference_counting(), watching(watcher):
        x, w = leaf(2.0), leaf(np.ones(1000))
        (x * w.sin()).sum().backward()
    assert len(made) == 1 and found == []


def test_the_walk_keeps_no_gradient_longer_than_it_needs() -> None:
    """A chain of n operations holds a few gradients at a time, not n."""
    living: list[int] = []
    born: list[weakref.ref[Any]] = []

    def note(grad: Any) -> Any:
        born.append(weakref.ref(grad))
        living.append(len(alive(born)))

    with reference_counting():
        x = leaf([2.0])
        y = x
        for _ in range(50):
            y = y.sin()
            y.register_hook(note)
        y.backward()
    assert len(living) == 50 and max(living) <= 2


def test_no_reference_counts_drift() -> None:
    """Ordinary training steps leave the reference counts of the shared objects as they were."""
    x, w = leaf(np.ones((3, 3))), leaf(np.ones((3, 3)))

    def step() -> None:
        with Recorder().hooks():
            ((x @ w).relu().sum() ** 2).backward()
        x.grad = w.grad = None

    step()
    shared = [x, w, x._storage, tp.Tensor, tp.float64, None, graph.saved_tensor_hooks]
    before = [sys.getrefcount(one) for one in shared]
    for _ in range(50):
        step()
    drift = [sys.getrefcount(one) - count for one, count in zip(shared, before, strict=True)]
    assert max(map(abs, drift)) < 50
