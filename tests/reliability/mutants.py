"""Plants faults in the package one by one and tells which ones no test notices.

    python -m tests.reliability.mutants                  every mutant
    python -m tests.reliability.mutants engine saved     those whose name contains one of the words
    python -m tests.reliability.mutants --jobs 2 --list

Each mutant is a text replacement in a temporary copy of the project, where the tests of its room
run in a process of their own until the first one fails. The exit status is the number of mutants
that survive: 0 when every fault was noticed; 101 when the tests fail without one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.reliability.planted import (
    arguments,
    foundations,
    functions,
    operations,
    savers,
    slots,
    walk,
    writes,
)
from tests.reliability.planted.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "tensorplay_ref"
MUTANTS: list[Mutant] = [
    mutant
    for room in (foundations, slots, walk, functions, writes, operations, savers, arguments)
    for mutant in room.MUTANTS
]
# Programs of the random tests that a mutant has to get through.
PROGRAMS = "350"
LIMIT = 900.0
# In place of the project's own: the same examples each time, however slow the machine is.
CONFTEST = """
from hypothesis import HealthCheck, settings

quiet = list(HealthCheck)
settings.register_profile("planted", derandomize=True, deadline=None, suppress_health_check=quiet)
settings.load_profile("planted")
"""


def mutated(mutant: Mutant) -> str:
    """The text of the mutant's file with the fault in it.

    Errors: ValueError when the text to replace does not occur exactly once.
    """
    text = (ROOT / PACKAGE / mutant.file).read_text(encoding="utf-8")
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"{mutant.name}: the text occurs {count} times in {mutant.file}, not once")
    return text.replace(mutant.old, mutant.new)


def run(mutant: Mutant) -> tuple[bool, str]:
    """Whether a test notices the mutant, and the last lines of the run."""
    return run_tests(mutant.tests, {mutant.file: mutated(mutant)})


def run_tests(tests: Sequence[str], changed: dict[str, str]) -> tuple[bool, str]:
    """Whether one of the tests fails in a copy with the changed files, and the last lines."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        skip = shutil.ignore_patterns("__pycache__")
        for name in (PACKAGE, "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=skip)
        for file, text in changed.items():
            (copy / PACKAGE / file).write_text(text, encoding="utf-8")
        (copy / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        (copy / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line"]
        command += ["-p", "no:cacheprovider", "--import-mode=importlib", *tests]
        environment = {
            **os.environ,
            "PYTHONPATH": folder,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TENSORPLAY_REF_PROGRAMS": PROGRAMS,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        try:
            finished = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return True, "the tests did not end"
    tail = "\n".join(finished.stdout.splitlines()[-6:]) + finished.stderr[-500:]
    if finished.returncode in (2, 3, 4, 5):
        raise RuntimeError(f"the tests did not run: {tail}")
    return finished.returncode != 0, tail


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="run the mutants whose name contains one of these")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutants run at a time")
    parser.add_argument("--list", action="store_true", help="only print the names")
    options = parser.parse_args(arguments)
    chosen = [m for m in MUTANTS if not options.words or any(w in m.name for w in options.words)]
    if options.list:
        print("\n".join(f"{mutant.file}: {mutant.name}" for mutant in chosen))
        return 0
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    failing, tail = run_tests(tests, {})
    if failing:
        print(f"the tests fail without a fault, so they cannot tell one:\n{tail}")
        return 101
    survivors = []

    def one(mutant: Mutant) -> None:
        start = time.monotonic()
        noticed, tail = run(mutant)
        seconds = time.monotonic() - start
        print(
            f"{'noticed ' if noticed else 'SURVIVES'} {seconds:5.1f} s  {mutant.name}", flush=True
        )
        if not noticed:
            survivors.append(mutant)
            print(tail, flush=True)

    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        list(pool.map(one, chosen))
    names = ", ".join(mutant.name for mutant in survivors) or "none"
    print(f"{len(chosen)} mutants, survivors: {names}")
    return min(len(survivors), 100)


if __name__ == "__main__":
    sys.exit(main())
