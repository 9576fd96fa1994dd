"""Policies as contexts, on the way out, with the garbage collector off, and in threads."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import _current_pair
from tensorplay_ref.saving import Policy, cast, offload, on_disk
from tests.saving.round_trip import Noting, all_policies

ALL = list(all_policies())


@pytest.mark.parametrize("name", ALL)
def test_a_policy_is_a_reusable_nestable_context_and_a_decorator(name: str) -> None:
    policy = all_policies()[name]
    other = on_disk()

    def hooks() -> Any:
        return _current_pair()

    with policy:
        assert hooks() == (policy.pack_hook, policy.unpack_hook)
        with other, policy, policy:
            assert hooks() == (policy.pack_hook, policy.unpack_hook)
        assert hooks() == (policy.pack_hook, policy.unpack_hook)
    assert policy(hooks)() == (policy.pack_hook, policy.unpack_hook)
    assert hooks() is None


def test_the_innermost_policy_alone_packs() -> None:
    outer, inner = Noting(), Noting()
    x = tp.rand(4).requires_grad_()
    with outer:
        with inner:
            h = x.exp()
        y = h.tanh()
    assert (outer.packs, inner.packs) == (1, 1)
    y.sum().backward()


@pytest.mark.parametrize("name", ALL)
def test_an_exception_in_the_body_leaves_no_hooks(name: str) -> None:
    with pytest.raises(KeyError):
        with all_policies()[name]:
            raise KeyError("body")
    assert _current_pair() is None


def test_an_exception_in_pack_leaves_the_inputs_as_they_were() -> None:
    class Failing(Policy):
        def pack(self, tensor: Any) -> Any:
            raise OSError("no space")

    x = tp.ones(3, requires_grad=True)
    h = x.exp()
    version = h._version
    with Failing(), pytest.raises(OSError, match="no space"):
        h.tanh()
    with Failing(), pytest.raises(OSError, match="no space"):
        h.tanh_()
    assert h._version == version
    h.sum().backward()
    assert np.allclose(x.grad.numpy(), np.e)


# -- lifetimes and threads -------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
def test_graph_and_packed_values_go_by_reference_counting(name: str, no_gc: None) -> None:
    host_before = tp.cuda.host_memory_allocated()
    with tp.cuda.simulate(capacity=1_000_000) as device:
        policy = all_policies()[name]
        gone = weakref.ref(policy)
        x = tp.ones(64, 64, device=device, requires_grad=True)
        live = tp.cuda.memory_allocated()
        with policy:
            y = ((x.tanh() @ x).relu() > 0.5) * x.sigmoid()
        del y
        assert tp.cuda.memory_allocated() == live
        with policy:
            y = (x.tanh() @ x).relu().sum()
        y.backward()
        x.grad = None
        assert tp.cuda.memory_allocated() == live + y.nbytes
        assert tp.cuda.host_memory_allocated() == host_before
        del policy
        assert gone() is None
        del x, y


@pytest.mark.parametrize("name", ALL)
def test_threads_may_share_a_policy_and_a_tensor(name: str) -> None:
    policy = all_policies()[name]
    x = tp.linspace(-1.0, 1.0, 4096).reshape(64, 64)
    found: list[Any] = []

    def work() -> None:
        for _ in range(5):
            w = x.clone().requires_grad_()
            with policy:
                y = ((w.tanh() * x) @ x).relu().sum()
            y.backward()
            found.append(w.grad.numpy())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    assert all(np.array_equal(each, found[0]) for each in found)


def test_bad_options_are_refused() -> None:
    for call in (lambda: cast("float16", banana=1), lambda: offload(banana=1)):
        with pytest.raises(TypeError, match="banana"):
            call()
