"""`tp.cuda`: what it tells about the simulated device, and `simulate`."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tensorplay_ref import cuda
from tensorplay_ref.accelerator import A100, DEFAULT, HOST, LESSON, PROFILES, OutOfMemoryError
from tensorplay_ref.device import DEVICE_COUNT, Device


def test_the_device_is_there_and_says_that_it_is_simulated() -> None:
    assert cuda.is_available() is True
    assert cuda.is_simulated() is True
    assert cuda.device_count() == DEVICE_COUNT
    assert cuda.current_device() == Device("cuda").index == 0
    assert "simulated" in cuda.get_device_name()
    assert "simulated" in cuda.memory_summary()
    assert cuda.OutOfMemoryError is OutOfMemoryError


def test_a_plain_device_has_the_default_capacity() -> None:
    free, total = cuda.mem_get_info()
    assert total == DEFAULT.capacity == 4 * 1024**3
    assert free == total - cuda.memory_allocated()
    with pytest.raises(OutOfMemoryError):
        Device("cuda").accelerator.allocate(free + 1, "zeros")


def test_the_functions_tell_what_the_ledger_counts() -> None:
    with cuda.simulate(capacity=1_000) as device:
        ledger = device.accelerator
        first = ledger.allocate(300, "matmul", "parameters")
        second = ledger.allocate(200, "relu")
        ledger.compute("matmul", 2_500, 0)
        ledger.free(second)
        assert cuda.memory_allocated() == 300
        assert cuda.max_memory_allocated() == 500
        assert cuda.mem_get_info() == (700, 1_000)
        assert cuda.memory_by_category() == {"parameters": 300}
        assert cuda.simulated_time() == 2.5e-6
        cuda.reset_peak_memory_stats()
        assert cuda.max_memory_allocated() == 300
        ledger.free(first)
        assert ledger.clock.host == 0
        cuda.synchronize()
        assert ledger.clock.host == 2_500


def test_a_device_may_be_given_by_index_name_or_object() -> None:
    with cuda.simulate(capacity=1_000, index=3) as device:
        kept = device.accelerator.allocate(10, "op")
        for spelled in (3, "cuda:3", Device("cuda:3")):
            assert cuda.memory_allocated(spelled) == kept.nbytes
        assert cuda.memory_allocated() == cuda.memory_allocated(0) != 10


def test_the_cpu_keeps_no_books() -> None:
    with pytest.raises(ValueError, match="expected a cuda device; found cpu"):
        cuda.memory_allocated("cpu")


def test_host_memory_of_offloading_is_told() -> None:
    before = cuda.host_memory_allocated()
    cuda.reset_peak_host_memory_stats()
    first = HOST.allocate(300, "to", pinned=True)
    second = HOST.allocate(200, "to")
    HOST.free(first)
    assert cuda.host_memory_allocated() == before + 200
    assert cuda.max_host_memory_allocated() == before + 500
    HOST.free(second)


def test_the_summary_is_a_page_to_read() -> None:
    with cuda.simulate(capacity=10_000) as device:
        ledger = device.accelerator
        ledger.allocate(6_000, "matmul", "saved for backward")
        ledger.allocate(500, "tensor", "parameters")
        ledger.compute("matmul", 7_000, 0)
        text = cuda.memory_summary(device)
    assert text.splitlines()[:7] == [
        "cuda:0: simulated accelerator (profile lesson); no GPU is used, all numbers are counted",
        "  capacity                          10,000 bytes",
        "  live                               6,500 bytes",
        "  free                               3,500 bytes",
        "  peak                               6,500 bytes",
        "live by category",
        "  parameters                           500 bytes",
    ]
    assert "  matmul (saved for backward): 6,000 bytes in 1 storage" in text
    assert text.endswith("simulated time: 7,000 ns")


def test_simulate_gives_a_fresh_ledger_and_clock_and_takes_them_away() -> None:
    device = Device("cuda")
    former = device.accelerator
    kept = former.allocate(40, "before")
    time_before = cuda.simulated_time()
    with cuda.simulate(capacity=1_000) as simulated:
        assert simulated is device
        assert device.accelerator is not former
        assert cuda.mem_get_info() == (1_000, 1_000)
        assert cuda.simulated_time() == 0.0
        assert HOST.clock is device.accelerator.clock
        device.accelerator.compute("op", 1_000, 0)
    assert device.accelerator is former
    assert cuda.simulated_time() == time_before
    assert HOST.clock is former.clock
    former.free(kept)


def test_simulate_ends_with_an_exception_too() -> None:
    device = Device("cuda")
    former = device.accelerator
    with pytest.raises(OutOfMemoryError), cuda.simulate(capacity=10):
        device.accelerator.allocate(11, "matmul")
    assert device.accelerator is former


def test_simulations_nest() -> None:
    capacities = []
    with cuda.simulate(capacity=100) as device:
        outer = device.accelerator
        with cuda.simulate(capacity=200), cuda.simulate(capacity=300, index=1):
            capacities += [cuda.mem_get_info(index)[1] for index in (0, 1)]
        capacities += [cuda.mem_get_info(index)[1] for index in (0, 1)]
        assert device.accelerator is outer
    assert capacities == [200, 300, 100, DEFAULT.capacity]


def test_simulations_may_be_left_in_any_order() -> None:
    device = Device("cuda")
    former = device.accelerator
    first, second = cuda.simulate(capacity=100), cuda.simulate(capacity=200)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert cuda.mem_get_info()[1] == 200
    assert HOST.clock is device.accelerator.clock
    second.__exit__(None, None, None)
    assert device.accelerator is former
    assert HOST.clock is former.clock


def test_a_storage_that_outlives_its_simulation_is_freed_where_it_was_counted() -> None:
    device = Device("cuda")
    outside = device.accelerator.allocate(50, "outside")
    before = cuda.memory_allocated()
    with cuda.simulate(capacity=1_000):
        simulated = device.accelerator
        inside = simulated.allocate(300, "inside")
        simulated.free(outside)
        assert cuda.memory_allocated() == 300
    assert cuda.memory_allocated() == before - 50
    device.accelerator.free(inside)
    assert simulated.memory_allocated() == 0
    assert cuda.memory_allocated() == before - 50


def test_a_simulation_is_seen_by_every_thread() -> None:
    seen = []
    with cuda.simulate(capacity=123):
        thread = threading.Thread(target=lambda: seen.append(cuda.mem_get_info()))
        thread.start()
        thread.join()
    assert seen == [(123, 123)]


def test_simulate_is_a_decorator_with_a_fresh_device_at_each_call() -> None:
    @cuda.simulate(capacity=100)
    def fill() -> int:
        Device("cuda").accelerator.allocate(80, "op")
        return cuda.memory_allocated()

    assert [fill(), fill()] == [80, 80]


def test_simulate_takes_a_profile_by_name_or_as_it_is_and_changes_to_it() -> None:
    for name, profile in PROFILES.items():
        with cuda.simulate(profile=name) as device:
            assert device.accelerator.profile == profile
    with cuda.simulate() as device:
        assert device.accelerator.profile == LESSON
    changes = {
        "capacity": 1,
        "flops_per_second": 2,
        "memory_bandwidth": 3,
        "pinned_bandwidth": 4,
        "pageable_bandwidth": 5,
        "latency": 6,
        "launch_latency": 7,
        "queue_depth": 8,
    }
    with cuda.simulate(profile=A100, **changes) as device:
        assert device.accelerator.profile == replace(A100, **changes)


def test_what_makes_no_sense_is_refused_before_anything_changes() -> None:
    former = Device("cuda").accelerator
    with pytest.raises(ValueError, match="unknown profile 'h900'; .* 'lesson', 'default', 'a100'"):
        cuda.simulate(profile="h900")
    with pytest.raises(ValueError, match="Invalid device: cuda:8"):
        cuda.simulate(index=8)
    with pytest.raises(TypeError, match="capacity"):
        cuda.simulate(capacity=1.5)
    with pytest.raises(ValueError, match="pinned_bandwidth"):
        cuda.simulate(pinned_bandwidth=0)
    assert Device("cuda").accelerator is former


def test_everything_public_has_a_name_in_all() -> None:
    assert sorted(cuda.__all__, key=lambda name: (name.islower(), name)) == cuda.__all__
    assert all(hasattr(cuda, name) for name in cuda.__all__)
