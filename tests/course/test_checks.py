"""Every check passes the solution, calls the stub "not yet" and rejects its named wrong builds."""

from collections import Counter

import pytest

from tensorplay_ref.course import check
from tensorplay_ref.course.check import Exercise, exercises
from tensorplay_ref.course.notebook_file import worked_notebooks
from tests.course.builds import WrongBuild, all_wrong_builds
from tests.course.lessons import solved, text_of, unsolved

NOTEBOOKS = sorted({exercise.id[:2] for exercise in exercises()})

each_exercise = pytest.mark.parametrize("exercise", exercises(), ids=lambda each: each.id)
each_wrong_build = pytest.mark.parametrize(
    "build", all_wrong_builds(), ids=lambda each: f"{each.exercise}-{each.name}"
)


@each_exercise
def test_the_solution_passes(exercise: Exercise) -> None:
    verdict = solved(exercise.id[:2]).verdicts[exercise.id]
    count = len(exercise.cases)
    assert repr(verdict) == f"ok {count}/{count}"


@each_exercise
def test_the_stub_is_not_yet_done(exercise: Exercise) -> None:
    verdict = unsolved(exercise.id[:2]).verdicts[exercise.id]
    assert verdict.status == "not yet", verdict


@each_exercise
def test_the_notebook_shows_what_the_check_says_of_the_exercise(exercise: Exercise) -> None:
    assert exercise.heading() in text_of(exercise.id[:2])


@each_exercise
def test_there_are_wrong_builds(exercise: Exercise) -> None:
    names = Counter(build.name for build in all_wrong_builds() if build.exercise == exercise.id)
    assert len(names) >= 3
    assert max(names.values()) == 1


@each_wrong_build
def test_a_wrong_build_is_rejected_in_words(build: WrongBuild) -> None:
    lesson = solved(build.exercise[:2])
    try:
        verdict = check(build.exercise, *build.make(lesson.names))
    finally:
        lesson.restore()
    assert verdict.status == "wrong", verdict
    assert build.says in verdict.message


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_notebook_has_just_these_checks(notebook: str) -> None:
    assert set(solved(notebook).verdicts) == {each.id for each in exercises(notebook)}


def test_every_check_belongs_to_a_notebook() -> None:
    assert set(NOTEBOOKS) <= {path.name[:2] for path in worked_notebooks()}
