"""Grading survives what submissions do, and says who passed what."""

import csv
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplay_ref.course import grade_page
from tensorplay_ref.course.__main__ import main
from tensorplay_ref.course.grade import grade, submissions
from tensorplay_ref.course.grade_page import VERDICTS, Grade
from tensorplay_ref.course.limits import LEAST_MEGABYTES, Limits
from tensorplay_ref.course.notebook_file import notebooks_folder
from tests.tiny_notebook import code, write

IMPORT = "from tensorplay_ref.course import check"
LOG = 'check("05.log", logging_hooks)'
STORE = 'check("05.index_store", IndexStore)'
SOLVED_LOG = """
def logging_hooks(log):
    def note(call, each):
        log.append((call, each.shape, each.nbytes))
        return each
    return (lambda each: note("pack", each)), (lambda each: note("unpack", each))
"""
SOLVED_STORE = """
class IndexStore:
    def __init__(self):
        self.tensors = []
    def pack(self, tensor):
        self.tensors.append(tensor.clone())
        return len(self.tensors) - 1
    def unpack(self, index):
        return self.tensors[index]
"""
SILENT = "def logging_hooks(log):\n    return (lambda each: each), (lambda each: each)"
STUB = 'def logging_hooks(log):\n    raise NotImplementedError("your turn: logging_hooks")'
REST = (LOG, SOLVED_STORE, STORE)
EACH = "def logging_hooks(log):\n    "
OTHER_PROCESS = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'])"
DELETE = """
import os, shutil
for name in os.listdir():
    shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
"""
SOLUTION = next(notebooks_folder().glob("05_*.ipynb"))
LIMITS = ["--seconds", "40", "--cell-seconds", "3", "--megabytes", "3000"]

# Cells, and the verdicts on 05.log and 05.index_store with a part of what is said.
MESSY: dict[str, tuple[tuple[str, ...], tuple[str, str], str]] = {
    "solved": ((IMPORT, SOLVED_LOG, *REST), ("ok", "ok"), ""),
    "not_begun": ((IMPORT, STUB, *REST), ("not yet", "ok"), "your turn: logging_hooks"),
    "wrong": ((IMPORT, SILENT, *REST), ("wrong", "ok"), "0 calls of pack"),
    "loops": ((IMPORT, EACH + "while True: pass", *REST), ("wrong", "ok"), "longer than 3 s"),
    "loops_and_catches": (
        (
            IMPORT,
            EACH + "while True:\n        try: sum(range(100))\n        except Exception: pass",
            *REST,
        ),
        ("wrong", "ok"),
        "longer than 3 s",
    ),
    "loops_between": ((IMPORT, "while True: pass", SOLVED_LOG, *REST), ("ok", "ok"), ""),
    "ends_its_process": (
        (IMPORT, SOLVED_LOG, LOG, "import os\nos._exit(3)", SOLVED_STORE, STORE),
        ("ok", "stopped"),
        "",
    ),
    "exits": ((IMPORT, "import sys\nsys.exit(1)", SOLVED_LOG, *REST), ("ok", "ok"), ""),
    "prints": ((IMPORT, "while True: print('x' * 1000)", SOLVED_LOG, *REST), ("ok", "ok"), ""),
    "deletes": ((IMPORT, DELETE, SOLVED_LOG, *REST), ("ok", "ok"), ""),
    "needs_memory": (
        (IMPORT, EACH + "return bytearray(5 * 10**9)", *REST),
        ("wrong", "ok"),
        "MemoryError",
    ),
    "starts_processes": (
        (IMPORT, EACH + OTHER_PROCESS.replace("\n", "\n    "), *REST),
        ("wrong", "ok"),
        "other processes",
    ),
    "forges": (
        ("check = lambda *parts, **named: 'ok 7/7'", SILENT, *REST),
        ("wrong", "ok"),
        "0 calls of pack",
    ),
    "empties_the_check": (
        (
            IMPORT,
            "from tensorplay_ref.course.check import exercises\n"
            "for each in exercises('05'):\n    each.cases.clear()",
            SILENT,
            *REST,
        ),
        ("wrong", "ok"),
        "0 calls of pack",
    ),
    "has_a_typing_error": ((IMPORT, SILENT + ")", *REST), ("missing", "ok"), "code cell 2"),
    "asks_the_network_and_hides_it": (
        (
            IMPORT,
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\n"
            "except OSError:\n    pass",
            SOLVED_LOG,
            *REST,
        ),
        ("ok", "ok"),
        "",
    ),
    "reads_the_solution": (
        (IMPORT, f"open({str(SOLUTION)!r}).read()\n{SOLVED_LOG}", *REST),
        ("missing", "ok"),
        "reading of solutions",
    ),
    "lost_its_checks": (
        (SOLVED_LOG, "nonsense(", STUB.replace("logging_hooks", "other")),
        ("ok", "missing"),
        "",
    ),
}


