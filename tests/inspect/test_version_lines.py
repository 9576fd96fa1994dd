"""version_lines(): saves, writes, uses by backward and conflicts of each storage."""

import pytest

from tensorplay_ref.autograd import no_grad
from tensorplay_ref.inspect import new_axes, trace, version_lines
from tests.inspect.programs import leaf


def conflicting():
    w = leaf(3)
    with trace() as t:
        e = (w * 1.0).exp()
        total = (e * e).sum()
        with no_grad():
            e[0].mul_(2.0)
        with pytest.raises(RuntimeError, match="inplace"):
            total.backward()
    return t, e


def test_the_story_of_a_conflict():
    t, e = conflicting()
    lines = version_lines(t, {"e": e, "e[0]": e[0]})
    assert [(x.storage, x.kind, x.operation, x.version) for x in lines.events] == [
        ("e, e[0]", "save", "2 Exp", 0),
        ("e, e[0]", "save", "3 Mul", 0),
        ("e, e[0]", "save", "3 Mul", 0),
        ("e, e[0]", "write", "Mul", 1),
        ("e, e[0]", "backward", "3 Mul", 1),
        ("e, e[0]", "conflict", "3 Mul", 1),
    ]
    assert "written in place" in repr(lines)
    assert [event.number for event in lines.events] == sorted(e.number for e in lines.events)


def test_without_a_write_there_is_no_conflict():
    w = leaf(3)
    with trace() as t:
        e = (w * 1.0).exp()
        e.sum().backward()
    lines = version_lines(t, {"e": e, "w": w})
    assert [event.kind for event in lines.of("e")] == ["save", "backward"]
    assert lines.of("w") == []
    assert repr(version_lines(t, {"w": w})) == "no storage was saved or written"


def test_the_picture_is_a_step_line_with_marks():
    t, e = conflicting()
    lines = version_lines(t, {"e": e})
    ax = lines.plot()
    step, *marks = ax.lines
    assert step.get_drawstyle() == "steps-post"
    numbers = [event.number for event in lines.events]
    assert list(step.get_xdata()) == [*numbers, numbers[-1]]
    assert list(step.get_ydata()) == [0, 0, 0, 1, 1, 1, 1]
    assert {m.get_label(): list(m.get_ydata()) for m in marks} == {
        "saved": [0, 0, 0],
        "written in place": [1],
        "backward of who saved it": [1],
        "conflict": [1],
    }
    assert len({mark.get_marker() for mark in marks}) == 4
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("event number", "version (writes)")
    own = new_axes()
    assert lines.plot(own) is own
