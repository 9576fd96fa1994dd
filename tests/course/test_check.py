"""What a check says of good, wrong, unfinished and hostile builds."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.grad_mode import grad_enabled
from tensorplay_ref.course import CheckFailed, Verdict, check, compare
from tensorplay_ref.course.check import Exercise, _registry, exercises, steps
from tensorplay_ref.course.compare import Difference


@pytest.fixture(autouse=True)
def no_exercise_of_a_test_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TENSORPLAY_REF_STRICT", raising=False)
    # What a test loads stays imported, so it must be among what is put back.
    before = {step.id: step for step in steps()}
    yield
    _registry.clear()
    _registry.update(before)


def an_exercise(*cases: Callable[..., None], takes: tuple[str, ...] = ("double",)) -> Exercise:
    made = Exercise(
        "98.double", "`double(x)` adds x to itself.", takes=takes, difficulty=1, minutes=5
    )
    for case in cases:
        made.case(case)
    return made


def values(double: Any) -> None:
    """twice the values"""
    x = tp.tensor([1.0, 2.0])
    with compare.unchanged(x=x):
        compare.same_values(double(x), x + x, "double(x)")


def empties(double: Any) -> None:
    """a tensor without elements"""
    x = tp.tensor([])
    compare.same_values(double(x), x + x, "double of an empty x")


def verdict_of(double: Any, *cases: Callable[..., None]) -> Verdict:
    an_exercise(*(cases or (values, empties)))
    return check("98.double", double)


class TestTheVerdict:
    def test_agreement_is_ok_and_counts_the_cases(self) -> None:
        verdict = verdict_of(lambda x: x + x)
        assert repr(verdict) == "ok 2/2"
        assert verdict == Verdict("98.double", "ok", 2, 2, "")
        assert verdict

    def test_the_first_difference_is_told_and_later_cases_still_count(self) -> None:
        verdict = verdict_of(lambda x: x * 3.0)
        assert repr(verdict) == "wrong 1/2: double(x) at [0] is 3, expected 2"
        assert not verdict

    def test_a_stub_is_not_yet_done_and_says_whose_turn_it_is(self) -> None:
        def double(x: Any) -> Any:
            raise NotImplementedError("your turn: double")

        verdict = verdict_of(double)
        assert repr(verdict) == "not yet (your turn: double)"
        assert (verdict.status, verdict.passed, verdict.total) == ("not yet", 0, 2)

    @pytest.mark.parametrize("left_open", [..., [1, ...], (..., 1), {"a": ..., "b": 1}])
    def test_what_is_left_open_is_not_yet_done(self, left_open: Any) -> None:
        assert repr(verdict_of(left_open)) == "not yet"

    def test_a_stub_reached_after_a_difference_is_wrong(self) -> None:
        def double(x: Any) -> Any:
            if not x.shape[0]:
                raise NotImplementedError
            return x

        assert verdict_of(double).status == "wrong"

    def test_two_runs_say_the_same(self) -> None:
        def double(x: Any) -> Any:
            raise ValueError(f"{object()!r}\n{x!r:.0}")

        an_exercise(values)
        first, second = check("98.double", double), check("98.double", double)
        assert first == second
        assert "0x" not in repr(first)
        assert "\n" not in repr(first)

    def test_a_long_message_is_cut(self) -> None:
        def double(x: Any) -> Any:
            raise ValueError("long " * 1000)

        assert len(repr(verdict_of(double, values))) < 400


class TestHostileBuilds:
    @pytest.mark.parametrize(
        "error", [ValueError("no"), SystemExit(3), GeneratorExit(), BaseException("odd")]
    )
    def test_whatever_a_build_raises_is_a_verdict(self, error: BaseException) -> None:
        def double(x: Any) -> Any:
            raise error

        verdict = verdict_of(double, values)
        assert verdict.status == "wrong"
        assert verdict.message.startswith(type(error).__name__)
        assert verdict.message.endswith("(tried: twice the values)")

    def test_an_error_that_cannot_be_printed_is_named(self) -> None:
        class Unprintable(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text")

        def double(x: Any) -> Any:
            raise Unprintable

        assert verdict_of(double, values).message == "Unprintable (tried: twice the values)"

    def test_endless_recursion_is_a_verdict(self) -> None:
        def double(x: Any) -> Any:
            return double(x)

        assert "calls itself without end" in verdict_of(double, values).message

    def test_an_interrupt_from_the_keyboard_goes_through(self) -> None:
        def double(x: Any) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            verdict_of(double)

    @pytest.mark.parametrize(
        ("returned", "said"),
        [
            (None, "double(x) is None, expected a Tensor of shape (2,)"),
            (np.array([2.0, 4.0], np.float32), "double(x) is a ndarray, expected a Tensor"),
            (tp.tensor([2.0]), "double(x) has shape (1,), expected (2,)"),
            (tp.tensor([2, 4]), "double(x) has dtype int64, expected float32"),
        ],
    )
    def test_a_result_of_the_wrong_kind_is_named(self, returned: Any, said: str) -> None:
        assert said in verdict_of(lambda x: returned, values).message

    def test_a_build_that_changes_its_input_is_found_out(self) -> None:
        def double(x: Any) -> Any:
            result = x + x
            x.zero_()
            return result

        assert verdict_of(double, values).message.startswith("x was changed in place")

    @pytest.mark.parametrize("build", [None, 3, "double"])
    def test_what_cannot_be_called_is_a_verdict(self, build: Any) -> None:
        assert "not callable" in verdict_of(build, values).message

    def test_a_mode_left_on_ends_with_its_case(self) -> None:
        def double(x: Any) -> Any:
            grad_enabled.set(False)
            tp.autograd.saved_tensor_hooks(abs, abs).__enter__()
            return x + x

        assert verdict_of(double).status == "ok"
        assert tp.is_grad_enabled()
        assert tp.autograd.graph._current_pair() is None


class TestWrongUse:
    def test_an_unknown_exercise_names_the_known_ones(self) -> None:
        an_exercise(values)
        assert "notebook 98 has 98.double" in check("98.doubel", abs).message

    def test_an_unknown_notebook_is_told(self) -> None:
        assert check("99.double", abs).status == "wrong"

    def test_a_wrong_number_of_arguments_shows_the_call(self) -> None:
        an_exercise(values, takes=("double", "half"))
        message = check("98.double", abs).message
        assert message == "call it like this: check('98.double', double, half)"

    @pytest.mark.parametrize("name", ["double", "5.double", "05.Double", "05"])
    def test_a_malformed_id_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"NN\.name"):
            Exercise(name, "", takes=(), difficulty=1, minutes=1)

    def test_an_id_is_taken_once(self) -> None:
        an_exercise()
        with pytest.raises(ValueError, match="two checks"):
            an_exercise()

    def test_a_difficulty_is_from_1_to_5(self) -> None:
        with pytest.raises(ValueError, match="from 1 to 5"):
            Exercise("98.double", "", takes=(), difficulty=6, minutes=1)

    def test_a_case_says_what_it_tries(self) -> None:
        with pytest.raises(ValueError, match="no docstring"):
            an_exercise(lambda double: None)


class TestStrict:
    def test_a_strict_check_raises_unless_ok(self) -> None:
        an_exercise(values)
        assert check("98.double", lambda x: x + x, strict=True)
        with pytest.raises(CheckFailed, match=r"^98\.double: wrong 0/1") as failed:
            check("98.double", lambda x: x, strict=True)
        assert failed.value.verdict.passed == 0
        with pytest.raises(CheckFailed, match="not yet"):
            check("98.double", ..., strict=True)

    @pytest.mark.parametrize(("value", "raises"), [("1", True), ("0", False), ("", False)])
    def test_the_environment_decides_when_nothing_is_said(
        self, monkeypatch: pytest.MonkeyPatch, value: str, raises: bool
    ) -> None:
        monkeypatch.setenv("TENSORPLAY_REF_STRICT", value)
        an_exercise(values)
        if raises:
            with pytest.raises(CheckFailed):
                check("98.double", abs)
        else:
            assert check("98.double", ...).status == "not yet"
        assert check("98.double", ..., strict=False).status == "not yet"


class TestTheRegistry:
    def test_exercises_are_the_steps_that_somebody_writes(self) -> None:
        assert [step.id for step in steps() if isinstance(step, Exercise)] == [
            exercise.id for exercise in exercises()
        ]

    def test_the_ids_of_a_notebook_begin_with_its_number(self) -> None:
        assert exercises("05")
        assert {exercise.id[:2] for exercise in exercises("05")} == {"05"}

    def test_every_step_has_cases(self) -> None:
        assert all(step.cases for step in steps())

    def test_a_check_needs_neither_the_lab_nor_matplotlib(self) -> None:
        program = (
            "import sys; from tensorplay_ref.course import check; check('05.context_manager', ...);"
            "sys.exit(bool({'matplotlib', 'nbformat', 'IPython'} & set(sys.modules)))"
        )
        assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


class Thing:
    pass


class TestComparisons:
    @pytest.mark.parametrize(
        ("compared", "said"),
        [
            (lambda: compare.same_count("pack", 1, 2, "slot 0"), "once, expected twice (slot 0)"),
            (lambda: compare.same_count("pack", 0, 3), "pack called never, expected 3 times"),
            (lambda: compare.same(3, 4, "n"), "n is 3, expected 4"),
            (lambda: compare.same(1, True, "n"), "n is 1, expected True"),
            (lambda: compare.same(None, "a", "n"), "n is None, expected 'a'"),
            (lambda: compare.same_object([], [], "n"), "n is another object than expected: []"),
            (lambda: compare.same_trace(["a"], ["b"], "t"), "t: step 1 is 'a', expected 'b'"),
            (lambda: compare.same_trace(["a"], ["a", "b"], "t"), "t: ends after step 1, expected"),
            (lambda: compare.same_trace(["a"], [], "t"), "t: step 1 is 'a', expected nothing more"),
            (lambda: compare.same_gradient(None, tp.ones(1), "x"), "x got no gradient"),
            (lambda: compare.same_gradient(tp.ones(1), None, "x"), "x got a gradient"),
            (lambda: compare.freed(weakref.ref(Thing), "it"), "it is still alive"),
            (lambda: compare.alive(weakref.ref(Thing()), "it"), "it was freed too early"),
            (lambda: compare.raises(ValueError, int, "here"), "no error here, expected ValueError"),
            (
                lambda: compare.raises(ValueError, lambda: 1 / 0, "here"),
                "ZeroDivisionError here, expected ValueError",
            ),
            (
                lambda: compare.raises(ValueError, lambda: int("x"), "here", saying=["version"]),
                "the ValueError here does not name 'version'",
            ),
        ],
    )
    def test_a_difference_is_told_in_words(self, compared: Callable[[], Any], said: str) -> None:
        with pytest.raises(Difference) as told:
            compared()
        assert said in str(told.value)

    def test_agreement_is_silent(self) -> None:
        x = tp.tensor([1.0, float("nan")])
        compare.same_values(x, x.clone(), "x")
        compare.same_values(tp.tensor(3), tp.tensor(3), "n")
        compare.same_gradient(None, None, "x")
        compare.same_trace(["a"], ["a"], "t")
        compare.same_count("pack", 2, 2)
        compare.same([1, None], [1, None], "n")
        compare.raises(ValueError, lambda: int("x"), "here", saying=["literal"])

    def test_an_unfinished_part_inside_raises_goes_on_as_a_stub(self) -> None:
        def stub() -> None:
            raise NotImplementedError

        with pytest.raises(NotImplementedError):
            compare.raises(ValueError, stub, "here")

    def test_the_last_digits_do_not_count(self) -> None:
        x = tp.tensor(np.linspace(1, 2, 7, dtype=np.float32))
        compare.same_values(x * (1 + 2e-7), x, "x")
        with pytest.raises(Difference):
            compare.same_values(x * 1.01, x, "x")
        compare.same_values(x * 1.01, x, "x", tolerance=0.02)

    def test_the_collector_is_off_and_on_again(self) -> None:
        with compare.reference_counting():
            assert not gc.isenabled()
        assert gc.isenabled()
