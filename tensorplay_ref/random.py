"""Random tensors, drawn from one Generator for the whole package unless another is given.

Until somebody sets a seed the package's Generator has `DEFAULT_SEED`, so that two runs of a lesson
draw the same numbers. The stream is NumPy's PCG64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import amount, call_text, shown
from .completion import public_names
from .creation import new_leaf
from .device import Device
from .dtypes import DTypeLike, float32, int64, supported_dtype
from .forking import hold_through_fork
from .methods.conversion import DeviceLike
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

DEFAULT_SEED = 0


class Generator:
    """A stream of random numbers with a seed and a state that can be kept and put back."""

    def __init__(self, device: DeviceLike = "cpu") -> None:
        # One stream serves every device: the numbers are drawn on the host and counted there.
        self.device = Device(device)
        self._seed = DEFAULT_SEED
        self._stream: np.random.Generator | None = None

    @property
    def numpy(self) -> np.random.Generator:
        """NumPy's generator of the stream; made at first use, since NumPy loads it slowly."""
        if self._stream is None:
            self._stream = np.random.Generator(np.random.PCG64(self._seed % 2**64))
        return self._stream

    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream of this seed (any whole number) and return the generator."""
        try:
            number = int(seed)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(
                f"manual_seed: seed must be a whole number, found {shown(seed)}"
            ) from None
        self._seed, self._stream = number, None
        return self

    def seed(self) -> int:
        """Begin a stream that nobody can foresee, and return its seed."""
        fresh = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self.manual_seed(fresh)
        return fresh

    def initial_seed(self) -> int:
        """The seed with which the stream began."""
        return self._seed

    def get_state(self) -> Tensor:
        """The place in the stream, as a uint8 tensor."""
        state: Any = self.numpy.bit_generator.state
        data = b"".join(
            (
                int(state["state"]["state"]).to_bytes(16, "little"),
                int(state["state"]["inc"]).to_bytes(16, "little"),
                int(state["has_uint32"]).to_bytes(1, "little"),
                int(state["uinteger"]).to_bytes(4, "little"),
                self._seed.to_bytes(16, "little", signed=True),
            )
        )
        return wrap(Tensor, np.frombuffer(data, np.uint8).copy())

    def set_state(self, new_state: TensorBase) -> Generator:
        """Go to a place that `get_state` gave.

        Errors: TypeError or RuntimeError for anything else.
        """
        if not isinstance(new_state, TensorBase) or new_state.dtype != np.uint8:
            raise TypeError("set_state: expected a uint8 tensor from get_state")
        data = new_state._array.tobytes()
        if len(data) != 53:
            raise RuntimeError(f"set_state: expected 53 bytes from get_state, found {len(data)}")
        stream = self.numpy
        stream.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": int.from_bytes(data[:16], "little"),
                "inc": int.from_bytes(data[16:32], "little"),
            },
            "has_uint32": data[32],
            "uinteger": int.from_bytes(data[33:37], "little"),
        }
        self._seed = int.from_bytes(data[37:], "little", signed=True)
        return self

    def __repr__(self) -> str:
        return call_text("Generator", str(self.device), seed=self._seed)


default_generator = Generator()
_held: list[Any] = []


def _hold_stream() -> None:
    # NumPy's stream has a lock of its own, which a forked child must not inherit in use.
    if default_generator._stream is not None:
        _held.append(default_generator._stream.bit_generator.lock)
        _held[-1].acquire()


def _release_stream() -> None:
    while _held:
        _held.pop().release()


hold_through_fork(_hold_stream, _release_stream)


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
