"""The suite itself: its statements, its judgements, its runner and its command."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplay_ref.conformance import (
    RECORDED_VERSIONS,
    REFERENCE,
    RULES,
    TOPICS,
    Absence,
    CannotImport,
    Difference,
    Isolated,
    Outcome,
    Statement,
    Verdict,
    judge,
    recorded_version,
    report,
    suite,
)
from tensorplay_ref.conformance.__main__ import main

STATEMENTS = suite()
SIMPLE = STATEMENTS["a_device_prints_as_its_name"]
DIFFERENCE = Difference("torch", "2.13", "does otherwise", shows="found 2")
RACE = Difference("torch", "2.13", "does otherwise now and then", shows="found 2", sometimes=True)
ABSENCE = Absence("tensorplay", "1.0.0", "graph.name")


def a_statement(*known: Difference | Absence) -> Statement:
    return Statement("name", TOPICS[0], 1, "A sentence.", lambda api: None, known)


def test_there_are_statements_enough() -> None:
    assert len(STATEMENTS) >= 250


def test_every_topic_and_every_rule_has_statements() -> None:
    assert {each.topic for each in STATEMENTS.values()} == set(TOPICS)
    assert {each.rule for each in STATEMENTS.values()} == set(RULES)


def test_every_statement_is_a_sentence_of_its_own() -> None:
    sentences = [each.sentence for each in STATEMENTS.values()]
    assert len(set(sentences)) == len(sentences)
    assert not [sentence for sentence in sentences if not sentence.endswith(".")]


def test_every_record_speaks_of_the_measured_version_and_shows_something() -> None:
    for each in STATEMENTS.values():
        for record in each.known:
            assert record.version == RECORDED_VERSIONS[record.implementation]
            if isinstance(record, Difference):
                assert record.instead and len(record.shows) > 5, each.name


@pytest.mark.parametrize(
    ("known", "implementation", "outcome", "expected"),
    [
        ((), "torch", Outcome("agreed"), "agreed"),
        ((), "torch", Outcome("disagreed", "found 2"), "FAILS"),
        ((DIFFERENCE,), "torch", Outcome("disagreed", "expected 1, found 2"), "differs"),
        ((DIFFERENCE,), "torch", Outcome("disagreed", "expected 1, found 3"), "FAILS"),
        ((DIFFERENCE,), "torch", Outcome("agreed"), "FAILS"),
        ((DIFFERENCE,), "torch", Outcome("absent", "name"), "FAILS"),
        ((RACE,), "torch", Outcome("agreed"), "differs"),
        ((RACE,), "torch", Outcome("disagreed", "expected 1, found 2"), "differs"),
        ((RACE,), "torch", Outcome("disagreed", "expected 1, found 3"), "FAILS"),
        ((DIFFERENCE,), REFERENCE, Outcome("disagreed", "expected 1, found 2"), "FAILS"),
        ((DIFFERENCE,), "tensorplay", Outcome("disagreed", "expected 1, found 2"), "FAILS"),
        ((), "torch", Outcome("died", "the process died with status -11"), "FAILS"),
        ((), "torch", Outcome("hung", "no answer"), "FAILS"),
        ((ABSENCE,), "tensorplay", Outcome("absent", "graph.name"), "not offered"),
        ((ABSENCE,), "tensorplay", Outcome("absent", "graph.other"), "FAILS"),
        ((ABSENCE,), "tensorplay", Outcome("agreed"), "FAILS"),
        ((ABSENCE,), "tensorplay", Outcome("disagreed", "found 2"), "FAILS"),
        ((), REFERENCE, Outcome("absent", "graph.name"), "FAILS"),
        ((), "my.module", Outcome("absent", "graph.name"), "not offered"),
        ((), "my.module", Outcome("disagreed", "found 2"), "FAILS"),
        ((), "torch", Outcome("no accelerator", "a usable accelerator"), "not offered"),
        ((), REFERENCE, Outcome("no accelerator", "a usable accelerator"), "FAILS"),
    ],
)
def test_judgements(
    known: tuple[Difference | Absence, ...], implementation: str, outcome: Outcome, expected: str
) -> None:
    assert judge(a_statement(*known), implementation, outcome).judgement == expected


def test_recorded_versions() -> None:
    assert recorded_version("torch", "2.13.0+cpu")
    assert recorded_version("tensorplay", "1.0.0+gite11450d")
    assert not recorded_version("torch", "2.130.0")
    assert not recorded_version("torch", "2.12.1")
    assert recorded_version("my.module", "0.1")


def test_the_report_counts_and_names_what_is_not_agreed() -> None:
    one, two = a_statement(), a_statement(DIFFERENCE)
    statements = {"one": one, "two": two}
    results = {"torch": {"one": Verdict("agreed"), "two": Verdict("differs", "does otherwise")}}
    text = report(statements, results)
    assert text.splitlines()[2].split() == [
        "hooks:",
        "packing",
        "2",
        "1",
        "agreed,",
        "1",
        "differs",
    ]
    assert "does otherwise" in text
    assert text.endswith(f"The rules that are named above\n  1: {RULES[1]}")
    markdown = report(statements, results, markdown=True)
    assert "| hooks: packing | 2          | 1 agreed, 1 differs |" in markdown
    assert "- **differs** `name` (rule: 1): A sentence. *does otherwise*" in markdown


FAKE = """
import os, sys, time

class Tensor:
    pass

