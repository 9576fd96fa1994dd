"""The last notebook's task: its budget is set in one place, and checks and references follow."""

import pytest

import tensorplay_ref as tp
from tensorplay_ref.course import capstone, check
from tensorplay_ref.course.capstone import BEST_KNOWN, Budget, train


def keep_small(operation: str, tensor: object) -> str:
    return "int8" if operation in ("Matmul", "Relu") else "keep"


def test_plain_training_does_not_fit() -> None:
    with pytest.raises(tp.cuda.OutOfMemoryError):
        train(epochs=1)


def test_the_check_follows_a_smaller_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("12.fits", keep_small, None).status == "ok"
    monkeypatch.setattr(capstone, "BUDGET", Budget(2_400_000, 0.95))
    verdict = check("12.fits", keep_small, None)
    assert verdict.status == "wrong" and "the budget of 2,400,000" in verdict.message


def test_the_check_follows_a_higher_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capstone, "BUDGET", Budget(3_250_000, 0.99))
    verdict = check("12.fits", keep_small, None)
    assert verdict.status == "wrong" and "expected at least 0.990" in verdict.message


def test_the_references_follow_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capstone, "EPOCHS", 1)
    monkeypatch.setattr(capstone, "BUDGET", Budget(2_000_000, 0.95))
    run = BEST_KNOWN.run()
    board = capstone.scoreboard({"best known": run})
    assert board.budget == 2_000_000
    assert run.timeline.capacity_of() == capstone.LARGER
    assert not board.passes(board.scores[0])


def test_offloading_changes_no_loss() -> None:
    plain = train(capacity=capstone.LARGER, epochs=1)
    moved = train(capstone.offload_all, epochs=1)
    again = train(capstone.recompute_all, 1, capacity=capstone.LARGER, epochs=1)
    assert moved.losses == plain.losses == again.losses
    assert moved.timeline.copied()["to host"] > 0
    assert again.peak < plain.peak


def test_recomputing_outside_of_a_region_keeps() -> None:
    plain = train(capacity=capstone.LARGER, epochs=1)
    alone = train(capstone.recompute_all, capacity=capstone.LARGER, epochs=1)
    assert alone.peak == plain.peak


@pytest.mark.parametrize("segment", [0, 9, 1.5])
def test_an_impossible_segment_is_refused(segment: object) -> None:
    with pytest.raises(ValueError, match="segment is None or from 1 to 8 blocks"):
        train(capstone.recompute_all, segment)  # type: ignore[arg-type]
