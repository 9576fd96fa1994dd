"""The promise of all this: a network that does not fit is trained, and learns the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import save_on_cpu
from tensorplay_ref.saving import (
    bitmask,
    cast,
    choose,
    compose,
    compress,
    offload,
    on_disk,
    quantize,
)
from tensorplay_ref.utils.checkpoint import checkpoint
from tests.saving.residual_network import BATCH, CLASSES, WIDTH, ResidualNetwork, Run, train

CAPACITY = 1_200_000
HIDDEN = BATCH * WIDTH * 4
LAST = BATCH * CLASSES * 4
IMAGES = BATCH * WIDTH * 4
LABELS = BATCH * 8
BLOCKS = 8


@pytest.fixture(scope="module")
def plain() -> Run:
    return train()


pytestmark = pytest.mark.usefixtures("no_gc")


def relative_error(run: Run, plain: Run) -> float:
    """The largest error of a gradient in units of the largest element of that gradient."""
    return max(
        float(np.abs(found - right).max() / np.abs(right).max())
        for found, right in zip(run.gradients, plain.gradients, strict=True)
    )


def test_the_plain_step_does_not_fit_and_the_error_says_what_is_in_the_way(plain: Run) -> None:
    assert plain.weight_bytes + plain.peak_bytes > CAPACITY
    with pytest.raises(tp.cuda.OutOfMemoryError, match="saved for backward"):
        train(capacity=CAPACITY)


def test_the_plain_step_saves_each_hidden_state_once(plain: Run) -> None:
    # The input of each block and of the last layer, the result of each relu, log_softmax.
    assert plain.saved_bytes == (2 * BLOCKS + 1) * HIDDEN + LAST


EXACT: dict[str, dict[str, Any]] = {
    "save_on_cpu": {"policy": save_on_cpu()},
    "save_on_cpu, pinned": {"policy": save_on_cpu(pin_memory=True)},
    "offload": {"policy": offload()},
    "offload, pinned": {"policy": offload(pin_memory=True)},
    "offload everything": {"policy": offload(min_bytes=0, skip_leaves=False, deduplicate=False)},
    "compress": {"policy": compress()},
    "checkpoint": {"segment": 2},
    "checkpoint of single blocks": {"segment": 1},
    "checkpoint under offload": {"policy": offload(), "segment": 2},
    "bit masks and offload": {
        "policy": choose(lambda op, _: bitmask() if op == "Relu" else offload())
    },
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_policies_fit_and_give_the_same_bits(name: str, plain: Run) -> None:
    run = train(capacity=CAPACITY, **EXACT[name])
    check_same_bits(run, plain)


def check_same_bits(run: Run, plain: Run) -> None:
    assert run.losses == plain.losses
    for found, right in zip(run.gradients, plain.gradients, strict=True):
        assert np.array_equal(found, right)
    for found, right in zip(run.weights, plain.weights, strict=True):
        assert np.array_equal(found, right)
    assert (run.left_on_device, run.left_on_host) == (0, 0)


def test_on_disk_fits_gives_the_same_bits_and_leaves_no_file(plain: Run, tmp_path: Path) -> None:
    policy = on_disk(tmp_path)
    check_same_bits(train(policy, capacity=CAPACITY), plain)
    assert policy.directory is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("policy", "bound"),
    [
        (cast("float16"), 1e-3),
        (cast("bfloat16"), 2e-2),
        (quantize(bits=8), 5e-2),
        (compose(offload(), quantize(bits=8)), 5e-2),
    ],
    ids=["float16", "bfloat16", "int8", "int8 on the host"],
)
def test_lossy_policies_fit_within_their_error(policy: Any, bound: float) -> None:
    right = train(steps=1)
    run = train(policy, capacity=CAPACITY, steps=1)
    assert run.losses == right.losses
    assert 0 < relative_error(run, right) < bound
    assert (run.left_on_device, run.left_on_host) == (0, 0)


@pytest.mark.parametrize(
    ("policy", "largest_difference"),
    [(cast("float16"), 1e-4), (quantize(bits=8), 2e-3)],
    ids=["float16", "int8"],
)
def test_training_with_lossy_policies_takes_the_same_course(
    plain: Run, policy: Any, largest_difference: float
) -> None:
    run = train(policy, capacity=CAPACITY)
    assert np.abs(np.subtract(run.losses, plain.losses)).max() < largest_difference
    assert run.losses[-1] < run.losses[0] - 0.5


# -- bytes -----------------------------------------------------------------------------------------
def test_each_refinement_of_offloading_moves_less() -> None:
    def copied(**options: Any) -> int:
        return train(offload(**options), steps=1).copied_to_host

    weights = 2 * BLOCKS * WIDTH * WIDTH * 4 + WIDTH * CLASSES * 4
    small = LAST + LABELS
    everything = IMAGES + (3 * BLOCKS + 1) * HIDDEN + weights + small
    refined = {"min_bytes": 0, "skip_leaves": False, "deduplicate": False}
    assert copied(**refined) == everything
    refined["skip_leaves"] = True
    assert copied(**refined) == everything - weights
    # The result of relu is saved by relu and by the matmul behind it.
    refined["deduplicate"] = True
    assert copied(**refined) == everything - weights - BLOCKS * HIDDEN
    refined["min_bytes"] = HIDDEN
    assert copied(**refined) == everything - weights - BLOCKS * HIDDEN - small


def test_saved_bytes_shrink_by_what_the_policies_promise(plain: Run) -> None:
    states = 2 * BLOCKS + 1
    half = train(cast("float16"), steps=1)
    # The batch is held by the program; its copy for the first layer is one more.
    assert half.saved_bytes == (states + 1) * HIDDEN // 2 + LAST // 2
    eighth = train(quantize(bits=8), steps=1)
    rows = BATCH * 4
    assert eighth.saved_bytes == (states + 1) * (HIDDEN // 4 + rows) + LAST // 4 + rows
    assert train(offload(min_bytes=0), steps=1).saved_bytes == 0


def test_the_peak_of_the_host_is_what_was_moved() -> None:
    run = train(offload(), steps=1)
    assert run.host_peak == run.copied_to_host


def test_pinned_copies_hide_behind_the_computing() -> None:
    def simulated_time(policy: Any) -> float:
        with tp.cuda.simulate(capacity=CAPACITY * 10) as device:
            model = ResidualNetwork(device)
            images = tp.ones(BATCH, WIDTH, device=device)
            tp.cuda.synchronize()
            before = tp.cuda.simulated_time()
            with policy:
                loss = model(images).sum()
            loss.backward()
            tp.cuda.synchronize()
            return tp.cuda.simulated_time() - before

    assert simulated_time(offload(pin_memory=True)) < simulated_time(offload())


# -- checkpoint and offloading inside each other ---------------------------------------------------
def test_offloading_inside_a_checkpoint_leaves_nothing_to_compute_again(plain: Run) -> None:
    runs: list[int] = []

    def gradients(device: Any, inside: bool) -> list[Any]:
        model = ResidualNetwork(device)
        images = tp.ones(BATCH, WIDTH, device=device)

        def region(images: Any) -> Any:
            runs.append(1)
            with offload():
                return model(images).log_softmax(1)

        out = checkpoint(region, images) if inside else model(images).log_softmax(1)
        (out * out).mean().backward()
        return [weight.grad.cpu().numpy() for weight in model.parameters]

    with tp.cuda.simulate(capacity=CAPACITY) as device:
        moved = gradients(device, inside=True)
        assert tp.cuda.memory_allocated() == 0
    with tp.cuda.simulate(capacity=10 * CAPACITY) as device:
        right = gradients(device, inside=False)
    assert len(runs) == 1
    assert all(np.array_equal(a, b) for a, b in zip(moved, right, strict=True))
