"""Flags that are no flags, numbers that are none: the error names the call, the argument, both."""

import numpy as np
import pytest

import tensorplay_ref as tp

F = tp.nn.functional
X = tp.tensor(np.arange(1.0, 13.0).reshape(3, 4))
IMAGE, KERNEL = tp.ones(1, 1, 6, 6), tp.ones(1, 1, 3, 3)
REDUCTIONS = ("sum", "mean", "var", "std", "amax", "amin", "argmax", "argmin", "max", "min", "all")
REDUCTIONS += ("any", "prod", "norm", "logsumexp")


def reduced(name, keepdim):
    return getattr(X, name)(dim=0, keepdim=keepdim)


FLAGS = {
    **{f"{name}: keepdim": (lambda wrong, name=name: reduced(name, wrong)) for name in REDUCTIONS},
    "var: unbiased": lambda wrong: X.var(0, wrong),
    "std: unbiased": lambda wrong: X.std(0, wrong),
    "sort: descending": lambda wrong: X.sort(0, wrong),
    "sort: stable": lambda wrong: X.argsort(0, False, wrong),
    "topk: largest": lambda wrong: X.topk(1, 0, wrong),
    "index_put: accumulate": lambda wrong: X.index_put((tp.tensor([0]),), X[:1], wrong),
    "index_put_: accumulate": lambda wrong: X.clone().index_put_((tp.tensor([0]),), X[:1], wrong),
    "max: keepdim without dim": lambda wrong: X.max(keepdim=wrong),
    "min: keepdim without dim": lambda wrong: X.min(keepdim=wrong),
    "copy_: non_blocking": lambda wrong: X.clone().copy_(X, wrong),
    "allclose: equal_nan": lambda wrong: tp.allclose(X, X, equal_nan=wrong),
    "to: non_blocking": lambda wrong: X.to("cpu", non_blocking=wrong),
    "to: copy": lambda wrong: X.to("cpu", copy=wrong),
    "relu: inplace": lambda wrong: F.relu(X.clone(), wrong),
    "leaky_relu: inplace": lambda wrong: F.leaky_relu(X.clone(), 0.1, wrong),
    "silu: inplace": lambda wrong: F.silu(X.clone(), wrong),
    "dropout: inplace": lambda wrong: F.dropout(X.clone(), 0.5, True, wrong),
    "dropout: training": lambda wrong: F.dropout(X, 0.5, wrong),
    "avg_pool2d: count_include_pad": lambda wrong: F.avg_pool2d(IMAGE, 2, 2, 0, wrong),
    "scaled_dot_product_attention: is_causal": lambda wrong: F.scaled_dot_product_attention(
        X, X, X, is_causal=wrong
    ),
}
NUMBERS = {
    "add: alpha": lambda wrong: X.add(X, alpha=wrong),
    "sub: alpha": lambda wrong: tp.sub(X, X, alpha=wrong),
    "add_: alpha": lambda wrong: X.clone().add_(X, alpha=wrong),
    "sub_: alpha": lambda wrong: X.clone().sub_(X, alpha=wrong),
    "addmm: alpha": lambda wrong: X.addmm(X[:, :3], X, alpha=wrong),
    "addmm: beta": lambda wrong: X.addmm(X[:, :3], X, beta=wrong),
    "allclose: rtol": lambda wrong: tp.allclose(X, X, rtol=wrong),
    "allclose: atol": lambda wrong: tp.allclose(X, X, atol=wrong),
    "bernoulli: p": lambda wrong: tp.bernoulli(X, wrong),
    "norm: p": lambda wrong: X.norm(wrong),
    "var: correction": lambda wrong: X.var(correction=wrong),
    "std: correction": lambda wrong: X.std(correction=wrong),
    "leaky_relu: negative_slope": lambda wrong: F.leaky_relu(X, wrong),
    "softplus: beta": lambda wrong: F.softplus(X, wrong),
    "softplus: threshold": lambda wrong: F.softplus(X, 1.0, wrong),
    "dropout: p": lambda wrong: F.dropout(X, wrong),
    "layer_norm: eps": lambda wrong: F.layer_norm(X, (4,), eps=wrong),
    "pad: value": lambda wrong: F.pad(X, (1, 1), value=wrong),
    "scaled_dot_product_attention: scale": lambda wrong: F.scaled_dot_product_attention(
        X, X, X, scale=wrong
    ),
}
WHOLE = {
    "select: index": lambda wrong: X.select(0, wrong),
    "diagonal: offset": lambda wrong: X.diagonal(wrong),
    "tril: diagonal": lambda wrong: X.tril(wrong),
    "triu: diagonal": lambda wrong: X.triu(wrong),
    "stride: dim": lambda wrong: X.stride(wrong),
    "repeat_interleave: repeats": lambda wrong: X.repeat_interleave(wrong, 0),
    "unflatten: a length": lambda wrong: X.unflatten(1, (2, wrong)),
    "one_hot: num_classes": lambda wrong: F.one_hot(tp.tensor([0]), wrong),
    "embedding: padding_idx": lambda wrong: F.embedding(tp.tensor([0]), X, wrong),
    "conv2d: groups": lambda wrong: F.conv2d(IMAGE, KERNEL, groups=wrong),
    "avg_pool2d: divisor_override": lambda wrong: F.avg_pool2d(IMAGE, 2, divisor_override=wrong),
    "pad: a width": lambda wrong: F.pad(X, (1, wrong)),
}


