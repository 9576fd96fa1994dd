"""Checks of notebook 10 for the random state of a second run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from ..check import Exercise
from ..compare import raises, same

random_state = Exercise(
    "10.random_state",
    contract="Inside `with random_state(state):` the default generator draws what it draws from "
    "that state on; afterwards, also after an exception, it goes on where it was before.",
    difficulty=2,
    minutes=10,
    takes=("random_state",),
)


def drawn(count: int = 3) -> list[float]:
    numbers: list[float] = tp.rand(count).tolist()
    return numbers


@random_state.case
def the_same_numbers(random_state: Callable[[Any], Any]) -> None:
    """drawing again from a state"""
    tp.manual_seed(7)
    state = tp.get_rng_state()
    first = drawn()
    drawn(5)
    with random_state(state):
        same(drawn(), first, "what is drawn inside")


@random_state.case
def the_stream_goes_on(random_state: Callable[[Any], Any]) -> None:
    """drawing after the context"""
    tp.manual_seed(7)
    state = tp.get_rng_state()
    tp.manual_seed(8)
    expected = drawn(6)
    tp.manual_seed(8)
    found = drawn(3)
    with random_state(state):
        drawn(4)
    same(found + drawn(3), expected, "what is drawn before and after the context")


@random_state.case
def after_an_exception(random_state: Callable[[Any], Any]) -> None:
    """an exception inside"""
    tp.manual_seed(7)
    state = tp.get_rng_state()
    tp.manual_seed(8)
    expected = drawn()
    tp.manual_seed(8)

    def failing() -> None:
        with random_state(state):
            drawn()
            raise ZeroDivisionError

    raises(ZeroDivisionError, failing, "of the body")
    same(drawn(), expected, "what is drawn after an exception")


@random_state.case
def inside_each_other(random_state: Callable[[Any], Any]) -> None:
    """one context inside another"""
    tp.manual_seed(7)
    state = tp.get_rng_state()
    expected = drawn(4)
    with random_state(state):
        found = drawn(2)
        with random_state(state):
            drawn(3)
        found += drawn(2)
    same(found, expected, "what the outer context draws around an inner one")
