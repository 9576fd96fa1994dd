"""The README's commands are the ones that CI runs and that the project can carry out."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tensorplay_ref.conformance import RECORDED_VERSIONS, TOPICS, Difference, suite
from tensorplay_ref.course import address
from tensorplay_ref.course.cover import cover
from tensorplay_ref.course.grade_page import VERDICTS
from tensorplay_ref.course.limits import Limits
from tensorplay_ref.course.notebook_file import RELATIVE_LINK
from tensorplay_ref.course.readme import PICTURE, course_table, part, picture_line, with_part
from tests.tiny_notebook import code, result, write

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
    command = one_line_with("-n 2", "sh")
    assert command.startswith(SET_UP)
    (line,) = [line for line in CI.splitlines() if "-m pytest" in line]
    assert line.strip() == command.removeprefix(SET_UP)


def test_both_commands_set_up_the_same_environment() -> None:
    lab = one_line_with("jupyter lab", "sh")
    assert lab.startswith(SET_UP + 'python -m pip install --quiet -e ".[lab]" && ')
    assert lab.endswith("jupyter lab notebooks/00_start_here.ipynb")


@pytest.mark.parametrize("word", ["jupyter lab", "-n 2"])
def test_windows_runs_the_same_commands(word: str) -> None:
    command = one_line_with(word, "sh").removeprefix(SET_UP)
    windows = one_line_with(word, "powershell").replace(".venv\\Scripts\\", "")
    assert windows == "py -m venv .venv; " + command.replace(" && ", "; ")


def test_the_commands_of_the_course_exist() -> None:
    (block,) = [block for block in blocks("sh") if "course refresh" in block]
    for line in block.splitlines():
        words = line.split("#")[0].split()
        assert words[0] == "python"
        run = subprocess.run(
            [sys.executable, *words[1:], "--help"], cwd=ROOT, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        assert "--check" in run.stdout


GUIDE = (ROOT / "notebooks" / "for_teachers.md").read_text(encoding="utf-8")


def test_the_browser_is_started_as_in_ci() -> None:
    (block,) = [block for block in blocks("sh") if "tests/e2e" in block]
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    for command in block.splitlines():
        assert f"- run: {command}\n" in workflow


def test_the_guide_and_the_readme_grade_alike() -> None:
    command = one_line_with("course grade", "sh")
    assert f"```sh\n{command}\n```" in GUIDE
    run = subprocess.run(
        [sys.executable, *command.split()[1:4], "--help"], cwd=ROOT, capture_output=True, text=True
    )
    usual = Limits()
    for number, unit in (
        (f"{usual.seconds:g}", "seconds"),
        (f"{usual.cell_seconds:g}", "for a cell"),
        (f"{usual.megabytes:,}", "megabytes"),
    ):
        assert f"{number} {unit}" in GUIDE.replace("\n", " ")
        assert f"({number.replace(',', '')})" in run.stdout
    assert set(re.findall(r"^\| `([a-z ]+?)(?: \d/\d)?` \|", GUIDE, re.M)) == set(VERDICTS)


COURSE_COMMANDS = re.findall(r"^python (-m tensorplay_ref\.course \w+)(.*)$", GUIDE, re.M)


@pytest.mark.parametrize(("command", "rest"), COURSE_COMMANDS)
def test_the_commands_of_the_guide_exist(command: str, rest: str) -> None:
    run = subprocess.run(
        [sys.executable, *command.split(), "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for option in re.findall(r"--\w+", rest):
        assert option in run.stdout
    for notebook in re.findall(r"\S+\.ipynb", rest):
        assert (ROOT / notebook).is_file()


def test_the_guide_names_the_options_that_slides_have() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tensorplay_ref.course", "slides", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    offered = set(re.findall(r"--\w+", run.stdout)) - {"--help", "--to"}
    assert offered == {"--reveal", "--require", "--mathjax"}
    assert all(f"`{option}`" in GUIDE for option in offered)


@pytest.mark.parametrize("page", ["README.md", "notebooks/for_teachers.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    path = ROOT / page
    targets = RELATIVE_LINK.findall(path.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.skipif(not (ROOT / "notebooks").exists(), reason="the course has no notebook yet")
def test_every_place_the_readme_names_is_there() -> None:
    places = re.findall(r"^\| `([^`]+)` \|", README, re.M)
    assert len(places) == 6
    assert [place for place in places if not (ROOT / place).is_dir()] == []


def test_the_code_prints_what_stands_below_it() -> None:
    (example,), (shown,) = blocks("python"), blocks("text")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=ROOT,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == shown


def test_the_badges_are_those_of_the_address_in_pyproject() -> None:
    assert part(README, "badges") == address.badges(), AGAIN
    # What is made from the address stands in two parts; nothing else names it.
    rest = with_part(with_part(README, "badges", ""), "course", "")
    assert address.repository().split("/")[-2] not in rest


AGAIN = "run: python -m tensorplay_ref.course readme"


def test_the_course_table_is_that_of_the_notebooks() -> None:
    assert part(README, "course") == course_table(), AGAIN


def test_the_picture_is_there_and_its_numbers_are_fresh() -> None:
    picture = cover()
    assert part(README, "picture") == picture_line(picture.alt), AGAIN
    png = (ROOT / PICTURE).read_bytes()
    # The first chunk of a PNG says its size.
    assert png[:8] == picture.png[:8]
    assert png[16:24] == picture.png[16:24], AGAIN


def test_a_part_that_is_missing_is_named() -> None:
    text = "a\n<!-- made: one -->\nold\n<!-- end -->\nz"
    assert with_part(text, "one", "new") == text.replace("old", "new")
    with pytest.raises(ValueError, match="no part 'two'"):
        with_part(text, "two", "new")


def counts(cell: str) -> Counter[str]:
    return Counter({what: int(number) for number, what in re.findall(r"(\d+) (\D+?)(?:,|$)", cell)})


def test_the_conformance_table_is_that_of_the_statements() -> None:
    # That this package agrees with each is tests/conformance/test_statements.py, and so is that
    # the recorded differences still show, where PyTorch and TensorPlay are installed.
    head, _, *rows = part(README, "conformance").splitlines()
    assert re.findall(r"[A-Za-z_]+ \d[\d.]*\d", head)[1:] == ["PyTorch 2.13.0", "TensorPlay 1.0.0"]
    statements = list(suite().values())
    cells = {row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ")[1:] for row in rows}
    assert list(cells) == [*TOPICS, "all"]
    for topic, (number, reference, *others) in cells.items():
        of_topic = [each for each in statements if topic in (each.topic, "all")]
        assert number == str(len(of_topic)), AGAIN
        assert reference == f"{len(of_topic)} agreed"
        for implementation, cell in zip(RECORDED_VERSIONS, others, strict=True):
            known = [each.known_about(implementation) for each in of_topic]
            found = counts(cell)
            assert found.total() == len(of_topic), AGAIN
            assert found["differs"] == sum(isinstance(each, Difference) for each in known), AGAIN
            assert found["FAILS"] == 0


@pytest.mark.parametrize(("stored", "status"), [("2", 0), ("3", 1)])
def test_the_recipe_for_nbval_compares_outputs(tmp_path: Path, stored: str, status: int) -> None:
    (recipe,) = blocks("yaml")
    command = yaml.safe_load(recipe)[-1]["run"].split()
    (tmp_path / "notebooks").mkdir()
    write(tmp_path / "notebooks" / "sum.ipynb", code("1 + 1", result(stored)))
    run = subprocess.run([sys.executable, *command[1:]], cwd=tmp_path, capture_output=True)
    assert run.returncode == status, run.stdout


def test_ci_is_executable_and_stops_at_the_first_failure() -> None:
    assert CI.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in CI
    for tool in ("ruff check", "ruff format --check", "mypy --strict tensorplay_ref"):
        assert f"\n{tool}\n" in CI
