"""Running one statement in this process, and what came of it."""

from __future__ import annotations

import gc
import time
import warnings
from dataclasses import dataclass
from typing import Literal

from .api import Api, NoAccelerator, NotOffered
from .statement import Statement

Status = Literal["agreed", "disagreed", "absent", "no accelerator", "died", "hung"]


@dataclass(frozen=True)
class Outcome:
    """What one run of a statement came to.

    ``detail`` is empty for "agreed", the missing name for "absent", and otherwise what went wrong.
    ``clean`` is False when the run left a pair on the hook stack or the grad mode changed.
    """

    status: Status
    detail: str = ""
    seconds: float = 0.0
    clean: bool = True


def run(statement: Statement, api: Api) -> Outcome:
    """Check a statement on an implementation; exceptions become the outcome.

    A statement that passes but leaves grad mode or the hook stack changed is a disagreement.
    """
    before = api.state()
    start = time.perf_counter()
    status, detail = _check(statement, api)
    seconds = time.perf_counter() - start
    gc.enable()
    clean = api.state() == before
    if not clean and status == "agreed":
        status, detail = "disagreed", "the grad mode or the hook stack was left changed"
    return Outcome(status, detail, seconds, clean)


def _check(statement: Statement, api: Api) -> tuple[Status, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statement.check(api)
    except NoAccelerator as error:
        return "no accelerator", str(error)
    except NotOffered as error:
        return "absent", str(error)
    except AttributeError as error:
        if error.obj is not None and api.owns(error.obj):
            return "absent", f"{type(error.obj).__name__}.{error.name}"
        return "disagreed", f"AttributeError: {_line(error)}"
    except AssertionError as error:
        return "disagreed", _line(error)
    except Exception as error:
        return "disagreed", f"{type(error).__name__}: {_line(error)}"
    return "agreed", ""


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400]
