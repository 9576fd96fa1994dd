"""allow_mutation_on_saved_tensors: a saved value is cloned when it is about to be overwritten."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import Recorder, constant, equal, leaf

graph = tp.autograd.graph
allowed = graph.allow_mutation_on_saved_tensors


def test_backward_sees_what_was_saved() -> None:
    with allowed() as guard:
        x = leaf([2.0, 3.0])
        h = x * 1.0
        y = h.sin()
        with tp.no_grad():
            h.mul_(100.0)
        assert guard.cloned == 1
        y.sum().backward()
    equal(x.grad, np.cos([2.0, 3.0]))


def test_nothing_is_cloned_without_a_write_or_after_the_graph_is_gone() -> None:
    with allowed() as guard:
        x = leaf([2.0])
        h = x * 1.0
        y = h.sin()
        y.backward(retain_graph=True)
        assert guard.cloned == 0
        del y
        h.mul_(2.0)
        assert guard.cloned == 0


def test_slots_of_one_view_share_one_clone() -> None:
    with allowed() as guard:
        x = leaf([2.0, 3.0])
        h = x * 1.0
        y = h.sin() + h.cos() + h[:1].sin()
        h.zero_()
        assert guard.cloned == 2
        h.fill_(1.0)
        assert guard.cloned == 2
        y.sum().backward()
    equal(x.grad, np.cos([2.0, 3.0]) - np.sin([2.0, 3.0]) + [2 * np.cos(2.0), 0.0])


@pytest.mark.parametrize("way", ["view", "alias", "index", "gradient", "copy_"])
def test_every_way_of_writing_is_seen(way: str) -> None:
    with allowed():
        w = leaf([3.0, 4.0])
        h = constant([2.0, 5.0])
        h.requires_grad_()
        h.grad = constant([2.0, 5.0])
        saved = h.grad if way == "gradient" else h * 1.0
        y = (saved * w).sum()
        if way == "view":
            saved[0].mul_(9.0)
        elif way == "alias":
            saved.detach().mul_(9.0)
        elif way == "index":
            saved[saved > 3.0] = 0.0
        elif way == "copy_":
            saved.copy_(w)
        else:
            (h * 7.0).sum().backward()
        y.backward()
    equal(w.grad, [2.0, 5.0])


def test_both_operands_of_a_write_onto_itself() -> None:
    with allowed():
        x = leaf([2.0])
        h = x * 1.0
        h.mul_(h)
        h.mul_(h)
        h.backward()
    equal(x.grad, [4 * 2.0**3])


def test_nesting_is_refused_and_the_outer_one_goes_on() -> None:
    with allowed():
        x = leaf([2.0])
        h = x * 1.0
        y = h.sin()
        with pytest.raises(RuntimeError, match="cannot be nested"), allowed():
            raise AssertionError("the body must not run")
        h.mul_(2.0)
        y.backward()
    equal(x.grad, [np.cos(2.0)])
    assert graph._current_pair() is None


def test_backward_outside_is_refused() -> None:
    with allowed():
        y = leaf([2.0]).sin()
    with pytest.raises(RuntimeError, match="outside of the 'allow_mutation_on_saved_tensors'"):
        y.backward()


def test_it_is_a_pair_among_the_others() -> None:
    outer, inner = Recorder(), Recorder()
    x = leaf([2.0])
    with outer.hooks(), pytest.raises(KeyError), allowed():
        x.sin()
        with inner.hooks():
            x.sin()
        raise KeyError
    assert (len(outer.packed), len(inner.packed)) == (0, 1)
    assert graph._current_pair() is None
    h = x * 1.0
    y = h.sin()
    h.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_saved_values_go_with_the_graph() -> None:
    with reference_counting(), allowed():
        h: Any = leaf([2.0]) * 1.0
        y = h.sin()
        watched = weakref.ref(h._storage)
        del h
        assert watched() is not None
        del y
        assert watched() is None
