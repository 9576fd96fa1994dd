"""gradcheck and gradgradcheck: analytic gradients against central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments import many
from ..tensor_base import TensorBase
from .differentiation import grad


class GradcheckError(RuntimeError):
    """The analytic and the numerical gradient differ; the message says where and by how much."""


def gradcheck(
    fn: Callable[..., Any],
    inputs: TensorBase | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compare the gradients of `fn(*inputs)` with central differences, element by element.

    Args:
        fn: returns a tensor or a sequence of them; must give the same result when called again.
        inputs: tensors of any shape; those that require grad must be float64.
        eps: the step of the difference quotient (f(x + eps) - f(x - eps)) / (2 eps).
        atol, rtol: allowed is atol + rtol * |numerical|.
        raise_exception: raise GradcheckError instead of returning False.

    Errors: ValueError when no input requires grad or one is not float64.
    Source: the signature and defaults are PyTorch's `torch.autograd.gradcheck`.
    """
    arguments = _listed("inputs", inputs)
    checked = _checked(arguments)
    try:
        for number, output in enumerate(_outputs(fn, arguments)):
            numerical = _numerical(fn, arguments, checked, number, eps)
            analytic = _analytic(output, checked)
            for position, (found, expected) in enumerate(zip(analytic, numerical, strict=True)):
                _compare(found, expected, number, position, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    fn: Callable[..., Any],
    inputs: TensorBase | Sequence[Any],
    grad_outputs: TensorBase | Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Check second derivatives: gradcheck of the gradients of `fn`, as functions of the inputs and
    of the gradients that come in (drawn from `default_rng(0)` when not given).

    Arguments and errors as `gradcheck`.
    """
    arguments = _listed("inputs", inputs)
    _checked(arguments)
    outputs = _outputs(fn, arguments)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        incoming = [_like(output, rng.standard_normal(output.shape)) for output in outputs]
    else:
        incoming = _listed("grad_outputs", grad_outputs)
    for tensor in incoming:
        tensor._requires_grad = True

    def first_derivatives(*values: Any) -> tuple[Any, ...]:
        own, seeds = values[: len(arguments)], values[len(arguments) :]
        results = _outputs(fn, list(own))
        wanted = [v for v in own if isinstance(v, TensorBase) and v.requires_grad]
        found = grad(results, wanted, list(seeds), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    return gradcheck(
        first_derivatives,
        [*arguments, *incoming],
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
    )


def _listed(role: str, tensors: Any) -> list[Any]:
    if isinstance(tensors, TensorBase):
        return [tensors]
    return many(f"gradcheck: {role}", tensors, "a Tensor or a sequence of them")


def _checked(arguments: Sequence[Any]) -> list[Any]:
    checked = [a for a in arguments if isinstance(a, TensorBase) and a.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor that requires grad")
    for tensor in checked:
        if tensor.dtype != np.float64:
            raise ValueError(
                f"gradcheck expects float64 inputs, found {tensor.dtype}: in a lower precision the "
                "difference quotient is rounding error; use dtype=float64"
            )
    return checked


def _outputs(fn: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    results = _listed("what fn returns", fn(*arguments))
    return [r for r in results if isinstance(r, TensorBase) and r.requires_grad]


def _like(tensor: Any, array: np.ndarray[Any, Any]) -> Any:
    copy = tensor.detach().clone()
    copy._array[...] = array
    return copy


def _numerical(
    fn: Callable[..., Any],
    arguments: Sequence[Any],
    checked: Sequence[Any],
    number: int,
    eps: float,
) -> list[Any]:
    """For each checked input the Jacobian of output `number`: a row for each element."""
    jacobians = []
    for tensor in checked:
        rows = []
        array = tensor._array
        for index in np.ndindex(array.shape):
            kept = array[index].copy()
            values = []
            try:
                for step in (eps, -eps):
                    # Written behind the version counter on purpose: the value is put back below.
                    array[index] = kept + step
                    values.append(_outputs(fn, arguments)[number]._array.copy())
            finally:
                array[index] = kept
            rows.append(((values[0] - values[1]) / (2 * eps)).reshape(-1))
        size = _outputs(fn, arguments)[number]._array.size
        jacobians.append(np.asarray(rows).reshape(array.size, size))
    return jacobians


def _analytic(output: Any, checked: Sequence[Any]) -> list[Any]:
    """The same Jacobians by one backward for each element of the output."""
    columns: list[list[Any]] = [[] for _ in checked]
    for index in np.ndindex(output.shape):
        seed = np.zeros(output.shape)
        seed[index] = 1.0
        found = grad(output, checked, _like(output, seed), retain_graph=True, allow_unused=True)
        for column, tensor, gradient in zip(columns, checked, found, strict=True):
            zero = np.zeros(tensor._array.size)
            column.append(zero if gradient is None else gradient._array.reshape(-1))
    return [
        np.asarray(column).reshape(output._array.size, tensor._array.size).T
        for column, tensor in zip(columns, checked, strict=True)
    ]


def _compare(
    found: Any, expected: Any, number: int, position: int, atol: float, rtol: float
) -> None:
    allowed = atol + rtol * np.abs(expected)
    wrong = ~(np.abs(found - expected) <= allowed)
    if wrong.any():
        worst = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input {position}: at element "
            f"{worst[0]} of the input and {worst[1]} of the output the numerical gradient is "
            f"{float(expected[worst])!r}, the analytic one {float(found[worst])!r}"
        )
