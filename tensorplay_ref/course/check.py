"""Self-checks of the exercises: `check("05.context_manager", SavedTensorHooks)` says how it is.

A check runs what the reader built beside the package and reports the first difference in words. It
never raises (unless strict), so an unsolved or broken exercise does not stop Run All; its result is
the last line of a cell:

    ok 7/7                                                   everything agrees
    not yet (your turn: SavedTensorHooks.__enter__)          NotImplementedError, or `...` left open
    wrong 5/7: unpack called once, expected twice (slot 0)   the first difference

With `strict=True`, or with TENSORPLAY_REF_STRICT=1 in the environment, everything but "ok" raises
`CheckFailed`.

**Adding an exercise.** Notebook NN has its checks in `checks/notebook_NN.py` (a long one is cut
into `notebook_NN_topic.py`), loaded at the first `check("NN....")`. An exercise is a contract and a
list of cases. A case is a function that gets what was handed to `check`, runs it beside the package
and raises `Difference` by calling the comparisons of `compare.py`; its docstring is the half
sentence shown when the build raises. No answer stands in a case: what is expected is computed with
the package::

    square = Exercise(
        "05.square",
        contract="`square(x)` multiplies a tensor by itself.",
        difficulty=1,
        minutes=5,
        takes=("square",),
    )

    @square.case
    def values(square: Any) -> None:
        '''the values of a square'''
        x = tp.tensor([1.0, 2.0])
        with unchanged(x=x):
            same_values(square(x), x * x, "square(x)")

The worked notebook shows `exercise.heading()` word for word above the exercise and calls
`check("05.square", square)` below it (tests compare them). What the lesson itself builds, with no
part for the reader to write, is compared in the same way by a `Step`, which has no heading.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from .compare import Difference

Status = Literal["ok", "wrong", "not yet"]
Case = Callable[..., None]

STRICT = "TENSORPLAY_REF_STRICT"
_CHECKS = f"{__package__}.checks"
_LONGEST = 300
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+|0x[0-9a-fA-F]{6,}")


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check found; its repr is one line, the same on every machine.

    Attributes:
        id: the exercise.
        status: "ok", "wrong" or "not yet".
        passed, total: how many cases agree with the package, and how many there are.
        message: the first difference in words; empty when there is none.
    """

    id: str
    status: Status
    passed: int
    total: int
    message: str = ""

    def __repr__(self) -> str:
        if self.status == "not yet":
            return f"not yet ({self.message})" if self.message else "not yet"
        count = f"{self.status} {self.passed}/{self.total}"
        return f"{count}: {self.message}" if self.message else count

    def __bool__(self) -> bool:
        return self.status == "ok"


