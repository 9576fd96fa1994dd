"""The seam to a native engine: told of every entry and exit, in the seed's order."""

from __future__ import annotations

from typing import Any

import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Recorder, leaf

graph = tp.autograd.graph


def identity(value: Any) -> Any:
    return value


class Engine:
    """Records what it is told, and what the Python stack was at that moment."""

    def __init__(self, refuse: str = "") -> None:
        self.told: list[Any] = []
        self.refuse = refuse

    def _push_saved_tensors_hooks(self, pack: Any, unpack: Any) -> None:
        self.told.append(("push", pack, unpack, graph._current_pair() == (pack, unpack)))
        if self.refuse == "push":
            raise OSError("push")

    def _pop_saved_tensors_hooks(self) -> None:
        self.told.append(("pop", graph._current_pair() is not None))
        if self.refuse == "pop":
            raise OSError("pop")


def test_an_engine_is_told_of_each_entry_and_exit() -> None:
    engine = Engine()
    with graph.native_engine(engine), graph.saved_tensor_hooks(identity, repr):
        assert engine.told == [("push", identity, repr, True)]
    # Python stack first in, native first out.
    assert engine.told[1:] == [("pop", True)]
    assert graph._current_pair() is None


def test_save_on_cpu_and_exceptions_are_told_too() -> None:
    engine = Engine()
    with pytest.raises(KeyError), graph.native_engine(engine), graph.save_on_cpu():
        raise KeyError("body")
    assert [entry[0] for entry in engine.told] == ["push", "pop"]


def test_a_push_that_raises_leaves_the_stack_clean() -> None:
    engine = Engine(refuse="push")
    with graph.native_engine(engine), pytest.raises(OSError, match="push"):
        with graph.saved_tensor_hooks(identity, identity):
            raise AssertionError("the body must not run")
    assert graph._current_pair() is None
    assert [entry[0] for entry in engine.told] == ["push"]


def test_a_pop_that_raises_leaves_the_stack_clean() -> None:
    engine = Engine(refuse="pop")
    with graph.native_engine(engine), pytest.raises(OSError, match="pop"):
        with graph.saved_tensor_hooks(identity, identity):
            pass
    assert graph._current_pair() is None


def test_what_was_pushed_is_popped_from_the_same_engine() -> None:
    first, second = Engine(), Engine()
    hooks = graph.saved_tensor_hooks(identity, identity)
    with graph.native_engine(first):
        hooks.__enter__()
    with graph.native_engine(second):
        hooks.__exit__(None, None, None)
    assert [entry[0] for entry in first.told] == ["push", "pop"] and second.told == []


def test_an_engine_without_the_functions_changes_nothing() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    with graph.native_engine(object()), recorder.hooks():
        x.sin()
    assert len(recorder.packed) == 1
