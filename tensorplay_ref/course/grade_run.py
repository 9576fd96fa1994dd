"""Running one submission, in a process of its own that `grade` starts and may end.

The job comes as JSON on standard input, the verdicts go as lines of JSON to standard output as soon
as they are there, so that a crash loses none. What the submission prints goes nowhere.

Every exercise is judged by the course's own check, with the cases, the budget and the like that it
had before the submission ran, whatever the submission does to the name `check`. The last verdict on
an exercise counts. An exercise that is checked in no cell is judged at the end by the names that
its check takes.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import tensorplay_ref.course
from tensorplay_ref.course import Verdict, check, grade_fence
from tensorplay_ref.course.check import exercises

Tell = Callable[..., None]
_LONGEST = 200
_JUDGING = tuple(
    f"tensorplay_ref.course.{name}" for name in ("capstone", "checks", "compare", "timelines")
)


class Judge:
    """The exercises of some notebooks, judged and told one by one."""

    def __init__(self, numbers: list[str], tell: Tell) -> None:
        self.exercises = {each.id: each for number in numbers for each in exercises(number)}
        self.cases = {name: tuple(each.cases) for name, each in self.exercises.items()}
        judging = [sys.modules[name] for name in sorted(sys.modules) if name.startswith(_JUDGING)]
        self.names = [(vars(module), dict(vars(module))) for module in judging]
        self.told: set[str] = set()
        self.tell = tell

    def __call__(self, name: str, *submission: Any, strict: bool | None = None) -> Any:
        """Stand in for `check`: the verdict, told to the grader if it is about an exercise."""
        # What is to be called later is looked up now: a submission may change any module.
        if name in self.cases:
            self.exercises[name].cases[:] = self.cases[name]
        try:
            with self._names_as_they_were():
                verdict = check(name, *submission, strict=False)
        except grade_fence.TookTooLong as error:
            # Most are caught by a case; this one came between two.
            verdict = Verdict(name, "wrong", 0, len(self.cases.get(name, ())), str(error))
        if name in self.cases:
            self.told.add(name)
            self.tell(
                exercise=name,
                verdict=verdict.status,
                passed=verdict.passed,
                cases=verdict.total,
                difference=verdict.message,
            )
        return verdict

    @contextlib.contextmanager
    def _names_as_they_were(self) -> Iterator[None]:
        """What checks are made of; a submission may have set the capstone's budget, for one."""
        now = [(names, dict(names)) for names, _ in self.names]
        for names, before in self.names:
            names.update(before)
        try:
            yield
        finally:
            for names, found in now:
                names.update(found)

    def rest(self, namespace: dict[str, Any]) -> None:
        """Judge by their names the exercises that no cell checked."""
        for name, exercise in self.exercises.items():
            if name not in self.told and all(part in namespace for part in exercise.takes):
                self(name, *(namespace[part] for part in exercise.takes))


def checked(source: str) -> Iterator[tuple[str, list[ast.expr]]]:
    """The calls check("NN.name", …) in a cell, with what they hand over."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            named = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if node.func.id == "check" and named:
                yield ast.literal_eval(first), node.args[1:]


def run(sources: list[str], judge: Judge, seconds: float) -> None:
    """Run the cells in order, each for so many seconds at most, and judge what they check."""
    shell = InteractiveShell.instance()
    tensorplay_ref.course.check = judge  # type: ignore[assignment]
    for number, source in enumerate(sources, 1):
        judge.tell(cell=number)
        earlier, judge.told = judge.told, set()
        with _guarded(seconds):
            result = shell.run_cell(source)  # type: ignore[no-untyped-call]
            if error := result.error_before_exec or result.error_in_exec:
                judge.tell(cell=number, raised=in_words(error))
        for name, parts in checked(source):
            if name not in judge.told:
                with _guarded(seconds):
                    _judge_parts(judge, name, parts, shell.user_ns)
        judge.told |= earlier
    with _guarded(seconds):
        judge.rest(shell.user_ns)


def in_words(error: BaseException) -> str:
    """What a cell ended with, in one line."""
    if isinstance(error, grade_fence.TookTooLong):
        return str(error)
    said = str(error)
    if isinstance(error, SyntaxError):
        said = f"{error.msg} (line {error.lineno})"
    line = " ".join(f"{type(error).__name__}: {said}".split()).rstrip(": ")
    return f"it raised {line[:_LONGEST]}"


@contextlib.contextmanager
def _guarded(seconds: float) -> Iterator[None]:
    with contextlib.suppress(BaseException), grade_fence.at_most(seconds):
        yield


def _judge_parts(judge: Judge, name: str, parts: list[ast.expr], namespace: dict[str, Any]) -> None:
    values = []
    for part in parts:
        code = compile(ast.Expression(part), "<check>", "eval")
        values.append(eval(code, namespace))
    judge(name, *values)


def main() -> None:
    """Run the submission that standard input describes; the working directory is its own."""
    job = json.load(sys.stdin)
    verdicts = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)

    def tell(**what: Any) -> None:
        print(json.dumps(what), file=verdicts, flush=True)

    judge = Judge(job["numbers"], tell)
    InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    with contextlib.suppress(ModuleNotFoundError):
        import matplotlib.figure  # noqa: F401, PLC0415 - plots are optional
    sys.path.insert(0, "")
    grade_fence.limit(job["seconds"], job["megabytes"])
    refused: set[str] = set()

    def note(what: str) -> None:
        if what not in refused:
            refused.add(what)
            tell(refused=what)

    grade_fence.enclose(Path.cwd().parent, [Path(folder) for folder in job["hidden"]], note)
    run(job["sources"], judge, job["cell_seconds"])
    tell(end=True)
    # Threads and exit handlers of the submission have nothing more to say.
    os._exit(0)


if __name__ == "__main__":
    main()
