"""What the checks of Functions share: what a call saves and hides, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd import gradgradcheck
from ...autograd.graph import saved_tensor_hooks
from ...inspect.kept import kept_by
from ..compare import Difference, a_tensor, same_values


def leaf(seed: int, *shape: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return tp.tensor(values, requires_grad=True)


def saved_by(apply: Callable[..., Any], names: dict[str, Any], *arguments: Any) -> list[str]:
    """What one call gives to `pack`: names of the inputs whose values it is, "the result", …"""
    packed: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(tensor)
        return tensor.detach()

    with saved_tensor_hooks(pack, lambda kept: kept):
        result = apply(*arguments)

    def name_of(tensor: Any) -> str:
        if tensor._storage is result._storage:
            return "the result"
        for name, named in names.items():
            if tensor._storage is named._storage:
                return name
        return f"another {tensor.dtype} tensor of shape {tensor.shape}"

    return sorted(map(name_of, packed))


def same_saved(name: str, found: list[str], expected: list[str]) -> None:
    if found != expected:
        words = [" and ".join(saved) if saved else "nothing" for saved in (found, expected)]
        raise Difference(f"{name} saves {words[0]}, expected {words[1]}")


def nothing_hidden(name: str, result: Any) -> None:
    """No tensor or array hangs on the ctx beside what was saved."""
    for attribute, value in vars(result.grad_fn).items():
        if kept_by(value):
            raise Difference(
                f"{name} keeps a tensor as ctx.{attribute}, where no hook sees it and backward "
                "does not release it"
            )


def same_function(
    name: str, apply: Callable[..., Any], package: Callable[..., Any], *inputs: Any
) -> None:
    """Value, gradients for a gradient other than ones, and second derivatives."""
    mine = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    theirs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    found, expected = apply(*mine), package(*theirs)
    same_values(found.detach(), expected.detach(), f"the value of {name}")
    incoming = np.random.default_rng(7).standard_normal(expected.shape)
    found.backward(tp.tensor(incoming))
    expected.backward(tp.tensor(incoming))
    for position, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        which = f"gradient {position} of {name}" if len(mine) > 1 else f"the gradient of {name}"
        if a.grad is None:
            raise Difference(f"{which} is None, expected a tensor of shape {b.grad.shape}")
        same_values(a.grad, b.grad, which)


def second_derivatives(name: str, apply: Callable[..., Any], *inputs: Any) -> None:
    """Backward can be differentiated again; every input must require a gradient."""
    result = a_tensor(apply(*inputs), f"the result of {name}")
    if gradgradcheck(apply, inputs, raise_exception=False):
        return
    saved = [tensor for tensor in result.grad_fn.saved_tensors if tensor is not None]
    if all(tensor.requires_grad for tensor in saved):
        why = "backward must compute with what ctx.saved_tensors gave, in tensor operations"
    else:
        why = "save the tensor itself, not a detached copy, which has no history"
    raise Difference(f"the second derivative of {name} is wrong: {why}")
