"""nn.functional: values and derivatives against PyTorch, what is saved, dtypes, errors."""

import math
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.ops.gradients import (
    Case,
    away_from_zero,
    check_differences,
    check_float32,
    check_torch,
    needs_torch,
    parametrize,
    saved_roles,
)
from tests.ops.libraries import alike

functional = tp.nn.functional
scores, probabilities = away_from_zero(4, 3), np.linspace(0.1, 0.9, 12).reshape(4, 3)
wide = away_from_zero(2, 3, 2, 2, seed=1)
vector, rows = away_from_zero(3, seed=2), away_from_zero(4, 3, seed=3)


def _alike(name: str, call: Any, *inputs: Any, orders: int = 2) -> Case:
    """A case whose function gets the library's functional module and the library itself."""
    return alike(name, lambda lib, *t: call(lib.nn.functional, lib, *t), *inputs, orders=orders)


def _classes(lib: Any, *values: Any) -> Any:
    return lib.tensor(list(values))


def _losses(name: str, call: Any, *inputs: Any, orders: int = 2) -> list[Case]:
    """The loss with every reduction; `call(functional, library, reduction, *tensors)`."""
    return [
        _alike(
            f"{name}, {reduction}",
            lambda f, lib, *t, reduction=reduction: call(f, lib, reduction, *t),
            *inputs,
            orders=orders,
        )
        for reduction in ("none", "sum", "mean")
    ]