@pytest.fixture(scope="module")
def table(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[tuple[str, str], dict[str, str]]]:
    """What the command finds about all of them at once, by submission and exercise."""
    folder = tmp_path_factory.mktemp("submissions")
    results = tmp_path_factory.mktemp("results")
    for name, (cells, _, _) in MESSY.items():
        (folder / name).mkdir()
        write(folder / name / "05_hooks.ipynb", *map(code, cells))
        (folder / name / "numpy.py").write_text("raise RuntimeError('not NumPy')")
    (folder / "broken.ipynb").write_text("{")
    (folder / "foreign.ipynb").write_text(
        (folder / "solved" / "05_hooks.ipynb").read_text().replace("check(", "print(")
    )
    (folder / "sent_nothing").mkdir()
    (folder / "packed.zip").write_bytes(b"PK")
    (folder / "grades.md").write_text("those of last week")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["grade", str(folder), "--to", str(results), *LIMITS]) == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    with (results / "grades.csv").open(encoding="utf-8", newline="") as file:
        yield {(row["submission"], row["exercise"]): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", MESSY)
def test_each_gets_its_verdicts(name: str, table: dict[tuple[str, str], dict[str, str]]) -> None:
    _, verdicts, said = MESSY[name]
    if name in ("loops", "loops_and_catches", "loops_between", "prints") and os.name == "nt":
        pytest.skip("a cell is interrupted where there are alarm signals")
    if name == "needs_memory" and not Path("/proc").exists():
        pytest.skip("memory is limited on Linux")
    rows = [table[f"{name}/05_hooks", exercise] for exercise in ("05.log", "05.index_store")]
    assert tuple(row["verdict"] for row in rows) == verdicts, rows
    assert said in rows[0]["difference"]
    assert table[f"{name}/05_hooks", "05.context_manager"]["verdict"] in ("missing", "stopped")


# The beginning of what the rows of a submission remark; nothing is remarked about the others.
REMARKS = {
    "has_a_typing_error": "code cell 2: it raised SyntaxError: unmatched ')' (line 2); code",
    "asks_the_network_and_hides_it": "code cell 2: the grader allows no network (socket.",
    "reads_the_solution": "code cell 2: the grader allows no reading of solutions; code cell 2: it",
    "starts_processes": "code cell 3: the grader allows no other processes (",
    "solved": "",
    "not_begun": "",
    "wrong": "",
    "deletes": "",
}


@pytest.mark.parametrize("name", REMARKS)
def test_what_was_refused_and_what_raised_is_remarked(
    name: str, table: dict[tuple[str, str], dict[str, str]]
) -> None:
    rows = [row for (submission, _), row in table.items() if submission == f"{name}/05_hooks"]
    (remark,) = {row["remark"] for row in rows}
    assert remark.startswith(REMARKS[name]) and bool(remark) == bool(REMARKS[name])


def test_a_cell_that_means_to_raise_is_not_remarked(tmp_path: Path) -> None:
    cells = [code("1 / 0", tags=("raises-exception",)), code("2 / 0"), code(IMPORT), code(LOG)]
    write(tmp_path / "05_hooks.ipynb", *cells)
    (remark,) = {each.remark for each in grade(*submissions(tmp_path), tmp_path, Limits())}
    assert remark.startswith("code cell 2: it raised ZeroDivisionError: division by zero; code")


def test_what_is_no_submission_is_said(table: dict[tuple[str, str], dict[str, str]]) -> None:
    assert table["broken", ""]["verdict"] == "unreadable"
    assert table["foreign", ""]["verdict"] == "missing"
    for name in ("sent_nothing", "packed.zip"):
        assert table[name, ""]["verdict"] == "missing"
        assert table[name, ""]["difference"] == "there is no notebook in it"
    assert ("grades.md", "") not in table


def test_a_stopped_run_keeps_what_was_found(tmp_path: Path) -> None:
    # Without its alarm no cell is interrupted, so the whole process is ended.
    stubborn = (
        "import signal\nif hasattr(signal, 'SIGALRM'):\n"
        "    signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: sum(range(100))"
    )
    write(tmp_path / "05_hooks.ipynb", *map(code, (IMPORT, SOLVED_LOG, LOG, stubborn, STORE)))
    (path,) = submissions(tmp_path)
    grades = {each.exercise: each for each in grade(path, tmp_path, Limits(15, 1, 3000))}
    assert grades["05.log"].verdict == "ok"
    assert grades["05.index_store"].verdict == "stopped"
    assert grades["05.index_store"].difference == "code cell 4: it took longer than 15 s in all"


def test_a_budget_of_the_submissions_own_counts_for_nothing(tmp_path: Path) -> None:
    richer = (
        "from dataclasses import replace\nfrom tensorplay_ref.course import capstone, check\n"
        "capstone.BUDGET = replace(capstone.BUDGET, capacity=10**9)"
    )
    asks = 'check("12.fits", lambda operation, tensor: "recompute", 2)'
    kept = "assert capstone.BUDGET.capacity == 10**9"
    write(tmp_path / "12_capstone.ipynb", *map(code, (richer, asks, kept)))
    (path,) = submissions(tmp_path)
    grades = {each.exercise: each for each in grade(path, tmp_path, Limits(120, 60, 3000))}
    assert grades["12.fits"].verdict == "wrong"
    assert "runs out of memory" in grades["12.fits"].difference
    assert "AssertionError" not in grades["12.fits"].remark


def test_solutions_others_and_the_network_are_out_of_reach(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "other.txt").write_text("somebody else's")
        tries = {
            "solution": f"open({str(SOLUTION)!r}).read()",
            "other": f"open({str(tmp_path / 'other.txt')!r}).read()",
            "change": f"open({str(tmp_path.parent / 'mine.txt')!r}, 'w')",
            "delete": f"import os; os.remove({str(tmp_path / 'other.txt')!r})",
            "network": f"import socket; socket.create_connection(('127.0.0.1', {port}))",
            "process": "import os; os.system('exit 0')",
        }
        said = {}
        for name, attempt in tries.items():
            folder = tmp_path / name
            folder.mkdir()
            write(folder / "05_hooks.ipynb", code(IMPORT), code(EACH + attempt), code(LOG))
            found = grade(folder / "05_hooks.ipynb", tmp_path, Limits(60, 10, 3000))
            said[name] = next(each.difference for each in found if each.exercise == "05.log")
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    for name, words in {
        "solution": "reading of solutions",
        "other": "reading of solutions",
        "change": "no writing outside",
        "delete": "no change outside",
        "network": "no network",
        "process": "no other processes",
    }.items():
        assert words in said[name], said
    assert (tmp_path / "other.txt").read_text() == "somebody else's"


GRADES = [
    Grade("ann", "05.log", "ok", 7, 7),
    Grade("bob", "05.log", "wrong", 2, 7, "says | <b>this</b> `and` *that*"),
    Grade("=cy", "05.log", "not yet", 0, 7, "your turn"),
    Grade("dan", "05.log", "stopped", difference="code cell 2: it took longer than 9 s in all"),
    Grade("eve", "", "unreadable", difference="eve.ipynb is not a notebook"),
]


def test_the_page_says_who_passed_what() -> None:
    page = grade_page.page(GRADES)
    assert "| bob | 0 of 1 | wrong 2/7 |" in page
    assert "| =cy | 0 of 1 | not yet |" in page
    assert "| eve | unreadable |  |" in page
    assert "| 05.log | 1 | 1 | 1 | 1 | 0 | says" in page
    # Each row of a table has the cells of its head, whatever a submission says.
    for block in re.findall(r"(?:^\|.*\n)+", page, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}) == 1
    assert "<b>" not in page
    assert "your turn" not in page.split("## What differed")[1]


