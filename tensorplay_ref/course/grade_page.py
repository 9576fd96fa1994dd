"""What a teacher reads: the verdicts as a CSV file and as a page in Markdown."""

from __future__ import annotations

import csv as csv_module
import html
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields

# In the order in which a page counts them.
VERDICTS = ("ok", "wrong", "not yet", "stopped", "missing", "unreadable")
_WORTH_SAYING = ("wrong", "stopped", "missing", "unreadable")


@dataclass(frozen=True)
class Grade:
    """The verdict on one exercise of one submission, and the first difference in words.

    ``remark`` is about the whole submission: what was refused, and which cells raised.
    """

    submission: str
    exercise: str
    verdict: str
    passed: int = 0
    cases: int = 0
    difference: str = ""
    remark: str = ""


def csv(grades: Iterable[Grade]) -> str:
    """One row for each submission and exercise."""
    file = io.StringIO()
    writer = csv_module.writer(file, lineterminator="\n")
    writer.writerow(field.name for field in fields(Grade))
    for grade in grades:
        writer.writerow(map(_cell, astuple(grade)))
    return file.getvalue()


def page(grades: Sequence[Grade], left: int = 0) -> str:
    """Who passed what, how each exercise went, the first difference of each, and the remarks.

    ``left`` is how many submissions are not graded yet.
    """
    blocks = ["# Grades"]
    if left:
        blocks.append(f"Not all are graded: {left} {'is' if left == 1 else 'are'} left.")
    blocks += [_overview(grades), "## The exercises", _exercises(grades)]
    blocks += ["## What differed", _differences(grades)]
    if any(grade.remark for grade in grades):
        blocks += ["## What was refused, and which cells raised", _remarks(grades)]
    return "\n\n".join(blocks) + "\n"


def in_short(own: Sequence[Grade]) -> str:
    """One submission in one line: its name and how many exercises got each verdict."""
    counts = Counter(grade.verdict for grade in own)
    said = ", ".join(f"{counts[each]} {each}" for each in VERDICTS if counts[each])
    return f"{own[0].submission}: {said if own[0].exercise else own[0].verdict}"


def _overview(grades: Sequence[Grade]) -> str:
    names = sorted({grade.exercise for grade in grades if grade.exercise})
    found = {(grade.submission, grade.exercise): grade for grade in grades}
    rows = []
    for submission in dict.fromkeys(grade.submission for grade in grades):
        own = [grade for grade in grades if grade.submission == submission]
        passed = sum(grade.verdict == "ok" for grade in own)
        whole = [grade.verdict for grade in own if not grade.exercise]
        cells = [_short(found.get((submission, name))) for name in names]
        rows.append([_text(submission), *(whole or [f"{passed} of {len(own)}"]), *cells])
    return _table(["submission", "passed", *names], rows)


def _short(grade: Grade | None) -> str:
    if grade is None:
        return ""
    return f"wrong {grade.passed}/{grade.cases}" if grade.verdict == "wrong" else grade.verdict


def _exercises(grades: Sequence[Grade]) -> str:
    rows = []
    for name in sorted({grade.exercise for grade in grades if grade.exercise}):
        own = [grade for grade in grades if grade.exercise == name]
        counts = Counter(grade.verdict for grade in own)
        said = Counter(grade.difference for grade in own if grade.verdict == "wrong")
        often = said.most_common(1)[0][0] if said else ""
        rows.append([name, *(str(counts[each]) for each in VERDICTS[:-1]), _text(often)])
    return _table(["exercise", *VERDICTS[:-1], "the most frequent difference"], rows)


def _differences(grades: Sequence[Grade]) -> str:
    rows = [
        [_text(grade.submission), grade.exercise, _short(grade), _text(grade.difference)]
        for grade in grades
        if grade.verdict in _WORTH_SAYING
    ]
    if not rows:
        return "Nothing did."
    return _table(["submission", "exercise", "verdict", "first difference"], rows)


def _remarks(grades: Sequence[Grade]) -> str:
    said = {grade.submission: grade.remark for grade in grades if grade.remark}
    return _table(["submission", "remark"], [list(map(_text, row)) for row in said.items()])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(said: str) -> str:
    """A submission's own words, so that they neither end the cell nor are taken as markup."""
    plain = html.escape(" ".join(said.split()), quote=False)
    for mark in "\\`*_[]|":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def _cell(value: object) -> object:
    """A value that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple("=+-@\t")) else value
