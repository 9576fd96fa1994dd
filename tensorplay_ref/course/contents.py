"""The map of the course, read from the notebooks themselves and from their exercises.

Every notebook begins with a cell of one form: "# NN · Title", "**The question.** …", "**You will
build** …", "About N minutes". What stands there is what the map shows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .check import exercises

_PARTS = {
    "title": r"^# \d\d · (.+)$",
    "question": r"^\*\*The question\.\*\* (.+)$",
    "builds": r"^\*\*You will build\*\* (.+)$",
    "minutes": r"^About (\d+) minutes",
}


@dataclass(frozen=True)
class Entry:
    """One notebook: its number ("05"), file, title, question, what is built, minutes, exercises."""

    number: str
    file: str
    title: str
    question: str
    builds: str
    minutes: int
    exercises: int


@dataclass(frozen=True)
class Contents:
    """The notebooks of a folder, as a table."""

    entries: tuple[Entry, ...]

    def path(self, *numbers: str) -> Contents:
        """Some of the notebooks, in this order; ValueError for one that is not there."""
        there = {entry.number: entry for entry in self.entries}
        for number in numbers:
            if number not in there:
                raise ValueError(f"there is no notebook {number!r}, only {', '.join(there)}")
        return Contents(tuple(there[number] for number in numbers))

    @property
    def minutes(self) -> int:
        """The minutes of all of them."""
        return sum(entry.minutes for entry in self.entries)

    def __repr__(self) -> str:
        lines = [
            f"{entry.number} {entry.title}: {entry.minutes} minutes, {_count(entry)}"
            for entry in self.entries
        ]
        return "\n".join([*lines, f"together {_hours(self.minutes)}"])

    def _repr_markdown_(self) -> str:
        rows = [
            f"| [{entry.number} · {entry.title}]({entry.file}) | {entry.question} "
            f"| {entry.builds} | {entry.minutes} min, {_count(entry)} |"
            for entry in self.entries
        ]
        head = ["| notebook | the question | you build | time |", "|---|---|---|---|"]
        return "\n".join([*head, *rows, f"| | | | **{_hours(self.minutes)}** |"])


def contents(folder: Path | str = ".") -> Contents:
    """The notebooks in a folder, 00 apart; a notebook's kernel starts in the folder it is in.

    Errors: ValueError for a notebook that does not open with the parts of the map, and when there
    is no notebook.
    """
    entries = tuple(
        _entry(path)
        for path in sorted(Path(folder).glob("[0-9][0-9]_*.ipynb"))
        if not path.name.startswith("00_")
    )
    if not entries:
        raise ValueError(f"there is no notebook in the folder {Path(folder).resolve().name!r}")
    return Contents(entries)


def _entry(path: Path) -> Entry:
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    source = "".join(first["source"])
    found = {}
    for part, pattern in _PARTS.items():
        match = re.search(pattern, source, re.M)
        if match is None:
            raise ValueError(f"{path.name} does not say its {part} in its first cell")
        found[part] = match[1]
    number = path.name[:2]
    minutes = int(found.pop("minutes"))
    count = len(exercises(number))
    return Entry(number=number, file=path.name, minutes=minutes, exercises=count, **found)


def _count(entry: Entry) -> str:
    return f"{entry.exercises} exercise{'' if entry.exercises == 1 else 's'}"


def _hours(minutes: int) -> str:
    return f"{minutes // 60} h {minutes % 60} min"