def test_the_table_is_no_formula() -> None:
    rows = list(csv.reader(grade_page.csv(GRADES).splitlines()))
    head = ["submission", "exercise", "verdict", "passed", "cases", "difference", "remark"]
    assert rows[0] == head
    assert rows[3][0] == "'=cy"
    assert {row[2] for row in rows[1:]} <= set(VERDICTS)


def test_an_empty_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(tmp_path)]) == 1
    assert "there is no notebook in" in capsys.readouterr().err
    assert main(["grade", str(tmp_path / "absent")]) == 1
    assert "no such folder" in capsys.readouterr().err
    path = write(tmp_path / "one.ipynb", code("1"))
    assert main(["grade", str(path)]) == 1
    assert "one.ipynb is a file; expected a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seconds", "-5"], "a number above 0, found -5"),
        (["--cell-seconds", "nan"], "a number above 0, found nan"),
        (["--megabytes", "10"], "at least 500"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["grade", str(tmp_path), *words])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_in_the_least_memory_a_check_still_runs(tmp_path: Path) -> None:
    write(tmp_path / "05_hooks.ipynb", *map(code, (IMPORT, SOLVED_LOG, *REST)))
    found = grade(*submissions(tmp_path), tmp_path, Limits(megabytes=LEAST_MEGABYTES))
    assert [each.verdict for each in found if each.exercise == "05.log"] == ["ok"]