TENSORS = {
    "gelu: input": F.gelu,
    "leaky_relu: input": F.leaky_relu,
    "silu: input": F.silu,
    "softplus: input": F.softplus,
    "dropout: input": F.dropout,
    "layer_norm: input": lambda wrong: F.layer_norm(wrong, (4,)),
    "embedding: input": lambda wrong: F.embedding(wrong, X),
    "embedding: weight": lambda wrong: F.embedding(tp.tensor([0]), wrong),
    "one_hot: tensor": F.one_hot,
    "conv2d: input": lambda wrong: F.conv2d(wrong, KERNEL),
    "conv2d: weight": lambda wrong: F.conv2d(IMAGE, wrong),
    "conv2d: bias": lambda wrong: F.conv2d(IMAGE, KERNEL, wrong),
    "avg_pool2d: input": lambda wrong: F.avg_pool2d(wrong, 2),
    "max_pool2d: input": lambda wrong: F.max_pool2d(wrong, 2),
    "pad: input": lambda wrong: F.pad(wrong, (1, 1)),
    "mse_loss: input": lambda wrong: F.mse_loss(wrong, X),
    "mse_loss: target": lambda wrong: F.mse_loss(X, wrong),
    "cross_entropy: input": lambda wrong: F.cross_entropy(wrong, tp.tensor([0])),
    "cross_entropy: target": lambda wrong: F.cross_entropy(X, wrong),
    "nll_loss: input": lambda wrong: F.nll_loss(wrong, tp.tensor([0])),
    "nll_loss: target": lambda wrong: F.nll_loss(X, wrong),
    "l1_loss: target": lambda wrong: F.l1_loss(X, wrong),
    "binary_cross_entropy: target": lambda wrong: F.binary_cross_entropy(X, wrong),
    "binary_cross_entropy: weight": lambda wrong: F.binary_cross_entropy(X, X, wrong),
    "binary_cross_entropy_with_logits: input": (
        lambda wrong: F.binary_cross_entropy_with_logits(wrong, X)
    ),
    "reshape_as: other": X.reshape_as,
    "expand_as: other": X.expand_as,
}
SEQUENCES = {
    "broadcast_to: shape": X.broadcast_to,
    "index_put: indices": lambda wrong: X.index_put(wrong, X),
    "index_put_: indices": lambda wrong: X.clone().index_put_(wrong, X),
    "roll: dims": lambda wrong: X.roll(1, wrong),
}


