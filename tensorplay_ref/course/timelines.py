"""Programs whose memory notebook 11 reads: six ways to save, without a label, and a leak.

All run the same residual network on digits, on the simulated accelerator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ..accelerator import Event
from ..autograd.graph import save_on_cpu
from ..inspect import Timeline, timeline
from ..saving import quantize
from ..utils.checkpoint import checkpoint
from .digits import load_digits

BLOCKS = 6
BATCH = 256
WIDTH = 64
CAPACITY = 1_300_000

Weights = list[tuple[Any, Any]]


def through(weights: Weights, h: Any) -> Any:
    """Apply residual blocks in a row."""
    for before, after in weights:
        h = h + (h @ before).relu() @ after
    return h


@contextmanager
def network() -> Iterator[tuple[Weights, Any]]:
    """A device with nothing on it but the weights and a batch of images."""
    rng = np.random.default_rng(0)
    images = load_digits().train_images[:BATCH].reshape(-1, WIDTH)
    with tp.cuda.simulate(capacity=CAPACITY):

        def matrix() -> Any:
            values = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 16
            return tp.tensor(values, device="cuda", requires_grad=True)

        yield [(matrix(), matrix()) for _ in range(BLOCKS)], tp.tensor(images, device="cuda")


def in_regions(length: int) -> Callable[[Weights, Any], Any]:
    """The network in checkpointed regions of so many blocks."""

    def forward(weights: Weights, h: Any) -> Any:
        for start in range(0, BLOCKS, length):
            h = checkpoint(through, weights[start : start + length], h)
        return h

    return forward


def step(
    forward: Callable[[Weights, Any], Any] = through,
    context: AbstractContextManager[Any] | None = None,
    backward: bool = True,
) -> Timeline:
    """The timeline of one step."""
    with network() as (weights, images), timeline("cuda", "host") as recorded:
        with context or nullcontext():
            loss = forward(weights, images).square().mean()
        if backward:
            loss.backward()
        del loss
    return recorded


WAYS: dict[str, Callable[[], Timeline]] = {
    "plain": step,
    "no gradient": lambda: step(context=tp.no_grad(), backward=False),
    "offload": lambda: step(context=save_on_cpu()),
    "int8": lambda: step(context=quantize()),
    "checkpoint, 2 blocks": lambda: step(in_regions(2)),
    "checkpoint, all blocks": lambda: step(in_regions(BLOCKS)),
}


def answers() -> dict[str, str]:
    """Which way stands behind each letter."""
    order = np.random.default_rng(11).permutation(len(WAYS))
    names = list(WAYS)
    return {letter: names[place] for letter, place in zip("ABCDEF", order, strict=True)}


def unlabelled() -> dict[str, Timeline]:
    """Six timelines under letters."""
    return {letter: WAYS[name]() for letter, name in answers().items()}


def program(name: str) -> list[Event]:
    """The device's events of one of `PROGRAMS`, from an empty device on."""
    with tp.cuda.simulate(capacity=CAPACITY) as device:
        with tp.cuda.accelerator_of(device).recording() as events:
            kept = PROGRAMS[name]()
        del kept
    return list(events)


def _training(context: AbstractContextManager[Any] | None = None) -> None:
    w = tp.ones(64, 64, device="cuda", requires_grad=True)
    with context or nullcontext():
        loss = (tp.ones(100, 64, device="cuda") @ w).exp().mean()
    loss.backward()


def _too_large() -> None:
    x = tp.ones(1000, device="cuda")
    try:
        tp.ones(CAPACITY, device="cuda")
    except tp.cuda.OutOfMemoryError:
        del x


def evaluation() -> list[Any]:
    """The losses of four batches, with all that their graphs keep: the leak."""
    w = tp.ones(64, 64, device="cuda", requires_grad=True)
    losses = []
    for number in range(4):
        batch = tp.full((100, 64), number / 1000, device="cuda")
        losses.append((batch @ w).tanh().mean())
    return losses


PROGRAMS: dict[str, Callable[[], Any]] = {
    "training": _training,
    "offloading": lambda: _training(save_on_cpu()),
    "too large": _too_large,
    "evaluation": evaluation,
}
