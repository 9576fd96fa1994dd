"""What the notebooks say about PyTorch and TensorPlay is what the conformance suite records."""

import pytest

from tensorplay_ref.conformance import Absence, suite
from tensorplay_ref.course.claims import Claims, claims


def test_a_claim_shows_the_sentence_and_what_the_others_do() -> None:
    shown = claims("half_precision_is_cast_back", "the_current_pair_is_the_innermost")
    assert [name for *_, name in shown.rows()] == [
        "half_precision_is_cast_back",
        "the_current_pair_is_the_innermost",
    ]
    for sentence, torch, tensorplay, name in shown.rows():
        statement = suite()[name]
        assert sentence == statement.sentence
        for said, implementation in ((torch, "torch"), (tensorplay, "tensorplay")):
            known = statement.known_about(implementation)
            if known is None:
                assert said == "agrees"
            else:
                assert (known.name if isinstance(known, Absence) else known.instead) in said
        assert f"{sentence}\n    {name}\n" in repr(shown)
    assert shown._repr_html_().count("<tr>") == 3


def test_no_claims_are_an_empty_table() -> None:
    assert claims().statements == ()
    assert repr(Claims(())) == ""


def test_an_unknown_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="no statement 'pigs_fly'"):
        claims("pigs_fly")


def test_a_statement_that_does_not_hold_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorplay_ref.autograd.saved.HookPair.pack", 3, raising=False)
    with pytest.raises(AssertionError, match="does not hold here"):
        claims("the_pair_travels_with_the_slot")
