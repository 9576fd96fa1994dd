"""choose and only: a policy for some tensors, another or none for the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arguments import require_callable
from ..autograd.operation_names import warn_of_near_misses
from ..autograd.packing import packing_operation
from ..tensor_base import TensorBase
from .policy import Policy, check_pair, pack_with, unpack_with


class Chosen(NamedTuple):
    """What a chosen pair packed, and the pair that can unpack it."""

    pair: Any
    packed: Any


class choose(Policy):
    """Ask for each tensor which policy shall pack it.

    Contract: that of the chosen policy; exact where none is chosen.

    Args:
        select: called as select(operation, tensor) with the name of the operation that saves the
            tensor, such as "Matmul" (see `packing_operation`); returns a policy, any other
            saved_tensor_hooks object, or None to leave the tensor as it is.

    Errors: TypeError when `select` cannot be called or returns something else.
    """

    by_operation = True

    def __init__(self, select: Callable[[str, Any], Any]) -> None:
        # The options are those of the chosen policies.
        super().__init__(skip_leaves=False, deduplicate=False)
        require_callable("choose: select", select)
        self._select = select

    def pack(self, tensor: TensorBase) -> Any:
        """What the chosen pair packs, with the pair."""
        pair = self._select(packing_operation(), tensor)
        if pair is None:
            return tensor
        check_pair("what select returns", pair)
        packed = pack_with(pair, tensor)
        return tensor if packed is tensor else Chosen(pair, packed)

    def unpack(self, packed: Chosen) -> TensorBase:
        """What the pair that packed it makes of it."""
        return unpack_with(packed.pair, packed.packed)


@dataclass(frozen=True)
class _Named:
    """Whether an operation has one of some names; an object, because a lambda has no pickle."""

    names: frozenset[str]

    def __call__(self, operation: str, tensor: Any) -> bool:
        return operation in self.names


@dataclass(frozen=True)
class _Selection:
    """The policy where the predicate is true, else None."""

    predicate: Callable[[str, Any], bool]
    policy: Any

    def __call__(self, operation: str, tensor: Any) -> Any:
        return self.policy if self.predicate(operation, tensor) else None


class only(choose):
    """Apply a policy to some tensors and leave the others as they are.

    Contract: that of the policy; exact for the other tensors.

    Args:
        predicate: which: a function of (operation, tensor), with the name of the operation that
            saves the tensor, or the name or names of such operations. Of a name that no operation
            has so far, but nearly, a warning says so: a Function of that name may still come.
        policy: a policy, or any other saved_tensor_hooks object.

    Errors: TypeError for other arguments, or names that are no text.
    """

    def __init__(
        self, predicate: Callable[[str, Any], bool] | str | Collection[str], policy: Any
    ) -> None:
        check_pair("only: policy", policy)
        if isinstance(predicate, (str, list, tuple, set, frozenset)):
            names = frozenset([predicate] if isinstance(predicate, str) else predicate)
            warn_of_near_misses("only", names)
            super().__init__(_Selection(_Named(names), policy))
        elif callable(predicate):
            super().__init__(_Selection(predicate, policy))
        else:
            raise TypeError(
                "only: predicate must be callable or names of operations, found "
                f"{type(predicate).__name__}"
            )
