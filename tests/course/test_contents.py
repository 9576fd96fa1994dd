"""The map of the course says what the notebooks say."""

from pathlib import Path

import pytest

from tensorplay_ref.course.check import exercises
from tensorplay_ref.course.contents import contents
from tensorplay_ref.course.notebook_file import notebooks_folder, worked_notebooks
from tests.tiny_notebook import text, write

FIRST = """# 97 · A title

**The question.** Why?

**You will build** a thing.

About 65 minutes, half of them for the exercises."""


def test_a_notebook_is_read_from_its_first_cell(tmp_path: Path) -> None:
    write(tmp_path / "00_map.ipynb", text("# 00"))
    write(tmp_path / "97_a.ipynb", text(FIRST))
    write(tmp_path / "98_b.ipynb", text(FIRST.replace("97", "98")))
    shown = contents(tmp_path)
    assert [entry.number for entry in shown.entries] == ["97", "98"]
    assert shown.entries[0].builds == "a thing."
    assert shown.minutes == 130
    assert repr(shown).splitlines() == [
        "97 A title: 65 minutes, 0 exercises",
        "98 A title: 65 minutes, 0 exercises",
        "together 2 h 10 min",
    ]
    row = "| [97 · A title](97_a.ipynb) | Why? | a thing. | 65 min, 0 exercises |"
    assert row in shown._repr_markdown_()


def test_a_path_keeps_its_own_order(tmp_path: Path) -> None:
    write(tmp_path / "97_a.ipynb", text(FIRST))
    write(tmp_path / "98_b.ipynb", text(FIRST))
    path = contents(tmp_path).path("98", "97")
    assert [entry.number for entry in path.entries] == ["98", "97"]
    with pytest.raises(ValueError, match="no notebook '42', only 97, 98"):
        contents(tmp_path).path("42")


@pytest.mark.parametrize("part", ["A title", "The question", "You will build", "About"])
def test_a_missing_part_is_named(tmp_path: Path, part: str) -> None:
    source = "\n".join(line for line in FIRST.splitlines() if part not in line)
    write(tmp_path / "97_a.ipynb", text(source))
    with pytest.raises(ValueError, match=r"97_a\.ipynb does not say its"):
        contents(tmp_path)


def test_an_empty_folder_has_no_map(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no notebook"):
        contents(tmp_path)


def test_every_worked_notebook_is_on_the_map() -> None:
    shown = contents(notebooks_folder())
    files = [path.name for path in worked_notebooks() if not path.name.startswith("00_")]
    assert [entry.file for entry in shown.entries] == files
    assert sum(entry.exercises for entry in shown.entries) == len(exercises())
