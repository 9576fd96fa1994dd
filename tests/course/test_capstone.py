"""The last notebook's task: its budget is set in one place, and checks and references follow."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.course import capstone, check
from tensorplay_ref.course.capstone import BEST_KNOWN, REFERENCES, Budget, Entry, train

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "12_capstone.ipynb"


def small_inputs(operation: str, tensor: object) -> str:
    return "int8" if operation == "Checkpoint" else "recompute"


def test_plain_training_does_not_fit() -> None:
    with pytest.raises(tp.cuda.OutOfMemoryError):
        train(epochs=1)


def test_the_check_follows_a_smaller_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("12.fits", small_inputs, 1).status == "ok"
    monkeypatch.setattr(capstone, "BUDGET", Budget(2_400_000, 0.95))
    verdict = check("12.fits", small_inputs, 1)
    assert verdict.status == "wrong" and "the budget of 2,400,000" in verdict.message


def test_the_check_follows_a_higher_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capstone, "BUDGET", Budget(3_250_000, 0.99))
    verdict = check("12.fits", small_inputs, 1)
    assert verdict.status == "wrong" and "expected at least 0.990" in verdict.message


def test_the_references_follow_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capstone, "EPOCHS", 1)
    monkeypatch.setattr(capstone, "BUDGET", Budget(2_000_000, 0.95))
    run = BEST_KNOWN.run()
    board = capstone.scoreboard({"best known": run})
    assert board.budget == 2_000_000
    assert run.timeline.capacity_of() == capstone.LARGER
    assert not board.passes(board.scores[0])


@pytest.mark.parametrize(
    ("capacity", "fit"),
    [
        (2_330_000, {"offload", "best known"}),
        (2_500_000, {"offload", "best known", "int8 activations"}),
        (2_550_000, {"offload", "best known", "int8 activations", "checkpoint on the host"}),
        (4_500_000, {entry.name for entry in (*REFERENCES[1:], BEST_KNOWN)}),
    ],
)
def test_each_run_follows_the_budget(
    monkeypatch: pytest.MonkeyPatch, capacity: int, fit: set[str]
) -> None:
    monkeypatch.setattr(capstone, "EPOCHS", 1)
    monkeypatch.setattr(capstone, "BUDGET", Budget(capacity, 0.0))
    board = capstone.scoreboard({entry.name: entry.run() for entry in (*REFERENCES, BEST_KNOWN)})
    assert {score.policy for score in board.scores if board.passes(score)} == fit


def stored_rows() -> dict[str, str]:
    """The scoreboard of the references as the notebook stores it: the rest of a row by its name."""
    outputs = [
        "".join(output.get("text", []))
        for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
    ]
    (table,) = (text for text in outputs if "within budget" in text)
    lines = table[table.index("place") :].splitlines()[1:-1]
    names = [entry.name for entry in (*REFERENCES, BEST_KNOWN)]
    return {name: line.split(name)[1].strip() for line in lines for name in names if name in line}


# Under "offload" and "checkpoint" the losses are those of "plain" to the last bit (see below).
@pytest.mark.parametrize("entry", [REFERENCES[0], REFERENCES[3], BEST_KNOWN], ids=lambda e: e.name)
def test_rounding_of_another_machine_changes_no_row(
    monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    rng, product = np.random.default_rng(0), np.matmul

    def rounded_otherwise(*arguments: Any, **options: Any) -> Any:
        # A hundred thousand times what another order of the additions changes.
        result = product(*arguments, **options)
        return result * (1 + 1e-10 * rng.uniform(-1, 1, result.shape))

    monkeypatch.setattr(np, "matmul", rounded_otherwise)
    run = entry.run()
    board = capstone.scoreboard({entry.name: run})
    row = str(board).splitlines()[1].split(entry.name)[1].strip()
    assert row == stored_rows()[entry.name]


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
