"""Badges and cells for Colab come from the address in pyproject.toml."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tensorplay_ref.course import address, notebook_file
from tensorplay_ref.course.exercises import FOLDER
from tensorplay_ref.course.notebook_file import read, worked_notebooks
from tensorplay_ref.course.readme import course_table
from tensorplay_ref.course.refresh import changes
from tests.tiny_notebook import code, notebook, text

NOTEBOOKS = [*worked_notebooks(), *sorted((worked_notebooks()[0].parent / FOLDER).glob("*.ipynb"))]


def prepared(monkeypatch: pytest.MonkeyPatch, there: bool, fails: int = 0) -> list[str]:
    """The commands that the cell runs, and the folder in which it leaves the notebook."""
    done: list[str] = []

    def run(words: list[str], check: bool = False) -> subprocess.CompletedProcess[str]:
        done.append(" ".join(words[-5:]))
        return subprocess.CompletedProcess(words, fails)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(os, "chdir", lambda folder: done.append(f"cd {folder}"))
    monkeypatch.setattr(os.path, "isdir", lambda folder: there)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        exec(address.cell().source, {})
    assert out.getvalue() == ""
    return done


def test_the_cell_does_nothing_but_on_colab(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared(monkeypatch, there=False) == []


@pytest.mark.parametrize("there", [False, True])
def test_on_colab_it_fetches_once_and_installs(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    name = address.repository().split("/")[-1]
    fetched = f"--quiet --depth=1 {address.repository()} /content/{name}"
    assert prepared(monkeypatch, there) == [
        *([] if there else [f"clone {fetched}"]),
        f"-m pip install --quiet /content/{name}[plot]",
        f"cd /content/{name}/notebooks",
    ]


def test_what_cannot_be_fetched_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    with pytest.raises(RuntimeError, match="could not be fetched: https://.* pyproject.toml"):
        prepared(monkeypatch, there=False, fails=128)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_notebook_of_the_course_begins_with_it(path: Path) -> None:
    first = next(notebook_file.code_cells(read(path)))
    wanted = address.cell()
    assert (first.id, first.source, first.metadata) == (
        wanted.id,
        wanted.source,
        wanted.metadata,
    ), "run: python -m tensorplay_ref.course refresh (and exercises)"


def test_it_is_put_below_the_title_once() -> None:
    made = notebook(text("# Title"), code("x = 1"))
    for _ in range(2):
        address.put_cell(made)
    assert [cell.cell_type for cell in made.cells] == ["markdown", "code", "code"]
    made.cells[1].source = "old"
    address.put_cell(made)
    assert made.cells[1].source == address.cell().source


def test_a_notebook_without_it_is_stale() -> None:
    made = notebook(text("# Title"), code("x = 1"))
    stored = notebook_file.to_text(made)
    address.put_cell(made)
    (found,) = changes(stored, notebook_file.to_text(made))
    assert "Colab is missing" in found


def test_only_the_course_s_own_notebooks_get_it(tmp_path: Path) -> None:
    assert all(map(address.is_of_the_course, worked_notebooks()))
    assert not address.is_of_the_course(tmp_path / "mine.ipynb")


def test_the_address_comes_from_pyproject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/ann/hooks/"\n', encoding="utf-8"
    )
    monkeypatch.setattr(notebook_file, "notebooks_folder", lambda: tmp_path / "notebooks")
    assert "https://mybinder.org/v2/gh/ann/hooks/main?urlpath=lab/tree/" in address.badges()
    assert address.on_colab("a.ipynb").endswith("/github/ann/hooks/blob/main/a.ipynb")
    assert address.badges().count("](https://") == 2 * address.badges().count("[![") == 6
    for place in ('"https://github.com/ann/hooks"', '"/content/hooks"'):
        assert place in address.cell().source


def test_a_placeholder_makes_no_broken_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "repository", lambda: "https://github.com/the_owner/hooks")
    assert address.is_placeholder() and address.badges() == ""
    assert "Colab" not in course_table()
    monkeypatch.setattr(address, "repository", lambda: "https://github.com/ann/hooks")
    table = course_table().splitlines()
    assert not address.is_placeholder()
    assert len({row.count(" |") for row in table[2:]}) == 1
    assert "https://colab.research.google.com/github/ann/hooks/blob/main/" in table[2]
