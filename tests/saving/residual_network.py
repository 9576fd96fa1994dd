"""The example of the memory tests: a residual network on the digits, trained on the accelerator.

64 features, a layer to 64, eight blocks h + relu(h W1) W2, a layer to 10 classes; batches of 256.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tensorplay_ref as tp
from tensorplay_ref.course.digits import load_digits
from tensorplay_ref.utils.checkpoint import checkpoint

BATCH = 256
WIDTH = 64
CLASSES = 10


class ResidualNetwork:
    """Its parameters on a device, the same for the same seed.

    `segment` is the number of blocks that a checkpoint surrounds, None for no checkpoint.
    """

    def __init__(self, device: Any, blocks: int = 8, segment: int | None = None) -> None:
        rng = np.random.default_rng(0)

        def matrix(rows: int, columns: int, gain: float = 1.0) -> Any:
            values = rng.standard_normal((rows, columns)) * gain / np.sqrt(rows)
            return tp.tensor(values.astype(np.float32), device=device, requires_grad=True)

        self.first = matrix(WIDTH, WIDTH)
        self.blocks = [(matrix(WIDTH, WIDTH), matrix(WIDTH, WIDTH, 0.5)) for _ in range(blocks)]
        self.last = matrix(WIDTH, CLASSES)
        self.parameters = [self.first, *(w for pair in self.blocks for w in pair), self.last]
        self.segment = segment

    def __call__(self, images: Any) -> Any:
        """The logits, shape (batch, classes), of images of shape (batch, 64)."""
        hidden = images @ self.first
        step = self.segment or len(self.blocks)
        for start in range(0, len(self.blocks), step):
            blocks = self.blocks[start : start + step]
            if self.segment is None:
                hidden = through(blocks, hidden)
            else:
                hidden = checkpoint(through, blocks, hidden)
        return hidden @ self.last


def through(blocks: list[tuple[Any, Any]], hidden: Any) -> Any:
    """Apply residual blocks in a row."""
    for before, after in blocks:
        hidden = hidden + (hidden @ before).relu() @ after
    return hidden


@dataclass
class Run:
    """What a training run did, in NumPy arrays and bytes of the accelerator's ledger."""

    losses: list[float]
    gradients: list[NDArray[np.float32]]
    weights: list[NDArray[np.float32]]
    weight_bytes: int
    saved_bytes: int  # above the weights and the batch when the loss is known, in the first step
    peak_bytes: int  # above the weights, of all steps
    host_peak: int
    copied_to_host: int  # in the first step
    left_on_device: int  # above the weights, at the end
    left_on_host: int


def train(
    policy: AbstractContextManager[Any] | None = None,
    *,
    capacity: int = 1_000_000_000,
    steps: int = 3,
    blocks: int = 8,
    segment: int | None = None,
    rate: float = 0.1,
) -> Run:
    """Train with plain gradient descent under `policy` on a device of this capacity."""
    digits = load_digits()
    with tp.cuda.simulate(capacity=capacity) as device:
        tp.cuda.reset_peak_host_memory_stats()
        host_before = tp.cuda.host_memory_allocated()
        model = ResidualNetwork(device, blocks, segment)
        weight_bytes = tp.cuda.memory_allocated()
        losses: list[float] = []
        saved_bytes = copied = 0
        for step in range(steps):
            rows = np.arange(step * BATCH, (step + 1) * BATCH) % len(digits.train_labels)
            images = tp.tensor(digits.train_images[rows].reshape(BATCH, WIDTH), device=device)
            labels = tp.tensor(digits.train_labels[rows], device=device)
            batch_bytes = images.nbytes + labels.nbytes
            for weight in model.parameters:
                weight.grad = None
            with device.accelerator.recording() as events:
                with policy or nullcontext():
                    loss = tp.nn.functional.cross_entropy(model(images), labels)
                if not step:
                    live = tp.cuda.memory_allocated()
                    saved_bytes = live - weight_bytes - batch_bytes - loss.nbytes
                loss.backward()
            if not step:
                copied = sum(e.nbytes for e in events if e.kind == "copy" and e.stream == "to host")
            losses.append(float(loss.item()))
            with tp.no_grad():
                for weight in model.parameters:
                    weight.sub_(weight.grad * rate)
        gradients = [weight.grad.cpu().numpy() for weight in model.parameters]
        weights = [weight.detach().cpu().numpy() for weight in model.parameters]
        for weight in model.parameters:
            weight.grad = None
        del images, labels, loss, weight
        return Run(
            losses,
            gradients,
            weights,
            weight_bytes,
            saved_bytes,
            tp.cuda.max_memory_allocated() - weight_bytes,
            tp.cuda.max_host_memory_allocated() - host_before,
            copied,
            tp.cuda.memory_allocated() - weight_bytes,
            tp.cuda.host_memory_allocated() - host_before,
        )