class Device:
    def __init__(self, name):
        {body}

    def __str__(self):
        return "cpu"

def is_grad_enabled():
    return True

print("noise on the output", flush=True)
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Writes an importable module that offers devices only, and runs `body` when one is made."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, body: str) -> str:
        (tmp_path / f"{name}.py").write_text(FAKE.format(body=body), encoding="utf-8")
        return name

    return write


def test_what_an_implementation_prints_does_not_disturb(fake: Callable[[str, str], str]) -> None:
    name = fake("fake_printing", "print('more noise', flush=True)")
    with Isolated(name) as isolated:
        assert isolated.run(SIMPLE).status == "agreed"


def test_a_crash_is_an_outcome_and_the_runner_goes_on(fake: Callable[[str, str], str]) -> None:
    name = fake("fake_crashing", "os._exit(3)")
    with Isolated(name) as isolated:
        outcome = isolated.run(SIMPLE)
        assert (outcome.status, outcome.detail) == ("died", "the process died with status 3")
        assert isolated.run(STATEMENTS["a_leaf_has_no_node"]).status == "absent"


def test_a_hang_is_an_outcome_and_the_runner_goes_on(fake: Callable[[str, str], str]) -> None:
    name = fake("fake_hanging", "time.sleep(600)")
    with Isolated(name, limit=30.0) as isolated:
        isolated.limit = 0.5
        assert isolated.run(SIMPLE).status == "hung"
        isolated.limit = 30.0
        assert isolated.run(STATEMENTS["a_leaf_has_no_node"]).status == "absent"


def test_a_changed_grad_mode_is_a_disagreement(fake: Callable[[str, str], str]) -> None:
    body = "sys.modules[__name__].is_grad_enabled = lambda: False"
    with Isolated(fake("fake_switching", body)) as isolated:
        outcome = isolated.run(SIMPLE)
        assert (outcome.status, outcome.clean) == ("disagreed", False)
        assert "left changed" in outcome.detail


def test_a_module_that_cannot_be_imported_says_why() -> None:
    with pytest.raises(CannotImport, match="no_such_module"):
        Isolated("no_such_module")


def test_the_command_fails_on_what_is_unexpected(
    fake: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    good = fake("fake_good", "pass")
    bad = fake("fake_bad", "raise KeyError(name)")
    assert main(["--statement", SIMPLE.name, "--module", good]) == 0
    assert main(["--statement", SIMPLE.name, "--module", bad, "--markdown"]) == 1
    output = capsys.readouterr().out
    assert "**FAILS** `a_device_prints_as_its_name`" in output
    assert "KeyError: 'cpu'" in output


def test_what_is_missing_is_counted_at_the_end() -> None:
    statements = {"one": a_statement(), "two": a_statement(), "three": a_statement()}
    verdicts = {
        "one": Verdict("not offered", "rare"),
        "two": Verdict("not offered", "graph.Node"),
        "three": Verdict("not offered", "graph.Node"),
    }
    text = report(statements, {"mine 1.0": verdicts})
    title = "What mine 1.0 lacks, and how many statements need it"
    assert text.endswith(f"{title}\n     2  graph.Node\n     1  rare")
    markdown = report(statements, {"mine 1.0": verdicts}, markdown=True)
    assert markdown.endswith("- `graph.Node`: 2\n- `rare`: 1")


def test_an_implementation_that_is_not_installed_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECORDED_VERSIONS, "not_installed", "1.0")
    assert main(["--statement", SIMPLE.name, "--against", "not_installed"]) == 2
    printed = capsys.readouterr()
    assert "1 agreed" in printed.out
    assert printed.err.endswith("install it with: pip install not_installed\n")


def test_a_module_that_agrees_with_nothing_fails(
    fake: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = fake("fake_without_names", "pass")
    assert main(["--statement", "a_leaf_has_no_node", "--module", name]) == 1
    printed = capsys.readouterr()
    assert f"{name}: no statement agreed" in printed.err
    assert f"What {name} lacks" in printed.out


@pytest.mark.parametrize(
    ("at_import", "said"),
    [
        ("raise SystemExit(3)", "it ends the program when it is imported (SystemExit: 3)"),
        ("import os; os._exit(4)", "its process ended meanwhile, with status 4"),
        ("import time; time.sleep(600)", "the import took longer than 9 s"),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_why_a_module_cannot_be_imported(
    at_import: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "unfit.py").write_text(at_import, encoding="utf-8")
    # The reference has to be imported within the limit, too.
    assert main(["--statement", SIMPLE.name, "--module", "unfit", "--limit", "9"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limit", "-1"], "above 0, found -1"),
        (["--limit", "0"], "above 0, found 0"),
        (["--limit", "inf"], "above 0, found inf"),
        (["--module", "./mine.py"], "not a file, found './mine.py'"),
        (["--module", "mine.py"], "not a file, found 'mine.py'"),
        (["--topic", "nonsense"], "invalid choice"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_the_help_names_each_topic_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("hooks: what is saved") == 1
    assert "Exit status: 0" in said


def test_the_command_runs_a_topic() -> None:
    command = [sys.executable, "-m", "tensorplay_ref.conformance", "--topic", "save_on_cpu"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    count = str(sum(each.topic == "save_on_cpu" for each in STATEMENTS.values()))
    assert rows[-1] == ["all", count, count, "agreed"]


def test_the_command_knows_when_nothing_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--statement", "no_such_statement"]) == 2
    assert "no statement" in capsys.readouterr().err
