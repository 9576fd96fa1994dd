"""Wheel and sdist are built, and the wheel alone does what the README shows, beside NumPy alone."""

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tensorplay_ref.__main__ import overview
from tensorplay_ref.course.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.skipif(not importlib.util.find_spec("hatchling"), reason="needs hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist made from the checkout, and the wheel made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _build("sdist", ROOT, folder)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        # The argument `filter` came with Python 3.11.4; this attribute does nothing before that.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    _build("wheel", folder / sdist.name.removesuffix(".tar.gz"), folder)
    return folder


def _build(target: str, source: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "-d", str(folder)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="module")
def alone(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and NumPy, not even pip."""
    if os.name == "nt":
        pytest.skip("NumPy is brought in by a symbolic link")
    home = tmp_path_factory.mktemp("alone")
    venv.create(home, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    return Path(sysconfig.get_path("scripts", vars={"base": str(home)}), "python")


def _run(python: Path, *words: str) -> str:
    """What it prints in an empty folder, where nothing of the checkout is in reach."""
    run = subprocess.run(
        [python, "-I", "-W", "error", *words],
        cwd=python.parent,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_wheel_alone_runs_the_example_of_the_readme(alone: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.S)
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.S)
    assert _run(alone, "-c", example) == shown


def test_the_wheel_alone_says_what_there_is(alone: Path) -> None:
    assert _run(alone, "-m", "tensorplay_ref") == overview() + "\n"
    where = _run(alone, "-c", "import tensorplay_ref; print(tensorplay_ref.__file__)")
    assert Path(where.strip()).is_relative_to(alone.parents[1])


def test_the_wheel_alone_runs_the_statements(alone: Path) -> None:
    table = _run(alone, "-m", "tensorplay_ref.conformance", "--topic", "save_on_cpu")
    assert "agreed" in table and "FAILS" not in table


def test_a_command_that_needs_more_says_how_to_get_it(alone: Path) -> None:
    run = subprocess.run(
        [alone, "-I", "-m", "tensorplay_ref.course", "grade", "."], capture_output=True, text=True
    )
    assert run.returncode == 1
    advice = r'this needs \w+; install it with: pip install "tensorplay-ref\[lab\]"\n'
    assert re.fullmatch(advice, run.stderr), run.stderr


def test_the_wheel_alone_explains_every_command_of_the_course(alone: Path) -> None:
    for command in COMMANDS:
        said = _run(alone, "-m", "tensorplay_ref.course", command, "--help")
        assert COMMANDS[command][1] in " ".join(said.split())


def test_the_wheel_holds_the_package_its_types_and_its_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tensorplay_ref"}
    package = ROOT / "tensorplay_ref"
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_the_tests_and_the_notebooks(built: Path) -> None:
    (folder,) = (path for path in built.iterdir() if path.is_dir())
    for name in ("tests/test_distribution.py", "conftest.py", "environment.yml", "README.md"):
        assert (folder / name).is_file()
    notebooks = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.name for path in (folder / "notebooks").glob("*.ipynb")} == notebooks
