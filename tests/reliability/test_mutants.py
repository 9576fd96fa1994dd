"""The planted faults still apply; a few quick ones are noticed. All: see mutants.py."""

from __future__ import annotations

import ast

import pytest

from tests.reliability.mutants import MUTANTS, Mutant, mutated, run

NAMES = {mutant.name: mutant for mutant in MUTANTS}
QUICK = (
    "saved: the unpack of the outermost pair travels with the slot",
    "engine: a gradient is assigned instead of added",
    "inplace: a write is not counted",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_fault_can_be_planted(name: str) -> None:
    mutant = NAMES[name]
    assert mutant.old != mutant.new
    ast.parse(mutated(mutant))


def test_there_are_enough_and_each_has_its_name() -> None:
    assert len(NAMES) == len(MUTANTS) >= 40
    rooms = {mutant.file for mutant in MUTANTS}
    assert len(rooms) >= 20


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_one_is_noticed(name: str) -> None:
    noticed, tail = run(NAMES[name])
    assert noticed, tail


def test_a_harmless_change_is_not_called_noticed() -> None:
    harmless = NAMES[QUICK[0]]
    text = "        self._unpack_hook = pair.unpack\n"
    same = Mutant("harmless", harmless.file, text, text + "\n", harmless.tests)
    noticed, tail = run(same)
    assert not noticed, tail
