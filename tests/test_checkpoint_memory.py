"""checkpoint: bytes. Saved bytes fall with the length of the segments, the peak has a minimum."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.utils.checkpoint import checkpoint
from tests.saving.residual_network import BATCH, CLASSES, WIDTH, train

LAYERS = 200


def tanh_chain(x: Any, segments: int | None) -> Any:
    def layers(count: int) -> Any:
        def apply(h: Any) -> Any:
            for _ in range(count):
                h = h.tanh()
            return h

        return apply

    if segments is None:
        return layers(LAYERS)(x)
    edges = [round(i * LAYERS / segments) for i in range(segments + 1)]
    for start, end in zip(edges, edges[1:], strict=False):
        x = checkpoint(layers(end - start), x)
    return x


def traced_peak(size: int, segments: int | None) -> int:
    x = tp.tensor(np.linspace(-2, 2, size, dtype=np.float32), requires_grad=True)
    tracemalloc.start()
    try:
        tanh_chain(x, segments).sum().backward()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("segments", "arrays"), [(14, 29), (7, 36), (28, 35)])
def test_the_peak_is_that_of_a_program_written_by_hand(segments: int, arrays: int) -> None:
    # By hand a chain in k segments needs k inputs, the values of one segment and a gradient.
    size = 100_000
    assert traced_peak(size, segments) <= 1.15 * arrays * size * 4


def test_saved_bytes_fall_with_the_segment_length_and_the_peak_is_u_shaped() -> None:
    hidden = BATCH * WIDTH * 4
    log_probabilities = BATCH * CLASSES * 4
    runs = {segment: train(segment=segment, steps=1) for segment in (1, 2, 4, 8)}
    for segment, run in runs.items():
        # An input for each segment and one for the last layer.
        assert run.saved_bytes == (8 // segment + 1) * hidden + log_probabilities
    peaks = [runs[segment].peak_bytes for segment in (1, 2, 4, 8)]
    assert min(peaks) == peaks[1]
    assert peaks[0] > peaks[1] < peaks[2] < peaks[3]
    assert peaks[3] >= train(steps=1).peak_bytes


def test_collected_values_are_called_saved_for_backward_while_they_wait() -> None:
    with tp.cuda.simulate(capacity=10_000) as device:
        x = tp.ones(10, device=device, requires_grad=True)
        seen: list[dict[str, int]] = []
        h = x * 1.0
        y = checkpoint(lambda h: h.exp().tanh().exp(), h).sum()
        y.grad_fn.next_functions[0][0].register_hook(
            lambda *_: seen.append(tp.cuda.memory_by_category())
        )
        del h
        y.backward()
        # The last exp has run: tanh, exp and the region's argument still wait.
        assert seen[0]["saved for backward"] == 3 * 40
        assert seen[0]["parameters"] == 40


def test_running_out_of_memory_in_the_second_run_leaves_everything_usable() -> None:
    with tp.cuda.simulate(capacity=1_600) as device:
        x = tp.ones(50, device=device, requires_grad=True)
        y = checkpoint(lambda x: x.exp().tanh().exp().tanh(), x).sum()
        live = tp.cuda.memory_allocated()
        ballast = tp.ones(200, device=device)
        with pytest.raises(tp.cuda.OutOfMemoryError):
            y.backward()
        del ballast
        assert tp.cuda.memory_allocated() == live
        assert x.grad is None
        y.backward()
        assert x.grad is not None
