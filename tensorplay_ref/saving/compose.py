"""compose: two pairs of hooks, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensor_base import TensorBase
from .policy import Policy, Shared, check_pair, pack_with, unpack_with


class ByOuter(NamedTuple):
    """Stands for a tensor that the inner pair packed and the outer pair packed again."""

    packed: Any


class Both(NamedTuple):
    """What both pairs packed, and whether the inner one had left the tensor as it was."""

    packed: Any
    left_by_inner: bool


class compose(Policy):
    """Let `inner` pack a tensor, and `outer` each tensor in what `inner` made of it.

    Nested contexts do not do that: there the inner one replaces the outer. `compose(on_disk(),
    cast("float16"))` writes half precision to files.

    Contract: both contracts, one after the other.

    Args:
        outer, inner: policies or any other saved_tensor_hooks objects. What `inner` packs must be a
            tensor, or a list, tuple, named tuple or dict with tensors.

    Errors: TypeError for other arguments, and while packing when `inner` packs no tensor.
    """

    def __init__(self, outer: Any, inner: Any) -> None:
        check_pair("compose: outer", outer)
        check_pair("compose: inner", inner)
        policies = [pair for pair in (outer, inner) if isinstance(pair, Policy)]
        super().__init__(
            skip_leaves=False,
            deduplicate=len(policies) == 2 and all(each.deduplicate for each in policies),
        )
        self.by_operation = any(each.by_operation for each in policies)
        self._outer = outer
        self._inner = inner

    def pack(self, tensor: TensorBase) -> Any:
        """What the inner pair packs, its tensors packed by the outer pair."""
        inside = pack_with(self._inner, tensor)
        left = inside is tensor
        met: list[TensorBase] = []

        def again(part: TensorBase) -> Any:
            met.append(part)
            packed = pack_with(self._outer, part)
            return part if packed is part else ByOuter(packed)

        packed = _replaced(inside, TensorBase, again)
        if not met:
            raise TypeError(
                f"compose: what the inner pair packs, a {type(inside).__name__}, holds no tensor "
                "that the outer pair could pack; try the other order"
            )
        return tensor if packed is tensor else Both(packed, left)

    def unpack(self, packed: Both) -> TensorBase:
        """What the inner pair makes of the tensors that the outer pair gives back."""
        inside = _replaced(
            packed.packed, ByOuter, lambda part: unpack_with(self._outer, part.packed)
        )
        tensor: TensorBase = inside if packed.left_by_inner else unpack_with(self._inner, inside)
        return tensor


def _replaced(value: Any, kind: type, replace: Callable[[Any], Any]) -> Any:
    """`value` with each object of `kind` replaced, also inside containers."""
    if isinstance(value, kind):
        return replace(value)
    if type(value) is Shared:
        # Shared by slots that save the same values; here `compose` sees to that itself.
        return _replaced(value.packed, kind, replace)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(_replaced(item, kind, replace) for item in value)
    if type(value) in (list, tuple):
        return type(value)(_replaced(item, kind, replace) for item in value)
    if type(value) is dict:
        return {key: _replaced(item, kind, replace) for key, item in value.items()}
    return value
