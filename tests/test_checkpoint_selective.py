"""Selective checkpointing: what some operations save is kept, the rest is computed again."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.ops.matmul import Matmul
from tensorplay_ref.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)
from tests.checkpoint_tools import Counted, Tape, leaf


def selective(policy: Any, **options: Any) -> Any:
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


def region(x: Any) -> Any:
    return (x.exp() @ x.tanh()).sigmoid()


def matrix() -> Any:
    return tp.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=tp.float64, requires_grad=True)


def gradient(context_fn: Any) -> tuple[Any, int, list[Any]]:
    """The gradient, the number of runs, and what hooks around the call see."""
    tape, counted, x = Tape(), Counted(region), matrix()
    with tape.hooks():
        y = checkpoint(counted, x, context_fn=context_fn)
    y.sum().backward()
    return x.grad.numpy(), counted.runs, tape.packed


PLAIN = matrix()
region(PLAIN).sum().backward()


@pytest.mark.parametrize(
    ("operations", "kept", "runs"),
    [
        ([], 0, 2),
        (["Matmul"], 2, 2),
        ([Matmul, "Exp"], 3, 2),
        ({"Exp", "Tanh", "Matmul", "Sigmoid"}, 5, 1),
    ],
)
def test_the_slots_of_listed_operations_are_saved_through_the_outer_hooks(
    operations: Any, kept: int, runs: int
) -> None:
    found, times, seen = gradient(selective(operations))
    assert np.array_equal(found, PLAIN.grad.numpy())
    assert (len(seen), times) == (1 + kept, runs)


def test_the_second_run_ends_with_the_last_tensor_that_is_not_saved() -> None:
    ends: list[int] = []

    def noted(x: Any) -> Any:
        h = x.exp()
        ends.append(1)
        return h.tanh()

    checkpoint(noted, leaf(0.5), context_fn=selective(["Tanh"])).backward()
    assert ends == [1]


@pytest.mark.parametrize(
    ("decision", "kept"),
    [
        (CheckpointPolicy.MUST_SAVE, True),
        (CheckpointPolicy.PREFER_SAVE, True),
        (CheckpointPolicy.MUST_RECOMPUTE, False),
        (CheckpointPolicy.PREFER_RECOMPUTE, False),
        (True, True),
        (False, False),
    ],
)
def test_a_policy_function_decides_for_each_tensor(decision: Any, kept: bool) -> None:
    asked: list[tuple[str, tuple[int, ...], bool]] = []

    def policy(context: SelectiveCheckpointContext, operation: str, tensor: Any) -> Any:
        asked.append((operation, tensor.shape, context.is_recompute))
        return decision

    found, runs, seen = gradient(selective(policy))
    assert np.array_equal(found, PLAIN.grad.numpy())
    assert runs == (1 if kept else 2)
    assert len(seen) == (6 if kept else 1)
    names = ["Exp", "Tanh", "Matmul", "Matmul", "Sigmoid"]
    assert asked == [(name, (2, 2), False) for name in names]


def test_regions_inside_follow_the_policy_too_in_every_run() -> None:
    def middle(x: Any) -> Any:
        return checkpoint(region, x.exp()).tanh()

    def outer(x: Any) -> Any:
        return checkpoint(middle, x.exp()).tanh()

    for operations in ([], ["Matmul"], ["Exp"], ["Checkpoint", "Tanh"]):
        x, plain = matrix(), matrix()
        y = checkpoint(outer, x, context_fn=selective(operations))
        for _ in range(2):
            x.grad = None
            y.sum().backward(retain_graph=True)
        region(plain.exp().exp()).tanh().tanh().sum().backward()
        assert np.array_equal(x.grad.numpy(), plain.grad.numpy()), operations


def test_second_derivatives_pass() -> None:
    x, plain = matrix(), matrix()
    for leaf_, y in (
        (x, checkpoint(region, x, context_fn=selective(["Matmul"]))),
        (plain, region(plain)),
    ):
        (first,) = tp.autograd.grad(y.sum(), leaf_, create_graph=True)
        (first * first).sum().backward()
    assert np.array_equal(x.grad.numpy(), plain.grad.numpy())


@pytest.mark.parametrize("mutable", [False, True])
def test_a_saved_tensor_may_be_changed_in_place_only_if_so_declared(mutable: bool) -> None:
    w = leaf(2.0)

    def scaled(x: Any) -> Any:
        return x * w

    x = leaf(0.5)
    y = checkpoint(scaled, x, context_fn=selective(["Mul"], allow_cache_entry_mutation=mutable))
    with tp.no_grad():
        w.add_(1.0)
    if mutable:
        y.backward()
        assert x.grad.item() == 2.0
    else:
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            y.backward()


def test_the_policy_is_gone_after_the_call_and_after_an_exception() -> None:
    def broken(x: Any) -> Any:
        x.exp()
        raise KeyError("first run")

    with pytest.raises(KeyError):
        checkpoint(broken, leaf(0.5), context_fn=selective(["Exp"]))
    tape = Tape()
    with tape.hooks():
        checkpoint(lambda x: x.exp(), leaf(0.5)).backward()
    assert tape.packed == [[0.5]]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="either a function or a list of operations"):
        create_selective_checkpoint_contexts(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="either a function or a list of operations"):
        create_selective_checkpoint_contexts(Matmul)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="found 3"):
        create_selective_checkpoint_contexts([3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="must return a CheckpointPolicy or a bool, found str"):
        checkpoint(region, matrix(), context_fn=selective(lambda *_: "save"))
