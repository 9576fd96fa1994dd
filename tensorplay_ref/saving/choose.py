"""choose and only: a policy for some tensors, another or none for the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
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


# Not lambdas, which have no pickle.
def _is_named(names: frozenset[str], operation: str, tensor: Any) -> bool:
    return operation in names


def _selected(predicate: Callable[[str, Any], bool], policy: Any, *saved: Any) -> Any:
    return policy if predicate(*saved) else None


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
            predicate = partial(_is_named, names)
        elif not callable(predicate):
            raise TypeError(
                "only: predicate must be callable or names of operations, found "
                f"{type(predicate).__name__}"
            )
        super().__init__(partial(_selected, predicate, policy))
