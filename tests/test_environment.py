"""environment.yml, pyproject.toml and what is installed say the same."""

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
# conda-forge splits matplotlib: this part needs no window system.
CONDA_NAME = {"matplotlib": "matplotlib-base"}
IN_CONDA = ("lab", "test")


def requirements(extra: str | None) -> Iterator[Requirement]:
    """What the project needs with an extra, extras that it names itself opened."""
    listed = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    for requirement in map(Requirement, listed):
        if canonicalize_name(requirement.name) == PROJECT["name"]:
            for inner in requirement.extras:
                yield from requirements(inner)
        else:
            yield requirement


def bounds(extras: tuple[str | None, ...]) -> dict[str, SpecifierSet]:
    """Package to version bounds; an extra must not contradict another one."""
    found: dict[str, SpecifierSet] = {}
    for extra in extras:
        for requirement in requirements(extra):
            name = canonicalize_name(requirement.name)
            assert found.setdefault(name, requirement.specifier) == requirement.specifier, name
    return found


def conda_bounds() -> dict[str, SpecifierSet]:
    plain = [
        Requirement(line)
        for line in ENVIRONMENT["dependencies"]
        if isinstance(line, str) and line not in ("pip", "python=3.12")
    ]
    return {requirement.name: requirement.specifier for requirement in plain}


def test_conda_has_the_bounds_of_the_project() -> None:
    wanted = bounds((None, *IN_CONDA))
    assert conda_bounds() == {CONDA_NAME.get(name, name): spec for name, spec in wanted.items()}


def test_no_two_extras_contradict_each_other() -> None:
    assert bounds((None, *PROJECT["optional-dependencies"]))


def test_the_environment_installs_the_project_itself() -> None:
    assert ENVIRONMENT.keys() == {"name", "channels", "dependencies"}
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
    assert ENVIRONMENT["dependencies"][-2:] == ["pip", {"pip": ["-e ."]}]


def test_python_is_written_so_that_binder_reads_it() -> None:
    # repo2docker takes only the form "python=X.Y"; for ">=3.11" it builds with its own default.
    assert ENVIRONMENT["dependencies"][0] == "python=3.12"
    assert "3.12" in SpecifierSet(PROJECT["requires-python"])


@pytest.mark.skipif(not importlib.util.find_spec("repo2docker"), reason="needs jupyter-repo2docker")
def test_binder_s_own_tool_reads_the_file() -> None:
    # Without --build it only prints what it would do: no Docker, no network.
    run = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "Building conda environment for python=3.12\n" in said
    # "pip: -e ." needs the whole repository, so it has to be copied before.
    copied = re.search(r"^COPY .*src/ \$\{REPO_DIR\}/$", said, re.M)
    made = re.search(r'env update .* --file "environment.yml"', said)
    assert copied and made and copied.start() < made.start()


def test_numpy_is_all_the_package_needs_at_run_time() -> None:
    assert [requirement.name for requirement in requirements(None)] == ["numpy"]


@pytest.mark.parametrize("name", sorted(bounds((None, "test"))))
def test_what_is_installed_is_within_the_bounds(name: str) -> None:
    assert importlib.metadata.version(name) in bounds((None, "test"))[name]
