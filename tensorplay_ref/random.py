"""Random tensors, drawn from one Generator for the whole package unless another is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import amount, shown
from .completion import public_names
from .creation import new_leaf
from .dtypes import DTypeLike, float32, int64, supported_dtype
from .generator import Generator, default_generator
from .number_data import require_tensor, sizes
from .ops.promotion import NUMBERS, require_real
from .tensor import Tensor
from .tensor_base import TensorBase, wrap

__all__ = [
    "Generator",
    "bernoulli",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]

__dir__ = public_names(__name__)


def manual_seed(seed: int) -> Generator:
    """Begin the package's stream of this seed."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Begin a stream that nobody can foresee, and return its seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed with which the package's stream began."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The place in the package's stream, as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: TensorBase) -> None:
    """Go to a place in the package's stream that `get_rng_state` gave."""
    default_generator.set_state(new_state)


def rand(
    *size: Any, generator: Generator | None = None, dtype: DTypeLike | None = None, **options: Any
) -> Tensor:
    """Numbers from [0, 1), all equally likely; options as of `full`."""
    return _drawn("rand", "random", generator, sizes("rand", size), dtype, options)


def randn(
    *size: Any, generator: Generator | None = None, dtype: DTypeLike | None = None, **options: Any
) -> Tensor:
    """Normally distributed numbers, mean 0 and standard deviation 1; options as of `full`."""
    return _drawn("randn", "standard_normal", generator, sizes("randn", size), dtype, options)


def normal(
    mean: float | TensorBase = 0.0,
    std: float | TensorBase = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> Tensor:
    """Normally distributed numbers; mean and std may be tensors, whose shape the result has."""
    for value in (mean, std):
        if not isinstance(value, (*NUMBERS, TensorBase)):
            raise TypeError(f"normal: expected numbers or Tensors, found {type(value).__name__}")
    center, width = (_plain(value) for value in (mean, std))
    if np.any(np.less(width, 0)):
        raise RuntimeError(f"normal: expected no standard deviation below 0, found {np.min(width)}")
    shape = np.broadcast_shapes(np.shape(center), np.shape(width))
    shape = shape if size is None else sizes("normal", (size,))
    drawn = _stream(generator).standard_normal(shape) * width + center
    return new_leaf(
        np.asarray(drawn, supported_dtype("normal", dtype or float32)), "normal", **options
    )


def randint(
    low: int,
    high: int | None = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> Tensor:
    """Integers from low up to high - 1: `randint(10, (3,))` begins at 0."""
    if size is None:
        low, high, size = 0, low, high
    if high is None or size is None:
        raise TypeError("randint: expected randint(high, size) or randint(low, high, size)")
    if not all(hasattr(bound, "__index__") for bound in (low, high)):
        raise TypeError(f"randint: expected whole numbers as bounds, found {low!r} and {high!r}")
    if low >= high:
        raise RuntimeError(f"randint: there is no integer from {low} up to {high} - 1")
    drawn = _stream(generator).integers(low, high, sizes("randint", (size,)), np.int64)
    kind = supported_dtype("randint", dtype or int64)
    return new_leaf(np.asarray(drawn).astype(kind), "randint", **options)


def randperm(
    n: int, *, generator: Generator | None = None, dtype: DTypeLike | None = None, **options: Any
) -> Tensor:
    """The integers 0 to n - 1 in a random order."""
    kind = supported_dtype("randperm", dtype or int64)
    (count,) = sizes("randperm", (n,))
    return new_leaf(_stream(generator).permutation(count).astype(kind), "randperm", **options)


def bernoulli(
    input: TensorBase, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability that stands at the place in `input` (or p everywhere), else 0.

    Errors: RuntimeError for complex numbers; ValueError for what is no probability.
    """
    require_tensor("bernoulli", input)
    require_real("bernoulli", input.dtype)
    if p is not None and not isinstance(p, TensorBase):
        amount("bernoulli: p", p)
    chance = np.asarray(_plain(input if p is None else p))
    require_real("bernoulli", chance.dtype)
    wrong = chance[~((chance >= 0) & (chance <= 1))]
    if wrong.size:
        raise ValueError(f"bernoulli: probabilities must lie between 0 and 1, found {wrong[0]}")
    drawn = _stream(generator).random(input.shape) < chance
    return wrap(Tensor, np.asarray(drawn).astype(input.dtype), input.device, "bernoulli")


def rand_like(input: TensorBase, **options: Any) -> Tensor:
    """`rand` in shape, dtype and on the device of `input` unless options say else."""
    options = _like("rand_like", input, options)
    return rand(input.shape, **options)


def randn_like(input: TensorBase, **options: Any) -> Tensor:
    """`randn` in shape, dtype and on the device of `input` unless options say else."""
    options = _like("randn_like", input, options)
    return randn(input.shape, **options)


def randint_like(input: TensorBase, low: int, high: int | None = None, **options: Any) -> Tensor:
    """`randint` in shape, dtype and on the device of `input` unless options say else."""
    first, end = (0, low) if high is None else (low, high)
    options = _like("randint_like", input, options)
    return randint(first, end, input.shape, **options)


def _plain(value: Any) -> Any:
    return value._array if isinstance(value, TensorBase) else value


def _stream(generator: Generator | None) -> np.random.Generator:
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"generator must be a Generator, found {shown(generator)}")
    return (default_generator if generator is None else generator).numpy


def _drawn(
    operation: str,
    method: str,
    generator: Generator | None,
    size: tuple[int, ...],
    dtype: DTypeLike | None,
    options: dict[str, Any],
) -> Tensor:
    kind = supported_dtype(operation, dtype or float32)
    if kind.kind != "f":
        raise RuntimeError(f"{operation}: expected a floating dtype, found {kind}; see randint")
    precision = kind if kind.itemsize >= 4 else float32
    drawn = getattr(_stream(generator), method)(size, dtype=precision)
    return new_leaf(np.asarray(drawn).astype(kind, copy=False), operation, **options)


def _like(name: str, input: TensorBase, options: dict[str, Any]) -> dict[str, Any]:
    require_tensor(name, input)
    return {"dtype": input.dtype, "device": input.device, **options}
