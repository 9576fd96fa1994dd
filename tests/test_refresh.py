"""Refreshing stores what a clean kernel shows, in the normal form, and once only."""

import os
from pathlib import Path

import pytest

from tensorplay_ref.course import kernel
from tensorplay_ref.course.__main__ import main
from tensorplay_ref.course.notebook_file import code_cells, name_cells, normalise, read, to_text
from tests.tiny_notebook import (
    OTHER_PICTURE,
    PICTURE,
    code,
    notebook,
    printed,
    raised,
    result,
    shown,
    text,
    write,
)

DRAW = f"""
from IPython.display import display

display({{"image/png": "{PICTURE}", "text/plain": "kept: 3"}}, raw=True)
""".strip()
MERMAID = """
from IPython.display import display

display({"text/vnd.mermaid": "graph LR; a --> b", "text/plain": "a -> b"}, raw=True)
""".strip()
PIECES = "for i in range(3):\n    print(i, flush=True)"
FAIL = "import json\n\njson.loads('nothing')"
CLOCK = "# The clock is not compared.\nimport time\n\nprint(time.time())"


# The normal form


def test_streams_are_joined_counts_run_and_foreign_frames_go() -> None:
    made = notebook(
        code("a", printed("1\n"), printed("2\n"), printed("w", "stderr"), printed("3\n")),
        text("between"),
        code("b", result("1"), raised("ValueError", "no")),
    )
    made.cells[2].outputs[1].traceback = [
        "\x1b[31mValueError\x1b[39m  Traceback (most recent call last)",
        "\x1b[36mCell\x1b[39m In[7], line 1\n----> 1 b",
        "\x1b[36mFile\x1b[39m /home/ann/package/module.py:12, in f()",
        "\x1b[31mValueError\x1b[39m: no",
    ]
    normalise(made)
    assert [output.text for output in made.cells[0].outputs] == ["1\n2\n", "w", "3\n"]
    assert [cell.execution_count for cell in code_cells(made)] == [1, 2]
    assert made.cells[2].outputs[0].execution_count == 2
    assert made.cells[2].outputs[1].traceback == [
        "ValueError  Traceback (most recent call last)",
        "Cell In[7], line 1\n----> 1 b",
        "ValueError: no",
    ]
    once = to_text(made)
    normalise(made)
    assert to_text(made) == once


def test_metadata_keeps_what_a_person_wrote() -> None:
    made = notebook(code("a", tags=("raises-exception",)))
    made.cells[0].metadata |= {
        "execution": {"iopub.status.busy": "2026-01-31"},
        "collapsed": True,
        "nbgrader": {"solution": True},
    }
    made.metadata["widgets"] = {}
    normalise(made)
    assert made.cells[0].metadata.keys() == {"nbgrader", "tags"}
    assert made.metadata.keys() == {"kernelspec", "language_info"}


def test_ids_come_from_the_source_and_are_kept() -> None:
    cells = [code("a"), code("a"), text("b"), code("c")]
    cells[3]["id"] = "my-own"
    name_cells(cells)
    ids = [cell["id"] for cell in cells]
    assert ids[3] == "my-own" and ids[1] == f"{ids[0]}-2" and len(set(ids)) == 4
    again = [code("new"), code("a"), text("b")]
    name_cells(again)
    assert [cell["id"] for cell in again][1:] == [ids[0], ids[2]]


def test_a_notebook_of_an_older_format_is_brought_to_this_one(tmp_path: Path) -> None:
    made = notebook(code("a"), text("b"))
    for cell in made.cells:
        del cell["id"]
    made.nbformat_minor = 2
    path = tmp_path / "old.ipynb"
    path.write_text(to_text(made), encoding="utf-8")
    assert to_text(read(path)) == to_text(notebook(code("a"), text("b")))


# Running


def test_a_refresh_stores_outputs_and_a_second_one_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path / "book.ipynb",
        code(PIECES),
        code(FAIL, tags=("raises-exception",)),
        code(DRAW),
        code(MERMAID, shown({"text/vnd.mermaid": "old", "image/svg+xml": "<svg/>"})),
        code(CLOCK, tags=("nbval-ignore-output",)),
        code("1 + 1"),
    )
    assert main(["refresh", str(path)]) == 0
    cells = list(code_cells(read(path)))
    assert cells[0].outputs == [printed("0\n1\n2\n")]
    assert cells[1].outputs[0].ename == "JSONDecodeError"
    assert "decoder.py" not in "".join(cells[1].outputs[0].traceback)
    assert "json.loads" in "".join(cells[1].outputs[0].traceback)
    assert cells[2].outputs == [shown({"image/png": PICTURE, "text/plain": "kept: 3"})]
    assert cells[3].outputs[0].data.keys() == {"text/plain", "text/vnd.mermaid"}
    assert cells[5].outputs[0].data["text/plain"] == "2"
    first = path.read_bytes()
    assert b"\r" not in first

    assert main(["refresh", str(path)]) == 0
    assert path.read_bytes() == first
    assert main(["refresh", "--check", str(path)]) == 0
    printed_words = [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()]
    assert printed_words == ["book.ipynb: stored", "book.ipynb: unchanged", "book.ipynb: fresh"]
    assert sorted(tmp_path.iterdir()) == [path]


