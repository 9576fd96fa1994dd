"""Policy: the base of the ready pack/unpack pairs, and what all of them have in common."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, NamedTuple, Self
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..arguments import amount, call_text, flag, shown
from ..autograd.graph import saved_tensor_hooks
from ..autograd.kept import Kept, place_of
from ..autograd.packing import packing_operation
from ..forking import hold_through_fork
from ..storage import Storage
from ..tensor_base import TensorBase

# One for the books of all policies, so that a child is forked between two entries. Who holds it
# waits for nothing, but for the operating system to make a directory.
lock = threading.RLock()
hold_through_fork(lock.acquire, lock.release)


class Packed(NamedTuple):
    """What a policy packs: tensors, and plain values that unpacking needs beside them."""

    parts: tuple[Any, ...]
    note: Any


class Shared:
    """One packed object for all slots that save the same values."""

    __slots__ = ("packed", "__weakref__")

    def __init__(self, packed: Any) -> None:
        self.packed = packed

    def __repr__(self) -> str:
        return f"Shared({shown(self.packed)})"


class Policy(saved_tensor_hooks):
    """A pair of saved-tensor hooks that makes saved tensors smaller, or keeps them elsewhere.

    A subclass defines `pack`, which returns the tensor itself to leave it as it is, and `unpack`.
    Like every pair of hooks it can be entered again, nested, shared by threads, and used as a
    decorator. It can be copied: the copy has its options and has packed nothing yet.

    Args:
        min_bytes: smaller tensors are left as they are.
        skip_leaves: leave parameters (leaves that require a gradient, and views of them) as they
            are: they stay in memory anyway.
        deduplicate: pack the same values once when several slots save them, such as the result of
            relu, which relu's backward and the next layer's read.

    Errors: TypeError for another option, or one of another type.
    """

    # Whether `pack` treats the same tensor differently for different operations.
    by_operation = False
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]
    # What `_begin` sets.
    not_copied: ClassVar[tuple[str, ...]] = ("_shared",)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """The arguments are kept, so that every policy prints as the call that made it."""
        policy = super().__new__(cls)
        policy._made_with = (args, kwargs)
        return policy

    def __init__(
        self,
        *,
        min_bytes: int = 0,
        skip_leaves: bool = True,
        deduplicate: bool = True,
        **unknown: Any,
    ) -> None:
        name = type(self).__name__
        if unknown:
            raise TypeError(
                f"{name}: there is no option {next(iter(unknown))!r}; every policy has min_bytes, "
                "skip_leaves and deduplicate"
            )
        self.min_bytes = amount(f"{name}: min_bytes", min_bytes)
        self.skip_leaves = flag(f"{name}: skip_leaves", skip_leaves)
        self.deduplicate = flag(f"{name}: deduplicate", deduplicate)
        self._begin()

    def _begin(self) -> None:
        """Set what belongs to this very object, and to no copy of it."""
        # Keyed by the storage itself, weakly: neither its id nor its address, which a later tensor
        # may get. Then by what tells apart the views of one storage and its states in time.
        self._shared: WeakKeyDictionary[Storage, WeakValueDictionary[Any, Shared]] = (
            WeakKeyDictionary()
        )

    def __getstate__(self) -> dict[str, Any]:
        """The options alone: a copy has packed nothing yet."""
        return {name: v for name, v in self.__dict__.items() if name not in self.not_copied}

    def __repr__(self) -> str:
        args, kwargs = self._made_with
        return call_text(type(self).__name__, *args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def pack(self, tensor: TensorBase) -> Any:
        """What to keep in place of the tensor; the tensor itself to leave it as it is."""
        raise NotImplementedError

    def unpack(self, packed: Any) -> TensorBase:
        """The tensor from what `pack` returned."""
        raise NotImplementedError

    def packed(self, tensor: TensorBase) -> Any:
        """`pack`, after the options that all policies have."""
        if tensor.nbytes < self.min_bytes or (self.skip_leaves and is_parameter(tensor)):
            return tensor
        if not self.deduplicate:
            return self.pack(tensor)
        key: tuple[Any, ...] = (tensor._version, *place_of(tensor))
        if self.by_operation:
            key += (packing_operation(),)
        with lock:
            views = self._shared.setdefault(tensor._storage, WeakValueDictionary())
            shared = views.get(key)
        if shared is None:
            packed = self.pack(tensor)
            if packed is tensor:
                return tensor
            shared = Shared(packed)
            with lock:
                views[key] = shared
        return shared

    def unpacked(self, packed: Any) -> TensorBase:
        """The tensor from what `packed` returned, if that was another object."""
        return self.unpack(packed.packed if type(packed) is Shared else packed)

    # Methods instead of the base's attributes: a bound method kept by its own object would be a
    # cycle, and what the policy holds would wait for the garbage collector.
    def pack_hook(self, tensor: TensorBase) -> Any:
        """The pack hook of the pair."""
        packed = self.packed(tensor)
        return Kept(tensor, "kept as it is by a saving policy") if packed is tensor else packed

    def unpack_hook(self, packed: Any) -> TensorBase:
        """The unpack hook of the pair."""
        return packed.value() if type(packed) is Kept else self.unpacked(packed)


def is_parameter(tensor: TensorBase) -> bool:
    """Whether the tensor is a leaf that requires a gradient, or a view of one."""
    base = tensor if tensor._view is None else tensor._view.base
    return base._requires_grad and base._node is None


def check_pair(name: str, pair: Any) -> None:
    """Refuse what is no pair of hooks. Errors: TypeError naming the argument."""
    for hook in ("pack_hook", "unpack_hook"):
        if not callable(getattr(pair, hook, None)):
            raise TypeError(
                f"{name} must be a saving policy or another saved_tensor_hooks object; "
                f"found {type(pair).__name__}"
            )


class Foreign(NamedTuple):
    """What a pair that is no Policy packed; its own unpack reverses it."""

    packed: Any


def pack_with(pair: Any, tensor: TensorBase) -> Any:
    """Pack with a policy or any other pair; the tensor itself when a policy left it as it is."""
    if isinstance(pair, Policy):
        return pair.packed(tensor)
    return Foreign(pair.pack_hook(tensor))


def unpack_with(pair: Any, packed: Any) -> TensorBase:
    """The tensor from what `pack_with` returned, if that was another object."""
    if isinstance(pair, Policy):
        return pair.unpacked(packed)
    tensor: TensorBase = pair.unpack_hook(packed.packed)
    return tensor
