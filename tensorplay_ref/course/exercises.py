"""The exercise notebooks, made from the worked ones.

Everything stays but the outputs, the solutions (see ``fences``) and the cells tagged ``solution``.
An exercise notebook runs to its end unsolved, because what follows an exercise does not depend on
it: a later cell hands the reader's function to a check, goes on with the package's own, or carries
the tag ``needs-solution``. A cell with that tag calls what the reader writes; here it also gets the
tag ``raises-exception``, so that Run All shows the stub's "your turn" there and goes on. All this
is tried before a notebook is written.
"""

import argparse
import copy
import hashlib
import json
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from tqdm import tqdm

from tensorplay_ref.course import fences, kernel
from tensorplay_ref.course.guard import EXERCISE, NEEDS_SOLUTION, RAISES, SOLUTION
from tensorplay_ref.course.notebook_file import (
    RELATIVE_LINK,
    code_cells,
    normalise,
    notebooks_folder,
    read,
    tags,
    to_text,
    without_outputs,
    worked_notebooks,
    write_text,
)

FOLDER = "exercises"
# A shorter line of a solution, such as "return x", gives nothing away.
_TELLING = 12


class ExerciseError(ValueError):
    """No exercise notebook can be made; says from which notebook, at which cell and why."""


def exercise_path(worked: Path) -> Path:
    """Where the exercises of a worked notebook are."""
    return worked.parent / FOLDER / worked.name


def has_exercises(worked: Path) -> bool:
    """Whether a worked notebook has a solution between fences."""
    return any(_regions(cell, worked) for cell in code_cells(read(worked)))


def make(worked: Path) -> NotebookNode:
    """The exercise notebook of a worked notebook.

    Raises ExerciseError when a fence is wrong or when something that stays, be it code, text or
    metadata, shows a line of a solution.
    """
    notebook = read(worked)
    secrets = _secrets(notebook, worked)
    for number, cell in enumerate(code_cells(notebook), 1):
        try:
            cell.source = fences.stub(cell.source)
        except fences.FenceError as error:
            raise ExerciseError(f"{worked.name}, code cell {number}, {error}") from error
        if NEEDS_SOLUTION in tags(cell):
            cell.metadata.tags = [*cell.metadata.tags, RAISES]
    notebook.cells = [cell for cell in notebook.cells if SOLUTION not in tags(cell)]
    notebook.cells.insert(1, _note(worked))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            _relink(cell, worked)
    normalise(notebook)
    without_outputs(notebook)
    notebook.metadata[EXERCISE] = {"digest": _digest(notebook)}
    for cell in notebook.cells:
        if shown := leaks(cell, secrets):
            raise ExerciseError(f"{worked.name}, cell {cell.id}, gives away {shown[0]!r}")
    return notebook


def leaks(cell: NotebookNode, secrets: list[str]) -> list[str]:
    """The lines of solutions that a cell shows anywhere: source, outputs, metadata, attachments."""
    everything = json.dumps(cell, ensure_ascii=False)
    return [line for line in secrets if json.dumps(line, ensure_ascii=False)[1:-1] in everything]


def solution_secrets(worked: Path) -> list[str]:
    """The lines of a worked notebook that its exercises must not show."""
    return _secrets(read(worked), worked)


def try_unsolved(exercise: NotebookNode, worked: Path) -> NotebookNode:
    """Run an exercise notebook as it is handed out; the notebook with what it shows then.

    Raises ExerciseError when a cell depends on a solution without the tag ``needs-solution``, when
    a tagged one does not, or when an error that the lesson shows is no longer the same.
    """
    unsolved = copy.deepcopy(exercise)
    folder = exercise_path(worked).parent
    folder.mkdir(exist_ok=True)
    try:
        kernel.run(unsolved, folder, timeout=120)
    except kernel.NotebookError as error:
        hint = ""
        if error.error_name == "NotImplementedError":
            hint = (
                f"; hand the reader's function to a check, go on with the package's, or tag the "
                f"cell {NEEDS_SOLUTION}"
            )
        raise ExerciseError(f"{worked.name}, unsolved: {error}{hint}") from error
    lesson = {cell.id: _error_name(cell) for cell in code_cells(read(worked))}
    for cell in code_cells(unsolved):
        expected = "NotImplementedError" if NEEDS_SOLUTION in tags(cell) else lesson[cell.id]
        if _error_name(cell) != expected:
            raise ExerciseError(
                f"{worked.name}, unsolved: cell {cell.id} should end with {expected}, "
                f"but ended with {_error_name(cell)}"
            )
    return unsolved


