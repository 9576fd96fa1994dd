"""Which tensors may be written in place, and what is wrong with the others."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import grad_enabled


def check_writable(operation: str, target: Any, record: bool) -> None:
    """Refuse targets that may not be written in place; see `inplace`."""
    array = target._array
    if target.requires_grad and grad_enabled.get():
        base = target._base
        way_out = "write inside no_grad(), or use the operation that returns a new tensor"
        if target._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation "
                f"({operation}); {way_out}"
            )
        if base is not None and base._requires_grad and base._node is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                f"operation ({operation}); {way_out}"
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
    expanded = 0 in array.strides and any(
        step == 0 and length > 1 and array.size
        for step, length in zip(array.strides, array.shape, strict=True)
    )
    if expanded or not array.flags.writeable:
        raise RuntimeError(
            f"{operation} in place: several elements of the target share one memory location "
            "(it was expanded); use .clone() first"
            if expanded
            else f"{operation} in place: the target's memory is read-only; use .clone() first"
        )