CASES = [
    _alike("relu", lambda f, lib, x: f.relu(x) * x, scores),
    _alike("leaky_relu", lambda f, lib, x: f.leaky_relu(x, 0.2) * x, scores),
    _alike("gelu", lambda f, lib, x: f.gelu(x), scores),
    _alike("gelu by tanh", lambda f, lib, x: f.gelu(x, approximate="tanh"), scores),
    _alike("silu", lambda f, lib, x: f.silu(x), scores),
    _alike("softplus", lambda f, lib, x: f.softplus(x, 2.0), scores),
    _alike("sigmoid and tanh", lambda f, lib, x: f.sigmoid(x) + f.tanh(x), scores),
    _alike("softmax", lambda f, lib, x: f.softmax(x, dim=1) * x, scores),
    _alike("log_softmax", lambda f, lib, x: f.log_softmax(x, dim=0) * x, scores),
    *_losses("mse_loss", lambda f, lib, r, x, y: f.mse_loss(x, y, reduction=r), scores, rows),
    *_losses("l1_loss", lambda f, lib, r, x: f.l1_loss(x, x * 3 + 2, reduction=r), scores),
    *_losses(
        "cross_entropy",
        lambda f, lib, r, x: f.cross_entropy(x, _classes(lib, 0, 2, 1, 1), reduction=r),
        scores,
    ),
    *_losses(
        "cross_entropy of weighted classes",
        lambda f, lib, r, x: f.cross_entropy(
            x,
            _classes(lib, 0, 2, 1, -1),
            lib.tensor([0.5, 1.5, 2.0], dtype=lib.float64),
            ignore_index=-1,
            reduction=r,
        ),
        scores,
    ),
    *_losses(
        "cross_entropy that ignores a class",
        lambda f, lib, r, x: f.cross_entropy(
            x, _classes(lib, 0, 2, 1, 1), ignore_index=1, reduction=r
        ),
        scores,
    ),
    *_losses(
        "cross_entropy of maps",
        lambda f, lib, r, x: f.cross_entropy(
            x, _classes(lib, [[0, 2], [1, -100]], [[1, 1], [2, 0]]), reduction=r
        ),
        wide,
    ),
    *_losses(
        "cross_entropy with smoothing",
        lambda f, lib, r, x: f.cross_entropy(
            x,
            _classes(lib, 0, 2, -100, 1),
            lib.tensor([0.5, 1.5, 2.0], dtype=lib.float64),
            reduction=r,
            label_smoothing=0.1,
        ),
        scores,
    ),
    *_losses(
        "cross_entropy of maps with smoothing",
        lambda f, lib, r, x: f.cross_entropy(
            x,
            _classes(lib, [[0, 2], [1, -100]], [[1, 1], [2, 0]]),
            lib.tensor([0.5, 1.5, 2.0], dtype=lib.float64),
            reduction=r,
            label_smoothing=0.2,
        ),
        wide,
    ),
    *_losses(
        "cross_entropy with probabilities",
        lambda f, lib, r, x, y: f.cross_entropy(
            x, y, lib.tensor([0.5, 1.5, 2.0], dtype=lib.float64), reduction=r, label_smoothing=0.1
        ),
        scores,
        probabilities,
    ),
    *_losses(
        "cross_entropy of one",
        lambda f, lib, r, x: f.cross_entropy(x, lib.tensor(1), reduction=r),
        vector,
    ),
    *_losses(
        "nll_loss",
        lambda f, lib, r, x: f.nll_loss(x * x, _classes(lib, 0, 2, 1, 0), reduction=r),
        scores,
    ),
    *_losses(
        "binary_cross_entropy_with_logits",
        lambda f, lib, r, x, y: f.binary_cross_entropy_with_logits(x, y, reduction=r),
        scores,
        probabilities,
    ),
    *_losses(
        "binary_cross_entropy_with_logits, weighted",
        lambda f, lib, r, x: f.binary_cross_entropy_with_logits(
            x,
            lib.tensor(probabilities),
            lib.tensor(probabilities[::-1].copy()),
            pos_weight=lib.tensor([0.5, 2.0, 3.0], dtype=lib.float64),
            reduction=r,
        ),
        scores,
    ),
    *_losses(
        "binary_cross_entropy",
        lambda f, lib, r, x: f.binary_cross_entropy(
            x, lib.tensor(probabilities[::-1].copy()), reduction=r
        ),
        probabilities,
    ),
    _alike("layer_norm", lambda f, lib, x: f.layer_norm(x, (3,)) * x, scores),
    _alike(
        "layer_norm with weight",
        lambda f, lib, x, w: f.layer_norm(x, (3,), w) * x,
        scores,
        vector,
    ),
    _alike(
        "layer_norm with weight and bias",
        lambda f, lib, x, w, b: f.layer_norm(x, (3,), w, b, 0.1) ** 2,
        scores,
        vector,
        vector[::-1],
    ),
    _alike(
        "layer_norm over two axes",
        lambda f, lib, x, w, b: f.layer_norm(x, (2, 2), w, b) ** 2,
        wide,
        away_from_zero(2, 2),
        away_from_zero(2, 2, seed=4),
    ),
    _alike(
        "embedding",
        lambda f, lib, w: f.embedding(lib.tensor([[0, 3], [3, 1]]), w) ** 2,
        rows,
    ),
    _alike(
        "embedding with padding",
        lambda f, lib, w: f.embedding(lib.tensor([0, 3, 3, 1]), w, padding_idx=3) ** 2,
        rows,
    ),
    _alike(
        "attention",
        lambda f, lib, q, k, v: f.scaled_dot_product_attention(q, k, v),
        away_from_zero(2, 2, 3),
        away_from_zero(2, 4, 3, seed=5),
        away_from_zero(2, 4, 2, seed=6),
    ),
    _alike(
        "causal attention",
        lambda f, lib, q, k: f.scaled_dot_product_attention(q, k, k, is_causal=True, scale=2.0),
        away_from_zero(1, 3, 2),
        away_from_zero(1, 3, 2, seed=5),
    ),
    _alike(
        "masked attention",
        lambda f, lib, q, k: f.scaled_dot_product_attention(
            q, k, k, lib.tensor([[True, False, True]] * 2)
        ),
        away_from_zero(1, 2, 2),
        away_from_zero(1, 3, 2, seed=5),
    ),
    _alike(
        "attention with a term",
        lambda f, lib, q, k, m: f.scaled_dot_product_attention(q, k, k, m),
        away_from_zero(1, 2, 2),
        away_from_zero(1, 3, 2, seed=5),
        away_from_zero(2, 3, seed=7),
    ),
]


