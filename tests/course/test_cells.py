"""A cell of a worked notebook does one thing, in at most fifteen lines of code."""

import json
from pathlib import Path

import pytest

from tensorplay_ref.course.address import CELL_ID

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
MOST = 15


def lines_of_code(source: str) -> int:
    """Lines that are read as code: not the blank ones, not the marks around a solution."""
    lines = (line.strip() for line in source.splitlines())
    return sum(
        bool(line) and not line.endswith(("BEGIN SOLUTION", "END SOLUTION")) for line in lines
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_is_longer_than_a_reader_takes_in(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    lengths = {
        cell["id"]: lines_of_code("".join(cell["source"]))
        for cell in cells
        if cell["cell_type"] == "code" and cell["id"] != CELL_ID
    }
    assert lengths and {name: n for name, n in lengths.items() if n > MOST} == {}
