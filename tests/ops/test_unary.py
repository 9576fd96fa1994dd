"""Functions of one tensor: values, derivatives, dtypes, what is saved, and singularities."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes

import tensorplay_ref as tp
from tensorplay_ref.ops.unary import Cast, Clone

from .gradients import (
    Case,
    away_from_zero,
    check_torch,
    checks_of,
    needs_torch,
    positive,
    saved_roles,
)

signed, above = away_from_zero(2, 3), positive(2, 3, seed=1)
# name: (function, where it is smooth, what it saves)
FUNCTIONS: dict[str, tuple[Any, np.ndarray, list[str]]] = {
    "exp": (lambda a: a.exp(), signed, ["result"]),
    "expm1": (lambda a: a.expm1(), signed, ["result"]),
    "log": (lambda a: a.log(), above, ["a"]),
    "log1p": (lambda a: a.log1p(), above, ["a"]),
    "sqrt": (lambda a: a.sqrt(), above, ["result"]),
    "rsqrt": (lambda a: a.rsqrt(), above, ["result"]),
    "sin": (lambda a: a.sin(), signed, ["a"]),
    "cos": (lambda a: a.cos(), signed, ["a"]),
    "tan": (lambda a: a.tan(), signed, ["result"]),
    "tanh": (lambda a: a.tanh(), signed, ["result"]),
    "abs": (lambda a: a.abs(), signed, ["a"]),
    "sign": (lambda a: a.sign(), signed, []),
    "clone": (lambda a: a.clone(), signed, []),
}
CASES = [Case(name, f, (at,)) for name, (f, at, _) in FUNCTIONS.items()]
CASES += [Case("no axes", lambda a: a.exp().tanh(), (np.array(0.5),))]
CASES += [Case("no elements", lambda a: a.exp().tanh().abs(), (np.zeros((0, 2)),))]


TestCases = checks_of(CASES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_what_the_formula_reads_is_saved(name: str) -> None:
    function, at, expected = FUNCTIONS[name]
    assert saved_roles(function, tp.tensor(at, requires_grad=True)) == expected
    assert saved_roles(function, tp.tensor(at)) == []


SINGULAR = np.array([0.0, -1.0, np.inf, -np.inf, np.nan, 1e300, -1e300])


@needs_torch
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("error")
def test_beyond_the_domain_it_does_what_pytorch_does_without_warnings(name: str) -> None:
    points = SINGULAR[:5] if name in ("sin", "cos", "tan") else SINGULAR
    check_torch(Case(name, FUNCTIONS[name][0], (points,), orders=1))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_integers_give_float32_or_stay_what_they_are(name: str, dtype: Any) -> None:
    if (name, dtype) == ("abs", np.bool_):
        return
    result = FUNCTIONS[name][0](tp.tensor(np.array([1, 1], dtype)))
    assert result.dtype == (dtype if name in ("abs", "sign", "clone") else np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_half_precision_stays_half_precision(name: str) -> None:
    x = tp.tensor(np.float16([0.5, 1.0]), requires_grad=True)
    result = FUNCTIONS[name][0](x)
    result.sum().backward()
    assert (result.dtype, x.grad.dtype) == (np.float16, np.float16)


@given(shape=array_shapes(min_dims=0, max_dims=4, max_side=3))
def test_every_shape_and_order_of_axes_is_kept(shape: tuple[int, ...]) -> None:
    x = tp.tensor(np.full(shape, 0.5), requires_grad=True)
    turned = x.permute(*range(x.ndim)[::-1])
    result = turned.tanh().sqrt().sin()
    assert result.shape == shape[::-1]
    result.sum().backward()
    assert x.grad.shape == shape


def test_a_clone_is_dense_has_memory_of_its_own_and_keeps_the_order_of_axes() -> None:
    x = tp.tensor(np.zeros((2, 3)))
    assert x.clone()._storage is not x._storage
    assert x.T.clone()._array.strides == x.T._array.strides
    assert Clone.apply(x.expand(4, 2, 3))._array.strides[0] == 48


def test_a_cast_hands_back_the_gradient_in_the_dtype_it_came_from() -> None:
    x = tp.tensor(np.float32([0.1, 0.2]), requires_grad=True)
    wide = Cast.apply(x, np.float64)
    assert wide.dtype == np.float64 and wide.grad_fn.name() == "CastBackward"
    (wide * wide).sum().backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad.numpy(), [0.2, 0.4], rtol=1e-6)
    assert saved_roles(lambda a: Cast.apply(a, np.float64), x) == []


@pytest.mark.filterwarnings("error")
def test_a_cast_to_integers_is_not_recorded_and_does_not_warn() -> None:
    whole = Cast.apply(tp.tensor([1.5, float("nan")], requires_grad=True), np.int64)
    small = Cast.apply(tp.tensor([1e30]), np.float16)
    assert not whole.requires_grad and whole[0].item() == 1
    assert np.isinf(small.item())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_needs_one_buffer(name: str) -> None:
    x = tp.ones(1000, device=tp.Device("cuda"), requires_grad=True)
    result = FUNCTIONS[name][0](x).sum()
    before = tp.cuda.memory_allocated()
    tp.cuda.reset_peak_memory_stats()
    tp.autograd.grad(result, x)
    assert tp.cuda.max_memory_allocated() - before <= x.nbytes + 64


def test_reused_temporaries_leave_saved_values_and_gradients_alone() -> None:
    x = tp.tensor(np.linspace(0.5, 1.5, 4), requires_grad=True)
    kept = []
    for name, (function, _, _) in FUNCTIONS.items():
        result = function(x)
        upstream = tp.ones(4, dtype=np.float64)
        first = tp.autograd.grad(result, x, upstream, retain_graph=True)[0]
        again = tp.autograd.grad(result, x, upstream)[0]
        assert first.tolist() == again.tolist(), name
        assert upstream.tolist() == [1.0] * 4, name
        kept.append((name, first, first.tolist()))
    assert x.tolist() == np.linspace(0.5, 1.5, 4).tolist()
    assert all(first.tolist() == before for _, first, before in kept)
