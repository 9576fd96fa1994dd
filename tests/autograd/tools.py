"""Small tensors and recorders that the tests of the engine share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorplay_ref as tp


def leaf(values: Any) -> tp.Tensor:
    """A float64 leaf that requires grad."""
    return tp.tensor(values, dtype=tp.float64, requires_grad=True)


def constant(values: Any) -> tp.Tensor:
    return tp.tensor(values, dtype=tp.float64)


def equal(found: Any, expected: Any) -> None:
    """The same shape and values; None only equals None."""
    if expected is None or found is None:
        assert found is expected
        return
    array = found.detach().numpy() if isinstance(found, tp.Tensor) else np.asarray(found)
    expected = np.asarray(expected, dtype=array.dtype)
    assert array.shape == expected.shape
    np.testing.assert_allclose(array, expected, rtol=1e-12, atol=1e-12)


class Parcel:
    """What a pack hook returns, so that its end can be watched."""

    def __init__(self, content: Any) -> None:
        self.content = content


class Recorder:
    """A pair of hooks that copies, and counts what it packs and unpacks."""

    def __init__(self) -> None:
        self.packed: list[Any] = []
        self.parcels: list[weakref.ref[Parcel]] = []
        self.unpacked = 0

    def pack(self, tensor: Any) -> Parcel:
        self.packed.append(tensor.detach().cpu().numpy().copy())
        parcel = Parcel(tensor.detach().clone())
        self.parcels.append(weakref.ref(parcel))
        return parcel

    def unpack(self, parcel: Parcel) -> Any:
        self.unpacked += 1
        return parcel.content

    @property
    def alive(self) -> int:
        return sum(reference() is not None for reference in self.parcels)

    def hooks(self) -> tp.autograd.graph.saved_tensor_hooks:
        return tp.autograd.graph.saved_tensor_hooks(self.pack, self.unpack)


def function(
    forward: Callable[..., Any], backward: Callable[..., Any] | None = None, name: str = "Fn"
) -> Any:
    """A Function made of two functions."""
    body: dict[str, Any] = {"forward": staticmethod(forward)}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return type(name, (tp.autograd.Function,), body)


def square(name: str = "Square") -> Any:
    """A Function that saves its input."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return function(forward, lambda ctx, grad: grad * 2.0 * ctx.saved_tensors[0], name)


def gradients(leaves: Sequence[Any]) -> list[Any]:
    return [None if t.grad is None else t.grad.detach().numpy().copy() for t in leaves]