@parametrize(CASES)
def test_derivatives_agree_with_central_differences(case: Case) -> None:
    if "with padding" not in case.name:  # the padding row is moved, too, but gets no gradient
        check_differences(case)


@needs_torch
@parametrize(CASES)
def test_value_and_derivatives_agree_with_pytorch(case: Case) -> None:
    check_torch(case)


@parametrize([case for case in CASES if "weight" not in case.name and "smooth" not in case.name])
def test_float32_stays_float32(case: Case) -> None:
    if "probabilities" not in case.name and "binary" not in case.name:
        check_float32(case)


def test_layer_norm_may_have_a_bias_alone() -> None:
    # PyTorch 2.13 fails with an internal error in the second derivative here.
    case = _alike("", lambda f, lib, x, b: f.layer_norm(x, (3,), None, b) ** 2, scores, vector)
    check_differences(case)
    check_float32(case)


def _leaf(*shape: int, seed: int = 0, grad: bool = True) -> Any:
    return tp.tensor(away_from_zero(*shape, seed=seed), requires_grad=grad)


target = tp.tensor([0, 2, 1, 1])
SAVED: list[tuple[str, Any, list[str]]] = [
    ("mse_loss", lambda x: functional.mse_loss(x, x.detach() * 1.0), ["a", "float64"]),
    ("cross_entropy", lambda x: functional.cross_entropy(x, target), ["float64", "int64"]),
    ("nll_loss", lambda x: functional.nll_loss(x, target), ["int64"]),
    ("embedding", lambda x: functional.embedding(target, x), ["int64"]),
    ("dropout", lambda x: functional.dropout(x), ["bool"]),
    ("dropout of nothing", lambda x: functional.dropout(x, 0.0), []),
    ("layer_norm", lambda x: functional.layer_norm(x, 3), ["a", "float64", "float64"]),
    (
        "binary_cross_entropy_with_logits",
        lambda x: functional.binary_cross_entropy_with_logits(x, tp.tensor(probabilities)),
        ["a", "float64"],
    ),
]


@pytest.mark.parametrize(("name", "operation", "expected"), SAVED, ids=[s[0] for s in SAVED])
def test_losses_and_layers_save_what_their_formulas_read(
    name: str, operation: Any, expected: list[str]
) -> None:
    assert saved_roles(operation, _leaf(4, 3)) == expected


def test_layer_norm_saves_its_weight_for_the_input_only() -> None:
    norm = functional.layer_norm
    result = norm(_leaf(4, 3), 3, _leaf(3, seed=1, grad=False))
    assert result.grad_fn._saved_weight is not None
    result = norm(_leaf(4, 3, grad=False), 3, _leaf(3, seed=1))
    assert result.grad_fn._saved_weight is None
    assert result.grad_fn._saved_input is not None
    result = norm(_leaf(4, 3, grad=False), 3, _leaf(3, grad=False), _leaf(3))
    assert result.grad_fn.saved_slots == (None,) * 4


def test_large_scores_do_not_overflow() -> None:
    x = tp.tensor([[1000.0, -1000.0], [-1000.0, 1000.0]], requires_grad=True)
    loss = functional.cross_entropy(x, tp.tensor([1, 1]))
    assert loss.item() == 1000.0
    loss.backward()
    assert x.grad.tolist() == [[0.5, -0.5], [0.0, 0.0]]
    y = tp.tensor([1000.0, -1000.0], requires_grad=True)
    binary = functional.binary_cross_entropy_with_logits(y, tp.tensor([0.0, 0.0]))
    assert binary.item() == 500.0
    binary.backward()
    assert y.grad.tolist() == [0.5, 0.0]


def test_ignored_targets_count_nothing() -> None:
    x = tp.tensor([[1.0, -math.inf], [0.0, 0.0]], requires_grad=True)
    loss = functional.nll_loss(x, tp.tensor([-100, 0]), reduction="none")
    assert loss.tolist() == [0.0, 0.0]
    loss.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [-1.0, 0.0]]
    nothing = functional.nll_loss(x, tp.tensor([-100, -100]))
    assert math.isnan(nothing.item())


