"""NumPy's functions and operators on tensors: recorded or refused, never without history."""

import inspect
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp

X = [0.25, 0.5, 0.75]


def _leaf() -> Any:
    return tp.tensor(X, dtype=tp.float64, requires_grad=True)


RECORDED: list[tuple[Any, Any]] = [
    (np.exp, lambda x: x.exp()),
    (np.expm1, lambda x: x.expm1()),
    (np.log, lambda x: x.log()),
    (np.log1p, lambda x: x.log1p()),
    (np.sqrt, lambda x: x.sqrt()),
    (np.square, lambda x: x.square()),
    (np.sin, lambda x: x.sin()),
    (np.cos, lambda x: x.cos()),
    (np.tan, lambda x: x.tan()),
    (np.tanh, lambda x: x.tanh()),
    (np.abs, lambda x: x.abs()),
    (np.fabs, lambda x: x.abs()),
    (np.sign, lambda x: x.sign()),
    (np.negative, lambda x: -x),
    (np.reciprocal, lambda x: x.reciprocal()),
    (lambda x: np.add(x, x), lambda x: x + x),
    (lambda x: np.subtract(1.0, x), lambda x: 1.0 - x),
    (lambda x: np.multiply(np.array(X), x), lambda x: x * tp.tensor(X, dtype=tp.float64)),
    (lambda x: np.divide(x, 2), lambda x: x / 2),
    (lambda x: np.power(x, 3), lambda x: x**3),
    (lambda x: np.remainder(x, 0.4), lambda x: x % 0.4),
    (lambda x: np.maximum(x, 0.5), lambda x: x.maximum(0.5)),
    (lambda x: np.minimum(x, x), lambda x: x.minimum(x)),
    (lambda x: np.matmul(np.ones((2, 3)), x), lambda x: tp.ones(2, 3, dtype=tp.float64) @ x),
    (lambda x: np.float64(2.0) * x, lambda x: 2.0 * x),
    (lambda x: np.float32(2.0) - x, lambda x: 2.0 - x),
    (lambda x: np.int64(2) ** x, lambda x: 2.0**x),
    (lambda x: np.float64(2.0) / x, lambda x: 2.0 / x),
    (lambda x: np.array(2.0) * x, lambda x: 2.0 * x),
    (lambda x: np.array(X) + x, lambda x: tp.tensor(X, dtype=tp.float64) + x),
    (lambda x: np.array(X) / x, lambda x: tp.tensor(X, dtype=tp.float64) / x),
    (lambda x: np.ones((2, 3)) @ x, lambda x: tp.ones(2, 3, dtype=tp.float64) @ x),
    (lambda x: x @ np.ones((3, 2)), lambda x: x @ tp.ones(3, 2, dtype=tp.float64)),
    (lambda x: x * np.array(X), lambda x: x * tp.tensor(X, dtype=tp.float64)),
]


@pytest.mark.parametrize(("through_numpy", "own"), RECORDED)
def test_known_functions_are_recorded(through_numpy: Any, own: Any) -> None:
    first, second = _leaf(), _leaf()
    found, expected = through_numpy(first), own(second)
    assert isinstance(found, tp.Tensor) and found.requires_grad
    assert found.grad_fn.name() == expected.grad_fn.name()
    assert found.dtype == tp.float64
    found.sum().backward()
    expected.sum().backward()
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-15)
    np.testing.assert_allclose(first.grad, second.grad, rtol=1e-15)


@pytest.mark.parametrize(
    "compare",
    [
        lambda x: np.array(X) < x,
        lambda x: np.greater_equal(x, 0.5),
        lambda x: np.float64(0.5) == x,
        lambda x: np.isnan(x),
        lambda x: np.logical_not(x),
    ],
)
def test_comparisons_give_boolean_tensors(compare: Any) -> None:
    found = compare(_leaf())
    assert isinstance(found, tp.Tensor)
    assert found.dtype == tp.bool and not found.requires_grad


