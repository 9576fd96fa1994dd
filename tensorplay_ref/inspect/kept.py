"""What a saved slot keeps alive: storages, arrays and bytes, found without calling any hook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from ..autograd.node import Node
from ..autograd.saved import SavedTensor
from ..storage import Storage
from ..tensor_base import TensorBase

# How far an object's attributes are followed: what pack returns is a value with a few parts.
DEPTH = 4
CONTAINERS = (dict, list, tuple, set, frozenset)


@dataclass(frozen=True, slots=True)
class Kept:
    """One piece of memory that something keeps alive.

    Attributes:
        memory: the object that owns it; its identity tells whether two slots share it.
        nbytes: its size in bytes, all of it, also when only a part is looked at.
        device: where it is: "cpu", "cuda:0", …
    """

    memory: Any
    nbytes: int
    device: str


def kept_by(value: Any) -> list[Kept]:
    """The memory that `value` keeps alive, each piece once, in the order in which it is met.

    Looks into tensors, saved slots, arrays, bytes, containers, and the attributes of other objects;
    not into functions, classes, graphs and weak references. A number or a path keeps no memory.
    """
    found: dict[int, Kept] = {}
    seen: set[int] = set()
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        kept = _own_memory(item)
        if kept is not None:
            found.setdefault(id(kept.memory), kept)
        elif type(item) in CONTAINERS:
            parts = item.values() if isinstance(item, dict) else item
            waiting.extend((part, depth) for part in reversed(list(parts)))
        elif depth < DEPTH:
            waiting.extend((part, depth + 1) for part in reversed(list(_parts(item))))
    return list(found.values())


def _own_memory(item: Any) -> Kept | None:
    if isinstance(item, TensorBase):
        item = item._storage
    if isinstance(item, Storage):
        return Kept(item, int(item.buffer.nbytes), str(item.device))
    if isinstance(item, np.ndarray):
        while isinstance(item.base, np.ndarray):
            item = item.base
        return Kept(item, int(item.nbytes), "cpu")
    if isinstance(item, (bytes, bytearray)):
        return Kept(item, len(item), "cpu")
    return None


def _parts(item: Any) -> Iterator[Any]:
    if isinstance(item, (str, int, float, complex, type, Node)) or callable(item):
        return
    if isinstance(item, SavedTensor):
        yield item._storage if item._unpack_hook is None else item._value
        return
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, (list, tuple, set, frozenset)):
        yield from item
    # Attributes are read from where they are stored, so that no property runs.
    attributes = getattr(item, "__dict__", None)
    if isinstance(attributes, dict):
        yield from attributes.values()
    for cls in type(item).__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            member: Any = cls.__dict__.get(name)
            if name != "__weakref__" and hasattr(member, "__get__"):
                try:
                    yield member.__get__(item, cls)
                except AttributeError:
                    continue


class Memories:
    """Numbers for pieces of memory: the same piece keeps its number, and none is kept alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}
        self._count = 0

    def number(self, memory: Any) -> int:
        """The number of a piece of memory, a new one when it is met for the first time."""
        number = self.known(memory)
        if number is not None:
            return number
        self._count += 1
        try:
            self._known[id(memory)] = (ref(memory), self._count)
        except TypeError:
            # bytes cannot be referred to weakly; each is counted wherever it is kept.
            self._known.pop(id(memory), None)
        return self._count

    def known(self, memory: Any) -> int | None:
        """The number of a piece of memory that was met before."""
        reference, number = self._known.get(id(memory), (None, 0))
        return number if reference is not None and reference() is memory else None
