"""Grading a folder of submissions: the checks, run on what somebody else wrote.

Every notebook below the folder is one submission. Each runs in a temporary copy, in a process of
its own, with limits of time and memory and without network (see ``grade_fence``), so it may loop,
crash, print without end or delete its files. Two files come out: ``grades.csv`` with one row for
each submission and exercise, and ``grades.md``, a page to read. Both are written anew after each
submission, so an interrupted run keeps what it has found.

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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tensorplay_ref.course import grade_page, kernel
from tensorplay_ref.course.check import Exercise, exercises
from tensorplay_ref.course.grade_page import Grade
from tensorplay_ref.course.guard import RAISES
from tensorplay_ref.course.limits import Limits
from tensorplay_ref.course.notebook_file import code_cells, read, tags, write_text

_NUMBER = re.compile(r"""check\(\s*["'](\d\d)\.""")
_PACKAGE = Path(__file__).resolve().parents[2]
_LONGEST = 5_000_000
_REMARKS = 5
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

    def raised(self, meant: Collection[int]) -> dict[int, str]:
        """What code cells ended with, in words, but for stubs and for cells that mean to raise."""
        return {
            line["cell"]: line["raised"]
            for line in self.told
            if "raised" in line
            and line["cell"] not in meant
            and not line["raised"].startswith("it raised NotImplementedError")
        }

    def refused(self) -> list[str]:
        """What the grader did not allow, with the code cell that asked for it first."""
        cell, found = 0, []
        for line in self.told:
            cell = line.get("cell", cell)
            if "refused" in line:
                found.append(f"code cell {cell}: the grader allows no {line['refused']}")
        return found


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
        cells = list(code_cells(read(path)))
    except (OSError, ValueError, RecursionError) as error:
        return [Grade(name, "", "unreadable", difference=" ".join(str(error).split())[:300])]
    sources = [cell.source for cell in cells]
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
    raised = run.raised([place for place, cell in enumerate(cells, 1) if RAISES in tags(cell)])
    remarks = [f"code cell {cell}: {words}" for cell, words in raised.items()]
    remark = "; ".join([*run.refused(), *remarks[:_REMARKS]])
    if len(remarks) > _REMARKS:
        remark += f"; and {len(remarks) - _REMARKS} more cells raised"
    grades = []
    for number in sorted(numbers):
        for each in exercises(number):
            if each.id in verdicts:
                grades.append(Grade(name, **verdicts[each.id], remark=remark))
            elif run.ending:
                said = f"code cell {run.cell}: {run.ending}"
                grades.append(Grade(name, each.id, "stopped", difference=said, remark=remark))
            else:
                said = _why_missing(each, sources, raised)
                grades.append(Grade(name, each.id, "missing", difference=said, remark=remark))
    return grades


def _why_missing(exercise: Exercise, sources: Sequence[str], raised: Mapping[int, str]) -> str:
    """Where the cell that was to define or check it raised, that; else that there is none."""
    words = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in exercise.takes))
    for cell, said in raised.items():
        if words.search(sources[cell - 1]):
            return f"code cell {cell}, which was to define or check it: {said}"
    return "it is neither checked nor defined"


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
    except KeyboardInterrupt:
        _end(process)
        process.wait()
        raise
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
    """Grade the submissions and write the two files; 1 when there is none, 130 when interrupted."""
    folder: Path = arguments.folder
    if not folder.is_dir():
        said = f"no such folder: {folder}"
        if folder.exists():
            said = f"{folder} is a file; expected a folder, whose notebooks are graded"
        print(said, file=sys.stderr)
        return 1
    found = submissions(folder)
    if not found:
        print(f"there is no notebook in {folder}", file=sys.stderr)
        return 1
    kernel.warm_up()
    arguments.to.mkdir(parents=True, exist_ok=True)
    limits = Limits(arguments.seconds, arguments.cell_seconds, arguments.megabytes)
    grades = []
    for name in without_notebook(folder):
        if (folder / name).resolve() == arguments.to.resolve():
            continue
        grades.append(Grade(name, "", "missing", difference="there is no notebook in it"))
    done = 0
    try:
        for path in tqdm(found, unit="submission", disable=None):
            own = grade(path, folder, limits)
            grades += own
            _write(arguments.to, grades, len(found) - done - 1)
            done += 1
            tqdm.write(f"{done} of {len(found)}: {grade_page.in_short(own)}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"interrupted: {done} of {len(found)} submissions are graded", file=sys.stderr)
    if done:
        for name in RESULTS:
            print(arguments.to / name)
    return 0 if done == len(found) else 130


def _write(folder: Path, grades: Sequence[Grade], left: int) -> None:
    texts = (grade_page.csv(grades), grade_page.page(grades, left))
    for name, text in zip(RESULTS, texts, strict=True):
        write_text(folder / name, text)
