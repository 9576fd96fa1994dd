"""The exercise notebooks are fresh, hold no solution and run unsolved; bad lessons are refused."""

from pathlib import Path

import pytest
from nbformat import NotebookNode

from tensorplay_ref.course import exercises, fences, guard
from tensorplay_ref.course.__main__ import main
from tensorplay_ref.course.exercises import ExerciseError, exercise_path, make, try_unsolved
from tensorplay_ref.course.notebook_file import code_cells, read, to_text
from tests.tiny_notebook import code, printed, raised, text, write

ROOT = Path(__file__).resolve().parents[2]
WORKED = [
    path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if exercises.has_exercises(path)
]
NAMES = [path.stem for path in WORKED]

DOUBLE = '''
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    result = 2 * x
    return result
    ### END SOLUTION
'''.strip()


def sources(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in code_cells(notebook)]


# The course's own notebooks


@pytest.mark.parametrize("worked", WORKED, ids=NAMES)
def test_the_exercises_are_fresh(worked: Path) -> None:
    path = exercise_path(worked)
    assert path.exists(), "run: python -m tensorplay_ref.course exercises"
    assert path.read_text(encoding="utf-8") == to_text(make(worked)), (
        "run: python -m tensorplay_ref.course exercises (and solve exercises in a copy)"
    )


@pytest.mark.parametrize("worked", WORKED, ids=NAMES)
def test_the_exercises_show_no_line_of_a_solution(worked: Path) -> None:
    secrets = exercises.solution_secrets(worked)
    assert len(secrets) > 2
    stored = read(exercise_path(worked))
    assert [line for cell in stored.cells for line in exercises.leaks(cell, secrets)] == []
    assert not any(cell.outputs for cell in code_cells(stored))


@pytest.mark.parametrize("worked", WORKED, ids=NAMES)
def test_the_exercises_run_to_the_end_unsolved(worked: Path) -> None:
    try_unsolved(read(exercise_path(worked)), worked)


@pytest.mark.parametrize("worked", WORKED, ids=NAMES)
def test_the_links_of_the_exercises_lead_somewhere(worked: Path) -> None:
    path = exercise_path(worked)
    assert list(guard.RULES["links"](read(path), path)) == []


def test_no_exercises_are_left_over() -> None:
    assert exercises.orphans(ROOT / "notebooks") == []


# How they are made


def test_what_stays_and_what_goes(tmp_path: Path) -> None:
    worked = write(
        tmp_path / "05_hooks.ipynb",
        text("# Hooks"),
        code("print(1)", printed("1\n")),
        code(DOUBLE),
        text("Any text stays."),
        code("double(4)", printed("8\n"), tags=("needs-solution",)),
        code("# Doubling is adding twice.\nassert double(1) == 1 + 1", tags=("solution",)),
    )
    made = make(worked)
    assert sources(made) == ["print(1)", fences.stub(DOUBLE), "double(4)"]
    assert [cell.source for cell in made.cells][0] == "# Hooks"
    assert "[05_hooks](../05_hooks.ipynb)" in made.cells[1].source
    assert made.cells[4].source == "Any text stays."
    assert guard.tags(made.cells[5]) == {"needs-solution", "raises-exception"}
    assert all(cell.execution_count is None and not cell.outputs for cell in code_cells(made))
    ids = {cell.id for cell in read(worked).cells}
    assert {cell.id for cell in made.cells} - ids == {"exercise-note"}


def test_making_them_twice_gives_the_same_text(tmp_path: Path) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code(DOUBLE))
    assert to_text(make(worked)) == to_text(make(worked))


def test_links_lead_to_the_exercises_of_the_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "06.ipynb", text("# Next"), code(DOUBLE))
    write(tmp_path / "00.ipynb", text("# Map"), code("print(1)", printed("1\n")))
    worked = write(
        tmp_path / "05.ipynb",
        text(
            "[next](06.ipynb#part) [map](00.ipynb) [here](#top) [out](https://example.org/x.html)"
        ),
        code(DOUBLE),
    )
    assert make(worked).cells[0].source == (
        "[next](06.ipynb#part) [map](../00.ipynb) [here](#top) [out](https://example.org/x.html)"
    )


def test_wrong_fences_name_notebook_and_cell(tmp_path: Path) -> None:
    worked = write(
        tmp_path / "05.ipynb", text("# Hooks"), code("x = 1"), code(DOUBLE + "\n" + fences.END)
    )
    with pytest.raises(ExerciseError, match=r"05\.ipynb, cell \w+, line 7: '### END SOLUTION'"):
        make(worked)


def test_a_stub_that_cannot_be_made_names_notebook_and_cell(tmp_path: Path) -> None:
    nameless = f"{fences.BEGIN}\nprint(1)\n{fences.END}"
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code("x = 1"), code(nameless))
    with pytest.raises(
        ExerciseError, match=r"05\.ipynb, code cell 2, line 2: outside of a function"
    ):
        make(worked)


