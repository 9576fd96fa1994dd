"""Device and DeviceType: where a tensor lives, and the accelerator behind that name.

There is one object for each device, so two devices are the same device exactly when they are the
same object. "cuda" names a simulated accelerator (see `accelerator`); no GPU is used.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from .accelerator import DEFAULT, DEFAULT_CLOCK, HOST, LOCK, Accelerator

DEVICE_COUNT: Final = 8
_ALLOWED = f"'cpu', 'cuda' (which is 'cuda:0') or 'cuda:0' to 'cuda:{DEVICE_COUNT - 1}'"
_SPELLING = re.compile(r"(cpu|cuda)(?::(0|[1-9][0-9]*))?")


class DeviceType(enum.Enum):
    """The kinds of device, numbered as TensorPlay numbers them; `str` gives "cpu" and "cuda"."""

    CPU = 0
    CUDA = 1

    def __int__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        return self.name.lower()


@final
class Device:
    """A device by name: "cpu", "cuda", "cuda:1", ("cuda", 1), a `DeviceType`, or another Device.

    Attributes:
        type: "cpu" or "cuda".
        index: which accelerator, -1 for the CPU. An index of -1 or none given means the first one.
        accelerator: the simulated accelerator that stands behind the name now; None for the CPU.

    Immutable, and the same object for the same device: copying and pickling keep it so. A device
    equals the string that it prints as, and hashes like it; `Device("cuda")` prints as "cuda:0", so
    ask `device.type == "cuda"` for the kind.

    Errors:
        ValueError: a name or index that is no device. TypeError: neither a name nor a device.
    """

    __slots__ = ("_name", "accelerator", "index", "type")

    type: str
    index: int
    accelerator: Accelerator | None
    _name: str

    def __new__(cls, type: Device | DeviceType | str, index: int | None = None) -> Device:
        """The one device of this name."""
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"the index of a Device must be an int; found {index!r}")
        if isinstance(type, Device):
            kind, named = type.type, None if type is CPU else type.index
        elif isinstance(type, DeviceType):
            kind, named = str(type), None
        elif isinstance(type, str):
            match = _SPELLING.fullmatch(type.lower())
            if match is None:
                raise ValueError(f"Invalid device string: {type!r}. Expected {_ALLOWED}")
            kind, named = match[1], None if match[2] is None else int(match[2])
        else:
            raise TypeError(
                f"a Device is made from a string, a DeviceType or a Device; found {type!r}. "
                f"Expected {_ALLOWED}"
            )
        if named is not None and index is not None:
            raise ValueError(f"the index is given twice: by {type!r} and by index={index}")
        number = named if index is None else index
        if number is None or number == -1:
            number = 0
        if kind == "cpu" and number == 0:
            return CPU
        if kind == "cuda" and 0 <= number < DEVICE_COUNT:
            return _cuda[number]
        raise ValueError(f"Invalid device: {kind}:{number}. Expected {_ALLOWED}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a Device cannot be changed: tried to set {name} of {self}; make another one"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Device cannot be changed: tried to delete {name} of {self}")

    def is_cpu(self) -> bool:
        """Whether this is host memory."""
        return self.type == "cpu"

    def is_cuda(self) -> bool:
        """Whether this is a (simulated) accelerator."""
        return self.type == "cuda"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self._name == other
        return self is other

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Device, (self._name,)


def _make(type: str, index: int, accelerator: Accelerator | None) -> Device:
    device = object.__new__(Device)
    object.__setattr__(device, "type", type)
    object.__setattr__(device, "index", index)
    object.__setattr__(device, "accelerator", accelerator)
    object.__setattr__(device, "_name", type if accelerator is None else f"{type}:{index}")
    return device


_defaults = tuple(
    Accelerator(f"cuda:{index}", DEFAULT, DEFAULT_CLOCK) for index in range(DEVICE_COUNT)
)
_cuda = tuple(_make("cuda", index, accelerator) for index, accelerator in enumerate(_defaults))
CPU: Final = _make("cpu", -1, None)


def as_device(value: Device | str | DeviceType | None) -> Device:
    """The device that a `device=` argument means; None means the CPU."""
    if value.__class__ is Device:
        return value
    return CPU if value is None else Device(value)


# The accelerators that stand in for the default ones now, the innermost last.
_stand_ins: list[tuple[Device, Accelerator]] = []


@contextmanager
def standing_in(device: Device, accelerator: Accelerator) -> Iterator[Device]:
    """Put another accelerator behind the name of a device while the context is open.

    The change is seen by every thread. What was allocated before keeps its place in the ledger that
    counted it. Contexts nest; each takes only itself away, in whatever order they are left.
    """
    entry = (device, accelerator)
    with LOCK:
        _stand_ins.append(entry)
        _refresh(device)
    try:
        yield device
    finally:
        with LOCK:
            position = next(i for i, other in enumerate(_stand_ins) if other is entry)
            del _stand_ins[position]
            _refresh(device)


def _refresh(device: Device) -> None:
    current = next(
        (accelerator for other, accelerator in reversed(_stand_ins) if other is device),
        _defaults[device.index],
    )
    object.__setattr__(device, "accelerator", current)
    HOST.clock = _stand_ins[-1][1].clock if _stand_ins else DEFAULT_CLOCK
