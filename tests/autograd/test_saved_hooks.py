"""Hooks registered on one saved slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Recorder, equal, function, leaf

graph = tp.autograd.graph


def test_register_hooks_packs_at_once_and_unpacks_later() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    y = x.sin()
    y.grad_fn._raw_saved_self.register_hooks(recorder.pack, recorder.unpack)
    assert len(recorder.packed) == 1 and recorder.unpacked == 0
    y.backward()
    assert recorder.unpacked == 1
    equal(x.grad, [np.cos(2.0)])


def test_register_hooks_refuses() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    y = x.sin()
    slot = y.grad_fn._raw_saved_self
    with pytest.raises(TypeError, match="unpack_hook must be callable"):
        slot.register_hooks(recorder.pack, 3)
    slot.register_hooks(recorder.pack, recorder.unpack)
    with pytest.raises(RuntimeError, match="only one pair"):
        slot.register_hooks(recorder.pack, recorder.unpack)
    y.backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        slot.register_hooks(recorder.pack, recorder.unpack)


def test_register_hooks_refuses_a_changed_tensor() -> None:
    x = leaf([2.0])
    h = x * 1.0
    y = h.sin()
    h.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_the_data_of_a_slot() -> None:
    x = leaf([2.0])
    plain = x.sin().grad_fn._raw_saved_self
    assert plain.data._storage is x._storage and plain.unpack_hook is None
    with graph.saved_tensor_hooks(lambda t: ("packed", t), lambda pair: pair[1]):
        y = x.sin()
    assert y.grad_fn._raw_saved_self.data[0] == "packed"


def test_a_parameter_that_forward_closes_over_keeps_its_history() -> None:
    w = leaf([3.0])

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(w)
        return x * w

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]

    x = leaf([2.0])
    (first,) = tp.autograd.grad(function(forward, backward).apply(x), x, create_graph=True)
    first.backward()
    equal(w.grad, [1.0])
