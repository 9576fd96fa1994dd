"""Every check passes the solution, calls the stub "not yet" and rejects its named wrong builds."""

from collections import Counter

import pytest

from tensorplay_ref.course import check
from tensorplay_ref.course.check import Exercise, Step, exercises, steps
from tensorplay_ref.course.notebook_file import worked_notebooks
from tests.course.builds import WrongBuild, all_wrong_builds
from tests.course.lessons import solved, text_of, unsolved

NOTEBOOKS = sorted({step.id[:2] for step in steps()})

each_step = pytest.mark.parametrize("step", steps(), ids=lambda each: each.id)
each_exercise = pytest.mark.parametrize("exercise", exercises(), ids=lambda each: each.id)
each_wrong_build = pytest.mark.parametrize(
    "build", all_wrong_builds(), ids=lambda each: f"{each.step}-{each.name}"
)


@each_step
def test_the_solution_passes(step: Step) -> None:
    verdict = solved(step.id[:2]).verdicts[step.id]
    count = len(step.cases)
    assert repr(verdict) == f"ok {count}/{count}"


@each_exercise
def test_the_stub_is_not_yet_done(exercise: Exercise) -> None:
    verdict = unsolved(exercise.id[:2]).verdicts[exercise.id]
    assert verdict.status == "not yet", verdict


@each_exercise
def test_the_notebook_shows_what_the_check_says_of_the_exercise(exercise: Exercise) -> None:
    assert exercise.heading() in text_of(exercise.id[:2])


@each_step
def test_there_are_wrong_builds(step: Step) -> None:
    names = Counter(build.name for build in all_wrong_builds() if build.step == step.id)
    assert len(names) >= 3
    assert max(names.values()) == 1


@each_wrong_build
def test_a_wrong_build_is_rejected_in_words(build: WrongBuild) -> None:
    lesson = solved(build.step[:2])
    try:
        verdict = check(build.step, *build.make(lesson.names))
    finally:
        lesson.restore()
    assert verdict.status == "wrong", verdict
    assert build.says in verdict.message


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_notebook_has_just_these_checks(notebook: str) -> None:
    assert set(solved(notebook).verdicts) == {each.id for each in steps(notebook)}


def test_every_check_belongs_to_a_notebook() -> None:
    assert set(NOTEBOOKS) <= {path.name[:2] for path in worked_notebooks()}
