"""The command `guard` says what breaks the rules in anybody's notebooks, and then exits with 1."""

from pathlib import Path

import pytest

from tensorplay_ref.course.__main__ import main
from tensorplay_ref.course.guard import EXERCISE, problems
from tensorplay_ref.course.notebook_file import notebooks_folder, to_text
from tests.tiny_notebook import code, notebook, printed, result, write


def test_the_notebooks_of_the_course_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guard", "--course", str(notebooks_folder())]) == 0
    assert ", problems: 0\n" in capsys.readouterr().out


def test_somebody_else_s_notebooks_are_judged_without_our_conventions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "week_1").mkdir()
    made = notebook(code("1 + 1", result("2"), tags=("theirs",)))
    made.metadata["language_info"] = {"name": "python", "version": "3.13.1"}
    made.cells[0].execution_count = 1
    (tmp_path / "week_1" / "fine.ipynb").write_text(to_text(made), encoding="utf-8")
    assert main(["guard", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "notebooks: 1, problems: 0\n"
    assert main(["guard", "--course", str(tmp_path)]) == 1
    assert "unknown tag 'theirs'" in capsys.readouterr().out


def test_what_differs_between_machines_is_said_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "loose.ipynb", code("x", printed("/home/ann/x.py")))
    write(tmp_path / "stripped.ipynb", code("print(1)"))
    assert main(["guard", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert f"{path}: outputs: code cell 1 shows a place on this machine" in said
    assert "stripped.ipynb: has outputs: no cell has an output" in said
    assert "notebooks: 2, problems: 2\n" in said


def test_exercise_notebooks_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = notebook(code("print(1)"))
    made.metadata[EXERCISE] = {"digest": "x"}
    (tmp_path / "stubs.ipynb").write_text(to_text(made), encoding="utf-8")
    assert main(["guard", str(tmp_path)]) == 0
    assert "left out: 1," in capsys.readouterr().out


def test_no_notebook_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guard", str(tmp_path)]) == 1
    assert "there is no notebook in the folder" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["guard", str(tmp_path / "none")])
    assert stop.value.code == 1
    assert "no such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["wrong 2/3: it does not fit", "not yet (your turn: policy)"])
def test_a_worked_notebook_whose_own_check_is_not_ok_breaks_a_rule(
    said: str, tmp_path: Path
) -> None:
    cell = code('check("12.fits", policy, segment)', result(said))
    (found,) = problems(write(tmp_path / "12_capstone.ipynb", cell))
    assert found.startswith("checks: code cell 1: the stored check says")
    # Another notebook may show on purpose what a check says.
    assert problems(write(tmp_path / "00_start.ipynb", cell)) == []
