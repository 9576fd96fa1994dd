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
from .table import check_plot, plot, text
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
    parser.add_argument("--rounds", type=_rounds, help="samples of each framework (7, quick: 1)")
    parser.add_argument("--plot", metavar="FILE", help="save a picture, too")
    options = parser.parse_args(arguments)
    if options.plot:
        try:
            check_plot(options.plot)
        except (ImportError, OSError, ValueError) as error:
            parser.error(f"--plot: {error}")
    rounds = options.rounds or (1 if options.quick else 7)
    versions, rows = measure(options.frameworks, options.only, rounds, options.quick, progress)
    progress("")
    if options.quick:
        print("Tiny workloads, to see that everything runs; their times mean little.", end="\n\n")
    print(text(versions, rows))
    if options.plot:
        plot(options.plot, versions, rows)
    return 0


def _rounds(words: str) -> int:
    if int(words) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {words}")
    return int(words)


if __name__ == "__main__":
    sys.exit(main())
