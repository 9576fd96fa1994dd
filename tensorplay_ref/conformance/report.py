"""The table of topics and implementations, as text or as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from .rules import RULES, Rule
from .statement import TOPICS, Statement
from .verdict import Judgement, Verdict

JUDGEMENTS: Final[tuple[Judgement, ...]] = ("agreed", "differs", "not offered", "FAILS")

_LABELS: Final = {"differs": "does", "not offered": "lacks", "FAILS": "found"}

Results = Mapping[str, Mapping[str, Verdict]]
"""For each implementation, the verdict on each statement."""


def report(statements: Mapping[str, Statement], results: Results, *, markdown: bool = False) -> str:
    """The counts by topic, every verdict other than "agreed", the rules that these name, and what
    each implementation lacks.
    """
    blocks = [_table(statements, results, markdown)]
    named: set[Rule] = set()
    for implementation, verdicts in results.items():
        lines = [
            _line(statements[name], verdict, markdown)
            for name, verdict in _not_agreed(verdicts).items()
        ]
        named.update(statements[name].rule for name in _not_agreed(verdicts))
        if lines:
            blocks.append("\n".join([_title(implementation, markdown), *lines]))
    if named:
        bullet = "-" if markdown else " "
        lines = [f"{bullet} {rule}: {text}" for rule, text in RULES.items() if rule in named]
        blocks.append("\n".join([_title("The rules that are named above", markdown), *lines]))
    for implementation, verdicts in results.items():
        if lacking := _lacking(verdicts, markdown):
            title = f"What {implementation} lacks, and how many statements need it"
            blocks.append("\n".join([_title(title, markdown), *lacking]))
    return "\n\n".join(blocks)


def _lacking(verdicts: Mapping[str, Verdict], markdown: bool) -> list[str]:
    """The missing names, the most wanted first."""
    counts = Counter(each.line for each in verdicts.values() if each.judgement == "not offered")
    if markdown:
        return [f"- `{name}`: {count}" for name, count in counts.most_common()]
    return [f"  {count:>4}  {name}" for name, count in counts.most_common()]


def _title(text: str, markdown: bool) -> str:
    return f"## {text}\n" if markdown else text


def _not_agreed(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    return {name: each for name, each in verdicts.items() if each.judgement != "agreed"}


def _line(statement: Statement, verdict: Verdict, markdown: bool) -> str:
    if markdown:
        return (
            f"- **{verdict.judgement}** `{statement.name}` (rule: {statement.rule}): "
            f"{statement.sentence} *{verdict.line}*"
        )
    return (
        f"  {verdict.judgement:<11} {statement.name} (rule: {statement.rule})\n"
        f"              states  {statement.sentence}\n"
        f"              {_LABELS[verdict.judgement]:<7} {verdict.line}"
    )


def _table(statements: Mapping[str, Statement], results: Results, markdown: bool) -> str:
    head = ["topic", "statements", *results]
    rows = []
    for topic in TOPICS:
        names = [name for name, each in statements.items() if each.topic == topic]
        if names:
            rows.append([topic, str(len(names)), *_cells(names, results)])
    rows.append(["all", str(len(statements)), *_cells(list(statements), results)])
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    edge, gap = ("| ", " | ") if markdown else ("", "  ")
    end = " |" if markdown else ""

    def line(row: list[str]) -> str:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        return (edge + gap.join(cells) + end).rstrip()

    rule = line(["-" * width for width in widths])
    return "\n".join([line(head), rule, *(line(row) for row in rows)])


def _cells(names: list[str], results: Results) -> list[str]:
    cells = []
    for verdicts in results.values():
        counts = Counter(verdicts[name].judgement for name in names)
        shown = [f"{counts[each]} {each}" for each in JUDGEMENTS if counts[each]]
        cells.append(", ".join(shown))
    return cells
