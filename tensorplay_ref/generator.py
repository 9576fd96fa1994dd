"""Generator: a stream of random numbers with a seed and a state, and the one of the whole package.

The stream is NumPy's PCG64. Until somebody sets a seed the package's Generator has `DEFAULT_SEED`,
so that two runs of a lesson draw the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import call_text, shown
from .device import Device
from .forking import hold_through_fork
from .methods.conversion import DeviceLike
from .tensor import Tensor
from .tensor_base import TensorBase, wrap

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
