"""Statements about saved tensors and autograd, checked on this package and on the real ones.

Each statement is one sentence and one small function that checks it through the names that
``tensorplay_ref``, TensorPlay and PyTorch share. Where a real implementation is known to do
something else, the statement carries that as data, and the suite checks that it still does.

``python -m tensorplay_ref.conformance --against torch --against tensorplay`` prints the table;
``--module NAME`` runs the statements on any module that has these names.
"""

from __future__ import annotations

from tensorplay_ref.conformance import statements as _modules
from tensorplay_ref.conformance.api import Api, NoAccelerator, NotOffered
from tensorplay_ref.conformance.isolation import CannotImport, Isolated
from tensorplay_ref.conformance.report import report
from tensorplay_ref.conformance.rules import RULES
from tensorplay_ref.conformance.running import Outcome, run
from tensorplay_ref.conformance.statement import (
    RECORDED_VERSIONS,
    REFERENCE,
    TOPICS,
    Absence,
    Difference,
    Statement,
    collect,
    statement,
)
from tensorplay_ref.conformance.verdict import Verdict, judge, recorded_version

__all__ = [
    "RECORDED_VERSIONS",
    "REFERENCE",
    "RULES",
    "TOPICS",
    "Absence",
    "Api",
    "CannotImport",
    "Difference",
    "Isolated",
    "NoAccelerator",
    "NotOffered",
    "Outcome",
    "Statement",
    "Verdict",
    "judge",
    "recorded_version",
    "report",
    "run",
    "statement",
    "suite",
]


def suite() -> dict[str, Statement]:
    """All statements by name, in the order of the topics."""
    return collect(_modules)
