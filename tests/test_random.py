"""Random numbers: seeds, states, ranges, dtypes, and generators of one's own."""

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp

DRAWS: list[Any] = [
    lambda g: tp.rand(3, generator=g),
    lambda g: tp.randn(2, 2, generator=g),
    lambda g: tp.randint(10, (4,), generator=g),
    lambda g: tp.randperm(5, generator=g),
    lambda g: tp.normal(1.0, 2.0, (3,), generator=g),
    lambda g: tp.bernoulli(tp.full((8,), 0.5), generator=g),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_seed_gives_the_same_numbers_again(draw: Any) -> None:
    tp.manual_seed(7)
    first, second = draw(None), draw(None)
    assert tp.manual_seed(7) is tp.default_generator
    assert draw(None).tolist() == first.tolist()
    assert draw(None).tolist() == second.tolist()
    assert draw(tp.Generator().manual_seed(7)).tolist() == first.tolist()


@pytest.mark.parametrize("draw", DRAWS)
def test_a_state_can_be_kept_and_put_back(draw: Any) -> None:
    tp.manual_seed(3)
    tp.randint(5, (3,))  # leaves half a number behind in the bit generator
    state = tp.get_rng_state()
    assert state.dtype == tp.uint8
    first = draw(None)
    tp.rand(10)
    tp.set_rng_state(state)
    assert draw(None).tolist() == first.tolist()


def test_a_generator_of_one_s_own_leaves_the_package_s_alone() -> None:
    tp.manual_seed(1)
    state = tp.get_rng_state()
    generator = tp.Generator()
    tp.randn(5, generator=generator)
    assert tp.get_rng_state().tolist() == state.tolist()
    assert generator.get_state().tolist() != state.tolist()


def test_a_new_generator_has_the_default_seed() -> None:
    assert tp.randn(3, generator=tp.Generator()).tolist() == (
        tp.randn(3, generator=tp.Generator().manual_seed(0)).tolist()
    )


def test_the_seed_can_be_asked_and_travels_with_the_state() -> None:
    generator = tp.Generator().manual_seed(-5)
    assert generator.initial_seed() == -5
    other = tp.Generator().set_state(generator.get_state())
    assert other.initial_seed() == -5
    tp.manual_seed(11)
    assert tp.initial_seed() == 11
    assert tp.default_generator.seed() == tp.initial_seed()
    tp.manual_seed(0)


def test_wrong_states_are_refused() -> None:
    generator = tp.Generator()
    before = generator.get_state().tolist()
    with pytest.raises(TypeError, match="uint8"):
        generator.set_state(tp.zeros(3))
    with pytest.raises(RuntimeError, match="found 3"):
        generator.set_state(tp.zeros(3, dtype=tp.uint8))
    assert generator.get_state().tolist() == before


def test_the_numbers_lie_where_they_should() -> None:
    tp.manual_seed(0)
    uniform, normal = tp.rand(20_000), tp.randn(20_000)
    assert 0.0 <= uniform.min().item() and uniform.max().item() < 1.0
    assert abs(uniform.mean().item() - 0.5) < 0.01
    assert abs(normal.mean().item()) < 0.03 and abs(normal.std().item() - 1.0) < 0.03
    shifted = tp.normal(tp.full((20_000,), 3.0), 0.5)
    assert abs(shifted.mean().item() - 3.0) < 0.03 and abs(shifted.std().item() - 0.5) < 0.03
    integers = tp.randint(-2, 3, (1_000,))
    assert set(integers.tolist()) == {-2, -1, 0, 1, 2}
    assert sorted(tp.randperm(50).tolist()) == list(range(50))
    chances = tp.bernoulli(tp.tensor([0.0, 1.0]))
    assert chances.tolist() == [0.0, 1.0]
    assert abs(tp.bernoulli(tp.zeros(10_000), 0.3).mean().item() - 0.3) < 0.03


def test_dtypes_shapes_and_options() -> None:
    assert tp.rand(2).dtype == tp.randn((2, 3)).dtype == tp.normal(0.0, 1.0, (1,)).dtype
    assert tp.rand(2).dtype == tp.float32
    assert tp.randn(2, dtype=tp.float64).dtype == tp.float64
    assert tp.randn(2, dtype=tp.float16).dtype == tp.float16
    assert tp.randint(3, (2,)).dtype == tp.randperm(2).dtype == tp.int64
    assert tp.randint(3, (2,), dtype=tp.float32).dtype == tp.float32
    assert tp.randn(2, requires_grad=True).requires_grad
    assert tp.randn((2, 3)).shape == (2, 3) and tp.rand(()).shape == ()
    like = tp.zeros(2, 3, dtype=tp.float64)
    assert tp.rand_like(like).dtype == tp.randn_like(like).dtype == tp.float64
    assert tp.randint_like(like, 5).shape == (2, 3)
    assert tp.randint_like(like, 5, dtype=tp.int64).dtype == tp.int64


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tp.randn(2, dtype=tp.int64), RuntimeError, "floating dtype, found int64"),
        (lambda: tp.randint(5), TypeError, "randint"),
        (lambda: tp.randint(2.5, (1,)), TypeError, "whole numbers as bounds, found 0 and 2.5"),
        (lambda: tp.randint(2, (-1,)), RuntimeError, "randint: expected no number below 0"),
        (lambda: tp.rand(-1), RuntimeError, "rand: expected no number below 0"),
        (lambda: tp.randn("a"), TypeError, "randn: expected whole numbers as lengths"),
        (lambda: tp.randperm(-1), RuntimeError, "randperm: expected no number below 0"),
        (lambda: tp.normal(0.0, -1.0, (1,)), RuntimeError, "no standard deviation below 0"),
        (lambda: tp.randint(5, 5, (1,)), RuntimeError, "no integer from 5"),
        (lambda: tp.randn(2, colour=1), TypeError, "colour"),
        (lambda: tp.randn(2, generator=3), TypeError, "generator must be a Generator, found 3"),
        (lambda: tp.manual_seed("a"), ValueError, "manual_seed: seed must be a whole number"),
        (lambda: tp.Generator().manual_seed(None), TypeError, "a whole number, found None"),
        (lambda: tp.manual_seed(float("inf")), OverflowError, "a whole number, found inf"),
        (lambda: tp.normal("a", 1.0, (1,)), TypeError, "normal: expected numbers or Tensors"),
        (lambda: tp.bernoulli(3), TypeError, "bernoulli: input must be a Tensor, found int"),
        (lambda: tp.rand_like(3), TypeError, "rand_like: input must be a Tensor, found int"),
    ],
)
def test_wrong_use_names_what_was_expected(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_float32_numbers_are_drawn_as_float32() -> None:
    stream = np.random.Generator(np.random.PCG64(4))
    tp.manual_seed(4)
    np.testing.assert_array_equal(tp.randn(5), stream.standard_normal(5, dtype=np.float32))
