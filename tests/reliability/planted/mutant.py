"""Mutant: a fault to plant, and the names that the lists of faults share."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A named fault: in `file` of the package, `new` stands in place of `old`.

    `tests` are the files (or folders) of tests that should notice it.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


RELIABILITY = "tests/reliability/"
PROGRAMS = RELIABILITY + "test_random_programs.py"
LIFETIMES = RELIABILITY + "test_lifetimes.py"
THREADS = RELIABILITY + "test_threads_and_tasks.py"
DEPTH = RELIABILITY + "test_depth.py"
PROCESSES = RELIABILITY + "test_processes.py"
EDGES = RELIABILITY + "test_numeric_edges.py"


def autograd(*names: str) -> tuple[str, ...]:
    """Test files of the engine, by name."""
    return tuple(f"tests/autograd/test_{name}.py" for name in names)