@pytest.mark.parametrize(
    "telling",
    [
        text("A hint: write `result = 2 * x` first."),
        code("def again(x):\n    result = 2 * x\n    return result + 1"),
        text(f"The fences are {fences.BEGIN} and so on."),
    ],
    ids=["text", "code", "fence"],
)
def test_a_notebook_that_shows_a_solution_elsewhere_is_refused(
    telling: NotebookNode, tmp_path: Path
) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), telling, code(DOUBLE))
    with pytest.raises(ExerciseError, match="gives away"):
        make(worked)


@pytest.mark.parametrize("place", ["source", "outputs", "metadata", "attachments"])
def test_a_leak_is_found_wherever_it_is(place: str) -> None:
    line = 'return {"a": f"{x}\\n"}'
    cell = code("print(1)")
    assert exercises.leaks(cell, [line]) == []
    cell[place] = [printed(line)] if place == "outputs" else {"kept": line}
    assert exercises.leaks(cell, [line]) == [line]


# Running them unsolved


def test_later_cells_may_check_go_on_with_the_package_or_be_tagged(tmp_path: Path) -> None:
    worked = write(
        tmp_path / "05.ipynb",
        text("# Hooks"),
        code(DOUBLE),
        code("def check(f):\n    try:\n        f(1)\n    except Exception as e:\n        print(e)"),
        code("check(double)"),
        code("double(4)", tags=("needs-solution",)),
        code(
            "raise ValueError('shown')", raised("ValueError", "shown"), tags=("raises-exception",)
        ),
        code("print('the end')"),
    )
    unsolved = list(code_cells(try_unsolved(make(worked), worked)))
    assert unsolved[2].outputs[0].text == "your turn: double\n"
    assert unsolved[3].outputs[0].evalue == "your turn: double"
    assert unsolved[5].outputs[0].text == "the end\n"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([code("double(4)")], r"code cell 2 \(\w+\): NotImplementedError.* tag the cell needs-sol"),
        ([code("1 + 1", tags=("needs-solution",))], "should end with NotImplementedError, but"),
        (
            [
                code(
                    "double(4)\nraise ValueError",
                    raised("ValueError", ""),
                    tags=("raises-exception",),
                ),
            ],
            "should end with ValueError, but ended with NotImplementedError",
        ),
    ],
    ids=["depends", "tag for nothing", "other error"],
)
def test_a_lesson_that_breaks_unsolved_is_refused(
    cells: list[NotebookNode], reason: str, tmp_path: Path
) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code(DOUBLE), *cells)
    with pytest.raises(ExerciseError, match=reason):
        try_unsolved(make(worked), worked)


# The command


def test_the_command_writes_and_then_finds_them_fresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code(DOUBLE))
    plain = write(tmp_path / "00.ipynb", text("# Map"), code("print(1)", printed("1\n")))
    assert main(["exercises", "--check", str(worked)]) == 1
    assert not exercise_path(worked).exists()
    assert main(["exercises", str(worked), str(plain)]) == 0
    assert not exercise_path(plain).exists()
    assert main(["exercises", "--check", str(worked)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "05.ipynb: written",
        "00.ipynb: has no exercises",
        "05.ipynb: fresh",
    ]


def test_the_command_keeps_what_a_reader_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code(DOUBLE))
    path = exercise_path(worked)
    path.parent.mkdir()
    notebook = make(worked)
    next(code_cells(notebook)).source = "my_own = 1"
    path.write_text(to_text(notebook), encoding="utf-8")
    assert main(["exercises", str(worked)]) == 1
    assert "somebody has worked in exercises/05.ipynb" in capsys.readouterr().out
    assert "my_own" in path.read_text(encoding="utf-8")
    assert main(["exercises", "--overwrite", str(worked)]) == 0
    assert path.read_text(encoding="utf-8") == to_text(make(worked))


def test_the_command_replaces_what_only_grew_old(tmp_path: Path) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code(DOUBLE))
    assert main(["exercises", str(worked)]) == 0
    write(worked, text("# Hooks, again"), code(DOUBLE))
    assert main(["exercises", "--check", str(worked)]) == 1
    assert main(["exercises", str(worked)]) == 0
    assert main(["exercises", "--check", str(worked)]) == 0


def test_exercises_without_a_worked_notebook_are_found(tmp_path: Path) -> None:
    worked = write(tmp_path / "05.ipynb", text("# Hooks"), code(DOUBLE))
    (tmp_path / "exercises").mkdir()
    gone = write(tmp_path / "exercises" / "04.ipynb", code("x = 1"))
    write(exercise_path(worked), code("x = 1"))
    assert exercises.orphans(tmp_path) == [gone]