def refused(call, wrong, words):
    with pytest.raises(TypeError) as caught:
        call(wrong)
    assert str(caught.value) == words


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("wrong", ["no", [1], []])
def test_a_flag_is_true_or_false(name, wrong):
    argument = name.removesuffix(" without dim")
    refused(FLAGS[name], wrong, f"{argument} must be True or False, found {wrong!r}")


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_a_number(name):
    refused(NUMBERS[name], "a", f"{name} must be a number, found 'a'")


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("wrong", ["a", 1.5])
def test_a_position_or_a_count_is_a_whole_number(name, wrong):
    refused(WHOLE[name], wrong, f"{name} must be a whole number, found {wrong!r}")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("yes", [True, 1, np.True_])
def test_what_counts_as_true_keeps_the_axis(name, yes):
    found = reduced(name, yes)
    found = found[0] if isinstance(found, tuple) else found
    assert found.shape == (1, 4)


@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_a_copy_that_does_not_fit_is_named_as_it_was_called(shape):
    x = tp.zeros(3)
    for name, call in {
        "copy_": lambda: x.copy_(tp.ones(shape)),
        "setitem": lambda: x.__setitem__(slice(None), tp.ones(shape)),
    }.items():
        with pytest.raises(RuntimeError) as caught:
            call()
        words = f"{name}: shapes (3,) and {shape} do not broadcast to the first"
        assert str(caught.value).startswith(words)
    assert x.tolist() == [0.0, 0.0, 0.0] and x._version == 0


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dim", [None, X])
def test_an_extreme_of_all_keeps_no_axis(name, dim):
    with pytest.raises(TypeError, match=f"^{name}: keepdim=True expects dim to be one dimension"):
        getattr(X, name)(dim, keepdim=True)
    assert getattr(X, name)(dim, keepdim=False).shape == (() if dim is None else X.shape)


@pytest.mark.parametrize("name", ["rtol", "atol"])
@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_a_tolerance_is_not_below_zero(name, wrong):
    with pytest.raises(ValueError, match=f"^allclose: {name} must be at least 0, found {wrong}"):
        tp.allclose(X, X, **{name: wrong})


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan"), tp.tensor([2.0, 0.5, 0.5, 0.5]), None])
def test_what_is_no_probability_draws_nothing(p):
    state = tp.get_rng_state()
    with pytest.raises(ValueError, match="^bernoulli: probabilities must lie between 0 and 1"):
        tp.bernoulli(X, p)
    assert str(tp.get_rng_state()) == str(state)


def test_a_factor_may_be_complex_or_a_tensor():
    assert (X.add(X, alpha=1j)[0, 0].item(), X.add(X, alpha=tp.tensor(2.0)).sum().item()) == (
        1 + 1j,
        234.0,
    )


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("wrong", ["a", 1.5, [1.0], np.ones(3)])
def test_a_tensor_is_a_tensor(name, wrong):
    refused(TENSORS[name], wrong, f"{name} must be a Tensor, found {type(wrong).__name__}")


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_sequence_is_a_sequence(name):
    refused(SEQUENCES[name], 1.5, f"{name} must be a sequence, found float")


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_number_has_64_bits(name):
    with pytest.raises(OverflowError) as caught:
        WHOLE[name](10**30)
    assert str(caught.value) == (
        f"{name} must be a whole number of at most 64 bits, found {10**30}"
    )


@pytest.mark.parametrize("wrong", [None, 1.5, "a"])
def test_a_shape_is_made_of_whole_numbers(wrong):
    with pytest.raises(TypeError, match="^broadcast_shapes: expected whole numbers as lengths"):
        tp.broadcast_shapes((2, 3), wrong)
    assert tp.broadcast_shapes((2, 1), (3,)) == (2, 3)


@pytest.mark.parametrize("wrong", [None, (0,), "a"])
def test_the_dimension_of_chunk_is_one(wrong):
    with pytest.raises(TypeError, match="^chunk: dim must be an int, found"):
        X.chunk(2, wrong)
