"""The task of the last notebook: train a network on the digits within a budget of memory.

A **policy** is a function of (operation, tensor) that says for each tensor that an operation saves
what shall be done with it: "keep", "host", "int8" or "recompute". `train` trains under a policy on
the simulated accelerator, and every run becomes a row of the scoreboard.

`BUDGET` is the one place that says how much room there is and how accurate a run must be; the
notebook, its checks and the references all read it there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ..inspect import Score, Scoreboard, Timeline, timeline
from .capstone_network import WIDTH, Network, Policy
from .digits import load_digits


@dataclass(frozen=True)
class Budget:
    """Bytes of device memory, and the share of the held-out digits that must be read rightly."""

    capacity: int
    least_accuracy: float


# Change the task here. What depends on it are stored outputs of notebook 12; refresh these.
BUDGET = Budget(capacity=3_250_000, least_accuracy=0.95)

BATCH = 479  # a third of the 1,437 images
EPOCHS = 14
RATE = 0.3
MEAN = 0.3  # of a pixel, about
# Bytes a second over the link: a fifth of the lesson's, so that copies cannot all hide behind the
# arithmetic of so small a network.
LINK = 10**8
LARGER = 10_000_000  # bytes of a device on which nothing has to be saved otherwise


@dataclass(frozen=True)
class Run:
    """What a training under a policy did.

    Attributes:
        peak: the most bytes that lived at once on the device, parameters and data included.
        nanoseconds: simulated time of all steps.
        correct, total: held-out digits that were read rightly, and how many there are.
        losses: the mean cross-entropy of each step.
        timeline: memory and streams of the first step.
        left: bytes left on the "device" and on the "host", and files left on "disk", at the end.
    """

    peak: int
    nanoseconds: int
    correct: int
    total: int
    losses: tuple[float, ...]
    timeline: Timeline
    left: dict[str, int]

    @property
    def accuracy(self) -> float:
        """The share of the held-out digits that were read rightly."""
        return self.correct / self.total

    def score(self, name: str) -> Score:
        """The run as a row of the scoreboard."""
        return Score(name, self.peak, self.nanoseconds, self.accuracy)


def train(
    policy: Policy | None = None,
    segment: int | None = None,
    *,
    capacity: int | None = None,
    epochs: int | None = None,
) -> Run:
    """Train by gradient descent under a policy, and read the held-out digits.

    Args:
        policy, segment: see `Network`.
        capacity: bytes of the device; None means the budget's.
        epochs: how often every image is seen, three steps each; None means EPOCHS.

    A training that diverges goes on to its end, and has the accuracy that it has.

    Errors: OutOfMemoryError when the device is too small.
    """
    digits = load_digits()
    images = digits.train_images.reshape(-1, WIDTH).astype(np.float64) - MEAN
    room = BUDGET.capacity if capacity is None else capacity
    losses: list[float] = []
    with (
        tp.cuda.simulate(capacity=room, pinned_bandwidth=LINK) as device,
        _counting_files() as files,
        np.errstate(over="ignore", invalid="ignore"),
    ):
        accelerator = tp.cuda.accelerator_of(device)
        host_before = tp.cuda.host_memory_allocated()
        network = Network(device, policy, segment)
        first = timeline(device, "host")
        for step in range((EPOCHS if epochs is None else epochs) * len(images) // BATCH):
            rows = slice(step * BATCH % len(images), step * BATCH % len(images) + BATCH)
            batch = images[rows], digits.train_labels[rows]
            if step == 0:
                with first:
                    losses.append(_step(network, device, *batch))
            else:
                losses.append(_step(network, device, *batch))
        nanoseconds = accelerator.elapsed()
        peak = accelerator.max_memory_allocated()
        correct = _correct(network, device, digits.test_images, digits.test_labels)
        del network
        left = {
            "device": accelerator.memory_allocated(),
            "host": tp.cuda.host_memory_allocated() - host_before,
            "disk": files(),
        }
    total = len(digits.test_labels)
    return Run(peak, nanoseconds, correct, total, tuple(losses), first, left)


def _step(network: Network, device: Any, images: Any, labels: Any) -> float:
    data = tp.tensor(images, device=device), tp.tensor(labels, device=device)
    loss = network.loss(*data)
    loss.backward()
    with tp.no_grad():
        for weight in network.parameters:
            weight.sub_(weight.grad * RATE)
            weight.grad = None
    return float(loss.item())


def _correct(network: Network, device: Any, images: Any, labels: Any) -> int:
    data = tp.tensor(images.reshape(-1, WIDTH).astype(np.float64) - MEAN, device=device)
    with tp.no_grad():
        answers = network(data).cpu().numpy().argmax(axis=1)
    return int((answers == labels).sum())


@contextmanager
def _counting_files() -> Iterator[Callable[[], int]]:
    """Let temporary files go to a directory of their own; yields how many are in it."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as directory:
        tempfile.tempdir = directory
        try:
            yield lambda: sum(path.is_file() for path in Path(directory).rglob("*"))
        finally:
            tempfile.tempdir = before


@dataclass(frozen=True)
class Entry:
    """A way to train: its name, its policy, and how many blocks a region holds."""

    name: str
    policy: Policy | None = None
    segment: int | None = None

    def run(self) -> Run:
        """Train so within the budget; where it does not suffice, on the larger device."""
        try:
            return train(self.policy, self.segment)
        except tp.cuda.OutOfMemoryError:
            return train(self.policy, self.segment, capacity=LARGER)


def offload_all(operation: str, tensor: Any) -> str:
    """Everything waits on the host."""
    return "host"


def recompute_all(operation: str, tensor: Any) -> str:
    """Nothing but what a region begins with is kept."""
    return "recompute"


def small_activations(operation: str, tensor: Any) -> str:
    """What the layers save is kept in a byte; what the loss saves stays exact."""
    return "int8" if operation in ("Matmul", "Relu") else "keep"


def inputs_on_the_host(operation: str, tensor: Any) -> str:
    """What a region begins with waits on the host; the rest is computed again."""
    return "host" if operation == "Checkpoint" else "recompute"


def best_known(operation: str, tensor: Any) -> str:
    """What a region begins with waits on the host, the result of relu is kept in a byte."""
    made_by = "" if tensor.grad_fn is None else tensor.grad_fn.name()
    if operation == "Relu" or made_by == "ReluBackward":
        return "int8"
    return "host" if operation == "Checkpoint" else "recompute"


REFERENCES = (
    Entry("plain"),
    Entry("offload", offload_all),
    Entry("checkpoint, 2 blocks", recompute_all, 2),
    Entry("int8 activations", small_activations),
    Entry("checkpoint on the host", inputs_on_the_host, 1),
)
BEST_KNOWN = Entry("best known", best_known, 1)


def scoreboard(runs: Mapping[str, Run]) -> Scoreboard:
    """The runs, judged by the budget."""
    scores = [run.score(name) for name, run in runs.items()]
    return Scoreboard(scores, BUDGET.capacity, BUDGET.least_accuracy)
