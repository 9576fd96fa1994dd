"""The arguments of every command; nothing but Python is needed to read them, so ``--help`` works.

Each function declares those of one command.
"""

from __future__ import annotations

import argparse
import math
from argparse import ArgumentParser
from pathlib import Path

from tensorplay_ref.course.limits import LEAST_MEGABYTES, Limits

# What a page of slides fetches when it is opened, by the names that nbconvert has for it.
FETCHED = {
    "reveal_url_prefix": "the folder of reveal.js 4",
    "require_js_url": "require.js",
    "mathjax_url": "MathJax 2, for formulas",
}


def seconds(text: str) -> float:
    """A time that can be waited for: a number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return value


def megabytes(text: str) -> int:
    """An amount of memory in which Python and NumPy can start."""
    value = int(text)
    if value < LEAST_MEGABYTES:
        raise argparse.ArgumentTypeError(
            f"expected at least {LEAST_MEGABYTES}, which Python and NumPy need, found {text}"
        )
    return value


def refresh(parser: ArgumentParser) -> None:
    """Which notebooks, and how long a cell may take."""
    _notebooks(parser, "store nothing, exit 1 if stale")
    parser.add_argument("--timeout", type=seconds, default=120, help="seconds for one cell (120)")


def exercises(parser: ArgumentParser) -> None:
    """Which notebooks, and what may be overwritten."""
    _notebooks(parser, "write nothing, exit 1 if stale")
    parser.add_argument(
        "--overwrite", action="store_true", help="also where somebody has worked in the exercises"
    )


def _notebooks(parser: ArgumentParser, check: str) -> None:
    parser.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--check", action="store_true", help=check)


def grade(parser: ArgumentParser) -> None:
    """Which folder, where the results go, and the limits."""
    usual = Limits()
    parser.add_argument("folder", type=Path, help="the notebooks in it, and below, are graded")
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="FOLDER", help="where grades.* go (here)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=usual.seconds, help="for one submission (%(default)g)"
    )
    parser.add_argument(
        "--cell-seconds", type=seconds, default=usual.cell_seconds, help="for a cell (%(default)g)"
    )
    parser.add_argument(
        "--megabytes", type=megabytes, default=usual.megabytes, help="of memory (%(default)d)"
    )


def slides(parser: ArgumentParser) -> None:
    """Which notebooks, where the pages go, and copies of what they fetch."""
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument(
        "--to", type=Path, default=Path("slides"), metavar="FOLDER", help="(%(default)s)"
    )
    for name, what in FETCHED.items():
        parser.add_argument(
            f"--{name.split('_')[0]}", dest=name, metavar="ADDRESS", help=f"a copy of {what}"
        )


def guard(parser: ArgumentParser) -> None:
    """Which places, and whether the rules of this course hold there."""
    parser.add_argument(
        "places", nargs="+", type=Path, metavar="PLACE", help="a notebook, or a folder of them"
    )
    parser.add_argument(
        "--course",
        action="store_true",
        help="also the rules that this course has for itself: its normal form and its tags",
    )


def readme(parser: ArgumentParser) -> None:
    """Whether anything is written."""
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
