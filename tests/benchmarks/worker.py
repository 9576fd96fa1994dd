"""One framework in a process of its own: answers a line with a workload by a line with a sample.

    python -m tests.benchmarks.worker FRAMEWORK [--quick]

Requests: `WORKLOAD` for a time, `WORKLOAD memory` for bytes, `version`. Answers are JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from typing import Any

from tensorplay_ref import buffers

from .by_hand import Step
from .frameworks import FRAMEWORKS
from .workloads import WORKLOADS, data, sizes_of


class Worker:
    """The workloads of one framework, prepared when they are first asked for."""

    def __init__(self, framework: str, quick: bool) -> None:
        self.framework = FRAMEWORKS[framework]()
        self.workloads = {workload.name: workload for workload in WORKLOADS}
        self.quick = quick
        self.ready: tuple[str, Step, int] | None = None

    def prepare(self, name: str) -> Step | None:
        """The step of a workload, or None if this framework cannot do it."""
        method = getattr(self.framework, name, None)
        if method is None:
            return None
        step: Step = method(data(name, sizes_of(self.workloads[name], self.quick)))
        return step

    def seconds(self, name: str) -> float | None:
        """CPU seconds of one step, from as many as a short sample holds."""
        if self.ready is None or self.ready[0] != name:
            step = self.prepare(name)
            if step is None:
                return None
            step()
            once = _timed(step, 1)
            self.ready = name, step, max(1, int((0.001 if self.quick else 0.05) / (once + 1e-9)))
        _, step, repeats = self.ready
        return _timed(step, repeats) / repeats

    def memory(self, name: str) -> dict[str, int] | None:
        """Bytes held between forward and backward, and at the worst moment."""
        step = self.prepare(name)
        if step is None or not self.framework.counts_memory:
            return None
        self.ready = None
        step()
        gc.collect()
        kept = 0

        def between() -> None:
            nonlocal kept
            kept = tracemalloc.get_traced_memory()[0]

        self.framework.between = between
        # Buffers that the reference keeps for their next use would not count as new memory.
        buffers.forget()
        tracemalloc.start()
        try:
            step()
            return {"kept": kept, "peak": tracemalloc.get_traced_memory()[1]}
        finally:
            tracemalloc.stop()
            self.framework.between = lambda: None

    def answer(self, request: str) -> Any:
        """What a request asks for."""
        if request == "version":
            return self.framework.version
        name, *what = request.split()
        return self.memory(name) if what else self.seconds(name)


def _timed(step: Step, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        step()
    return time.process_time() - start


def main() -> None:
    """Answer until the input ends."""
    worker = Worker(sys.argv[1], "--quick" in sys.argv)
    for line in sys.stdin:
        print(json.dumps(worker.answer(line.strip())), flush=True)


if __name__ == "__main__":
    main()
