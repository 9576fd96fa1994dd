"""Mistakes in notebook 08: one bit for each element, and a policy for each operation."""

from typing import Any

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.saving import packing_operation
from tests.course.builds import wrong


def mask_class(lesson: Any, **attributes: Any) -> Any:
    """The solution with some methods or attributes replaced."""
    return (type("ReluMask", (lesson.ReluMask,), attributes),)


@wrong("08.relu_mask", says="the gradient of x in classes")
def lets_one_form_serve_all_operations(lesson: Any) -> Any:
    return mask_class(lesson, by_operation=False)


@wrong("08.relu_mask", says="bytes kept by relu for shape (8,) is 8, expected 1")
def makes_masks_of_everything(lesson: Any) -> Any:
    return (lesson.Masks,)


@wrong("08.relu_mask", says="bytes kept by relu for shape (8,) is 8, expected 1")
def keeps_a_byte_for_each_element(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        return tensor.detach().numpy() > 0 if packing_operation() == "Relu" else tensor

    return mask_class(
        lesson, pack=pack, unpack=lambda self, mask: tp.tensor(mask.astype(np.float32))
    )


@wrong("08.relu_mask", says="cannot reshape array of size 16 into shape (2,5)")
def unpacks_the_bits_that_only_fill_the_byte(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        bits, shape = packed
        return tp.tensor(np.unpackbits(bits).reshape(shape).astype(np.float32))

    return mask_class(lesson, unpack=unpack)


@wrong("08.relu_mask", says="what relu reads, of shape (8,), is")
def takes_zero_for_positive(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        if packing_operation() != "Relu":
            return tensor
        return np.packbits(tensor.detach().numpy() >= 0), tensor.shape

    return mask_class(lesson, pack=pack)


@wrong("08.relu_mask", says="bool")
def gives_booleans_back(lesson: Any) -> Any:
    def unpack(self: Any, packed: Any) -> Any:
        return lesson.ReluMask.unpack(self, packed) > 0

    return mask_class(lesson, unpack=unpack)


@wrong("08.relu_mask", says="bytes kept by relu for shape (8,) is 32, expected 1")
def asks_for_another_name(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        if packing_operation() != "relu":
            return tensor
        return lesson.ReluMask.pack(self, tensor)

    return mask_class(lesson, pack=pack)


def chosen(lesson: Any, policy_for: Any) -> Any:
    return policy_for, lesson.loss_of_batch, lesson.weights


@wrong("08.policy", says="of the plain ones, expected at most 20%")
def takes_int8_for_everything(lesson: Any) -> Any:
    return chosen(lesson, lambda operation, tensor: lesson.int8)


@wrong("08.policy", says="of the plain ones, expected at most 20%")
def leaves_everything_but_relu(lesson: Any) -> Any:
    return chosen(lesson, lambda operation, tensor: lesson.bits if operation == "Relu" else None)


@wrong("08.policy", says="27% of the plain ones, expected at most 20%")
def takes_half_precision_beside_the_bits(lesson: Any) -> Any:
    return chosen(lesson, lambda op, tensor: lesson.bits if op == "Relu" else lesson.half)


@wrong("08.policy", says="the error of the gradient is 0.18, expected at most 0.005")
def takes_four_bits_for_values(lesson: Any) -> Any:
    return chosen(lesson, lambda op, tensor: lesson.bits if op == "Relu" else lesson.int4)


@wrong("08.policy", says="policy_for('Conv2d', …) is 'int8', expected a policy or None")
def returns_a_name(lesson: Any) -> Any:
    return chosen(lesson, lambda operation, tensor: "int8")


@wrong("08.policy", says="the error of the gradient is")
def makes_masks_of_values(lesson: Any) -> Any:
    masks = lesson.Masks()
    return chosen(lesson, lambda op, tensor: lesson.bits if op == "Relu" else masks)
