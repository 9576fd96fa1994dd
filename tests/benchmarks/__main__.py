"""Times the reference beside hand-written NumPy and the peers that are installed.

    python -m tests.benchmarks [--quick] [--only NAME ...] [--frameworks NAME ...] [--plot FILE]

Every framework has one thread and a process of its own, and the samples are taken in turn, as
`measuring` tells. With `--quick` the workloads are tiny: it shows that everything runs, and its
times mean little.
"""

from __future__ import annotations

import argparse
import sys

from .measuring import installed, measure
from .table import plot, text
from .workloads import WORKLOADS


def progress(line: str) -> None:
    """A line that the next one overwrites, for somebody who waits at a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    names = [workload.name for workload in WORKLOADS] + ["import"]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="tiny workloads, one round")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--frameworks", nargs="+", choices=installed(), default=installed())
    parser.add_argument("--rounds", type=int, help="samples of each framework (7, quick: 1)")
    parser.add_argument("--plot", metavar="FILE", help="save a picture, too")
    options = parser.parse_args(arguments)
    rounds = options.rounds or (1 if options.quick else 7)
    versions, rows = measure(options.frameworks, options.only, rounds, options.quick, progress)
    progress("")
    print(text(versions, rows))
    if options.plot:
        plot(options.plot, versions, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
