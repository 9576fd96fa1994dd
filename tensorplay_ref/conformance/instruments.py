"""Small instruments that statements observe an implementation with."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .api import Api


class Recorder:
    """A pack/unpack pair that hands tensors through and remembers its calls."""

    def __init__(
        self,
        pack: Callable[[Any], Any] = lambda tensor: tensor,
        unpack: Callable[[Any], Any] = lambda packed: packed,
    ) -> None:
        self.packed: list[Any] = []
        self.unpacked: list[Any] = []
        self._pack = pack
        self._unpack = unpack

    def pack(self, tensor: Any) -> Any:
        """Remember the tensor, then pack it."""
        self.packed.append(tensor)
        return self._pack(tensor)

    def unpack(self, packed: Any) -> Any:
        """Remember the packed object, then unpack it."""
        self.unpacked.append(packed)
        return self._unpack(packed)

    @property
    def counts(self) -> tuple[int, int]:
        """How often pack and unpack ran."""
        return len(self.packed), len(self.unpacked)


class Refusal(Exception):
    """What a hook raises when a statement is about exceptions in hooks."""


class Parcel:
    """A packed object that can be watched by a weak reference."""

    def __init__(self, content: Any) -> None:
        self.content = content


class Parcels:
    """A pair of hooks that packs into parcels and knows which of them still live.

    With ``detach=False`` a parcel holds the very tensor that pack was given.
    """

    def __init__(self, api: Api, *, detach: bool = True) -> None:
        self._watched: list[weakref.ref[Parcel]] = []
        self._detach = detach
        self.context = api.hooks(self.pack, self.unpack)

    def pack(self, tensor: Any) -> Parcel:
        """Put the tensor in a parcel and watch it."""
        parcel = Parcel(tensor.detach() if self._detach else tensor)
        self._watched.append(weakref.ref(parcel))
        return parcel

    def unpack(self, parcel: Parcel) -> Any:
        """Take the tensor out of its parcel."""
        return parcel.content

    @property
    def alive(self) -> int:
        """How many parcels live."""
        return sum(each() is not None for each in self._watched)


@contextmanager
def collector_off() -> Iterator[None]:
    """Inside, only reference counting frees objects."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_thread(work: Callable[[], Any]) -> Any:
    """Run in a new thread, wait for it, and return its result or raise its exception."""
    result: list[Any] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(20.0)
    if failure:
        raise failure[0]
    if not result:
        raise AssertionError("the thread did not end within 20 seconds")
    return result[0]
