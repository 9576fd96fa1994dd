"""SavedTensor: one saved slot of a node. Packed now, unpacked at each read, released after use.

Built-in operations and custom Functions save through this one class, so one hook stack serves both.
A slot carries its own unpack function, version and history; nothing is looked up later.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any
from weakref import ref as weak_reference

from ..formatting import slot_text
from ..storage import Array, CountedStorage, SlotCount, Storage, new_storage
from ..tensor_base import TensorBase, detached, leaf_of, new_tensor
from .grad_mode import grad_enabled
from .observer import notify, watchers
from .packing import HookPair, hook_stack, saving_node
from .unpacked import as_saved

if TYPE_CHECKING:
    from .node import Node


SECOND_TIME = (
    "Trying to backward through the graph a second time (or to read saved tensors after they have "
    "been freed): the values saved by {name} were released when its backward had run. "
    "Specify retain_graph=True in the first backward if the graph is needed again."
)


def save(tensor: TensorBase, owner: Node | None, is_output: bool = False) -> SavedTensor:
    """Save `tensor` for `owner`; `is_output` when the owner's own result is saved.

    Errors: whatever the pack hook raises, as the same object; RuntimeError when pack changed its
    argument in place. Nothing is recorded then.
    """
    # Attributes are set here, not by an __init__: slots are made for every recorded operation.
    slot = SavedTensor()
    storage = tensor._storage
    slot._version = storage.version
    slot._output_nr = tensor._output_nr
    slot._is_output = is_output
    slot._unpack_hook = slot._node = slot._leaf = slot._original = None
    if is_output:
        # The node hands itself in at each read, so the slot of a result refers to no node.
        slot._requires_grad = True
    else:
        slot._requires_grad = requires_grad = tensor._requires_grad
        slot._node = node = tensor._node
        if requires_grad and node is None:
            slot._leaf = tensor
        else:
            # A weak reference, an array and a storage instead of the tensor itself: a tensor that
            # is written in place by its own user would otherwise keep itself alive.
            slot._original = weak_reference(tensor)
    if watchers:
        notify("save", owner, slot=slot, tensor=tensor, is_output=is_output)
    stack = hook_stack.get()
    if stack:
        slot._pack(tensor, stack[-1], owner)
    else:
        slot._value = tensor._array
        slot._storage = storage
        slot._form = type(tensor)
        if type(storage) is CountedStorage:
            slot._counted = SlotCount(storage)
    return slot


class SavedTensor:
    """One tensor saved for backward: plainly, with a version check, or packed by a hook.

    Saves: without hooks the storage, the array and the version; with hooks what pack returned and
    the unpack function of the same pair, nothing else. In both cases whether the tensor required a
    gradient, and its place in the graph, so that what is read later has the same history.
    """

    __slots__ = (
        "_value",
        "_storage",
        "_version",
        "_unpack_hook",
        "_form",
        "_requires_grad",
        "_is_output",
        "_node",
        "_leaf",
        "_output_nr",
        "_original",
        "_counted",
        "__weakref__",
    )
    _value: Any  # the array, or what pack returned
    _storage: Any  # the Storage; None when packed or released
    _version: int
    _unpack_hook: Callable[[Any], Any] | None
    _form: Any  # the class of the tensor, or its (shape, dtype, device) when packed
    _requires_grad: bool
    _is_output: bool
    _node: Node | None
    _leaf: TensorBase | None
    _output_nr: int
    _original: Callable[[], TensorBase | None] | None  # the saved tensor, if it is still there
    _counted: SlotCount | None  # set on the accelerator only

    # -- packing ---------------------------------------------------------------------------------
    def _pack(self, tensor: TensorBase, pair: HookPair, owner: Node | None) -> None:
        # An alias of a result: packing the result itself would close a cycle through its node.
        storage = tensor._storage
        argument = new_tensor(type(tensor), tensor._array, storage) if self._is_output else tensor
        recording = grad_enabled.get()
        thread = get_ident()
        outer = saving_node.get(thread)
        try:
            grad_enabled.set(False)
            saving_node[thread] = owner
            packed = pair.pack(argument)
        finally:
            saving_node[thread] = outer
            # Whatever the hook did to the grad mode ends with the hook.
            grad_enabled.set(recording)
        if storage.version != self._version:
            raise RuntimeError(
                "a saved tensor pack hook has modified its input in place (a "
                f"{tensor.dtype} tensor of shape {tensor.shape} went from version "
                f"{self._version} to {storage.version}); pack must return a new object, for "
                "example tensor.clone()"
            )
        self._value, self._storage = packed, None
        self._unpack_hook = pair.unpack
        array = tensor._array
        self._form = (array.shape, array.dtype, storage.device)
        if watchers:
            notify("pack", owner, slot=self, tensor=tensor, packed=packed, pair=pair)

    def register_hooks(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        """Pack this one slot now, and unpack it with `unpack_hook` from now on.

        Errors: TypeError for arguments that cannot be called; RuntimeError when the slot has been
        released or is packed already.
        """
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"{name} must be callable, found {type(hook).__name__}")
        if self.freed:
            raise RuntimeError(
                "calling register_hooks on a saved tensor after it has been freed; "
                "specify retain_graph=True to keep saved tensors after backward"
            )
        if self._unpack_hook is not None:
            raise RuntimeError(
                "this saved tensor has hooks already; only one pair is allowed at a time"
            )
        self._check_version(None)
        alias = new_tensor(self._form, self._value, self._storage)
        # An alias like the result's: the hook of one slot has no business with the history.
        self._pack(alias, HookPair(pack_hook, unpack_hook), None)
        self._counted = None

    # -- reading ---------------------------------------------------------------------------------
    def unpack(self, owner: Node | None = None) -> TensorBase:
        """The saved tensor, with the history and requires_grad recorded when it was saved.

        Calls the unpack hook at every read, in the grad mode of the reader; nothing is cached.

        Errors: RuntimeError when released, when changed in place since it was saved (no hooks), or
        when the hook returned another shape, device or kind of dtype; TypeError when it returned
        something that is no tensor.
        """
        node = owner if self._is_output else self._node
        storage = self._storage
        if storage is None:
            value = self._unpack_with_hook(owner)
            if self._requires_grad or value._requires_grad:
                # The hook's own arithmetic is no part of the graph: keep its values, drop its
                # history.
                value = detached(value)
        else:
            if storage.version != self._version:
                self._check_version(owner)
            original = self._leaf
            if original is None and self._original is not None:
                original = self._original()
            if (
                original is not None
                # Else the values are a copy (see copy_if_shared), or .data was assigned since.
                and original._array is self._value
                and original._node is node
                and original._requires_grad == self._requires_grad
            ):
                return original
            value = new_tensor(self._form, self._value, storage)
        if self._requires_grad:
            value._requires_grad = True
            value._node = node
            value._output_nr = self._output_nr
            if self._leaf is not None:
                leaf_of(value).stands_for = self._leaf
        return value

    def array(self, owner: Node) -> Array:
        """The values alone, for a formula on arrays; unpacked and checked as by `unpack`."""
        storage = self._storage
        if storage is None:
            return self._unpack_with_hook(owner)._array
        if storage.version != self._version:
            self._check_version(owner)
        value: Array = self._value
        return value

    def _unpack_with_hook(self, owner: Node | None) -> TensorBase:
        """What the unpack hook returns, checked, and in the dtype that was saved."""
        hook = self._unpack_hook
        if hook is None:
            raise RuntimeError(SECOND_TIME.format(name="a node" if owner is None else owner.name()))
        recording = grad_enabled.get()
        try:
            value = hook(self._value)
        finally:
            # What a hook does to the grad mode must not reach the rest of the walk.
            if grad_enabled.get() is not recording:
                grad_enabled.set(recording)
        if watchers:
            notify("unpack", owner, slot=self, packed=self._value, value=value)
        return as_saved(value, *self._form)

    def _check_version(self, owner: Node | None) -> None:
        found = self._storage.version
        if found == self._version:
            return
        if watchers:
            notify("conflict", owner, slot=self)
        maker = "" if self._node is None else f", which is output {self._output_nr} of "
        maker += "" if self._node is None else self._node.name()
        by = "" if owner is None else f", saved by {owner.name()}"
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: {self._value.dtype} tensor of shape {self._value.shape}{maker}{by}, is at "
            f"version {found}; expected version {self._version} instead. Hint: save a copy with "
            ".clone(), or write the change out of place."
        )

    @property
    def data(self) -> Any:
        """What is kept: the packed object, or a detached alias of the tensor when no hook ran."""
        if self.freed:
            raise RuntimeError(SECOND_TIME.format(name="a node"))
        if self._unpack_hook is not None:
            return self._value
        return new_tensor(self._form, self._value, self._storage)

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The unpack function that travels with the slot; None when no hook packed it."""
        return self._unpack_hook

    @property
    def freed(self) -> bool:
        """Whether what was kept has been released."""
        return self._storage is None and self._unpack_hook is None

    def __repr__(self) -> str:
        return slot_text(self)

    def __reduce__(self) -> Any:
        raise TypeError("a saved slot belongs to its node and cannot be copied or pickled")

    # -- the end ---------------------------------------------------------------------------------
    def release(self, owner: Node | None = None) -> None:
        """Drop what is kept; a later read is an error that says so."""
        if watchers and not self.freed:
            notify("release", owner, slot=self)
        self._value = self._storage = self._unpack_hook = None
        self._node = self._leaf = self._original = self._counted = None

    # -- in-place operations (ops/inplace.py) ------------------------------------------------------
    def copy_if_shared(self, storage: Storage) -> None:
        """Keep a copy instead of a view of `storage`, which is about to be overwritten."""
        if self._storage is storage and not self._is_output:
            self._value = self._value.copy()
            self._storage = new_storage(self._value, storage.device, "clone")
            self._version = 0

    def written(self, storage: Storage) -> None:
        """The saved result has been written into `storage` now: count from here."""
        if self._storage is storage and self._is_output:
            self._version = storage.version

    def becomes_output(self, output_nr: int) -> None:
        """The saved tensor turned out to be a result of the very node that saved it."""
        self._is_output = self._requires_grad = True
        self._node, self._leaf, self._output_nr = None, None, output_nr
