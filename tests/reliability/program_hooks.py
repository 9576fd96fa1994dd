"""The hook pairs, Functions and faults of random programs, for tensorplay_ref and for torch."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from tensorplay_ref import saving

# The pairs that keep a copy, so that later in-place writes do not reach what they saved.
COPYING = ("clone", "numpy", "disk", "table", "narrow", "policy files")
SHARING = ("identity", "detach", "on cpu", "policy compress")
file_number = itertools.count()


class Fault(Exception):
    """What a program throws on purpose."""


class Faults:
    """Throws one Fault at the n-th passing of a place: pack, unpack, forward, backward, hook."""

    def __init__(self, place: str | None, number: int) -> None:
        self.place = place
        self.left = number
        self.fired = False

    def passing(self, place: str) -> None:
        if place == self.place and not self.fired:
            self.left -= 1
            if self.left < 0:
                self.fired = True
                raise Fault(place)


class Parcel:
    """What a pack hook returns: content that can be watched."""

    def __init__(self, content: Any) -> None:
        self.content = content


class FileParcel(Parcel):
    """An array in a file that goes with the parcel."""

    def __init__(self, path: Path, array: Any) -> None:
        np.save(path, array)
        super().__init__(path)
        weakref.finalize(self, path.unlink)


class Pairs:
    """Makes hook contexts by name; `parcels` are weak references to all that was packed."""

    def __init__(self, module: Any, faults: Faults, folder: Path) -> None:
        self.module = module
        self.faults = faults
        self.folder = folder
        self.parcels: list[weakref.ref[Parcel]] = []
        self.table: dict[int, Any] = {}
        self.count = 0

    def context(self, name: str) -> AbstractContextManager[Any]:
        if name == "on cpu":
            return self.module.autograd.graph.save_on_cpu()
        if name == "policy files":
            return saving.on_disk(self.folder, min_bytes=0, skip_leaves=False)
        if name == "policy compress":
            return saving.compress(min_bytes=0, skip_leaves=False)
        pack, unpack = self._functions(name)

        def packing(tensor: Any) -> Any:
            self.faults.passing("pack")
            parcel = pack(tensor)
            self.parcels.append(weakref.ref(parcel))
            self.count += 1
            return parcel

        def unpacking(parcel: Any) -> Any:
            self.faults.passing("unpack")
            return unpack(parcel)

        return self.module.autograd.graph.saved_tensors_hooks(packing, unpacking)

    def _functions(self, name: str) -> tuple[Callable[[Any], Parcel], Callable[[Any], Any]]:
        module = self.module

        def array(tensor: Any) -> Any:
            return tensor.detach().numpy().copy()

        def to_file(tensor: Any) -> Parcel:
            return FileParcel(self.folder / f"{next(file_number)}.npy", array(tensor))

        def to_table(tensor: Any) -> Parcel:
            self.table[self.count] = array(tensor)
            return Parcel(self.count)

        def narrow(tensor: Any) -> Parcel:
            # Nothing may be lost: half of the bits go into one array and the rest into another,
            # and what is narrow already comes back wide, to be cast by the reader.
            values = array(tensor)
            if values.dtype == np.float32 and module.__name__ == "tensorplay_ref":
                return Parcel((values.astype(np.float64), None))
            if values.dtype != np.float64:
                return Parcel((values, None))
            near = values.astype(np.float32)
            return Parcel((near, values - near))

        def widen(parcel: Parcel) -> Any:
            near, rest = parcel.content
            return module.tensor(near if rest is None else near.astype(np.float64) + rest)

        pairs: dict[str, tuple[Callable[[Any], Parcel], Callable[[Any], Any]]] = {
            "identity": (Parcel, lambda parcel: parcel.content),
            "detach": (lambda t: Parcel(t.detach()), lambda parcel: parcel.content),
            "clone": (lambda t: Parcel(t.detach().clone()), lambda parcel: parcel.content),
            "numpy": (lambda t: Parcel(array(t)), lambda parcel: module.tensor(parcel.content)),
            "disk": (to_file, lambda parcel: module.tensor(np.load(parcel.content))),
            "table": (to_table, lambda parcel: module.tensor(self.table[parcel.content])),
            "narrow": (narrow, widen),
        }
        return pairs[name]


def functions(module: Any, faults: Faults) -> dict[str, Callable[[Any, Any, Any, int], Any]]:
    """Custom Functions as operations: one saves its input, one its output, one has two results."""

    class Product(module.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, None, b)
            faults.passing("forward")
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            faults.passing("backward")
            a, nothing, b = ctx.saved_tensors
            assert nothing is None
            return (grad * b).sum_to_size(a.shape), (grad * a).sum_to_size(b.shape)

    class Tanh(module.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(a: Any, scale: float) -> Any:
            return a.tanh()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            faults.passing("forward")
            ctx.save_for_backward(output)
            ctx.scale = inputs[1]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            faults.passing("backward")
            (output,) = ctx.saved_tensors
            return grad * (1.0 - output * output), None

    class SineCosine(module.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            sine, cosine = a.sin(), a.cos()
            ctx.save_for_backward(sine, cosine)
            faults.passing("forward")
            return sine, cosine

        @staticmethod
        def backward(ctx: Any, up: Any, down: Any) -> Any:
            faults.passing("backward")
            sine, cosine = ctx.saved_tensors
            return up * cosine - down * sine

    def two(m: Any, a: Any, b: Any, n: int) -> Any:
        sine, cosine = SineCosine.apply(a)
        return cosine if n % 3 == 0 else sine * cosine if n % 3 == 1 else sine

    return {
        "Product": lambda m, a, b, n: Product.apply(a.sin(), b.mean()),
        "Tanh": lambda m, a, b, n: Tanh.apply(a, 2.0),
        "SineCosine": two,
    }
