"""bitmask: exact gradients from one bit, for those readers alone for whom a bit is enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks
from tensorplay_ref.saving import bitmask, packing_operation
from tensorplay_ref.saving.bitmask import SIGN_ONLY

VALUES = np.array(
    [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, np.inf, -np.inf, np.nan, 3.5, -2.5], np.float32
)


def derivatives(function: Any, policy: Any) -> list[Any]:
    """First and second derivatives of function(x) * x, both saved under the policy."""
    x = tp.tensor(VALUES, requires_grad=True)
    w = tp.tensor(np.linspace(-2, 2, len(VALUES), dtype=np.float32), requires_grad=True)
    with policy:
        y = function(x) * w
        (first,) = tp.autograd.grad(y, x, tp.ones(len(VALUES)), create_graph=True)
        y.backward(tp.ones(len(VALUES)), retain_graph=True)
        second = tp.autograd.grad(first * w, [w, x], tp.ones(len(VALUES)), allow_unused=True)
    found = [first, *second, x.grad, w.grad]
    return [None if each is None else each.detach().numpy() for each in found]


@pytest.mark.parametrize(
    "function", [lambda x: x.relu(), lambda x: tp.nn.functional.leaky_relu(x, 0.1)]
)
def test_gradients_are_exact_also_of_nan_infinity_and_signed_zero(function: Any) -> None:
    policy = bitmask(skip_leaves=False)
    plain = saved_tensor_hooks(lambda t: t, lambda t: t)
    for found, right in zip(
        derivatives(function, policy), derivatives(function, plain), strict=True
    ):
        assert (found is None) == (right is None)
        if found is not None:
            assert np.array_equal(found, right, equal_nan=True)


def test_every_operation_that_is_listed_is_tried_here() -> None:
    tried: set[str] = set()

    class Tried(bitmask):
        def pack(self, tensor: Any) -> Any:
            packed = super().pack(tensor)
            if packed is not tensor and tensor.dtype != bool:
                tried.add(packing_operation())
            return packed

    derivatives(lambda x: tp.nn.functional.leaky_relu(x.relu(), 0.1), Tried(skip_leaves=False))
    assert tried == set(SIGN_ONLY)


def packed_bytes(function: Any, policy: Any) -> dict[str, int]:
    """For each operation the bytes that stand for what it saved."""
    kept: dict[str, int] = {}

    def pack(tensor: Any) -> Any:
        packed = policy.pack_hook(tensor)
        inner = getattr(packed, "packed", None)
        nbytes = tensor.nbytes if inner is None else sum(part.nbytes for part in inner.parts)
        kept[packing_operation()] = kept.get(packing_operation(), 0) + nbytes
        return packed

    with saved_tensor_hooks(pack, policy.unpack_hook):
        function()
    return kept


def test_relu_keeps_a_bit_for_each_element_and_other_readers_keep_the_tensor() -> None:
    x = tp.rand(16, 64).requires_grad_()
    w = tp.rand(64, 64)
    kept = packed_bytes(lambda: (x.tanh().relu() @ w).relu().tanh(), bitmask())
    assert kept == {"Tanh": 2 * 4096, "Relu": 2 * 128, "Matmul": 64 * 64 * 4}


def test_boolean_tensors_keep_a_bit_whoever_reads_them() -> None:
    x = tp.rand(16, 64).requires_grad_()
    kept = packed_bytes(lambda: tp.where(x > 0.5, x, x * 2.0), bitmask())
    assert list(kept.values()) == [128]


def test_a_function_of_ones_own_can_be_named() -> None:
    class Step(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.relu()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * (x > 0)

    def function() -> Any:
        return Step.apply(x * 1.0)

    x = tp.linspace(-1.0, 1.0, 64).requires_grad_()
    assert packed_bytes(function, bitmask()) == {"Step": 256}
    assert packed_bytes(function, bitmask(also=["Step"])) == {"Step": 8}
    with bitmask(also=["Step"]):
        y = function()
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 32 + [1.0] * 32


def test_a_single_name_is_refused_because_it_would_be_read_as_letters() -> None:
    with pytest.raises(TypeError, match="collection of names"):
        bitmask(also="Relu")
