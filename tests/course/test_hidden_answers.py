"""What a reader is to find out stands nowhere in the notebook that the reader gets."""

import json
import re
from pathlib import Path

from tensorplay_ref.course import timelines

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "exercises" / "11_reading_timelines.ipynb"
# "A" is an article as well; whoever gives five of the six away gives the sixth away, too.
LETTERS = re.compile(r"\b[B-F]\b")


def test_the_exercise_says_of_no_letter_what_it_is() -> None:
    assert set(timelines.answers()) == set("ABCDEF")
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    assert text.count("Six timelines, A to F,") == 1
    assert LETTERS.findall(text.replace("A to F", "")) == []
    assert not any(cell.get("outputs") for cell in cells)
