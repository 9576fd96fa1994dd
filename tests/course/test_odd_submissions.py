"""Whatever is handed in, every check comes to an end with a verdict, and says it nowhere else."""

from typing import Any

import pytest

from tensorplay_ref.course.check import check, steps


class Itself:
    """Answers every attribute, call and index with itself; as a sequence it has two items."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self

    def __getitem__(self, index: Any) -> Any:
        return self

    def __len__(self) -> int:
        return 2


class Endless(Itself):
    """Has no last item."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self


class Numbers(Itself):
    """Has a number at every index, so that a loop over it never ends."""

    def __getitem__(self, index: Any) -> Any:
        return 0


class Leaves:
    """Ends the program wherever it is asked."""

    def __call__(self, *arguments: Any) -> Any:
        return Leaves()

    def __getattr__(self, name: str) -> Any:
        raise SystemExit(name)

    def __iter__(self) -> Any:
        raise SystemExit


@pytest.mark.parametrize("kind", [Itself, Endless, Numbers, Leaves])
@pytest.mark.parametrize("step", [step.id for step in steps() if not step.id.startswith("12")])
def test_an_odd_submission_gets_a_verdict(
    step: str, kind: type, capfd: pytest.CaptureFixture[str]
) -> None:
    (takes,) = (each.takes for each in steps() if each.id == step)
    verdict = check(step, *(kind() for _ in takes))
    assert verdict.status == "wrong" and verdict.message
    assert capfd.readouterr() == ("", "")
