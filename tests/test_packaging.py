"""What the package says about itself, and the workflows that build and test it."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

from tensorplay_ref.__main__ import COMMANDS, overview

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_package_says_what_there_is_to_run() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tensorplay_ref"], cwd=ROOT, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, overview() + "\n", "")
    for module in COMMANDS:
        assert f"python -m {module} --help" in run.stdout
        assert importlib.util.find_spec(f"{module}.__main__")
    in_a_checkout = re.findall(
        r"^  (jupyter .*?|python -m tests.*?|python -m pytest.*?)  ", run.stdout, re.M
    )
    assert len(in_a_checkout) == 3
    assert all(command in README for command in in_a_checkout[:2])
    assert "python -m tests.benchmarks" in README
    places = re.findall(r"^  (\S+/\S+)  ", run.stdout, re.M)
    assert len(places) == 3
    assert all((ROOT / place).is_file() for place in places)


def test_a_word_that_the_package_does_not_know_is_an_error() -> None:
    for words, status in (["--help"], 0), (["foo"], 2):
        run = subprocess.run(
            [sys.executable, "-m", "tensorplay_ref", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert run.returncode == status
        assert overview() in run.stdout + run.stderr
    assert "has no 'foo'" in run.stderr


def test_the_types_of_the_package_are_for_others_too() -> None:
    assert (ROOT / "tensorplay_ref" / "py.typed").is_file()


def commands(job: str) -> list[str]:
    return [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "run" in step]


def test_every_system_runs_the_test_command_of_the_readme() -> None:
    jobs = WORKFLOW["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert commands("tests")[-1] in README
    assert 'python -m pip install -e ".[test]"' in commands("tests")
    assert commands("linters") == [".ci/run"]
    assert "python -m pytest tests/e2e" in commands("end-to-end")


def test_the_pythons_and_numpys_are_those_of_the_project() -> None:
    matrix = WORKFLOW["jobs"]["tests"]["strategy"]["matrix"]
    pythons = SpecifierSet(PROJECT["requires-python"])
    assert all(python in pythons for python in matrix["python"])
    oldest = re.search(r">=\s*([\d.]+)", PROJECT["requires-python"])
    assert oldest and matrix["python"][0] == oldest[1]
    floor = next(command for command in commands("tests") if "numpy==" in command)
    (numpy,) = PROJECT["dependencies"]
    assert re.search(r"numpy==([\d.]+)\.\*", floor)[1] == re.search(r">=([\d.]+)", numpy)[1]
    assert {each["numpy"] for each in matrix["include"]} == {"floor", "pre-release"}


def test_the_extras_that_the_workflow_installs_exist() -> None:
    for job in WORKFLOW["jobs"]:
        for extras in re.findall(r'"\.\[([\w,]+)\]"', " ".join(commands(job))):
            assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
