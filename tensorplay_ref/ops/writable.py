"""Which tensors may be written in place, and what is wrong with the others."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import grad_enabled


def check_writable(operation: str, target: Any, record: bool) -> None:
    """Refuse targets that may not be written in place; see `inplace`."""
    if target.requires_grad and grad_enabled.get():
        base = target._base
        leaf = "a leaf" if target._node is None else ""
        if base is not None and base._requires_grad and base._node is None:
            leaf = leaf or "a view of a leaf"
        if leaf:
            raise RuntimeError(
                f"{leaf} Variable that requires grad is being used in an in-place operation "
                f"({operation}); write inside no_grad(), or use the operation that returns a new "
                "tensor"
            )
    memory = target._view
    if (
        memory is not None
        and memory.made_without_grad
        and (record or (grad_enabled.get() and memory.base._requires_grad))
    ):
        raise RuntimeError(
            f"{operation} in place: the target is a view made under no_grad or in a Function, so "
            "its base cannot record the write; make the view with grad mode on, or use .clone()"
        )
    array = target._array
    expanded = 0 in array.strides and any(
        step == 0 and length > 1 and array.size
        for step, length in zip(array.strides, array.shape, strict=True)
    )
    if expanded or not array.flags.writeable:
        why = "the target's memory is read-only"
        if expanded:
            why = "several elements of the target share one memory location (it was expanded)"
        raise RuntimeError(f"{operation} in place: {why}; use .clone() first")
