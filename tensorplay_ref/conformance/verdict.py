"""Comparing an outcome with what is recorded about an implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .running import Outcome
from .statement import (
    RECORDED_VERSIONS,
    REFERENCE,
    Absence,
    Difference,
    Statement,
)

Judgement = Literal["agreed", "differs", "not offered", "FAILS"]


@dataclass(frozen=True)
class Verdict:
    """The judgement on one statement and implementation, and one line that explains it."""

    judgement: Judgement
    line: str = ""


def judge(statement: Statement, implementation: str, outcome: Outcome) -> Verdict:
    """Whether an outcome is what the records say.

    A recorded difference must still show (unless it is a race, which shows now and then): an
    implementation that has come to agree is a failure of the record. An implementation without any
    records may lack names, the reference may not.
    """
    known = statement.known_about(implementation)
    if outcome.status == "no accelerator" and implementation != REFERENCE:
        return Verdict("not offered", outcome.detail)
    if outcome.status == "agreed":
        if known is None:
            return Verdict("agreed")
        if isinstance(known, Difference) and known.sometimes:
            return Verdict("differs", known.instead)
        recorded = known.instead if isinstance(known, Difference) else f"lacks {known.name}"
        return Verdict("FAILS", f"agrees now, remove the record: {recorded}")
    if outcome.status == "absent":
        if isinstance(known, Absence) and known.name == outcome.detail:
            return Verdict("not offered", outcome.detail)
        if implementation not in (*RECORDED_VERSIONS, REFERENCE):
            return Verdict("not offered", outcome.detail)
        return Verdict("FAILS", f"not offered: {outcome.detail}")
    if isinstance(known, Difference) and known.shows in outcome.detail:
        return Verdict("differs", known.instead)
    if isinstance(known, Difference):
        return Verdict("FAILS", f"differs in another way than recorded: {outcome.detail}")
    return Verdict("FAILS", outcome.detail)


def recorded_version(implementation: str, version: str) -> bool:
    """Whether the records were measured on this version of the implementation."""
    series = RECORDED_VERSIONS.get(implementation)
    return series is None or version == series or version.startswith((series + ".", series + "+"))
