"""The workflows name only what exists, and whatever a step needs is installed before it."""

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
GITIGNORE = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Modules that a step brings, by what brings them.
BROUGHT = {"pip": None, "pytest": "test", "sphinx": "docs", "playwright": "e2e"}
KNOWN_KEYS = {"name", "uses", "with", "run", "if", "env", "working-directory"}


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in FILES:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        yield from content["jobs"].items()


JOBS = dict(jobs())


def runs(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_there_are_workflows() -> None:
    assert {"tests", "linters", "end-to-end", "site-and-teaching", "wheel"} <= JOBS.keys()


@pytest.mark.parametrize("job", JOBS)
def test_a_job_has_a_machine_a_limit_and_sound_steps(job: str) -> None:
    content = JOBS[job]
    matrix = content.get("strategy", {}).get("matrix", {})
    assert content["runs-on"] in ("ubuntu-latest", "${{ matrix.os }}")
    assert 0 < content["timeout-minutes"] <= 60
    for step in content["steps"]:
        assert step.keys() <= KNOWN_KEYS
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1"))
    for name in re.findall(r"matrix\.(\w+)", yaml.safe_dump(content)):
        assert name in matrix


@pytest.mark.parametrize("job", JOBS)
def test_every_path_is_in_the_repository_or_made_by_a_step(job: str) -> None:
    made = {line.rstrip("/") for line in GITIGNORE if line.endswith("/")} | {"dist"}
    for command in runs(job):
        for word in shlex.split(command):
            if re.fullmatch(r"[\w.-]+(/[\w.*-]+)+", word) and word.split("/")[0] not in made:
                assert (ROOT / word).exists(), command


@pytest.mark.parametrize("job", JOBS)
def test_every_module_is_the_package_s_or_was_installed(job: str) -> None:
    extras: set[str] = set()
    for command in runs(job):
        for listed in re.findall(r'"\.\[([\w,]+)\]"', command):
            extras |= set(listed.split(","))
        for module in re.findall(r"python -m (\S+)", command):
            if module.startswith("tensorplay_ref"):
                assert importlib.util.find_spec(module), command
            else:
                needed = BROUGHT[module]
                assert needed is None or needed in extras, command
    assert extras <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("job", JOBS)
def test_what_is_uploaded_is_what_a_step_made(job: str) -> None:
    said = " ".join([*runs(job), *map(str, JOBS[job].get("env", {}).values())])
    for step in JOBS[job]["steps"]:
        if "upload-artifact" in step.get("uses", ""):
            assert step["with"]["path"] in said


def test_the_site_is_made_as_the_readme_says() -> None:
    for command in runs("site-and-teaching")[:2]:
        assert f"\n{command}\n" in README


def test_the_recipe_of_the_readme_takes_the_same_actions() -> None:
    (recipe,) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    used = {step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step}
    assert {step["uses"] for step in yaml.safe_load(recipe) if "uses" in step} <= used
