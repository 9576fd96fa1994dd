"""The command tells on a terminal how far it is, nowhere else, and what a name may have meant."""

import io

import pytest

from tensorplay_ref.conformance import suite
from tensorplay_ref.conformance.__main__ import main

FIRST, SECOND = list(suite())[:2]
WORDS = ["--statement", FIRST, "--statement", SECOND]


class Terminal(io.StringIO):
    """What a program takes for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_which_statement_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(WORDS) == 0
    lines = terminal.getvalue().split("\r\x1b[K")
    assert lines == [
        "",
        f"tensorplay_ref: 1 of 2, {FIRST}"[:39],
        f"tensorplay_ref: 2 of 2, {SECOND}"[:39],
        "",
    ]


def test_elsewhere_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(WORDS) == 0
    assert capsys.readouterr().err == ""


def test_an_unknown_name_is_said_with_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--statement", FIRST[:-1]]) == 2
    said = capsys.readouterr().err
    assert f"no statement is called {FIRST[:-1]!r}; near: " in said and FIRST in said
