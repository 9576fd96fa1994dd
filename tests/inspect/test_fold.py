"""Folding a row: what repeats is found, nothing is lost, and nothing is cut without a word."""

import time
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplay_ref.inspect.fold import (
    One,
    Repeat,
    Rest,
    fold,
    length_of,
    representatives,
    unfolded,
)


def test_a_piece_that_comes_often_is_kept_once():
    assert fold("xabababab", 10) == (One(0), Repeat(1, 2, 4, (One(1), One(2))))


def test_twice_is_not_often():
    assert fold("abab", 10) == unfolded(4)


def test_pieces_are_folded_inside_of_pieces():
    (repeat,) = fold("aaaab" * 5, 10)
    assert (repeat.length, repeat.count) == (5, 5)
    assert repeat.parts == (Repeat(0, 1, 4, (One(0),)), One(4))


def test_the_middle_of_an_irregular_row_is_summed_up():
    parts = fold([number * number for number in range(100)], 6)
    assert parts == (One(0), One(1), One(2), Rest(3, 94), One(97), One(98), One(99))


def test_a_rest_swallows_repeats_that_do_not_fit():
    parts = fold("".join(c * 3 for c in "abcdefghijkl"), 4)
    assert [type(part) for part in parts].count(Rest) == 1
    assert sum(length_of(part) for part in parts) == 36


def test_a_repeat_begins_where_the_names_begin_to_repeat():
    row, names = "AbcabcabcabcabcX", "abcabcabcabcabcx"
    assert fold(row, 10)[1] == Repeat(1, 3, 4, (One(1), One(2), One(3)))
    assert fold(row, 10, names)[:4] == (
        *unfolded(3),
        Repeat(3, 3, 4, (One(3), One(4), One(5))),
    )


def test_an_empty_row():
    assert fold("", 4) == ()
    assert representatives(()) == {}


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="abc", max_size=60), st.integers(2, 12))
def test_every_position_is_covered_once_and_stands_for_its_equals(row, longest):
    parts = fold(row, longest)
    standing_for = representatives(parts)
    assert sorted(standing_for) == list(range(len(row)))
    rests = [part for part in parts if isinstance(part, Rest)]
    assert len(rests) <= 1
    summed_up = {p for part in rests for p in range(part.start, part.start + part.length)}
    for position, other in standing_for.items():
        assert position in summed_up or row[position] == row[other]
    assert sum(length_of(part) for part in parts) == len(row)
    assert sum(Counter(standing_for.values()).values()) == len(row)


def test_ten_thousand_positions_are_folded_in_well_under_a_second():
    row = [(number * 2654435761) % 97 for number in range(10_000)]
    start = time.process_time()
    fold(row, 40)
    assert time.process_time() - start < 1.0
