"""Aligned text, HTML, and the names of hooks."""

import functools

from tensorplay_ref.arguments import hook_name
from tensorplay_ref.autograd.graph import save_on_cpu
from tensorplay_ref.inspect.tables import html_table, listing, plural, text_table


def test_numbers_stand_to_the_right_and_words_to_the_left():
    assert text_table(("what", "bytes"), [("a", "1,000"), ("longer", "-")]) == (
        "what    bytes\na       1,000\nlonger      -"
    )


def test_a_table_without_rows_is_its_headers():
    assert text_table(("a", "b"), []) == "a  b"
    assert html_table(("a",), []).count("<tr>") == 1


def test_no_line_ends_in_blanks():
    text = text_table(("a", "b"), [("x", ""), ("y", "long")])
    assert all(line == line.rstrip() for line in text.splitlines())


def test_counting_words():
    assert plural(1, "leaf", "leaves") == "1 leaf"
    assert plural(2, "leaf", "leaves") == "2 leaves"
    assert plural(1000, "byte") == "1,000 bytes"
    assert listing([("Add", 3), ("Mul", 1)]) == "Add × 3, Mul"


def plain(value):
    return value


class Store:
    def unpack(self, value):
        return value

    def __call__(self, value):
        return value


def test_a_hook_is_called_what_a_reader_calls_it():
    assert hook_name(plain) == "plain"
    assert hook_name(functools.partial(plain, 1)) == "plain"
    assert hook_name(Store().unpack) == "Store"
    assert hook_name(Store()) == "Store"
    assert hook_name(save_on_cpu().unpack_hook) == "save_on_cpu"
    assert hook_name(eval("lambda value: value")) == "lambda"
