"""The ledger among threads and finalizers: it stays right, nobody waits, exit is silent."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from dataclasses import replace

from tensorplay_ref.accelerator import LESSON, Accelerator


def accelerator(capacity: int = 1_000) -> Accelerator:
    return Accelerator("cuda:0", replace(LESSON, capacity=capacity))


class Storage:
    """What the package's storages do: free their allocation when the last reference goes."""

    def __init__(self, ledger: Accelerator, nbytes: int, operation: str = "tensor") -> None:
        self.ledger = ledger
        self.allocation = ledger.allocate(nbytes, operation)

    def __del__(self) -> None:
        if hasattr(self, "allocation"):
            self.ledger.free(self.allocation)


def test_many_threads_keep_the_books_right() -> None:
    ledger = accelerator(capacity=10**9)
    handed_over: list[Storage] = []

    def work(size: int) -> None:
        for round_number in range(200):
            storage = Storage(ledger, size, f"op {round_number % 5}")
            ledger.relabel(storage.allocation, "gradients")
            ledger.compute("op", size, size, writes=storage.allocation)
            if round_number % 10 == 0:
                handed_over.append(storage)

    threads = [threading.Thread(target=work, args=(size,)) for size in (1, 10, 100, 1_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.memory_allocated() == 20 * 1_111
    assert ledger.issued == 800
    handed_over.clear()
    assert ledger.memory_allocated() == 0
    assert ledger.owners() == []


def test_a_tensor_that_dies_while_another_thread_uses_the_books_does_not_wait() -> None:
    ledger = accelerator()
    storage = [Storage(ledger, 300)]
    inside, leave = threading.Event(), threading.Event()

    def hold_the_books() -> None:
        with ledger._lock:
            inside.set()
            leave.wait(10)

    holder = threading.Thread(target=hold_the_books)
    holder.start()
    assert inside.wait(10)
    storage.clear()
    leave.set()
    holder.join()
    assert ledger.memory_allocated() == 0


def test_a_tensor_that_dies_in_the_middle_of_a_change_to_the_books_is_taken_out_after_it() -> None:
    ledger = accelerator()
    storage = [Storage(ledger, 300)]
    allocation = storage[0].allocation
    with ledger._lock:
        storage.clear()
        assert allocation.live
    assert ledger.memory_allocated() == 0
    assert not allocation.live


def test_garbage_collected_in_the_middle_of_an_allocation_is_counted_right() -> None:
    ledger = accelerator(capacity=10**6)
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            ring = [Storage(ledger, 7)]
            ring.append(ring)  # type: ignore[arg-type]
            del ring
            ledger.free(ledger.allocate(11, "op"))
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert ledger.memory_allocated() == 0
    assert ledger.mem_get_info() == (10**6, 10**6)


def test_storages_that_live_until_the_interpreter_ends_say_nothing() -> None:
    program = """
import builtins, sys, threading
from tensorplay_ref.device import Device
class Storage:
    def __init__(self):
        self.ledger = Device("cuda").accelerator
        self.allocation = self.ledger.allocate(8, "op")
        self.me = self
    def __del__(self):
        self.ledger.free(self.allocation)
everywhere = Storage()
builtins.kept = Storage()
sys.kept = Storage()
threading.kept = Storage()
sys.modules["tensorplay_ref.device"].kept = Storage()
sys.modules["tensorplay_ref.accelerator.ledger"].kept = Storage()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
