"""nbgrader makes an assignment of the worked notebooks, with the command of the guide."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplay_ref.course.exercises import has_exercises
from tensorplay_ref.course.fences import BEGIN, regions
from tensorplay_ref.course.notebook_file import code_cells, notebooks_folder, read, worked_notebooks

GUIDE = (notebooks_folder() / "for_teachers.md").read_text(encoding="utf-8")
NOTEBOOKS = [path for path in worked_notebooks() if has_exercises(path)]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what nbgrader would hand out."""
    if not importlib.util.find_spec("nbgrader"):
        pytest.skip("needs nbgrader")
    course, home = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("home")
    source = course / "source" / "hooks"
    source.mkdir(parents=True)
    for path in NOTEBOOKS:
        (source / path.name).write_bytes(path.read_bytes())
    (line,) = re.findall(r"^python (-m nbgrader generate_assignment .*)$", GUIDE, re.M)
    # nbgrader calls a program that was installed beside it.
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        [sys.executable, *line.split()],
        cwd=course,
        env=os.environ | {"HOME": str(home), "PATH": programs},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return course / "release" / "hooks"


@pytest.mark.parametrize("worked", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_takes_every_worked_notebook(worked: Path, released: Path) -> None:
    sources = [cell.source for cell in code_cells(read(released / worked.name))]
    solved = sum(len(regions(cell.source)) for cell in code_cells(read(worked)))
    assert solved > 0
    assert sum(source.count("raise NotImplementedError()") for source in sources) == solved
    assert not any(BEGIN in source for source in sources)
