"""Statements about saved tensors and autograd, checked on this package and on the real ones.

Each statement is one sentence and one small function that checks it through the names that
``tensorplay_ref``, TensorPlay and PyTorch share. Where a real implementation is known to do
something else, the statement carries that as data, and the suite checks that it still does.

``python -m tensorplay_ref.conformance --against torch --against tensorplay`` prints the table;
``--module NAME`` runs the statements on any module that has these names.
"""

from __future__ import annotations

from . import statements as _modules
from .api import Api, NoAccelerator, NotOffered
from .isolation import CannotImport, Isolated
from .report import report
from .rules import RULES
from .running import Outcome, run
from .statement import (
    RECORDED_VERSIONS,
    REFERENCE,
    TOPICS,
    Absence,
    Difference,
    Statement,
    collect,
    statement,
)
from .verdict import Judgement, Verdict, judge, recorded_version

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
    "Judgement",
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