def _regions(cell: NotebookNode, worked: Path) -> list[fences.Region]:
    try:
        return fences.regions(cell.source)
    except fences.FenceError as error:
        raise ExerciseError(f"{worked.name}, cell {cell.id}, {error}") from error


def _secrets(notebook: NotebookNode, worked: Path) -> list[str]:
    lines = [fences.BEGIN, fences.END]
    for cell in notebook.cells:
        if SOLUTION in tags(cell):
            lines += [line.strip() for line in cell.source.splitlines()]
        elif cell.cell_type == "code" and _regions(cell, worked):
            lines += fences.solution_lines(cell.source)
    return sorted({line for line in lines if len(line) >= _TELLING})


def _note(worked: Path) -> NotebookNode:
    note: NotebookNode = new_markdown_cell(
        f"> These are the exercises of [{worked.stem}](../{worked.name}), where the solutions are. "
        f'What says "{fences.YOUR_TURN}" or `...` is yours to write; the check below it compares '
        f"what you wrote with the package. Run All works at any time."
    )
    note.id = "exercise-note"
    return note


def _relink(cell: NotebookNode, worked: Path) -> None:
    """Let links lead to the neighbour with exercises where there is one, else one folder up."""

    def moved(target: str) -> str:
        neighbour = worked.parent / target
        stays = neighbour.suffix == ".ipynb" and neighbour.exists() and has_exercises(neighbour)
        return target if stays else f"../{target}"

    if cell.id != "exercise-note":
        cell.source = RELATIVE_LINK.sub(lambda link: moved(link.group()), cell.source)


def _error_name(cell: NotebookNode) -> str | None:
    names = [output.ename for output in cell.outputs if output.output_type == "error"]
    return names[0] if names else None


def _digest(notebook: NotebookNode) -> str:
    """What tells whether somebody changed an exercise notebook after it was made."""
    sources = "\0".join(cell.source for cell in notebook.cells)
    return hashlib.sha256(sources.encode()).hexdigest()


def _was_worked_in(path: Path) -> bool:
    notebook = read(path)
    made = notebook.metadata.get(EXERCISE, {}).get("digest")
    return made != _digest(notebook) or any(cell.outputs for cell in code_cells(notebook))


def main(arguments: argparse.Namespace) -> int:
    """Make the exercise notebooks; 1 when one cannot be made or, with --check, is stale."""
    kernel.warm_up()
    failed = False
    for worked in tqdm(arguments.notebooks or worked_notebooks(), unit="notebook", disable=None):
        try:
            verdict = _make_file(worked, arguments.check, arguments.overwrite)
        except (OSError, ValueError) as error:
            failed, verdict = True, f"failed: {error}"
        tqdm.write(f"{worked.name}: {verdict}")
    if not arguments.notebooks:
        for orphan in orphans(notebooks_folder()):
            failed = True
            tqdm.write(f"{FOLDER}/{orphan.name}: no worked notebook has these exercises; delete it")
    return int(failed)


def orphans(folder: Path) -> list[Path]:
    """The exercise notebooks below a folder that nothing is the source of."""
    return [
        path
        for path in sorted((folder / FOLDER).glob("*.ipynb"))
        if not (folder / path.name).exists() or not has_exercises(folder / path.name)
    ]


def _make_file(worked: Path, check: bool, overwrite: bool) -> str:
    if not has_exercises(worked):
        return "has no exercises"
    exercise, path = make(worked), exercise_path(worked)
    text = to_text(exercise)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return "fresh"
    if check:
        raise ExerciseError(f"{FOLDER}/{path.name} is not what would be made now")
    if path.exists() and _was_worked_in(path) and not overwrite:
        raise ExerciseError(
            f"somebody has worked in {FOLDER}/{path.name}; move it away, or say --overwrite"
        )
    try_unsolved(exercise, worked)
    write_text(path, text)
    return "written"