def test_dropout_follows_the_generator_and_keeps_the_mean() -> None:
    x = tp.ones(100, 100, requires_grad=True)
    tp.manual_seed(3)
    first = functional.dropout(x, 0.25)
    tp.manual_seed(3)
    assert first.tolist() == functional.dropout(x, 0.25).tolist()
    kept = first.detach().numpy() != 0
    assert set(np.unique(first.detach())) == {0.0, np.float32(1 / 0.75)}
    assert abs(kept.mean() - 0.75) < 0.02
    first.sum().backward()
    np.testing.assert_array_equal(x.grad, first.detach())
    assert functional.dropout(x, training=False) is x
    assert functional.dropout(x, 1.0).sum().item() == 0.0


def test_dropout_is_its_own_second_derivative() -> None:
    x = _leaf(6)
    (first,) = tp.autograd.grad((functional.dropout(x, 0.5) ** 2).sum(), x, create_graph=True)
    (second,) = tp.autograd.grad(first.sum(), x)
    assert set(second.tolist()) <= {0.0, 8.0}


def test_activations_in_place_are_recorded() -> None:
    for call in (functional.relu, functional.leaky_relu, functional.silu):
        x, twin = _leaf(5), _leaf(5)
        h = x * 1.0
        assert call(h, inplace=True) is h and h._version == 1
        h.sum().backward()
        call(twin).sum().backward()
        np.testing.assert_array_equal(x.grad, twin.grad)
    h = _leaf(100) * 1.0
    tp.manual_seed(0)
    assert functional.dropout(h, 0.5, inplace=True) is h
    assert (h == 0).any().item()


def test_a_wider_bias_widens_the_result() -> None:
    x, w = tp.ones(2, 3), tp.ones(4, 3)
    bias = tp.ones(4, dtype=tp.float64, requires_grad=True)
    result = functional.linear(x, w, bias)
    assert result.dtype == tp.float64
    result.sum().backward()
    assert bias.grad is not None and bias.grad.tolist() == [2.0] * 4
    maps = functional.conv2d(tp.ones(1, 1, 2, 2), tp.ones(4, 1, 1, 1), bias)
    assert maps.dtype == tp.float64


def test_an_embedding_has_memory_of_its_own() -> None:
    weight = _leaf(4, 3)
    row = functional.embedding(tp.tensor(2), weight)
    assert row.shape == (3,) and row.storage() is not weight.storage()
    assert not np.shares_memory(row, weight)
    row.sum().backward()
    assert weight.grad is not None and weight.grad.sum(1).tolist() == [0.0, 0.0, 3.0, 0.0]


def test_one_hot_marks_the_class() -> None:
    found = functional.one_hot(tp.tensor([[2], [0]]))
    assert (found.dtype, found.tolist()) == (tp.int64, [[[0, 0, 1]], [[1, 0, 0]]])
    assert functional.one_hot(tp.tensor(1), 3).tolist() == [0, 1, 0]


def test_attention_with_everything_masked_but_itself_returns_the_values() -> None:
    values = _leaf(3, 2)
    found = functional.scaled_dot_product_attention(
        _leaf(3, 4), _leaf(3, 4, seed=1), values, tp.eye(3, dtype=tp.bool)
    )
    np.testing.assert_allclose(found.detach(), values.detach())


@pytest.mark.parametrize("infinite", [False, True])
def test_attention_to_nothing_is_zero(infinite: bool) -> None:
    query, values = _leaf(2, 4), _leaf(3, 2)
    mask = tp.tensor([[True, False, True], [False, False, False]])
    if infinite:
        mask = tp.zeros(2, 3, dtype=tp.float64).masked_fill(~mask, -math.inf)
    found = functional.scaled_dot_product_attention(query, _leaf(3, 4, seed=1), values, mask)
    assert found[1].tolist() == [0.0, 0.0]
    found.sum().backward()
    assert query.grad is not None and query.grad[1].tolist() == [0.0] * 4
    assert np.isfinite(query.grad.numpy()).all() and values.grad is not None
    np.testing.assert_allclose(values.grad.sum(0), [1.0, 1.0])