def test_check_tells_what_is_stale_and_stores_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path / "book.ipynb",
        text("# Title"),
        code("print('a')\nprint('b')", printed("a\nc\n")),
        code("print(1)", printed("1\n2\n")),
        code("print(1)\nprint(3)", printed("1\n")),
        code(DRAW),
        code("2", result("2")),
    )
    before = path.read_bytes()
    assert main(["refresh", "--check", str(path)]) == 1
    assert path.read_bytes() == before
    first, *found = capsys.readouterr().out.splitlines()
    assert first.startswith("book.ipynb: stale")
    assert found == [
        "  code cell 1: stored is 'stdout: c', now it is 'stdout: b'",
        "  code cell 2: stored is 'stdout: 2', now there is no such line",
        "  code cell 3: nothing is stored for 'stdout: 3'",
        "  code cell 4: nothing is stored for 'image/png: a picture'",
    ]


def test_check_takes_another_machine_s_picture_and_traceback_as_the_same(tmp_path: Path) -> None:
    stored = [
        code(DRAW, shown({"image/png": OTHER_PICTURE, "text/plain": "kept: 3"})),
        code("assert False, 'no'", raised("AssertionError", "no"), tags=("raises-exception",)),
        code(CLOCK, printed("1700000000.25\n"), tags=("nbval-ignore-output",)),
    ]
    path = write(tmp_path / "book.ipynb", *stored)
    assert main(["refresh", "--check", str(path)]) == 0


def test_a_notebook_that_does_not_run_is_named_and_left_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = write(tmp_path / "fails.ipynb", code("x = 1"), code("print(x)\ny"))
    hangs = write(tmp_path / "hangs.ipynb", code("while True:\n    pass"))
    dies = write(tmp_path / "dies.ipynb", code("import os\n\nos._exit(1)"))
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{", encoding="utf-8")
    books = [fails, hangs, dies, broken]
    before = [path.read_bytes() for path in books]
    missing = tmp_path / "missing.ipynb"
    assert main(["refresh", "--timeout", "4", *map(str, [*books, missing])]) == 1
    assert [path.read_bytes() for path in books] == before
    reasons = capsys.readouterr().out.splitlines()[1::2]
    assert reasons[0].startswith("  code cell 2 (") and "NameError: name 'y'" in reasons[0]
    assert "took longer than 4 s" in reasons[1]
    assert "ended its kernel" in reasons[2]
    assert "broken.ipynb is not a notebook" in reasons[3]
    assert "missing.ipynb" in reasons[4]


def test_a_refresh_reports_the_rules_that_the_notebook_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "book.ipynb", code("print(2 / 3)"))
    assert main(["refresh", str(path)]) == 1
    assert "shows more than 6 decimals ('0.6666666666666666')" in capsys.readouterr().out


def test_the_kernel_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    startup = tmp_path / "mine" / "profile_default" / "startup" / "00.py"
    startup.parent.mkdir(parents=True)
    startup.write_text("leaked = True", encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "mine"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    made = notebook(
        code("import os\n\nprint('leaked' in globals(), os.path.basename(os.getcwd()))"),
        code("print(os.environ['OMP_NUM_THREADS'], os.environ['MPLBACKEND'])"),
    )
    kernel.run(made, tmp_path, timeout=60)
    assert made.cells[0].outputs[0].text == f"False {tmp_path.name}\n"
    threads, backend = made.cells[1].outputs[0].text.split()
    assert threads == "1" and "inline" in backend


def test_pytest_gives_its_kernels_the_same_threads() -> None:
    assert {name: os.environ.get(name) for name in kernel.ONE_THREAD} == kernel.ONE_THREAD


def test_without_a_notebooks_folder_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from tensorplay_ref.course import notebook_file

    monkeypatch.setattr(notebook_file, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    for command in ("refresh", "exercises"):
        with pytest.raises(SystemExit) as stop:
            main([command])
        assert stop.value.code == 1
        assert "name the notebooks" in capsys.readouterr().err
