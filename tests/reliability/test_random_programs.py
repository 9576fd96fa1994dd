"""Random programs: hooks, faults and contexts left by exception change no value and no gradient.

The ordinary run is 2,100 programs, the same ones each time. A long run draws new ones:

    TENSORPLAY_REF_PROGRAMS=100000 python -m pytest tests/reliability/test_random_programs.py
"""

from __future__ import annotations

import gc
import importlib.util
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.reliability.program_hooks import COPYING, SHARING, Faults
from tests.reliability.program_operations import OPERATIONS, WRITES
from tests.reliability.random_programs import (
    BLOCKS,
    CUSTOM,
    SHAPES,
    WALKS,
    Outcome,
    Program,
    Run,
    Step,
    same,
)

ORDINARY = 2100
PROGRAMS = int(os.environ.get("TENSORPLAY_REF_PROGRAMS", ORDINARY))
PLACES = ("pack", "unpack", "forward", "backward", "hook")


def examples(share: float) -> settings:
    return settings(
        max_examples=round(PROGRAMS * share),
        deadline=None,
        derandomize=PROGRAMS <= ORDINARY,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def steps(*names: str) -> st.SearchStrategy[Step]:
    small = st.integers(0, 5)
    return st.builds(Step, st.sampled_from(names), st.integers(0, 20), st.integers(0, 20), small)


def programs(*names: str, longest: int = 12) -> st.SearchStrategy[Program]:
    shapes = st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3).map(tuple)
    some = st.lists(steps(*names), min_size=1, max_size=longest).map(tuple)
    return st.builds(Program, shapes, st.integers(0, 999), some)


# Blocks, walks, Functions and writes are repeated so that a program has several.
EVERYTHING = (*OPERATIONS, *(*BLOCKS, *WALKS, *CUSTOM) * 6)
WRITING = (*EVERYTHING, *WRITES, *WRITES)
# PyTorch refuses in-place writes to one of several views that came from one operation, and lets
# zeros be written into expanded tensors, which its backward then may refuse. Where a last bit can
# decide about a step, two libraries may take different ones.
STEPS = {"round", "floor", "ceil", "trunc", "remainder"}
COMPARED = sorted(set(OPERATIONS) - {"split", "chunk", "unbind", "expand"} - STEPS)
# PyTorch can crash when a hook is put on a tensor that was written in place.
UNHOOKED = tuple(walk for walk in WALKS if walk != "tensor hook")
WITH_WRITES = programs(*COMPARED, *WRITES, *WRITES, *(*UNHOOKED, *CUSTOM) * 6)
WITH_HOOKS = programs(*COMPARED, *(*WALKS, *CUSTOM) * 6)


@contextmanager
def nothing_left(cycle: bool = False) -> Iterator[list[Outcome]]:
    """Everything that the runs inside made is freed, and the stacks are as they were.

    Reference counting alone frees it, unless the program makes a cycle of its own: a pack hook
    that returns the very tensor makes one when the tensor is written in place later.
    """
    outcomes: list[Outcome] = []
    before = tp.autograd.graph._current_pair()
    mode = tp.is_grad_enabled()
    with reference_counting():
        yield outcomes
        if cycle:
            gc.collect()
        alive = [r() for outcome in outcomes for r in outcome.watched if r() is not None]
        assert not alive, f"{len(alive)} objects outlive their program, the first is {alive[0]!r}"
    assert tp.autograd.graph._current_pair() is before
    assert tp.is_grad_enabled() is mode


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> Iterator[None]:
    """Leave what the test session has loaded out of the collections that some programs need."""
    gc.freeze()
    yield
    gc.unfreeze()


def shares(program: Program) -> bool:
    return any(step.name.removeprefix("with ") in SHARING for step in program.steps)


def makes_cycle(program: Program) -> bool:
    names = {step.name for step in program.steps}
    return "with identity" in names and not names.isdisjoint(WRITES)


@examples(3 / 7)
@given(program=programs(*WRITING))
def test_hooks_change_no_value_and_no_gradient(program: Program, folder: Path) -> None:
    with nothing_left(makes_cycle(program)) as outcomes:
        run = lambda **options: Run(tp, program, folder, **options).run()  # noqa: E731
        outcomes += [run(hooks=False), run(), run(hooks=False, outside="numpy")]
        plain, hooked, copied = outcomes
        assert not plain.refused and not hooked.refused and not copied.refused
        assert not copied.stale
        if plain.stale:
            # A saved value was overwritten, and that was noticed. Where hooks had copied every
            # overwritten value, the gradient is right; hooks that share do not notice.
            if not plain.failed:
                assert same(plain.values, copied.values, 1e-12)
            if not (hooked.failed or hooked.stale or shares(program)):
                assert same(hooked.gradients, copied.gradients, 1e-12)
        else:
            assert same(plain.values, hooked.values, 1e-12)
            assert same(plain.gradients, hooked.gradients, 1e-12)
            assert same(plain.gradients, copied.gradients, 1e-12)
    assert not list(folder.iterdir())


@examples(1 / 7)
@given(program=programs(*OPERATIONS, *WRITES, *WRITES, *CUSTOM))
def test_mutation_allowed_gives_the_gradient_of_the_copies(program: Program, folder: Path) -> None:
    with nothing_left() as outcomes:
        outcomes.append(Run(tp, program, folder, hooks=False, outside="clone").run())
        with tp.autograd.graph.allow_mutation_on_saved_tensors():
            outcomes.append(Run(tp, program, folder, hooks=False).run())
        copied, allowed = outcomes
        assert not copied.stale and not allowed.stale
        assert same(copied.values, allowed.values, 1e-12)
        assert same(copied.gradients, allowed.gradients, 1e-12)


@examples(3 / 7)
@given(
    program=programs(*EVERYTHING, *WRITES),
    place=st.sampled_from(PLACES),
    number=st.integers(0, 5),
    outside=st.sampled_from(("", *COPYING)),
)
def test_a_fault_undoes_its_step_alone(
    program: Program, place: str, number: int, outside: str, folder: Path
) -> None:
    with nothing_left(makes_cycle(program)) as outcomes:
        hooked = Run(tp, program, folder, faults=Faults(place, number), outside=outside).run()
        plain = Run(tp, program, folder, hooks=False, skip=frozenset(hooked.failed)).run()
        outcomes += [hooked, plain]
        assert not plain.refused and not hooked.refused
        if not (plain.stale or hooked.stale):
            assert same(plain.values, hooked.values, 1e-12)
            assert same(plain.gradients, hooked.gradients, 1e-12)
    assert not list(folder.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@examples(1 / 7)
@given(program=st.one_of(WITH_WRITES, WITH_HOOKS))
def test_torch_computes_the_same(program: Program, folder: Path) -> None:
    with warnings.catch_warnings():
        # It warns of a backward with create_graph, which makes a cycle with the leaf.
        warnings.simplefilter("ignore")
        torch = importlib.import_module("torch")
        ours, theirs = (Run(module, program, folder, hooks=False).run() for module in (tp, torch))
        if theirs.stale and not ours.stale:
            # It saves more in a few places, such as the values that gather picks from.
            theirs = Run(torch, program, folder, hooks=False, outside="numpy").run()
    # It takes some views of a constant for leaves once their base has got a history.
    assume(not theirs.refused)
    assert not ours.refused
    assert ours.failed == theirs.failed and ours.stale == theirs.stale
    if not ours.stale:
        assert same(ours.values, theirs.values, 1e-6)
        assert same(ours.gradients, theirs.gradients, 1e-6)