class CheckFailed(AssertionError):
    """A strict check that is not ok; `verdict` tells what was found."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"{verdict.id}: {verdict!r}")
        self.verdict = verdict


@dataclass
class Step:
    """Something that a lesson builds, and the cases that compare it with the package.

    Attributes:
        id: "NN.name", where NN is the number of the notebook.
        contract: one sentence that says what the build does.
        takes: what `check` is handed after the id, named as in the notebook.
        cases: functions of these; each agrees, or raises and tells the difference.

    Errors: ValueError for an id that is malformed or taken.
    """

    id: str
    contract: str
    _: KW_ONLY
    takes: tuple[str, ...]
    cases: list[Case] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d\d\.[a-z][a-z0-9_]*", self.id):
            raise ValueError(f"what is checked is called 'NN.name', found {self.id!r}")
        if self.id in _registry:
            raise ValueError(f"two checks are called {self.id}")
        _registry[self.id] = self

    def case(self, function: Case) -> Case:
        """Add a case; its docstring says in words what is tried."""
        if not function.__doc__:
            raise ValueError(f"{self.id}: case {function.__name__} has no docstring")
        self.cases.append(function)
        return function


@dataclass
class Exercise(Step):
    """A step that the reader writes, in a function or as a prediction.

    Attributes:
        difficulty: from 1 to 5.
        minutes: how long it takes, about.

    Errors: ValueError also for a difficulty out of range.
    """

    _: KW_ONLY
    difficulty: int
    minutes: int

    def __post_init__(self) -> None:
        if self.difficulty not in range(1, 6):
            raise ValueError(f"{self.id}: difficulty is from 1 to 5, found {self.difficulty}")
        super().__post_init__()

    def heading(self) -> str:
        """The Markdown that stands above the exercise in its notebook."""
        return (
            f"**Exercise `{self.id}`** · difficulty {self.difficulty} of 5 · "
            f"about {self.minutes} minutes\n\n{self.contract}"
        )


_registry: dict[str, Step] = {}


def check(exercise: str, *submission: Any, strict: bool | None = None) -> Verdict:
    """Compare what the reader built with the package.

    Args:
        exercise: the id, such as "05.context_manager".
        submission: what the exercise takes, usually one function or class.
        strict: raise CheckFailed unless ok; None asks the environment variable.

    Errors: CheckFailed when strict. Otherwise none, whatever the build does; an interrupt from the
    keyboard goes through.
    """
    verdict = _judge(exercise, submission)
    if strict is None:
        strict = os.environ.get(STRICT, "0") not in ("", "0")
    if strict and verdict.status != "ok":
        raise CheckFailed(verdict)
    return verdict


def steps(notebook: str | None = None) -> list[Step]:
    """All that is checked, exercises too, or that of one notebook ("05"), in reading order."""
    _load(notebook or "")
    # Sorting keeps the order within a notebook.
    found = sorted(_registry.values(), key=lambda step: step.id[:2])
    return [step for step in found if notebook in (None, step.id[:2])]


def exercises(notebook: str | None = None) -> list[Exercise]:
    """All exercises, or those of one notebook ("05"), in reading order."""
    return [step for step in steps(notebook) if isinstance(step, Exercise)]


def _load(notebook: str) -> None:
    """Import the modules `notebook_NN...` of a notebook, in the order of their names."""
    checks = importlib.import_module(_CHECKS)
    for module in sorted(module.name for module in pkgutil.iter_modules(checks.__path__)):
        if module.startswith(f"notebook_{notebook}"):
            importlib.import_module(f"{_CHECKS}.{module}")


def _judge(name: str, submission: tuple[Any, ...]) -> Verdict:
    notebook = str(name).split(".")[0]
    _load(notebook)
    step = _registry.get(name)
    if step is None:
        known = ", ".join(other for other in _registry if other.split(".")[0] == notebook)
        there = f"notebook {notebook} has {known}" if known else "is the number right?"
        return Verdict(str(name), "wrong", 0, 0, f"there is no exercise {name!r}; {there}")
    total = len(step.cases)
    if len(submission) != len(step.takes):
        call = ", ".join((repr(name), *step.takes))
        return Verdict(name, "wrong", 0, total, f"call it like this: check({call})")
    if any(map(_is_open, submission)):
        return Verdict(name, "not yet", 0, total)
    passed = 0
    first: Verdict | None = None
    for case in step.cases:
        status, message = _run(case, submission)
        passed += status == "ok"
        if status != "ok" and first is None:
            first = Verdict(name, status, 0, total, message)
            if status == "not yet":
                break
    if first is None:
        return Verdict(name, "ok", passed, total)
    return Verdict(name, first.status, passed, total, first.message)


def _is_open(part: Any) -> bool:
    """Whether something handed in is still `...`, itself or one of its items."""
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, (list, tuple)):
        return any(item is ... for item in part)
    return part is ...


def _run(case: Case, submission: Iterable[Any]) -> tuple[Status, str]:
    """One case, in a copy of the context: hooks or modes a build leaves on end with it."""
    tried = " ".join((case.__doc__ or "").split())
    try:
        copy_context().run(case, *submission)
    except Difference as difference:
        return "wrong", _one_line(str(difference))
    except NotImplementedError as stub:
        return "not yet", _one_line(str(stub))
    except KeyboardInterrupt:
        raise
    except RecursionError:
        return "wrong", f"it calls itself without end, a RecursionError (tried: {tried})"
    except BaseException as error:
        said = f"{type(error).__name__}: {_text(error)}".rstrip(": ")
        return "wrong", f"{_one_line(said)} (tried: {tried})"
    return "ok", ""


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _one_line(text: str) -> str:
    line = _ADDRESS.sub("", " ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
