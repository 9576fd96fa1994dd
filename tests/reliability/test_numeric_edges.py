"""Numbers at the edge: NaN, infinities, denormals, overflow, integers, empty and odd strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Recorder, constant, equal, leaf
from tests.reliability.program_operations import ELEMENTWISE, OPERATIONS, WRITES

NAN, INF = float("nan"), float("inf")
TINY = 5e-324
UNARY: dict[str, Callable[[Any], Any]] = {
    name: (lambda t, name=name: getattr(t, name)())
    for name in (
        "exp expm1 log log1p sqrt rsqrt reciprocal sin cos tan tanh sigmoid relu abs sign neg "
        "square erf sum mean prod max min norm cumsum0 softmax0 log_softmax0 logsumexp0 var"
    ).split()
    if not name.endswith("0")
}
UNARY |= {
    name: (lambda t, name=name: getattr(t, name)(0))
    for name in ("cumsum", "softmax", "log_softmax", "logsumexp")
}


@pytest.mark.parametrize("name", UNARY)
def test_special_values_go_through_without_a_warning(name: str) -> None:
    x = leaf([NAN, INF, -INF, 0.0, -0.0, TINY, -TINY, 1e308, -1e308])
    y = UNARY[name](x)
    y.sum().backward(retain_graph=True)
    assert x.grad.shape == x.shape
    for value in (NAN, INF, -INF, 0.0, 1e308, TINY):
        x = leaf([value])
        y = UNARY[name](x)
        (first,) = tp.autograd.grad(y.sum(), x, create_graph=True)
        if first.requires_grad:
            tp.autograd.grad(first.sum(), x, allow_unused=True)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "**", "maximum", "minimum"])
def test_special_values_meet(operator: str) -> None:
    values = [NAN, INF, -INF, 0.0, TINY, 1e308, -1e308]
    a, b = leaf(np.repeat(values, len(values))), leaf(np.tile(values, len(values)))
    operations: dict[str, Callable[[], Any]] = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "**": lambda: a**b,
        "maximum": lambda: tp.maximum(a, b),
        "minimum": lambda: tp.minimum(a, b),
    }
    x, y = a.detach().numpy(), b.detach().numpy()
    # Whether an overflow in + - * warns is up to the caller's NumPy settings.
    with np.errstate(all="ignore"):
        found = operations[operator]()
        found.sum().backward()
        ufunc = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power}
        expected = ufunc.get(operator, getattr(np, operator, None))(x, y)
        np.testing.assert_array_equal(found.detach().numpy(), expected)
        if operator == "/":
            np.testing.assert_array_equal(a.grad.numpy(), 1.0 / y)


def test_products_of_special_values() -> None:
    x, w = leaf([[INF, 0.0], [NAN, 1e308]]), leaf([[0.0, 1.0], [10.0, 2.0]])
    with np.errstate(all="ignore"):
        (x @ w).sum().backward()
    equal(w.grad, [[NAN, NAN], [1e308, 1e308]])


def test_infinite_gradients_are_given_at_the_edges() -> None:
    for name, value, expected in (
        ("sqrt", 0.0, INF),
        ("log", 0.0, INF),
        ("reciprocal", 0.0, -INF),
        ("rsqrt", 0.0, -INF),
        ("exp", -INF, 0.0),
        ("tanh", INF, 0.0),
        ("sigmoid", -INF, 0.0),
        ("relu", -INF, 0.0),
    ):
        x = leaf([value])
        getattr(x, name)().backward()
        equal(x.grad, [expected])


def test_denormals_are_kept() -> None:
    x = leaf([TINY])
    (x * 1.0).backward(constant([TINY]))
    assert float(x.grad) == TINY and float(x * 1.0) == TINY
    recorder = Recorder()
    with recorder.hooks():
        y = x * x
    assert recorder.packed[0][0] == TINY and float(y) == 0.0


def test_float16_overflows_to_infinity_and_keeps_its_dtype() -> None:
    x = tp.tensor([60000.0, 1.0], dtype=tp.float16, requires_grad=True)
    with np.errstate(over="ignore"):
        y = x * x
    assert y.dtype == tp.float16 and np.isinf(float(y[0]))
    y.sum().backward()
    assert x.grad.dtype == tp.float16 and np.isinf(float(x.grad[0])) and float(x.grad[1]) == 2.0
    wide = tp.tensor([1e6], requires_grad=True)
    narrow = wide.to(tp.float16)
    assert np.isinf(float(narrow))
    narrow.backward()
    assert wide.grad.dtype == tp.float32


def test_a_hook_that_narrows_overflows_visibly() -> None:
    x = leaf([1e6])
    with tp.autograd.graph.saved_tensor_hooks(lambda t: t.to(tp.float16), lambda t: t):
        y = x * x
    y.backward()
    equal(x.grad, [INF])


# -- dtypes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [tp.bool, tp.uint8, tp.int8, tp.int16, tp.int32, tp.int64])
def test_integers_never_require_a_gradient_but_take_part(dtype: Any) -> None:
    n = tp.tensor([0, 1, 1], dtype=dtype)
    with pytest.raises(RuntimeError, match="floating point dtype"):
        n.requires_grad_()
    with pytest.raises(RuntimeError, match="floating point dtype"):
        tp.tensor([1], dtype=dtype, requires_grad=True)
    x = leaf([2.0, 3.0, 4.0])
    recorder = Recorder()
    with recorder.hooks():
        y = x * n
    assert y.dtype == tp.float64 and recorder.packed[0].tolist() == [0.0, 1.0, 1.0]
    y.sum().backward()
    equal(x.grad, [0.0, 1.0, 1.0])
    assert not (n + n).requires_grad and not (x > n).requires_grad


def test_a_tensor_without_axes_does_not_decide_over_one_with_axes() -> None:
    vector = tp.tensor([1.0, 2.0], dtype=tp.float32, requires_grad=True)
    single = tp.tensor(3.0, dtype=tp.float64, requires_grad=True)
    y = vector * single
    assert y.dtype == tp.float32 and (single * single).dtype == tp.float64
    y.sum().backward()
    assert vector.grad.dtype == tp.float32 and single.grad.dtype == tp.float64
    equal(single.grad, 3.0)


def test_booleans_and_indices_go_through_hooks_as_they_are() -> None:
    recorder = Recorder()
    x = leaf([2.0, -3.0, 4.0])
    with recorder.hooks():
        y = x[tp.tensor([2, 0, 2])].sum() + x.masked_fill(x < 0.0, 0.0).sum()
    assert sorted(str(array.dtype) for array in recorder.packed) == ["bool", "int64"]
    y.backward()
    equal(x.grad, [2.0, 0.0, 3.0])


# -- shapes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 1)])
def test_empty_tensors_have_empty_gradients(shape: tuple[int, ...]) -> None:
    x, w = (tp.zeros(shape, dtype=tp.float64, requires_grad=True) for _ in range(2))
    c = leaf([2.0])
    recorder = Recorder()
    with recorder.hooks():
        y = ((x * w + c) / 2.0).exp().reshape(-1).sum() + tp.cat([x, w]).sum()
    y.backward()
    assert float(y) == 0.0 and x.grad.shape == shape and w.grad.shape == shape
    equal(c.grad, [0.0])
    (x.transpose(0, -1) @ w if len(shape) == 2 and shape[1] else x).sum().backward()
    assert (x * 2.0)[:0].shape[0] == 0


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_no_axes_and_no_elements(name: str) -> None:
    for shape in ((), (0,), (0, 2), (1, 1, 1)):
        x = tp.ones(shape, dtype=tp.float64, requires_grad=True)
        other = tp.ones((), dtype=tp.float64, requires_grad=True)
        y = ELEMENTWISE[name](tp, x * 0.5, other * 0.25, 1)
        assert y.shape == shape
        y.sum().backward()
        assert x.grad.shape == shape


# -- strides -----------------------------------------------------------------------------------
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": lambda a: (
        np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    ),
    "Fortran": np.asfortranarray,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_layout_of_an_array_changes_nothing(name: str, layout: str) -> None:
    array = LAYOUTS[layout](np.linspace(-1.5, 1.5, 6).reshape(2, 3))
    found = []
    for values in (array, np.array(array, order="C")):
        x = tp.from_numpy(values) if values.flags.writeable else tp.tensor(values)
        x.requires_grad_()
        h, w = x * 1.0 if layout == "unaligned" else x, leaf([0.5])
        y = OPERATIONS[name](tp, h, w, 2)
        y.sin().sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy(), w.grad))
    (value, grad, other), (expected, expected_grad, expected_other) = found
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-12, atol=1e-14)
    equal(other, None if expected_other is None else expected_other.numpy())


@pytest.mark.parametrize("name", WRITES)
def test_writes_reach_arrays_of_any_layout(name: str) -> None:
    for layout in ("transposed", "every second", "backwards", "Fortran"):
        array = LAYOUTS[layout](np.linspace(0.5, 1.5, 6).reshape(2, 3))
        expected = tp.tensor(np.array(array, order="C"))
        shared = tp.from_numpy(array)
        for tensor in (shared, expected):
            WRITES[name](tp, tensor, constant([0.25]), 1)
        np.testing.assert_allclose(array, expected.numpy(), rtol=1e-12)
        assert shared._version == 1


def test_expanded_tensors_are_read_with_stride_zero_and_get_summed_gradients() -> None:
    x = leaf([1.0, 2.0])
    e = x.expand(3, 2)
    assert e.stride()[0] == 0
    recorder = Recorder()
    with recorder.hooks():
        y = (e * e.sin()).sum()
    assert {array.shape for array in recorder.packed} == {(3, 2)}
    y.backward()
    v = np.array([1.0, 2.0])
    equal(x.grad, 3 * (np.sin(v) + v * np.cos(v)))


def test_negative_strides_survive_hooks_that_go_through_memory() -> None:
    array = np.arange(6.0)[::-1]
    x = tp.from_numpy(array)
    x.requires_grad_()
    with tp.autograd.graph.saved_tensor_hooks(
        lambda t: t.detach().numpy().tobytes(), lambda raw: tp.tensor(np.frombuffer(raw))
    ):
        y = (x * x).sum()
    y.backward()
    equal(x.grad, 2 * array)