def test_softmax_can_be_asked_for_in_another_dtype() -> None:
    x = tp.tensor([1, 2])
    assert functional.softmax(x, 0, dtype=tp.float64).dtype == tp.float64
    assert functional.log_softmax(x, 0).dtype == tp.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: functional.cross_entropy(x, target[:2]), ValueError, r"\(4,\), found \(2,\)"),
        (lambda x: functional.cross_entropy(x, target + 1), IndexError, "between 0 and 2"),
        (lambda x: functional.cross_entropy(x, target > 0), TypeError, "found bool"),
        (lambda x: functional.cross_entropy(x, x[0]), ValueError, "shape of input"),
        (lambda x: functional.nll_loss(x, target, tp.ones(2)), ValueError, "each of 3 classes"),
        (lambda x: functional.nll_loss(x, target, reduction="max"), ValueError, "'max'"),
        (lambda x: functional.mse_loss(x, x, reduction="max"), ValueError, "mse_loss: reduction"),
        (lambda x: functional.mse_loss(x, tp.ones(7)), RuntimeError, "MseLoss: shapes .*broadcast"),
        (lambda x: functional.binary_cross_entropy_with_logits(x, x[0]), ValueError, r"\(3,\)"),
        (lambda x: functional.dropout(x, 1.5), ValueError, "between 0 and 1"),
        (lambda x: functional.layer_norm(x, 4), RuntimeError, r"\(4,\) must be the end"),
        (lambda x: functional.layer_norm(x, 3, x), RuntimeError, r"weight of \(3,\)"),
        (lambda x: functional.layer_norm(x, 3, tp.ones(3)), RuntimeError, r"found \(3,\) float32"),
        (lambda x: functional.layer_norm(target, 4), RuntimeError, "floating input, found int64"),
        (
            lambda x: functional.scaled_dot_product_attention(x, x, x, tp.ones(4, 4).long()),
            RuntimeError,
            "boolean or floating attn_mask, found int64",
        ),
        (
            lambda x: functional.avg_pool2d(x[None], 1, divisor_override=0),
            RuntimeError,
            "must not be 0",
        ),
        (lambda x: functional.one_hot(target, -2), RuntimeError, "-1 or more, found -2"),
        (
            lambda x: functional.cross_entropy(x, target, label_smoothing="0.1"),
            TypeError,
            "cross_entropy: label_smoothing must be a number, found '0.1'",
        ),
        (
            lambda x: functional.nll_loss(x, target, ignore_index=0.5),
            TypeError,
            "nll_loss: ignore_index must be a whole number, found 0.5",
        ),
        (
            lambda x: functional.cross_entropy(x, target, label_smoothing=2.0),
            ValueError,
            "between 0 and 1, found 2.0",
        ),
        (
            lambda x: functional.nll_loss(x, target, tp.ones(3, requires_grad=True)),
            RuntimeError,
            "not differentiable with respect to weight",
        ),
        (lambda x: functional.embedding(x, x), TypeError, "integer"),
        (lambda x: functional.embedding(target, x[0]), RuntimeError, "2 axes"),
        (lambda x: functional.embedding(target + 3, x), IndexError, "between 0 and 3"),
        (lambda x: functional.embedding(target, x, 4), IndexError, "padding_idx 4"),
        (lambda x: functional.one_hot(x), TypeError, "integers"),
        (lambda x: functional.one_hot(target, 2), IndexError, "from 0 to 1"),
        (lambda x: functional.relu(2.0), TypeError, "float"),
        (lambda x: functional.gelu(x, "sine"), ValueError, "'sine'"),
    ],
)
def test_wrong_use_names_what_was_expected(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(_leaf(4, 3))


def test_scores_whose_targets_are_all_ignored_get_no_gradient() -> None:
    scores = tp.tensor(np.ones((2, 3)), requires_grad=True)
    loss = tp.nn.functional.cross_entropy(scores, tp.tensor([-100, -100]))
    loss.backward()
    assert np.isnan(loss.item()) and (scores.grad.numpy() == 0).all()
