"""Complex numbers have no order: what needs one says so, as PyTorch does."""

import operator

import numpy as np
import pytest

import tensorplay_ref as tp

Z = tp.tensor(np.array([[1 + 2j, 0.5 - 1j], [-1 + 0j, 3j]], np.complex64))

F = tp.nn.functional


def chance(p):
    return tp.bernoulli(tp.ones(2, 2), p)


NEEDS_ORDER = {
    "<": [lambda: Z < Z, lambda: Z < 1.0, lambda: tp.lt(Z, Z), lambda: 2.0 > Z],
    "<=": [lambda: Z <= Z, lambda: Z.le(0), lambda: tp.le(Z, 1)],
    ">": [lambda: Z > Z, lambda: Z > 1j, lambda: np.greater(Z, Z), lambda: tp.ones(2) > 1j],
    ">=": [lambda: Z >= Z, lambda: Z.ge(0.0), lambda: operator.ge(Z, tp.ones(2))],
    "clamp": [lambda: Z.clamp(0), lambda: Z.clip(max=1.0), lambda: Z.clone().clamp_(0.0, 1.0)],
    "maximum": [lambda: Z.maximum(Z), lambda: Z.max(Z), lambda: tp.maximum(Z, Z)],
    "minimum": [lambda: Z.minimum(Z), lambda: Z.min(Z), lambda: np.minimum(Z, Z)],
    "max": [lambda: Z.max(), lambda: Z.max(0), lambda: tp.max(Z, 1)],
    "min": [lambda: Z.min(), lambda: Z.min(0)],
    "amax": [lambda: Z.amax(), lambda: Z.amax((0, 1))],
    "amin": [lambda: Z.amin(), lambda: Z.amin(1)],
    "argmax": [lambda: Z.argmax(), lambda: Z.argmax(0)],
    "argmin": [lambda: Z.argmin(), lambda: tp.argmin(Z, 1)],
    "sort": [lambda: Z.sort(), lambda: Z.argsort(), lambda: Z.topk(1)],
    "round": [lambda: Z.round(), lambda: Z.clone().round_(), lambda: np.rint(Z)],
    "floor": [lambda: Z.floor()],
    "ceil": [lambda: Z.ceil()],
    "trunc": [lambda: Z.trunc()],
    "relu": [lambda: Z.relu(), lambda: tp.nn.functional.relu(Z)],
    "sign": [lambda: Z.sign(), lambda: np.sign(Z)],
    "erf": [lambda: Z.erf(), lambda: tp.erf(Z)],
    "gelu": [lambda: F.gelu(Z), lambda: F.gelu(Z, "tanh")],
    "leaky_relu": [lambda: F.leaky_relu(Z), lambda: F.leaky_relu(Z.clone(), inplace=True)],
    "softplus": [lambda: F.softplus(Z)],
    "bernoulli": [lambda: tp.bernoulli(Z), lambda: tp.bernoulli(Z, 0.5), lambda: chance(Z)],
    "dropout": [lambda: F.dropout(Z), lambda: F.dropout(Z.clone(), inplace=True)],
    "mse_loss": [lambda: F.mse_loss(Z, Z), lambda: F.mse_loss(tp.ones(2, 2), Z)],
    "binary_cross_entropy": [lambda: F.binary_cross_entropy(Z, Z)],
    "binary_cross_entropy_with_logits": [lambda: F.binary_cross_entropy_with_logits(Z, Z)],
    "nll_loss": [lambda: F.nll_loss(Z, tp.tensor([0, 1]))],
    "softmax": [lambda: Z.softmax(0)],
    "log_softmax": [lambda: Z.log_softmax(1)],
}
CASES = [(name, call) for name, calls in NEEDS_ORDER.items() for call in calls]


@pytest.mark.parametrize(("name", "call"), CASES)
def test_what_needs_an_order_refuses_complex_numbers_and_names_itself(name, call):
    with pytest.raises(RuntimeError) as caught:
        call()
    said = str(caught.value)
    assert said.startswith(f"{name}: expected real numbers, found complex64")
    assert "x.abs()" in said


def test_clamp_between_tensors_refuses_complex_numbers_under_its_own_name():
    with pytest.raises(RuntimeError, match="^clamp: expected real numbers, found complex64"):
        Z.clamp(Z, Z)


def test_a_refused_write_in_place_leaves_the_tensor_as_it_was():
    z = Z.clone()
    with pytest.raises(RuntimeError):
        z.clamp_(0.0)
    assert z.tolist() == Z.tolist() and z._version == 0


def test_complex_numbers_are_equal_or_not():
    assert bool((Z == Z).all()) and not bool((Z != Z).any())
    assert Z.abs().max().item() == 3.0


def test_what_has_a_meaning_for_complex_numbers_takes_them():
    assert F.dropout(Z, training=False) is Z and F.dropout(Z, 0.0) is Z
    assert F.l1_loss(Z, Z * 0).dtype == tp.float32
    assert np.allclose(F.silu(Z).numpy(), Z.numpy() / (1 + np.exp(-Z.numpy())))
