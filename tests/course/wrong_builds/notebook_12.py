"""Mistakes in notebook 12: policies that do not fit, are inaccurate, or leave something behind."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks
from tests.course.builds import wrong


@wrong("12.fits", says="more than the budget of")
def keeps_everything(lesson: Any) -> Any:
    return (lambda operation, tensor: "keep"), None


@wrong("12.fits", says="more than the budget of")
def recomputes_without_a_region(lesson: Any) -> Any:
    return (lambda operation, tensor: "recompute"), None


@wrong("12.fits", says="held-out digits are read rightly")
def rounds_what_the_loss_saves(lesson: Any) -> Any:
    def policy(operation: str, tensor: Any) -> str:
        return "host" if operation in ("Matmul", "Relu") else "int8"

    return policy, None


@wrong("12.fits", says="bytes left on the device is")
def keeps_what_it_is_asked_about(lesson: Any) -> Any:
    seen: list[Any] = []

    def policy(operation: str, tensor: Any) -> str:
        if len(seen) < 2:
            seen.append(tensor.detach())
        return "host"

    return policy, None


@wrong("12.fits", says="bytes left on the host is")
def keeps_a_host_copy_for_good(lesson: Any) -> Any:
    copies: list[Any] = []

    def pack(tensor: Any) -> Any:
        with tp.no_grad():
            copies.append(tensor.to("cpu", copy=True).pin_memory())
        return len(copies) - 1, tensor.device

    def unpack(packed: Any) -> Any:
        return copies[packed[0]].to(packed[1])

    pair = saved_tensor_hooks(pack, unpack)
    return (lambda operation, tensor: pair), None


@wrong("12.fits", says="files left on the disk is")
def leaves_its_files(lesson: Any) -> Any:
    def pack(tensor: Any) -> Any:
        directory = Path(tempfile.mkdtemp())
        np.save(directory / "saved.npy", tensor.detach().cpu().numpy())
        return directory, tensor.device

    def unpack(packed: Any) -> Any:
        return tp.tensor(np.load(packed[0] / "saved.npy"), device=packed[1])

    pair = saved_tensor_hooks(pack, unpack)
    return (lambda operation, tensor: pair), None


@wrong("12.fits", says="a policy answers 'keep'")
def answers_something_else(lesson: Any) -> Any:
    return (lambda operation, tensor: "gpu"), None


@wrong("12.fits", says="the loss is nan in step")
def rounds_everything(lesson: Any) -> Any:
    return (lambda operation, tensor: "int8"), None


@wrong("12.fits", says="nothing is computed again")
def is_one_of_the_policies_above(lesson: Any) -> Any:
    return lesson.small_activations, None


@wrong("12.fits", says="nothing is computed again")
def moves_everything_to_the_host(lesson: Any) -> Any:
    return lesson.always("host"), 2


@wrong("12.faster", says="the fastest reference within the budget, 'checkpoint on the host'")
def moves_the_inputs_of_longer_regions(lesson: Any) -> Any:
    return (lambda operation, tensor: "host" if operation == "Checkpoint" else "recompute"), 2


@wrong("12.faster", says="'checkpoint on the host', ")
def moves_everything(lesson: Any) -> Any:
    return (lambda operation, tensor: "host"), None


@wrong("12.faster", says="'checkpoint on the host', ")
def rounds_the_inputs_of_the_blocks(lesson: Any) -> Any:
    def policy(operation: str, tensor: Any) -> str:
        return "int8" if operation == "Checkpoint" else "recompute"

    return policy, 1


@wrong("12.faster", says="more than the budget of")
def takes_the_fastest_checkpoint(lesson: Any) -> Any:
    return (lambda operation, tensor: "recompute"), 1


@wrong("12.faster", says="segment is None or from 1 to 8 blocks, found 0")
def has_an_empty_region(lesson: Any) -> Any:
    return (lambda operation, tensor: "recompute"), 0
