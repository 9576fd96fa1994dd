"""Measures what saving policies do to the memory of the process itself, its peak resident set.

    python tests/benchmarks/real_memory.py [--layers 40] [--size 4000000]

A chain of tanh on float32 is walked forward and backward, each policy twice in a fresh process:
once with the bytes of all live arrays counted (tracemalloc), once undisturbed with the peak of the
resident set read afterwards. The bytes predict by which factor a policy lowers the peak; the
measured factor must agree within 15 percent. The exit code says whether it does.

Linux and macOS. With glibc, freed arrays are given back at once by a fixed mmap threshold; else the
allocator keeps some of them and the resident set is not that of the live arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.saving import cast, on_disk, quantize
from tensorplay_ref.utils.checkpoint import checkpoint_sequential

TOLERANCE = 0.15
POLICIES = ("plain", "on_disk", "int8", "bfloat16", "checkpoint")


def walk(policy: str, layers: int, size: int, directory: str) -> tuple[int, Any]:
    """The bytes traced between forward and backward (0 unless tracing), and the gradient."""
    contexts = {
        "on_disk": on_disk(directory),
        "int8": quantize(),
        "bfloat16": cast("bfloat16"),
    }
    x = tp.linspace(-2.0, 2.0, size).requires_grad_()
    functions = [tp.tanh] * layers
    with contexts.get(policy, nullcontext()):
        if policy == "checkpoint":
            y = checkpoint_sequential(functions, round(layers**0.5), x)
        else:
            y = checkpoint_sequential(functions, 1, x)
        loss = y.sum()
    del y
    between = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
    loss.backward()
    return between, x.grad


def peak_of_the_process() -> int:
    """The largest resident set so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [row for row in status.read_text().splitlines() if row.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    # Elsewhere than on macOS the unit is a KiB.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(policy: str, layers: int, size: int, count: bool) -> dict[str, float]:
    """One run in this process: counted bytes, or the growth of the peak."""
    with tempfile.TemporaryDirectory() as directory:
        walk(policy, 2, 1000, directory)
        if count:
            tracemalloc.start()
            between, _ = walk(policy, layers, size, directory)
            return {"kept": between, "peak": tracemalloc.get_traced_memory()[1]}
        before = peak_of_the_process()
        _, gradient = walk(policy, layers, size, directory)
        peak = peak_of_the_process() - before
        assert np.isfinite(gradient.numpy()).all()
        return {"peak": peak}


def in_a_fresh_process(*arguments: str) -> dict[str, float]:
    """`measure` in a process of its own."""
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(layers: int, size: int) -> bool:
    """Measure every policy, print a table, and tell whether all factors agree."""
    print(f"tanh x {layers} on {size:,} float32: {layers * size * 4 / 1e6:,.0f} MB to be saved")
    print(f"{'':12}{'kept':>10}{'counted peak':>15}{'resident':>12}{'predicted':>12}", end="")
    print(f"{'measured':>11}{'off by':>9}")
    agree = True
    plain: tuple[float, float] | None = None
    for policy in POLICIES:
        options = [f"--layers={layers}", f"--size={size}", f"--one={policy}"]
        counted = in_a_fresh_process(*options, "--count")
        resident = in_a_fresh_process(*options)["peak"]
        plain = plain or (counted["peak"], resident)
        predicted, measured = plain[0] / counted["peak"], plain[1] / resident
        off = measured / predicted - 1
        agree = agree and abs(off) <= TOLERANCE
        megabytes = [value / 1e6 for value in (counted["kept"], counted["peak"], resident)]
        print(
            f"{policy:12}{megabytes[0]:7.0f} MB{megabytes[1]:12.0f} MB{megabytes[2]:9.0f} MB",
            end="",
        )
        print(f"{predicted:10.2f} x{measured:9.2f} x{off:9.1%}")
    return agree


def main() -> int:
    """Run the comparison, or one measurement of it."""
    parser = argparse.ArgumentParser(description="Peak resident set under saving policies")
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--size", type=int, default=4_000_000)
    parser.add_argument("--one", choices=POLICIES, help=argparse.SUPPRESS)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.layers, options.size, options.count)))
        return 0
    return 0 if compare(options.layers, options.size) else 1


if __name__ == "__main__":
    sys.exit(main())
