"""The listener behind a trace: what autograd and the ledgers tell becomes events."""

from __future__ import annotations

import itertools
import math
import threading
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, ref

from ..accelerator import Event
from ..arguments import hook_name
from ..autograd.node import Node
from ..autograd.packing import hook_stack
from ..autograd.saved import SavedTensor
from ..ops.operation import Operation
from ..storage import Storage
from ..tensor_base import TensorBase
from .kept import Memories, kept_by
from .trace_event import LEDGER_KINDS, TraceEvent, form_of
from .walk import Names, operation_name, slot_names


@dataclass(eq=False)
class _Slot:
    """What the trace knows of a saved slot: what its events tell alike, and a weak reference."""

    told: dict[str, Any]
    events: list[TraceEvent] = field(default_factory=list)
    reference: Any = None


class Listener:
    """Writes down events. Holds words, numbers and weak references, so it keeps nothing alive.

    Attributes:
        events: what happened so far.
        memories: the numbers of the storages in `TraceEvent.memories` and `versions`.
    """

    def __init__(self, names: Names, all_threads: bool) -> None:
        self.events: list[TraceEvent] = []
        self.memories = Memories()
        self._thread = None if all_threads else threading.get_ident()
        self._names = [(name, ref(tensor)) for name, tensor in names.items()]
        self._count = itertools.count(1).__next__
        self._count_operation = itertools.count(1).__next__
        self._count_slot = itertools.count(1).__next__
        self.forget()

    def forget(self) -> None:
        """Drop what is needed only while events arrive, and hear no more of saved slots."""
        self._nodes: WeakKeyDictionary[Node, str] = WeakKeyDictionary()
        self._announced: WeakKeyDictionary[Node, TraceEvent] = WeakKeyDictionary()
        self._slots: dict[int, _Slot] = {}
        self._leaves: list[tuple[str, ref[TensorBase]]] = []

    # -- hearing -----------------------------------------------------------------------------------
    def _add(self, kind: str, **details: Any) -> TraceEvent:
        event = TraceEvent(number=self._count(), kind=kind, **details)
        self.events.append(event)
        return event

    def _mine(self) -> bool:
        return self._thread is None or threading.get_ident() == self._thread

    def hear(self, event: Event) -> None:
        """Note an event of a ledger."""
        if event.kind in LEDGER_KINDS and self._mine():
            self._add(
                event.kind,
                operation=event.operation,
                nbytes=event.nbytes,
                device=event.device,
                detail=event.stream if event.kind == "copy" else event.category,
            )

    def watch(self, kind: str, node: Node | None, details: dict[str, Any]) -> None:
        """Note an event of autograd; see `autograd.observer`."""
        if self._mine():
            heard = getattr(self, f"_{kind}", None)
            if heard is not None:
                heard(node, **details)

    def _record(self, node: Node, result: Any, inputs: Any) -> None:
        forward = self._announce(node)
        if isinstance(result, TensorBase):
            forward.describe(result)
        for slot, name in zip(node.saved_slots, slot_names(node), strict=True):
            known = self._slots.get(id(slot))
            if known is not None:
                known.told["slot"] = name
                for event in known.events:
                    event.slot = name

    def _save(
        self, node: Node | None, slot: SavedTensor, tensor: TensorBase, is_output: bool
    ) -> None:
        if node is not None:
            self._announce(node)
        known = self._meet(slot, node, tensor)
        # With hooks open, what is kept will be whatever pack returns.
        memories = () if hook_stack.get() else self._kept(tensor)
        detail, versions = "result" if is_output else "", self._versions(tensor._storage)
        self._slot_event("save", known, detail=detail, memories=memories, versions=versions)

    def _pack(
        self, node: Node | None, slot: SavedTensor, tensor: TensorBase, packed: Any, pair: Any
    ) -> None:
        known = self._slots.get(id(slot)) or self._meet(slot, node, tensor)
        memories = self._kept(packed)
        kept = sum(nbytes for _, nbytes in memories)
        detail = f"{hook_name(pair.pack)}: {type(packed).__name__}, keeps {kept:,}"
        self._slot_event("pack", known, detail=detail, memories=memories)

    def _unpack(self, node: Node | None, slot: SavedTensor, packed: Any, value: Any) -> None:
        known = self._slots.get(id(slot)) or self._meet(slot, node, value)
        hook = slot._unpack_hook
        self._slot_event("unpack", known, detail="" if hook is None else hook_name(hook))

    def _release(self, node: Node | None, slot: SavedTensor) -> None:
        known = self._slots.get(id(slot)) or self._meet(slot, node, None)
        del self._slots[id(slot)]
        self._slot_event("release", known)

    def _backward(self, node: Node, grad: Any) -> None:
        grads = [grad] if isinstance(grad, TensorBase) else [g for g in grad if g is not None]
        form = form_of(grads[0]) if len(grads) == 1 else {}
        slots = [slot for slot in node.saved_slots if isinstance(slot, SavedTensor)]
        versions = self._versions(*(slot._storage for slot in slots))
        self._add("backward", operation=self._operation(node), versions=versions, **form)

    def _accumulate(self, node: Node, variable: TensorBase, grad: TensorBase) -> None:
        self._add("accumulate", operation=self._leaf(variable), **form_of(grad))

    def _write(self, node: None, operation: str, target: TensorBase) -> None:
        versions, detail = self._versions(target._storage), f"version {target._version}"
        form = form_of(target)
        self._add("write", operation=operation, detail=detail, versions=versions, **form)

    def _conflict(self, node: Node | None, slot: SavedTensor) -> None:
        known = self._slots.get(id(slot)) or self._meet(slot, node, None)
        detail = f"version {slot._storage.version}, saved at {slot._version}"
        versions = self._versions(slot._storage)
        self._slot_event("conflict", known, detail=detail, versions=versions)

    # -- naming ------------------------------------------------------------------------------------
    def _operation(self, node: Node) -> str:
        label = self._nodes.get(node)
        if label is None:
            label = f"{self._count_operation()} {operation_name(node)}"
            self._nodes[node] = label
        return label

    def _announce(self, node: Node) -> TraceEvent:
        """The forward event of a node, made no later than at its first save."""
        event = self._announced.get(node)
        if event is None:
            event = self._add("forward", operation=self._operation(node))
            # A Function has no result yet, and a checkpoint, which only saves, never has one.
            if isinstance(node, Operation):
                event.shape, event.dtype = node.result_shape, str(node.result_dtype)
                event.nbytes = math.prod(node.result_shape or ()) * int(node.result_dtype.itemsize)
            self._announced[node] = event
        return event

    def _leaf(self, variable: TensorBase) -> str:
        for name, reference in (*self._names, *self._leaves):
            if reference() is variable:
                return name
        name = f"leaf {len(self._leaves) + 1}"
        self._leaves.append((name, ref(variable)))
        return name

    def _meet(self, slot: SavedTensor, node: Node | None, tensor: Any) -> _Slot:
        """Number a slot, and be told when it goes."""
        number, key = self._count_slot(), id(slot)
        told: dict[str, Any] = {"slot": f"slot {number}", "slot_number": number}
        if node is not None:
            for saved, name in zip(node.saved_slots, slot_names(node), strict=True):
                if saved is slot:
                    told["slot"] = name
            told["operation"] = self._operation(node)
        if isinstance(tensor, TensorBase):
            told |= form_of(tensor)
        known = self._slots[key] = _Slot(told)

        def gone(_: Any) -> None:
            if self._slots.get(key) is known:
                del self._slots[key]
                if self._mine():
                    self._slot_event("drop", known)

        known.reference = ref(slot, gone)
        return known

    def _slot_event(self, kind: str, known: _Slot, **details: Any) -> TraceEvent:
        event = self._add(kind, **known.told, **details)
        known.events.append(event)
        return event

    def _kept(self, value: Any) -> tuple[tuple[int, int], ...]:
        """(number, bytes) of each piece of memory; the numbers tell which pieces are the same."""
        return tuple((self.memories.number(kept.memory), kept.nbytes) for kept in kept_by(value))

    def _versions(self, *storages: Storage | None) -> tuple[tuple[int, int], ...]:
        return tuple((self.memories.number(s), s.version) for s in storages if s is not None)
