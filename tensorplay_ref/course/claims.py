"""Claims of the notebooks about PyTorch and TensorPlay: statements of the conformance suite.

A notebook says nothing about another implementation that the suite does not check. `claims` shows
statements with what is recorded about the others, and runs each on this package first.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..conformance import REFERENCE, Absence, Api, Outcome, Statement, run, suite
from ..inspect.tables import html_table

HEADERS = ("statement", "PyTorch", "TensorPlay")


@dataclass(frozen=True)
class Claims:
    """Statements that hold here, and what the others do, as a table."""

    statements: tuple[Statement, ...]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """For each statement its sentence, what PyTorch and TensorPlay do, and its name."""
        return [
            (each.sentence, _done_by("torch", each), _done_by("tensorplay", each), each.name)
            for each in self.statements
        ]

    def __repr__(self) -> str:
        return "\n".join(
            f"{sentence}\n    {name}\n    PyTorch: {torch}. TensorPlay: {tensorplay}."
            for sentence, torch, tensorplay, name in self.rows()
        )

    def _repr_html_(self) -> str:
        # Without the names, which stand in the cell above: the table has to fit a narrow window.
        return html_table(HEADERS, [row[:3] for row in self.rows()])


def claims(*names: str) -> Claims:
    """The statements with these names, each checked on this package now.

    Errors: ValueError for a name that the suite does not have, AssertionError for a statement that
    does not hold here.
    """
    statements = suite()
    api = Api(REFERENCE)
    for name in names:
        if name not in statements:
            raise ValueError(f"the conformance suite has no statement {name!r}")
        outcome = _run_apart(statements[name], api)
        if outcome.status != "agreed":
            raise AssertionError(f"{name} does not hold here: {outcome.status} {outcome.detail}")
    return Claims(tuple(statements[name] for name in names))


def _run_apart(statement: Statement, api: Api) -> Outcome:
    # In a notebook an event loop runs in this thread already, and statements about tasks start one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, statement, api).result()


def _done_by(implementation: str, statement: Statement) -> str:
    known = statement.known_about(implementation)
    if known is None:
        return "agrees"
    return f"has no {known.name}" if isinstance(known, Absence) else known.instead
