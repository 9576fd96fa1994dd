"""What all policies have in common: contract, options, protection, nesting, lifetimes, threads."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks
from tensorplay_ref.saving import Policy, cast, compress, offload, on_disk, quantize
from tests.saving.round_trip import (
    Noting,
    all_policies,
    arrays,
    bits,
    exact_policies,
    lossy_policies,
    round_trip,
)

EXACT = list(exact_policies())
LOSSY = list(lossy_policies())
ALL = list(all_policies())


@pytest.mark.parametrize("name", EXACT)
@given(array=arrays())
@settings(max_examples=40, deadline=None)
def test_exact_policies_give_every_bit_back(name: str, array: Any) -> None:
    assert bits(round_trip(exact_policies()[name], array)) == bits(array)


@pytest.mark.parametrize("name", EXACT)
@given(array=arrays())
@settings(max_examples=15, deadline=None)
def test_exact_policies_give_every_bit_back_to_the_device(name: str, array: Any) -> None:
    before = tp.cuda.host_memory_allocated()
    with tp.cuda.simulate(capacity=1_000_000):
        assert bits(round_trip(exact_policies()[name], array, "cuda")) == bits(array)
        assert tp.cuda.memory_allocated() == 0
    assert tp.cuda.host_memory_allocated() == before


@pytest.mark.parametrize("name", LOSSY)
@given(array=arrays())
@settings(max_examples=40, deadline=None)
def test_lossy_policies_keep_shape_dtype_zeros_and_signs(name: str, array: Any) -> None:
    found = round_trip(lossy_policies()[name], array)
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    if array.dtype.kind == "f":
        assert np.array_equal(np.isnan(found), np.isnan(array))
        assert np.array_equal(np.sign(found), np.sign(array), equal_nan=True)
    else:
        assert bits(found) == bits(array)


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_axes_in_memory_is_kept(name: str) -> None:
    array = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32).T
    policy = all_policies()[name]
    unpacked = policy.unpack_hook(policy.pack_hook(tp.from_numpy(array)))
    assert unpacked._array.strides == array.strides


@pytest.mark.parametrize("name", [name for name in ALL if name != "int4"])
def test_gradients_of_second_order_pass(name: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((16, 16)).astype(np.float32)

    def derivative(policy: Any) -> Any:
        w = tp.tensor(values, requires_grad=True)
        with policy:
            h = (w.tanh() @ w).sigmoid()
            (first,) = tp.autograd.grad(h.sum(), w, create_graph=True)
            total = (first * first).sum()
        return tp.autograd.grad(total, w)[0].numpy()

    right = derivative(saved_tensor_hooks(lambda t: t, lambda t: t))
    found = derivative(all_policies()[name])
    if name in EXACT:
        assert np.array_equal(found, right)
    else:
        assert np.abs(found - right).max() < 0.1 * np.abs(right).max()


# -- options ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cast("float16", min_byte=3), "cast: there is no option 'min_byte'; every policy"),
        (lambda: cast("float16", min_bytes="x"), "cast: min_bytes must be a number, found 'x'"),
        (lambda: quantize(skip_leaves="x"), "quantize: skip_leaves must be True or False"),
        (lambda: Policy(deduplicate=[]), "Policy: deduplicate must be True or False"),
        (lambda: cast("float33"), "cast: there is no dtype 'float33'"),
        (lambda: quantize(axis=True), "quantize: axis must be an int or None, found True"),
        (lambda: compress(level="a"), "compress: level must be a whole number, found 'a'"),
        (lambda: compress(shuffle="no"), "compress: shuffle must be True or False"),
        (lambda: offload(pin_memory="no"), "offload: pin_memory must be True or False"),
        (lambda: on_disk(3), "on_disk: directory must be a path, found 3"),
    ],
)
def test_options_of_another_type_are_named(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_parameters_and_their_views_are_left_unless_asked_for() -> None:
    w = tp.ones(8, 8, requires_grad=True)
    x = tp.ones(8, 8)
    for tensor, touched in ((w, False), (w.T, False), (w[2:], False), (x, True), (w * 1.0, True)):
        packed = quantize().pack_hook(tensor)
        assert (type(packed).__name__ != "Kept") is touched
        assert type(quantize(skip_leaves=False).pack_hook(tensor)).__name__ != "Kept"


def test_small_tensors_are_left() -> None:
    policy = cast("float16", min_bytes=100)
    assert type(policy.pack_hook(tp.ones(24))).__name__ == "Kept"
    assert type(policy.pack_hook(tp.ones(25))).__name__ != "Kept"


def test_the_same_values_are_packed_once() -> None:
    class Counting(Policy):
        packs = 0

        def pack(self, tensor: Any) -> Any:
            self.packs += 1
            return [tensor.detach().clone()]

        def unpack(self, packed: Any) -> Any:
            return packed[0]

    policy, twice = Counting(), Counting(deduplicate=False)
    x = tp.rand(4, 4).requires_grad_()
    for counting, expected in ((policy, 1), (twice, 4)):
        with counting:
            h = x.exp()
            y = (h * h + h.relu() * 0.0 + h * h.detach().requires_grad_(False)).sum()
        assert counting.packs == expected + 1  # relu's result is another tensor
        y.backward()


def test_views_versions_and_later_tensors_are_not_mistaken_for_each_other() -> None:
    policy = Noting()
    x = tp.rand(4, 4)
    first = policy.pack_hook(x)
    assert policy.pack_hook(x.detach()) is first
    held = [first]
    for view in (x.T, x[1:], x[:, 1:], x.reshape(16), x[1], x[::2], x[:2], x[2:], x[2]):
        packed = policy.pack_hook(view)
        assert all(packed is not other for other in held)
        assert np.array_equal(policy.unpack_hook(packed).numpy(), view.numpy())
        held.append(packed)
    x.add_(1.0)
    second = policy.pack_hook(x)
    assert second is not first
    assert np.array_equal(policy.unpack_hook(second).numpy(), x.numpy())
    before = policy.packs
    for _ in range(20):
        # Each tensor is likely to get the address, and the id, of the one before.
        y = tp.rand(4, 4)
        assert np.array_equal(policy.unpack_hook(policy.pack_hook(y)).numpy(), y.numpy())
    assert policy.packs == before + 20


def test_shared_values_are_dropped_with_the_last_slot(no_gc: None) -> None:
    policy = Noting()
    x = tp.rand(4, 4)
    first, second = policy.pack_hook(x), policy.pack_hook(x)
    watched = weakref.ref(first.packed[0])
    del first
    assert watched() is not None
    del second
    assert watched() is None
    policy.pack_hook(x)
    assert policy.packs == 2


# -- protection ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
def test_what_is_left_as_it_is_must_not_be_changed_in_place(name: str) -> None:
    w = tp.ones(3, requires_grad=True)
    x = tp.ones(3, requires_grad=True)
    with all_policies()[name]:
        y = (x * w).sum()
    with tp.no_grad():
        w.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize("name", ["on_disk", "compress", "float16", "int8 per tensor"])
def test_what_is_packed_may_be_changed_in_place(name: str) -> None:
    x = tp.ones(64, requires_grad=True)
    h = x * 2.0
    with all_policies()[name]:
        y = (h * h).sum()
    with tp.no_grad():
        h.zero_()
    y.backward()
    assert np.allclose(x.grad.numpy(), 8.0)


def test_what_is_left_as_it_is_keeps_the_values_and_not_the_tensor(no_gc: None) -> None:
    h = tp.ones(3, requires_grad=True) * 2.0
    gone, values = weakref.ref(h), weakref.ref(h._storage)
    with cast("float16", min_bytes=100):
        y = (h * h).sum()
    del h
    assert gone() is None and values() is not None
    y.backward()


def test_in_place_operations_inside_are_saved_as_they_were() -> None:
    def gradient(policy: Any) -> Any:
        x = tp.linspace(0.1, 1.0, 64).requires_grad_()
        with policy:
            h = x * 1.0
            h.mul_(x).tanh_()
            h[:32].mul_(h[32:].clone())
        h.sum().backward()
        return x.grad.numpy()

    right = gradient(saved_tensor_hooks(lambda t: t.clone(), lambda t: t))
    for name, policy in exact_policies().items():
        assert np.array_equal(gradient(policy), right), name
