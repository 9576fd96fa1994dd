"""Grading a folder of submissions: the checks, run on what somebody else wrote.

Every notebook below the folder is one submission. Each runs in a temporary copy, in a process of
its own, with limits of time and memory and without network (see ``grade_fence``), so it may loop,
crash, print without end or delete its files. Two files come out: ``grades.csv`` with one row for
each submission and exercise, and ``grades.md``, a page to read.

A verdict is "ok", "wrong" or "not yet", as a check says it; "stopped" when the submission was ended
before this exercise was judged; "missing" when it has nothing to judge; "unreadable" when the file
is no notebook.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tensorplay_ref.course import grade_page, kernel
from tensorplay_ref.course.check import exercises
from tensorplay_ref.course.grade_page import Grade
from tensorplay_ref.course.limits import Limits
from tensorplay_ref.course.notebook_file import code_cells, read, write_text

_NUMBER = re.compile(r"""check\(\s*["'](\d\d)\.""")
_PACKAGE = Path(__file__).resolve().parents[2]
_LONGEST = 5_000_000
RESULTS = ("grades.csv", "grades.md")


@dataclass
class Run:
    """What a process that ran a submission told, and how it ended ("" is as it should)."""

    told: list[dict[str, Any]] = field(default_factory=list)
    ending: str = ""

    @property
    def cell(self) -> int:
        """The code cell that ran last."""
        return max((line["cell"] for line in self.told if "cell" in line), default=0)


def submissions(folder: Path) -> list[Path]:
    """The notebooks below a folder, without the copies that Jupyter keeps."""
    return [
        path
        for path in sorted(folder.rglob("*.ipynb"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def without_notebook(folder: Path) -> list[str]:
    """What lies in the folder and is no submission: empty folders, archives, other files."""
    found = {path.relative_to(folder).parts[0] for path in submissions(folder)}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name not in {*found, *RESULTS} and not path.name.startswith(".")
    ]


def grade(path: Path, folder: Path, limits: Limits) -> list[Grade]:
    """The verdicts on one submission below a folder, in the order of the exercises."""
    name = path.relative_to(folder).with_suffix("").as_posix()
    try:
        sources = [cell.source for cell in code_cells(read(path))]
    except (OSError, ValueError, RecursionError) as error:
        return [Grade(name, "", "unreadable", difference=" ".join(str(error).split())[:300])]
    numbers = set(_NUMBER.findall("\n".join(sources)))
    if leading := re.match(r"\d\d(?=_)", path.name):
        numbers.add(leading[0])
    expected = [each.id for number in sorted(numbers) for each in exercises(number)]
    if not expected:
        return [Grade(name, "", "missing", difference="it checks no exercise of the course")]
    job = {
        "sources": sources,
        "numbers": sorted(numbers),
        "hidden": [str(folder.resolve()), str(_PACKAGE / "notebooks"), str(_PACKAGE / "tests")],
        "seconds": limits.seconds,
        "cell_seconds": limits.cell_seconds,
        "megabytes": limits.megabytes,
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        own = Path(work) / "submission"
        _copy(path, folder, own)
        run = _run(job, own, limits)
    verdicts = {line["exercise"]: line for line in run.told if "exercise" in line}
    return [
        Grade(name, **verdicts[each]) if each in verdicts else _unjudged(name, each, run)
        for each in expected
    ]


def _unjudged(name: str, exercise: str, run: Run) -> Grade:
    if run.ending:
        return Grade(name, exercise, "stopped", difference=f"code cell {run.cell}: {run.ending}")
    return Grade(name, exercise, "missing", difference="it is neither checked nor defined")


def _copy(path: Path, folder: Path, own: Path) -> None:
    """Copy a submission: its folder, or the notebook alone when it lies beside others' work."""
    if path.parent.resolve() == folder.resolve():
        own.mkdir()
        shutil.copy2(path, own)
    else:
        shutil.copytree(path.parent, own, symlinks=True)


def _run(job: dict[str, Any], own: Path, limits: Limits) -> Run:
    """Run a job in its own process, which is ended with all it started when its time is over."""
    home = own.parent / "home"
    home.mkdir()
    environment = kernel.kernel_environment(str(home)) | {
        "HOME": str(home),
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(_PACKAGE),
        "TEMP": str(home),
        "TMP": str(home),
        "TMPDIR": str(home),
    }
    environment.pop("TENSORPLAY_REF_STRICT", None)
    process = subprocess.Popen(
        # -P: a submission's own numpy.py must not stand in for NumPy.
        [sys.executable, "-P", "-m", "tensorplay_ref.course.grade_run"],
        cwd=own,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    ending = ""
    try:
        output, _ = process.communicate(json.dumps(job), timeout=limits.seconds)
    except subprocess.TimeoutExpired:
        ending = f"it took longer than {limits.seconds:g} s in all"
        _end(process)
        output, _ = process.communicate()
    told = list(_lines(output[:_LONGEST]))
    if not ending and not any("end" in line for line in told):
        ending = f"it ended its process (status {process.returncode})"
    return Run(told, ending)


def _end(process: subprocess.Popen[str]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _lines(output: str) -> list[dict[str, Any]]:
    found = []
    for line in output.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def main(arguments: argparse.Namespace) -> int:
    """Grade the submissions and write the two files; 1 when there is no submission."""
    found = submissions(arguments.folder)
    if not found:
        what = "notebook in" if arguments.folder.is_dir() else "folder"
        print(f"there is no {what} {arguments.folder}", file=sys.stderr)
        return 1
    kernel.warm_up()
    limits = Limits(arguments.seconds, arguments.cell_seconds, arguments.megabytes)
    grades = []
    for path in tqdm(found, unit="submission", disable=None):
        grades += grade(path, arguments.folder, limits)
    for name in without_notebook(arguments.folder):
        grades.append(Grade(name, "", "missing", difference="there is no notebook in it"))
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name, text in zip(RESULTS, (grade_page.csv(grades), grade_page.page(grades)), strict=True):
        write_text(arguments.to / name, text)
        print(arguments.to / name)
    return 0