def test_a_number_of_numpy_does_not_widen_float32() -> None:
    x = tp.tensor([1.0], requires_grad=True)
    for y in (np.float64(2.0) * x, x * np.float64(2.0), np.array(2.0) * x, np.exp(x)):
        assert y.dtype == tp.float32


REFUSED: list[tuple[Any, str]] = [
    (lambda x: np.cosh(x), r"np.cosh .* lose the graph; use tensor.detach\(\).numpy\(\)"),
    (lambda x: np.sum(x), "use tp.sum, or"),
    (lambda x: np.mean(x), "use tp.mean, or"),
    (lambda x: np.dot(x, x), "use tp.dot, or"),
    (lambda x: np.concatenate([x, x]), "use tp.cat, or"),
    (lambda x: np.where(x.detach() > 0, x, 0.0), "use tp.where, or"),
    (lambda x: np.linalg.norm(x), "use tp.norm, or"),
    (lambda x: np.add.reduce(x), "lose the graph"),
    (lambda x: np.multiply.outer(x, np.ones(2)), "lose the graph"),
    (lambda x: np.add(x, 1.0, out=np.zeros(3)), "use tp.add, or"),
    (lambda x: np.exp(x, where=np.array([True, False, True])), "lose the graph"),
    (lambda x: np.stack([np.ones(3), x]), "use tp.stack, or"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_other_functions_refuse_to_lose_the_graph(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(_leaf())


def test_an_array_cannot_take_up_a_recorded_result() -> None:
    array = np.zeros(3)
    with pytest.raises(TypeError, match="lose the graph"):
        array += _leaf()
    assert array.tolist() == [0.0] * 3


@pytest.mark.parametrize("call", [np.asarray, np.array, np.asanyarray])
def test_a_tensor_that_requires_grad_is_no_array(call: Any) -> None:
    with pytest.raises(RuntimeError, match=r"detach\(\).numpy\(\)"):
        call(_leaf())


def test_without_a_gradient_every_function_works() -> None:
    x = _leaf().detach()
    array = x.numpy()
    cosh = np.cosh(x)
    assert isinstance(cosh, tp.Tensor) and cosh.tolist() == np.cosh(array).tolist()
    assert np.sum(x) == array.sum() and np.dot(x, x) == array @ array
    assert np.concatenate([x, x]).shape == (6,)
    assert np.add.reduce(x) == array.sum()
    assert np.allclose(x, array) and np.array_equal(x, array)
    target = np.zeros(3)
    assert np.add(x, 1.0, out=target) is target and target[0] == 1.25
    target += x
    assert target[0] == 1.5
    total, count = np.linalg.norm(x), np.argmax(x)
    assert abs(total - np.sqrt(np.sum(array**2))) < 1e-15 and count == 2


def test_shapes_may_be_asked_of_any_tensor() -> None:
    x = _leaf()
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((3,), 1, 3)
    assert np.shares_memory(x, x.detach())


def test_conversion_shares_or_copies_as_asked() -> None:
    x = tp.ones(2)
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.asarray(x, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__(np.float64, copy=False)


def test_in_place_operators_take_arrays() -> None:
    x = tp.ones(2)
    x += np.array([1.0, 2.0])
    assert x.tolist() == [2.0, 3.0] and x.dtype == tp.float32


def test_an_array_on_the_right_is_copied() -> None:
    array = np.array([2.0, 3.0])
    x = tp.ones(2, dtype=tp.float64, requires_grad=True)
    y = x * array
    array[:] = 100.0
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 3.0]


def test_every_tensor_function_that_numpy_has_answers_somehow() -> None:
    # A Tensor or a refusal, never an array of objects.
    x = _leaf()
    for name, ufunc in inspect.getmembers(np, lambda value: isinstance(value, np.ufunc)):
        try:
            found = ufunc(*[x] * ufunc.nin)
        except (TypeError, RuntimeError):
            continue
        assert isinstance(found, tp.Tensor), name
