"""The picture of the README: one training step in three ways, on the simulated accelerator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tensorplay_ref as tp

from ..autograd.graph import save_on_cpu
from ..inspect import Picture, Timeline, gallery, show, timeline
from ..utils.checkpoint import checkpoint_sequential

CAPACITY = 2_500_000
LAYERS = 24
SEGMENTS = 6

Layer = Callable[[tp.Tensor], tp.Tensor]


def three_ways() -> dict[str, Timeline]:
    """Timelines of a step that keeps everything, one that offloads and one that recomputes."""
    return {
        "everything kept": _recorded(_run),
        "save_on_cpu": _recorded(_offloaded),
        "checkpoint": _recorded(_recomputed),
    }


def cover() -> Picture:
    """The three timelines side by side; the alternative text names the three peaks."""
    ways = three_ways()
    peaks = ", ".join(f"{way} {recorded.peak.nbytes:,}" for way, recorded in ways.items())
    alt = (
        f"Live bytes of a simulated accelerator over one training step of {LAYERS} layers, "
        f"in three ways; bytes at the peak: {peaks}"
    )
    return show(gallery(ways)[0], alt)


def _recorded(forward: Callable[[list[Layer], tp.Tensor], tp.Tensor]) -> Timeline:
    """What lives on the device during a step whose forward pass is this one."""
    rng = np.random.default_rng(0)
    with tp.cuda.simulate(capacity=CAPACITY), timeline() as recorded:
        h = tp.tensor(rng.normal(size=(256, 64)).astype(np.float32)).to("cuda")
        arrays = [(rng.normal(size=(64, 64)) / 8).astype(np.float32) for _ in range(LAYERS)]
        weights = [tp.tensor(array).to("cuda").requires_grad_() for array in arrays]
        h = forward([_layer(weight) for weight in weights], h)
        (h * h).mean().backward()
    return recorded


def _layer(weight: tp.Tensor) -> Layer:
    return lambda h: (h @ weight).tanh()


def _run(layers: list[Layer], h: tp.Tensor) -> tp.Tensor:
    for layer in layers:
        h = layer(h)
    return h


def _offloaded(layers: list[Layer], h: tp.Tensor) -> tp.Tensor:
    with save_on_cpu():
        return _run(layers, h)


def _recomputed(layers: list[Layer], h: tp.Tensor) -> tp.Tensor:
    result: tp.Tensor = checkpoint_sequential(layers, SEGMENTS, h)
    return result
