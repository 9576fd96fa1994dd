"""Region: one call of checkpoint, with what it takes to compute its saved tensors again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from ..autograd.grad_mode import enable_grad
from ..autograd.graph import saved_tensor_hooks
from ..autograd.kept import Kept
from ..autograd.multi_grad import Walk, current_walk
from ..autograd.node import Node, connect
from ..autograd.packing import hook_stack, packing_node
from ..autograd.saved import SavedTensor, save
from ..random import get_rng_state, set_rng_state
from ..tensor_base import TensorBase, detached
from ..transfer import copy_to
from .recomputation import Recomputation, Record, StopRecomputation
from .selective import selection


class Holder:
    """What stands in a saved slot for a tensor of a region: its index, counted in packing order."""

    __slots__ = ("region", "index", "__weakref__")

    def __init__(self, region: Region, index: int) -> None:
        self.region = region
        self.index = index

    def __repr__(self) -> str:
        return f"Holder({self.index})"


class Checkpoint(Node):
    """The owner of the slots in which a region saves its arguments. It is not part of the graph."""


class Region:
    """A function, its saved arguments, and a record of each tensor that its operations saved.

    The slots of the graph hold the holders, the holders the region, and the region its arguments;
    in the other direction references are weak. So all of it goes when the last slot goes.

    Attributes:
        complete: whether the first run has come to its end.
        records: one for each tensor that was packed, in that order.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        preserve_rng_state: bool,
        compare: bool,
        early_stop: bool,
        context: AbstractContextManager[Any],
    ) -> None:
        self.compare = compare
        self.early_stop = early_stop
        self.complete = False
        self.records: list[Record] = []
        self._function = function
        self._context = context
        # What surrounds the call: a policy saves through these hooks, and a second run must find
        # the same policies.
        self._outer_hooks = hook_stack.get()
        self._outer_selection = selection.get()
        self._rng_state = get_rng_state() if preserve_rng_state else None
        # Collected and not yet handed out, for each backward that is under way.
        self._collected: WeakKeyDictionary[Walk, dict[int, Kept]] = WeakKeyDictionary()
        owner = Checkpoint()
        connect(owner, ())
        self._arguments = replaced((args, kwargs), TensorBase, lambda each: save(each, owner))

    # -- the first run ---------------------------------------------------------------------------
    def pack(self, tensor: TensorBase) -> Holder | SavedTensor:
        """Keep a holder in place of the tensor, or the tensor itself where a policy says so."""
        node = packing_node()
        policies = selection.get()
        kept: Holder | SavedTensor
        if policies and policies[-1].saves(node, tensor):
            kept = self._save_outside(tensor, policies[-1].copies, node)
        else:
            kept = Holder(self, len(self.records))
        self.records.append(Record(tensor, node, kept))
        return kept

    def _save_outside(self, tensor: TensorBase, copies: bool, node: Node | None) -> SavedTensor:
        """Save through the hooks that were open when checkpoint was called."""
        inside = hook_stack.get()
        try:
            hook_stack.set(self._outer_hooks)
            if copies:
                tensor = copy_to(tensor, tensor.device, operation="checkpoint")
            return save(tensor, node)
        finally:
            hook_stack.set(inside)

    def end_first_run(self) -> None:
        """The function has returned; nothing more is saved outside."""
        self.complete = True
        # Hooks may refer to what they have packed, which would refer to the region and so to them.
        self._outer_hooks = ()

    # -- the second run --------------------------------------------------------------------------
    def value(self, index: int) -> TensorBase:
        """The tensor that was packed as number `index`, computed again unless it is at hand.

        The first read in a backward collects every tensor that a slot still waits for. Each is
        handed out once and dropped, so memory falls as the backward goes on.
        """
        walk = current_walk.get()
        if walk is None:
            return self._run_again({index})[index].value()
        collected = self._collected.get(walk)
        if collected is None:
            waiting = {i for i, record in enumerate(self.records) if record.awaited()}
            collected = self._collected[walk] = self._run_again(waiting | {index})
        elif index not in collected:
            return self._run_again({index})[index].value()
        return collected.pop(index).value()

    def _run_again(self, wanted: set[int]) -> dict[int, Kept]:
        args, kwargs = replaced(self._arguments, SavedTensor, _fresh_leaf)
        run = Recomputation(self, wanted)
        try:
            with (
                saved_tensor_hooks(run.pack, _itself),
                enable_grad(),
                self._same_surroundings(),
                self._context,
            ):
                try:
                    self._function(*args, **kwargs)
                except StopRecomputation:
                    pass
            return run.finish()
        finally:
            # The error holds the frames that it passed, which hold the run: a reference cycle.
            run.error = None

    @contextmanager
    def _same_surroundings(self) -> Iterator[None]:
        """The random stream and the policies of the first run; afterwards those of the caller."""
        policies = selection.get()
        rng_state = None if self._rng_state is None else get_rng_state()
        try:
            selection.set(self._outer_selection)
            if self._rng_state is not None:
                set_rng_state(self._rng_state)
            yield
        finally:
            try:
                selection.set(policies)
            finally:
                if rng_state is not None:
                    set_rng_state(rng_state)


def recompute(kept: Holder | SavedTensor) -> TensorBase:
    """The unpack hook of the first run."""
    if isinstance(kept, SavedTensor):
        return kept.unpack()
    return kept.region.value(kept.index)


def _itself(value: TensorBase) -> TensorBase:
    return value


def _fresh_leaf(slot: SavedTensor) -> TensorBase:
    """A saved argument for the second run: the same values and need of a gradient, no history.

    What the second run records is thrown away. With a history, hooks that the function registers
    on its arguments would reach the first graph a second time.
    """
    saved = slot.unpack()
    leaf = detached(saved)
    leaf._requires_grad = saved._requires_grad
    return leaf


def replaced(value: Any, kind: type, replace: Callable[[Any], Any]) -> Any:
    """`value` with each object of `kind` replaced, also inside lists, tuples and dicts."""
    if isinstance(value, kind):
        return replace(value)
    if type(value) in (list, tuple):
        return type(value)(replaced(item, kind, replace) for item in value)
    if type(value) is dict:
        return {key: replaced(item, kind, replace) for key, item in value.items()}
    return value
