"""The checks of notebook 08 for one bit for each element, and for a policy per operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...inspect import saved
from ...saving import Policy, bitmask, choose
from ..check import Exercise
from ..compare import Difference, a_sequence, a_tensor, same, same_gradient, same_object, shown
from .notebook_08 import numbers

# -- one bit for each element --------------------------------------------------------------------
relu_mask = Exercise(
    "08.relu_mask",
    "`ReluMask().pack(tensor)` keeps of what `Relu` saves one bit for each element, in whole "
    "bytes, and returns what every other operation saves as it is; `unpack` gives a float32 tensor "
    "of the saved shape, 1 where the saved element was positive and 0 elsewhere.",
    takes=("ReluMask",),
    difficulty=2,
    minutes=15,
)


def relu_alone(x: Any) -> Any:
    return (x.relu() * 2.0).sum()


def relu_then_product(x: Any) -> Any:
    """relu's result is saved by relu and by the product behind it."""
    return (x.relu() @ numbers(x.shape[1], 3).requires_grad_()).tanh().sum()


def product_then_relu(x: Any) -> Any:
    """The same tensor is saved by a product before relu saves it."""
    hidden = x * 1.0
    return ((hidden @ numbers(x.shape[1], 2).requires_grad_()).relu() + hidden.relu().sum()).sum()


def classes(x: Any) -> Any:
    """relu before a cross-entropy, which saves log-probabilities and labels."""
    labels = tp.tensor(np.arange(x.shape[0]) % x.shape[1])
    return tp.nn.functional.cross_entropy(x.relu() * x, labels)


PROGRAMS = (relu_alone, relu_then_product, product_then_relu, classes)


def relu_keeps(policy: Any, x: Any) -> int:
    """Bytes that the slot of relu keeps."""
    with policy:
        y = x.relu()
    (record,) = saved(y).records
    return record.keeps


@relu_mask.case
def keeps_one_bit_for_each_element(policy_of: Any) -> None:
    """the bytes that relu's slot keeps, for 8, 10, 64 and 600 elements"""
    for shape in ((8,), (2, 5), (8, 8), (20, 30)):
        x = numbers(*shape).requires_grad_()
        expected = relu_keeps(bitmask(), x)
        same(relu_keeps(policy_of(), x), expected, f"bytes kept by relu for shape {shape}")


@relu_mask.case
def gives_ones_and_zeros(policy_of: Any) -> None:
    """what relu reads back"""
    for shape in ((8,), (2, 5), (3, 4, 7)):
        x = numbers(*shape).requires_grad_()
        with policy_of():
            y = x.relu()
        back = y.grad_fn._saved_result
        mask = x.detach().numpy() > 0
        same(back.shape, shape, "the shape of what relu reads")
        same(back.tolist(), mask.astype(np.float32).tolist(), f"what relu reads, of shape {shape},")


@relu_mask.case
def leaves_what_others_save(policy_of: Any) -> None:
    """a product and tanh, and packing outside of any operation"""
    hidden = numbers(4, 5).requires_grad_() * 1.0
    with policy_of():
        y = (hidden @ numbers(5, 3).requires_grad_()).tanh()
    for record in saved(y).records:
        same(record.keeps >= record.nbytes, True, f"whether what {record.operation} saves is whole")
    tensor = numbers(3, 3)
    found = policy_of().pack(tensor)
    same_object(found, tensor, "what pack returned outside of any operation")


@relu_mask.case
def gradients_are_exact(policy_of: Any) -> None:
    """gradients of four programs under the policy"""
    for program in PROGRAMS:
        found, plain = numbers(6, 5).requires_grad_(), numbers(6, 5).requires_grad_()
        with policy_of():
            loss = program(found)
        loss.backward()
        program(plain).backward()
        same_gradient(found.grad, plain.grad, f"x in {program.__name__}")


# -- a policy for each operation -----------------------------------------------------------------
policy = Exercise(
    "08.policy",
    "`policy_for(operation, tensor)` returns one of the policies below or `None`, so that the "
    "network's graph keeps at most a fifth of the plain bytes beside the parameters, with an error "
    "of the gradient of at most 0.005.",
    takes=("policy_for", "loss_of_batch", "weights"),
    difficulty=2,
    minutes=15,
)

PART, ERROR = 1 / 5, 0.005

Loss = Callable[[], Any]


def run(loss_of: Loss, weights: Sequence[Any]) -> tuple[int, Any]:
    """Bytes beside the parameters, and all gradients in a row in float64."""
    loss = a_tensor(loss_of(), "the loss of the batch")
    report = saved(loss)
    gradients = tp.autograd.grad(loss, list(a_sequence(weights, "weights")))
    flat = np.concatenate([gradient.numpy().reshape(-1) for gradient in gradients])
    return report.nbytes - report.leaf_nbytes, flat.astype(np.float64)


@policy.case
def returns_policies(policy_for: Any, loss_of: Loss, weights: Sequence[Any]) -> None:
    """asking for each slot of the network"""

    def select(operation: str, tensor: Any) -> Any:
        chosen = policy_for(operation, tensor)
        if chosen is not None and not isinstance(chosen, Policy):
            raise Difference(
                f"policy_for({operation!r}, …) is {shown(chosen)}, expected a policy or None"
            )
        return chosen

    choose(select)(loss_of)()


@policy.case
def keeps_few_bytes(policy_for: Any, loss_of: Loss, weights: Sequence[Any]) -> None:
    """the bytes of the network's graph"""
    plain, _ = run(loss_of, weights)
    found, _ = run(choose(policy_for)(loss_of), weights)
    if found > PART * plain:
        raise Difference(
            f"the graph keeps {found:,} bytes beside the parameters, {found / plain:.0%} of the "
            f"plain ones, expected at most {PART:.0%}"
        )


@policy.case
def stays_near_the_gradient(policy_for: Any, loss_of: Loss, weights: Sequence[Any]) -> None:
    """the error of the network's gradient"""
    _, right = run(loss_of, weights)
    _, found = run(choose(policy_for)(loss_of), weights)
    error = float(np.linalg.norm(found - right) / np.linalg.norm(right))
    if not error <= ERROR:
        raise Difference(f"the error of the gradient is {error:.2g}, expected at most {ERROR}")