def test_an_interrupted_run_keeps_what_it_has_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.ipynb", code('check("05.log", log)'))

    def graded(path: Path, folder: Path, limits: Limits) -> list[Grade]:
        if path.stem == "c":
            raise KeyboardInterrupt
        return [Grade(path.stem, "05.log", "ok", 7, 7)]

    monkeypatch.setattr("tensorplay_ref.course.grade.grade", graded)
    assert main(["grade", str(tmp_path), "--to", str(tmp_path / "out")]) == 130
    said = capsys.readouterr().err
    assert "1 of 3: a: 1 ok\n2 of 3: b: 1 ok\ninterrupted: 2 of 3" in said
    page = (tmp_path / "out" / "grades.md").read_text(encoding="utf-8")
    assert "Not all are graded: 1 is left." in page and "| b | 1 of 1 | ok |" in page
    rows = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["a", "b"]


@pytest.mark.skipif(os.name == "nt", reason="sends the signal of Ctrl-C")
def test_ctrl_c_ends_the_submission_that_runs(tmp_path: Path) -> None:
    write(tmp_path / "05_a.ipynb", *map(code, (IMPORT, SOLVED_LOG, LOG)))
    write(tmp_path / "05_b.ipynb", code("import time\nwhile True: time.sleep(0.1)"))
    command = [sys.executable, "-m", "tensorplay_ref.course", "grade", ".", "--to", "out"]
    environment = os.environ | {"PYTHONPATH": str(notebooks_folder().parent)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        first = next(line for line in run.stderr if "1 of 2" in line)
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    assert "05_a: 1 ok, 2 missing" in first
    assert rest.strip() == "interrupted: 1 of 2 submissions are graded"
    assert run.returncode == 130
    assert "05_a,05.log,ok" in (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("{", "it is not JSON"),
        ("[]", "does not say the format of a notebook"),
        ("{}", "does not say the format of a notebook"),
        ('{"nbformat": 3}', "its format is 3, not 4"),
        ('{"nbformat": 4, "cells": {"a": 1}}', "it has no list of cells"),
        ('{"nbformat": 4, "cells": [{"id": "a"}]}', "it lacks what the format asks for"),
    ],
)
def test_what_is_no_notebook_is_said_in_words(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "05_a.ipynb").write_text(content, encoding="utf-8")
    (found,) = grade(*submissions(tmp_path), tmp_path, Limits())
    assert found.verdict == "unreadable"
    assert said in found.difference
