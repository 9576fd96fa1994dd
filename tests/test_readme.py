"""The README's commands are the ones that CI runs and that the project can carry out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
SET_UP = "python3 -m venv .venv && . .venv/bin/activate && "


def blocks(language: str) -> list[str]:
    return [block.strip() for block in re.findall(rf"```{language}\n(.*?)```", README, re.S)]


def one_line_with(word: str, language: str) -> str:
    (line,) = [block for block in blocks(language) if word in block]
    assert "\n" not in line
    return line


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = one_line_with("pytest", "sh")
    assert command.startswith(SET_UP)
    (line,) = [line for line in CI.splitlines() if "-m pytest" in line]
    assert line.strip() == command.removeprefix(SET_UP)


def test_both_commands_set_up_the_same_environment() -> None:
    lab = one_line_with("jupyter lab", "sh")
    assert lab.startswith(SET_UP + 'python -m pip install --quiet -e ".[lab]" && ')
    assert lab.endswith("jupyter lab notebooks/00_start_here.ipynb")


@pytest.mark.parametrize("word", ["jupyter lab", "pytest"])
def test_windows_runs_the_same_commands(word: str) -> None:
    command = one_line_with(word, "sh").removeprefix(SET_UP)
    windows = one_line_with(word, "powershell").replace(".venv\\Scripts\\", "")
    assert windows == "py -m venv .venv; " + command.replace(" && ", "; ")


def test_the_commands_of_the_course_exist() -> None:
    (block,) = [block for block in blocks("sh") if "tensorplay_ref.course" in block]
    for line in block.splitlines():
        words = line.split("#")[0].split()
        assert words[0] == "python"
        run = subprocess.run(
            [sys.executable, *words[1:], "--help"], cwd=ROOT, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        assert "--check" in run.stdout


@pytest.mark.skipif(not (ROOT / "notebooks").exists(), reason="the course has no notebook yet")
def test_every_place_the_readme_names_is_there() -> None:
    places = re.findall(r"^\| `([^`]+)` \|", README, re.M)
    assert len(places) == 5
    assert [place for place in places if not (ROOT / place).is_dir()] == []


def test_ci_is_executable_and_stops_at_the_first_failure() -> None:
    assert CI.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in CI
    for tool in ("ruff check", "ruff format --check", "mypy --strict tensorplay_ref"):
        assert f"\n{tool}\n" in CI
