"""Asking the workers in turn, and what is made of their samples.

The machine is never quiet, so no time is compared with a time of another minute: in each round
every framework gives one sample, the next round asks in the opposite order, a ratio is taken inside
a round, and the median of the ratios is shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from .frameworks import FRAMEWORKS
from .workloads import WORKLOADS, label, sizes_of

ROOT = Path(__file__).parents[2]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
REFERENCE = "tensorplay_ref"


@dataclass
class Row:
    """One workload: the samples of each framework, and the bytes of those that can be counted."""

    name: str
    what: str
    samples: dict[str, list[float]] = field(default_factory=dict)
    memory: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """What ratios are taken to: hand-written NumPy, or the reference where there is none."""
        return "numpy" if "numpy" in self.samples else REFERENCE

    def ratio(self, framework: str) -> tuple[float, float, float]:
        """The median of the ratios within a round, and their quartiles."""
        pairs = zip(self.samples[framework], self.samples[self.base], strict=True)
        ratios = [own / (base or 1e-9) for own, base in pairs]
        if len(ratios) == 1:
            return (ratios[0],) * 3
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        return median(ratios), low, high


def environment() -> dict[str, str]:
    """One thread for everybody."""
    return {**os.environ, **dict.fromkeys(THREADS, "1")}


def installed() -> list[str]:
    """The frameworks that can be imported here."""
    return [name for name in FRAMEWORKS if find_spec(name) is not None]


class Process:
    """A worker and the pipe to it."""

    def __init__(self, framework: str, quick: bool) -> None:
        command = [sys.executable, "-m", f"{__package__}.worker", framework]
        self.process = subprocess.Popen(
            command + ["--quick"] * quick,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *exception: object) -> None:
        with self.process:  # closes the pipes, at which the worker ends
            pass

    def ask(self, request: str) -> Any:
        """Send a line, wait for the answer; None also when the worker has died of it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            print(request, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return None
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else None


def import_seconds(framework: str) -> float:
    """CPU seconds of an import in a fresh process."""
    code = (
        f"import time; t = time.process_time(); import {framework}; print(time.process_time() - t)"
    )
    # With compiled modules, as anybody who imports it for the second time has them.
    compiled = {k: v for k, v in environment().items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=compiled,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def measure(
    frameworks: Sequence[str],
    names: Sequence[str],
    rounds: int,
    quick: bool,
    progress: Callable[[str], None],
) -> tuple[dict[str, str], list[Row]]:
    """The versions of the frameworks, and a row for each workload."""
    rows = []
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Process(name, quick)) for name in frameworks}
        versions = {name: worker.ask("version") for name, worker in workers.items()}
        for workload in WORKLOADS:
            if workload.name not in names:
                continue
            row = Row(workload.name, label(workload, quick))
            sizes = sizes_of(workload, quick)
            per = sizes[workload.per] if workload.per else 1
            able = list(workers)
            for turn in range(rounds):
                for name in able[:: -1 if turn % 2 else 1]:
                    progress(f"{workload.name}: round {turn + 1} of {rounds}, {name}")
                    sample = workers[name].ask(workload.name)
                    if sample is None:
                        able.remove(name)
                    else:
                        row.samples.setdefault(name, []).append(sample / per)
            row.samples = {name: row.samples[name] for name in able}
            for name in able if workload.memory else ():
                progress(f"{workload.name}: bytes, {name}")
                found = workers[name].ask(f"{workload.name} memory")
                if found is not None:
                    row.memory[name] = {key: value / per for key, value in found.items()}
            rows.append(row)
    if "import" in names:
        row = Row("import", "import, in a fresh process")
        for turn in range(rounds):
            for name in frameworks[:: -1 if turn % 2 else 1]:
                progress(f"import: round {turn + 1} of {rounds}, {name}")
                row.samples.setdefault(name, []).append(import_seconds(name))
        rows.append(row)
    return versions, [row for row in rows if row.samples]
