"""The checks of notebook 08: one byte for each number, with a scale for each row."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...saving import Policy
from ..check import Exercise
from ..compare import (
    Difference,
    freed,
    reference_counting,
    same,
    same_gradient,
    same_object,
    shown,
    unchanged,
)

# -- one byte for each number --------------------------------------------------------------------
int8 = Exercise(
    "08.int8",
    "`Int8Rows().pack(tensor)` makes of a float32 tensor with at least one axis a pair of NumPy "
    "arrays, int8 codes of its shape and one float32 scale for each row (its last axis), and "
    "returns every other tensor as it is. `unpack` gives each element back within half a step of "
    "its row, a step being 1/127 of the row's largest magnitude; where rounding would make zero of "
    "an element that is not zero, within one step and with its sign.",
    takes=("Int8Rows",),
    difficulty=3,
    minutes=20,
)

LEVELS = 127
# What float32 arithmetic may add to half a step.
SLACK = 1e-3


def numbers(*shape: int) -> Any:
    """float32 values of many sizes, with both signs, some of them zero."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=shape) ** 3
    return tp.tensor(np.where(rng.random(shape) < 0.1, 0.0, values).astype(np.float32))


def through(policy: Any, tensor: Any) -> Any:
    """What comes back, as an array in float64."""
    # A scale of zero shows here, and not as a warning somewhere in the notebook.
    with np.errstate(divide="raise", invalid="raise"), unchanged(tensor=tensor):
        back = policy.unpack(policy.pack(tensor))
    if not isinstance(back, tp.Tensor):
        raise Difference(f"unpack returned {shown(back)}, expected a Tensor")
    same(back.shape, tensor.shape, "the shape of what comes back")
    same(str(back.dtype), str(tensor.dtype), "the dtype of what comes back")
    return back.numpy().astype(np.float64)


def within_a_step(policy: Any, tensor: Any, what: str) -> None:
    """Each element is as near as the contract says."""
    back, values = through(policy, tensor), tensor.numpy().astype(np.float64)
    steps = np.abs(values).max(axis=-1, keepdims=True) / LEVELS
    steps = np.broadcast_to(steps, values.shape)
    small = (np.abs(values) <= steps / 2) & (values != 0)
    allowed = np.where(small, steps, steps / 2) * (1 + SLACK)
    far = np.abs(back - values) > allowed
    if far.any():
        place = tuple(int(index[0]) for index in np.nonzero(far))
        came = f"{what}: {values[place]:.6g} at {list(place)} came back as {back[place]:.6g}"
        if small[place]:
            raise Difference(f"{came}, expected its sign and at most a step, {steps[place]:.6g}")
        raise Difference(f"{came}; half a step of its row is {steps[place] / 2:.6g}")


@int8.case
def packs_into_codes_and_scales(policy_of: Any) -> None:
    """packing a matrix by hand"""
    if isinstance(policy_of, Policy):
        raise Difference("an object was given; give the class: check('08.int8', Int8Rows)")
    packed = policy_of().pack(numbers(5, 40))
    if not isinstance(packed, tuple) or len(packed) != 2:
        raise Difference(f"pack returned {shown(packed)}, expected a pair")
    for part, name, dtype, shape in zip(
        packed, ("codes", "scales"), ("int8", "float32"), ((5, 40), (5, 1)), strict=True
    ):
        if not isinstance(part, np.ndarray):
            raise Difference(f"the {name} are {shown(part)}, expected a NumPy array")
        same(str(part.dtype), dtype, f"the dtype of the {name} of a matrix of shape (5, 40)")
        same(part.shape, shape, f"the shape of the {name} of a matrix of shape (5, 40)")


@int8.case
def comes_back_within_a_step(policy_of: Any) -> None:
    """a matrix, a vector, images, and a transposed matrix"""
    within_a_step(policy_of(), numbers(5, 40), "a matrix")
    within_a_step(policy_of(), numbers(30), "a vector")
    within_a_step(policy_of(), numbers(2, 3, 4, 5), "images")
    within_a_step(policy_of(), numbers(5, 40).T, "a transposed matrix")


@int8.case
def every_row_has_its_own_step(policy_of: Any) -> None:
    """rows of very different sizes"""
    values = numbers(4, 20).numpy() * np.array([[1e6], [1.0], [1e-3], [1e-6]], np.float32)
    within_a_step(policy_of(), tp.tensor(values), "rows of very different sizes")
    within_a_step(policy_of(), tp.tensor([[1e-12, 2e-12]]), "a row of tiny elements")


@int8.case
def the_largest_may_be_negative(policy_of: Any) -> None:
    """a row whose largest magnitude is that of a negative element"""
    within_a_step(policy_of(), tp.tensor([[-2.0, 0.5, 1.0], [-1.0, -3.0, -2.0]]), "negative rows")


@int8.case
def zeros_come_back(policy_of: Any) -> None:
    """a row of zeros, and zeros beside other elements"""
    values = numbers(6, 20).numpy().copy()
    values[2] = 0.0
    back = through(policy_of(), tp.tensor(values))
    if not np.isfinite(back).all():
        raise Difference("a row of zeros did not come back as finite numbers")
    if (back[values == 0] != 0).any():
        raise Difference("an element that is zero came back as something else")


@int8.case
def what_is_not_zero_stays_so(policy_of: Any) -> None:
    """small elements beside a large one"""
    tensor = tp.tensor([[100.0, 0.1, -0.1, 0.0, 1e-6, -1e-6]])
    back, values = through(policy_of(), tensor), tensor.numpy()
    for found, expected in zip(back[0], values[0], strict=True):
        if np.sign(found) != np.sign(expected):
            raise Difference(
                f"{expected:.6g} beside 100 came back as {found:.6g}, expected its sign"
            )


@int8.case
def leaves_other_tensors(policy_of: Any) -> None:
    """labels, a mask, float64, and a single number"""
    others = {
        "int64": tp.tensor([1, 2, 3]),
        "bool": tp.tensor([True, False]),
        "float64": tp.tensor(np.array([1.0, 2.0])),
        "float32 without axes": tp.tensor(1.5),
    }
    for name, tensor in others.items():
        same_object(policy_of().pack(tensor), tensor, f"what pack returned for {name}")


@int8.case
def keeps_no_tensor(policy_of: Any) -> None:
    """a tensor that is dropped while its packed form is kept"""
    with reference_counting():
        policy, tensor = policy_of(), numbers(4, 4) * 1.0
        reference = weakref.ref(tensor)
        packed = policy.pack(tensor)
        del tensor
        freed(reference, "a tensor that only its packed form can still hold")
        same(policy.unpack(packed).shape, (4, 4), "the shape of what comes back")


@int8.case
def gradients_of_relu_are_exact(policy_of: Any) -> None:
    """the gradient of relu under the policy"""

    def gradient(policy: Any) -> Any:
        x = numbers(20, 30).requires_grad_()
        program = (lambda: x.relu().sum()) if policy is None else policy(lambda: x.relu().sum())
        program().backward()
        return x.grad

    same_gradient(gradient(policy_of()), gradient(None), "x in relu(x)")
