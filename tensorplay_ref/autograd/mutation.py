"""allow_mutation_on_saved_tensors: clone a saved value just before it is overwritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ..contexts import context
from ..storage import Storage
from ..tensor_base import TensorBase, detached
from ..transfer import copy_to
from .kept import place_of
from .packing import HookPair, hook_stack

# Called with a storage before an in-place operation writes to it; None almost always.
before_write: ContextVar[Callable[[Storage], None] | None] = ContextVar(
    "before_write", default=None
)


class _Kept:
    """A saved value: an alias of the tensor, until it is about to change; then a clone."""

    __slots__ = ("value", "__weakref__")

    def __init__(self, value: TensorBase) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Kept({self.value.dtype} {self.value.shape}, cloned before it is changed)"


class MutationGuard:
    """The open context: which values are saved from which storage.

    Attributes:
        cloned: how many values have been cloned so far.
    """

    def __init__(self) -> None:
        self.cloned = 0
        self.open = True
        self._kept: WeakKeyDictionary[Storage, WeakSet[_Kept]] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"MutationGuard({'open' if self.open else 'left'}, {self.cloned} cloned)"

    def pack(self, tensor: TensorBase) -> _Kept:
        """Keep an alias, and remember that it depends on the tensor's storage."""
        kept = _Kept(detached(tensor))
        self._kept.setdefault(tensor._storage, WeakSet()).add(kept)
        return kept

    def unpack(self, kept: _Kept) -> TensorBase:
        """The value as it was when it was saved."""
        if not self.open:
            raise RuntimeError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded"
            )
        return kept.value

    def before_write(self, storage: Storage) -> None:
        """Clone what is saved from `storage`: once for each view of it, shared by its slots."""
        clones: dict[Any, TensorBase] = {}
        for kept in self._kept.pop(storage, ()):
            view = place_of(kept.value)
            if view not in clones:
                clones[view] = copy_to(kept.value, kept.value.device, operation="clone")
                self.cloned += 1
            kept.value = clones[view]


@context
def allow_mutation_on_saved_tensors() -> Iterator[MutationGuard]:
    """Inside, saved tensors may be changed in place: backward sees the values that were saved.

    A saved value is cloned when, and only when, an in-place operation is about to change it.
    Backward must run inside the context.

    Errors: RuntimeError when nested, and for a backward after the context was left.
    Source: PyTorch's `torch.autograd.graph.allow_mutation_on_saved_tensors`.
    """
    if before_write.get() is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    guard = MutationGuard()
    stack = hook_stack.get()
    try:
        hook_stack.set((*stack, HookPair(guard.pack, guard.unpack, guard)))
        before_write.set(guard.before_write)
        yield guard
    finally:
        guard.open = False
        try:
            before_write.set(None)
        finally:
            hook_stack.set(tuple(entry for entry in hook_stack.get() if entry.owner is not guard))
