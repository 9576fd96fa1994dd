"""Bytes are exact: what each workload saves is the arithmetic minimum, and no more than PyTorch."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.benchmarks.frameworks import FRAMEWORKS, TorchLike
from tests.benchmarks.workloads import WORKLOADS, data

FLOAT = 4
SIZES = {workload.name: workload.sizes for workload in WORKLOADS}
# The same chains on fewer numbers, where only the count of the buffers matters.
SIZES["tanh_chain"] = {"length": 200, "numbers": 1000}
SIZES["checkpointed_chain"] = {"length": 200, "numbers": 1000, "segments": 14}
NAMES = ("tiny_chain", "mlp_small", "mlp_large", "attention", "tanh_chain", "checkpointed_chain")


def minimum(name: str) -> int:
    """The bytes of results that the backward formulas read, without recomputation."""
    sizes = SIZES[name]
    if name.startswith("mlp"):
        # Two results of relu, which the next product reads, too, and log_softmax.
        numbers = sizes["batch"] * (2 * sizes["hidden"] + sizes["classes"])
    elif name == "attention":
        # Queries, keys, values and their mixture; the shares.
        rows = sizes["batch"] * sizes["length"]
        numbers = rows * (4 * sizes["features"] + sizes["length"])
    elif name == "tanh_chain":
        numbers = sizes["length"] * sizes["numbers"]
    elif name == "checkpointed_chain":
        # The start of each segment; the first is the input.
        numbers = (sizes["segments"] - 1) * sizes["numbers"]
    else:
        numbers = 0
    return FLOAT * numbers


class Saved:
    """Counts the storages that pack gets to see, without those that were there before."""

    def __init__(self, framework: TorchLike) -> None:
        self.framework = framework
        self.storages: dict[int, int] = {}
        self.kept: list[object] = []
        self.known: set[int] = set()
        self.dtypes: set[str] = set()

    def pack(self, tensor: object) -> object:
        key, size = storage_of(self.framework.name, tensor)
        if key not in self.known:
            self.storages[key] = size
            self.kept.append(tensor)  # so that no later storage gets the same address
        self.dtypes.add(str(tensor.dtype).removeprefix("torch."))
        return tensor

    @property
    def bytes(self) -> int:
        return sum(self.storages.values())


def storage_of(name: str, tensor) -> tuple[int, int]:
    """The address and the bytes of the buffer that a tensor looks into."""
    if name == "torch":
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    buffer = tensor._storage.buffer
    return buffer.ctypes.data, buffer.nbytes


def saved(name: str, workload: str) -> Saved:
    """What one step of a workload saves."""
    framework = FRAMEWORKS[name]()
    count = Saved(framework)
    for kind in ("leaf", "constant", "labels"):
        make = getattr(framework, kind)

        def remembered(array, make=make):
            tensor = make(array)
            count.known.add(storage_of(name, tensor)[0])
            return tensor

        setattr(framework, kind, remembered)
    step = getattr(framework, workload)(data(workload, SIZES[workload]))
    with framework.module.autograd.graph.saved_tensors_hooks(count.pack, lambda kept: kept):
        step()
    return count


@pytest.mark.parametrize("workload", NAMES)
def test_nothing_is_saved_beyond_what_the_formulas_read(workload):
    assert saved("tensorplay_ref", workload).bytes == minimum(workload)


@pytest.mark.parametrize("workload", NAMES)
def test_pytorch_saves_no_less(workload):
    pytest.importorskip("torch")
    assert saved("tensorplay_ref", workload).bytes <= saved("torch", workload).bytes


@pytest.mark.parametrize("workload", NAMES)
def test_what_is_saved_stays_float32(workload):
    assert saved("tensorplay_ref", workload).dtypes <= {"float32", "int64"}


def peak_and_kept(name: str, sizes: dict[str, int]) -> tuple[int, int, int]:
    """Bytes between forward and backward, at the peak, and of one buffer of the chain."""
    framework = FRAMEWORKS["tensorplay_ref"]()
    step = getattr(framework, name)(data(name, sizes))
    step()
    kept = []
    framework.between = lambda: kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.start()
    try:
        step()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak, kept[0], FLOAT * sizes["numbers"]


SLACK = 150_000  # bytes of nodes, frames and interned odds and ends


def test_a_backward_needs_one_buffer_beside_what_is_saved():
    sizes = {"length": 50, "numbers": 250_000}
    peak, kept, buffer = peak_and_kept("tanh_chain", sizes)
    assert kept <= 50 * buffer + SLACK
    assert peak <= kept + buffer + SLACK


def test_checkpoints_need_one_segment_at_a_time():
    sizes = {"length": 50, "numbers": 250_000, "segments": 7}
    peak, kept, buffer = peak_and_kept("checkpointed_chain", sizes)
    assert kept <= 7 * buffer + SLACK
    # The starts of the other segments, the results of one, and a gradient, as by hand.
    assert peak <= (6 + 8 + 1) * 1.15 * buffer + SLACK


def test_a_node_of_a_long_chain_takes_no_more_than_550_bytes():
    peaks = {}
    for length in (20_000, 40_000):
        framework = FRAMEWORKS["tensorplay_ref"]()
        step = framework.node_chain(data("node_chain", {"length": length, "numbers": 1}))
        tracemalloc.start()
        try:
            step()
            peaks[length] = tracemalloc.get_traced_memory()[1] / length
        finally:
            tracemalloc.stop()
    assert peaks[40_000] <= 550
    assert peaks[40_000] == pytest.approx(peaks[20_000], rel=0.2)


def test_gradients_of_float32_are_float32():
    x = tp.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    (x.tanh() * 2.0 / 3 + 1).mean().backward()
    assert x.grad.dtype == np.float32
