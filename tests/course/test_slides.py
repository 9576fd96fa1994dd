"""Slides of a notebook: where they begin, what stays together, and what a teacher set by hand."""

import importlib.util
from pathlib import Path

import pytest

from tensorplay_ref.course.__main__ import main
from tensorplay_ref.course.notebook_file import read, worked_notebooks
from tensorplay_ref.course.slides import mark_slides
from tests.tiny_notebook import code, notebook, printed, shown, text, write

needs_nbconvert = pytest.mark.skipif(
    not importlib.util.find_spec("nbconvert"), reason="needs nbconvert"
)


def types(*cells: object) -> list[tuple[str, str]]:
    made = notebook(*cells)
    mark_slides(made)
    return [
        (cell.source, cell.metadata.get("slideshow", {}).get("slide_type", ""))
        for cell in made.cells
    ]


def test_headings_begin_slides_and_code_stays_with_its_text() -> None:
    assert types(text("# Title\n\nWords."), code("x = 1"), text("More."), code("y = 2")) == [
        ("# Title\n\nWords.", "slide"),
        ("x = 1", ""),
        ("More.", "subslide"),
        ("y = 2", ""),
    ]


def test_the_words_before_a_heading_stay_with_their_section() -> None:
    assert types(text("# Title"), text("So it was.\n\n## 2 · Next\n\nWhy?\n\n### Part")) == [
        ("# Title", "slide"),
        ("So it was.\n\n", "-"),
        ("## 2 · Next\n\nWhy?\n\n### Part", "slide"),
    ]


def test_what_a_teacher_set_stays() -> None:
    notes = text("## Tell them.")
    notes.metadata["slideshow"] = {"slide_type": "notes"}
    assert types(text("# Title"), notes)[1] == ("## Tell them.", "notes")


def test_a_diagram_keeps_its_text_form() -> None:
    made = notebook(code("x", shown({"text/vnd.mermaid": "graph", "text/plain": "a table"})))
    mark_slides(made)
    assert made.cells[0].outputs[0].data == {"text/plain": "a table"}


@needs_nbconvert
def test_the_command_makes_a_page(tmp_path: Path) -> None:
    path = write(
        tmp_path / "05_hooks.ipynb",
        text("# Hooks"),
        code("print('kept')", printed("kept\n")),
        text("## Next\n\nWords."),
        text("One step down."),
    )
    before = path.read_bytes()
    words = ["slides", str(path), "--to", str(tmp_path / "out"), "--reveal", "my/reveal"]
    assert main(words) == 0
    page = (tmp_path / "out" / "05_hooks.slides.html").read_text(encoding="utf-8")
    # A column for each slide, and in it a section for each step.
    assert page.count("<section>") == 2 + 3
    assert "kept" in page and "my/reveal/dist" in page and "unpkg" not in page
    assert path.read_bytes() == before


@needs_nbconvert
def test_what_is_no_notebook_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.ipynb").write_text("{", encoding="utf-8")
    assert main(["slides", str(tmp_path / "a.ipynb"), "--to", str(tmp_path)]) == 1
    assert "a.ipynb is not a notebook" in capsys.readouterr().err


@needs_nbconvert
def test_a_place_that_cannot_be_read_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("# Words", encoding="utf-8")
    for place, said in ((tmp_path / "page.md", "is not JSON"), (tmp_path, ""), ("none.ipynb", "")):
        try:
            status = main(["slides", str(place), "--to", str(tmp_path / "out")])
        except SystemExit as stop:
            status = stop.code
        assert status == 1
        printed = capsys.readouterr().err
        assert said in printed and Path(place).name in printed


@pytest.mark.parametrize("path", worked_notebooks(), ids=lambda path: path.stem)
def test_no_slide_of_the_course_is_the_cell_for_colab(path: Path) -> None:
    made = read(path)
    mark_slides(made)
    assert [
        cell.id for cell in made.cells if cell.metadata.get("slideshow") == {"slide_type": "skip"}
    ] == ["colab"]
    assert (
        sum(cell.metadata.get("slideshow", {}).get("slide_type") == "slide" for cell in made.cells)
        > 3
    )
