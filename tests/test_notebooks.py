"""The worked notebooks keep the rules that nbval does not know, and each rule finds its fault."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tensorplay_ref.course.guard import KNOWN_TAGS, RULES, problems
from tensorplay_ref.course.notebook_file import code_cells, read, to_text
from tests.tiny_notebook import (
    PICTURE,
    code,
    printed,
    raised,
    result,
    shown,
    text,
    write,
)

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.skipif(not NOTEBOOKS, reason="the course has no notebook yet")
def test_the_map_of_the_course_is_there() -> None:
    assert ROOT / "notebooks" / "00_start_here.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_worked_notebook_keeps_every_rule(path: Path) -> None:
    assert problems(path) == []


def test_a_sound_notebook_breaks_no_rule(tmp_path: Path) -> None:
    (tmp_path / "other.ipynb").touch()
    path = write(
        tmp_path / "sound.ipynb",
        text(
            "# Title\n\n[next](other.ipynb#part) [seed](https://example.org) ![a plot](other.ipynb)"
        ),
        text("Code may say anything: `x[0](missing.ipynb)`."),
        code("import numpy as np\n\nrng = np.random.default_rng(0)"),
        code("print(1, 0.123456, -0.5, 12.5)", printed("1 0.123456 -0.5 12.5\n")),
        code("f()", raised("ValueError", "no"), tags=("raises-exception",)),
        text("Real seconds differ in every run, so they are not compared."),
        code("time.perf_counter()", result("12.123456789"), tags=("nbval-ignore-output",)),
        code("draw()", shown({"image/png": PICTURE, "text/plain": "bytes kept: 3 of 5"})),
        code("graph()", shown({"text/plain": "a -> b", "text/vnd.mermaid": "graph LR; a --> b"})),
    )
    assert problems(path) == []


IGNORED = ("nbval-ignore-output",)
# The rule, a word of what it says, and cells that break it.
BROKEN: list[tuple[str, str, list[NotebookNode]]] = [
    ("has outputs", "stripped", [code("print(1)"), code("x = 2")]),
    ("run in order", "code cell 1 is empty", [code(""), code("1", result("1"))]),
    ("errors", "without the tag", [code("1 / 0", raised("ZeroDivisionError", "no"))]),
    ("errors", "raises nothing", [code("1", result("1"), tags=("raises-exception",))]),
    ("tags", "unknown", [code("1", result("1"), tags=("raise-exception",))]),
    ("tags", "unknown", [code("1", result("1"), tags=("nbval-skip",))]),
    ("tags", "not compared", [text("The time:"), code("1", result("1"), tags=IGNORED)]),
    ("outputs", "stderr", [code("warn()", printed("UserWarning: no\n", "stderr"))]),
    ("outputs", "SVG", [code("draw()", shown({"image/svg+xml": "<svg/>"}))]),
    ("outputs", "widget", [code("w", shown({"application/vnd.jupyter.widget-view+json": {}}))]),
    ("outputs", "an address", [code("x", result("<A at 0x7f00aabbccdd>"))]),
    ("outputs", "a place", [code("x", printed("/home/ann/x.py"))]),
    ("outputs", "a place", [code("x", printed("C:\\Users\\ann"))]),
    ("outputs", "a place", [text("not compared"), code("x", printed("/tmp/x"), tags=IGNORED)]),
    ("outputs", "a NumPy scalar", [code("x", result("[np.float64(1.0)]"))]),
    ("outputs", "a NumPy scalar", [code("x", result("np.True_"))]),
    ("outputs", "more than 6 decimals", [code("x", printed("2.7182818"))]),
    ("outputs", "a negative zero", [code("x", printed("[-0.  1.]"))]),
    ("outputs", "own text", [code("draw()", shown({"text/plain": "<Figure size 300x200>"}))]),
    ("outputs", "own text", [code("x", result("[<matplotlib.lines.Line2D>]"))]),
    ("outputs", "own text", [code("x", result("Text(0.5, 1.0, 't')"))]),
    ("outputs", "a time", [code("x", printed("1.2 ms ± 3 us per loop"))]),
    ("outputs", "a time", [code("x", printed("2026-01-31 12:00"))]),
    ("outputs", "a version", [code("x", printed("numpy 2.4.6"))]),
    ("outputs", "a colour code", [code("x", printed("\x1b[31mred\x1b[0m"))]),
    ("outputs", "an address", [code("f()", raised("E", "0x7f00aabbccdd"))]),
    ("sources", "';'", [code("x = 1\nax.plot(x);", result("1"))]),
    ("sources", "magics", [code("%timeit f()", printed("1"))]),
    ("sources", "magics", [code("!pip install numpy", printed("1"))]),
    ("sources", "stops Run All", [code("name = input('name? ')", printed("1"))]),
    ("sources", "stops Run All", [code("import sys\n\nsys.exit(0)", printed("1"))]),
    ("sources", "tags for nbval", [code("# NBVAL_IGNORE_OUTPUT\nx", printed("1"))]),
    ("sources", "default_rng(seed)", [code("np.random.rand(3)", printed("1"))]),
    ("sources", "default_rng(seed)", [code("rng = np.random.default_rng()", printed("1"))]),
    ("sources", "tag it", [code("clear_output(wait=True)", printed("1"))]),
    ("sources", "tag it", [code("time.perf_counter()", printed("1"))]),
    ("sources", "some machine", [code("open('/home/ann/x')", printed("1"))]),
    ("sources", "some machine", [text("Look at /Users/ann/course."), code("1", result("1"))]),
    # The file is called broken.ipynb, so its number is "br".
    ("checks", "'wrong 2/3'", [code('check("br.fits", f)', result("wrong 2/3: too much"))]),
    ("links", "not there", [text("[next](missing.ipynb)"), code("1", result("1"))]),
    ("links", "alternative text", [text("![](broken.ipynb)"), code("1", result("1"))]),
]


@pytest.mark.parametrize(
    ("rule", "word", "cells"),
    BROKEN,
    ids=[f"{rule}-{word}-{number}" for number, (rule, word, _) in enumerate(BROKEN)],
)
def test_a_rule_finds_its_fault(
    rule: str, word: str, cells: list[NotebookNode], tmp_path: Path
) -> None:
    found = problems(write(tmp_path / "broken.ipynb", *cells))
    assert any(line.startswith(f"{rule}: ") and word in line for line in found), found


def _counts_missing(made: NotebookNode) -> None:
    for cell in code_cells(made):
        cell.execution_count = None


def _counts_wrong(made: NotebookNode) -> None:
    made.cells[0].execution_count = 7


def _other_kernel(made: NotebookNode) -> None:
    made.metadata.kernelspec.name = "conda-env-mine-py"


def _python_version(made: NotebookNode) -> None:
    made.metadata.language_info["version"] = "3.12.1"


def _timing(made: NotebookNode) -> None:
    made.cells[0].metadata["execution"] = {"iopub.status.busy": "2026-01-31T12:00:00Z"}


def _widget_state(made: NotebookNode) -> None:
    made.metadata["widgets"] = {}


def _no_ids(made: NotebookNode) -> None:
    for cell in made.cells:
        del cell["id"]
    made.nbformat_minor = 4


@pytest.mark.parametrize(
    ("rule", "spoil"),
    [
        ("run in order", _counts_missing),
        ("run in order", _counts_wrong),
        ("normal form", _other_kernel),
        ("normal form", _python_version),
        ("normal form", _timing),
        ("normal form", _widget_state),
        ("normal form", _no_ids),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_rule_finds_what_a_tool_spoiled(rule: str, spoil, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path / "spoiled.ipynb", code("print(1)", printed("1\n")))
    assert problems(path) == []
    made = read(path)
    spoil(made)
    path.write_text(to_text(made), encoding="utf-8")
    assert any(line.startswith(f"{rule}: ") for line in problems(path)), problems(path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"nbformat": 3, "worksheets": []}', "not JSON"]
)
def test_a_file_that_is_no_notebook_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(content, encoding="utf-8")
    (found,) = problems(path)
    assert "broken.ipynb is not a notebook" in found


def test_every_rule_is_shown_to_find_something() -> None:
    shown_rules = {rule for rule, _, _ in BROKEN} | {"normal form"}
    assert shown_rules == RULES.keys()
    assert all(meaning for meaning in KNOWN_TAGS.values())


def test_nbval_compares_strictly_as_configured(tmp_path: Path) -> None:
    """A changed text fails, exercises are left alone, and the settings hold in another folder."""
    for name in ("conftest.py", "pyproject.toml", "tests/nbval_sanitize.cfg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "notebooks" / "exercises").mkdir(parents=True)
    write(tmp_path / "notebooks" / "same.ipynb", code("print(1)", printed("1\n")))
    write(tmp_path / "notebooks" / "changed.ipynb", code("print(1)", printed("2\n")))
    write(tmp_path / "notebooks" / "exercises" / "same.ipynb", code("raise NotImplementedError"))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", ".."],
        cwd=tmp_path / "tests",
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout + run.stderr
