"""Checks of notebook 04: a version counter through views; which programs must raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.autograd.saved import save

from ..check import Exercise
from ..compare import Difference, raises, same, shown

counter = Exercise(
    "04.counter",
    contract="`CountedTensor` counts every write in its storage, through whichever view it comes; "
    "`Saved` notes the version and refuses to be read when it has changed.",
    difficulty=3,
    minutes=20,
    takes=("CountedTensor", "Saved"),
)

programs = Exercise(
    "04.programs",
    contract="`must_raise` is the set of the numbers of those programs whose backward must raise.",
    difficulty=2,
    minutes=15,
    takes=("must_raise", "programs"),
)


class _Pair:
    """The reader's tensor and the package's, over equal values, changed together."""

    def __init__(self, mine: Any, theirs: Any) -> None:
        self.mine, self.theirs = mine, theirs

    def part(self, index: Any) -> _Pair:
        return _Pair(self.mine[index], self.theirs[index])

    def write(self, value: float) -> None:
        self.mine.write_(value)
        self.theirs.fill_(value)

    def compare(self, when: str) -> None:
        same(self.mine.storage.version, self.theirs._version, f"{when}, the version")


class _SavedPair:
    def __init__(self, pair: _Pair, saved: Any) -> None:
        self.mine: Any = saved(pair.mine)
        self.theirs: Any = save(pair.theirs, None)

    def compare(self, when: str) -> None:
        """Both give the same values, or both refuse with the same versions."""
        try:
            expected = self.theirs.unpack().detach().numpy()
        except RuntimeError as error:
            said = str(error).partition(", is at version ")[2].split(" instead")[0]
            raises(
                RuntimeError, self.mine.read, f"when it is read {when}", [f"is at version {said}"]
            )
            return
        try:
            found = self.mine.read()
        except RuntimeError as error:
            raise Difference(f"read {when} raises ({error}), expected the values") from error
        if not isinstance(found, np.ndarray):
            raise Difference(f"read {when} gives {shown(found)}, expected an array")
        same(found.tolist(), expected.tolist(), f"what is read {when}")


def _pair(tensor: Any, *shape: int) -> _Pair:
    values = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    return _Pair(tensor(values), tp.tensor(values))


@counter.case
def _nothing_written(tensor: Any, saved: Any) -> None:
    """nothing is written"""
    whole = _pair(tensor, 4)
    slot = _SavedPair(whole, saved)
    whole.compare("when nothing was written")
    slot.compare("when nothing was written")
    slot.compare("a second time")


@counter.case
def _written(tensor: Any, saved: Any) -> None:
    """a write after saving"""
    whole = _pair(tensor, 4)
    slot = _SavedPair(whole, saved)
    whole.write(5.0)
    whole.compare("after a write")
    slot.compare("after a write")


@counter.case
def _written_before(tensor: Any, saved: Any) -> None:
    """a write before saving"""
    whole = _pair(tensor, 4)
    whole.write(5.0)
    _SavedPair(whole, saved).compare("after a write before saving")


@counter.case
def _undone(tensor: Any, saved: Any) -> None:
    """a change and its undoing"""
    whole = _Pair(tensor(np.zeros(3)), tp.zeros(3, dtype=tp.float64))
    slot = _SavedPair(whole, saved)
    whole.write(5.0)
    whole.write(0.0)
    slot.compare("after a change and its undoing")


@counter.case
def _written_through_a_view(tensor: Any, saved: Any) -> None:
    """a write through a view"""
    whole = _pair(tensor, 4)
    slot = _SavedPair(whole, saved)
    whole.part(slice(0, 2)).write(5.0)
    whole.compare("after a write through a view")
    slot.compare("after a write through a view")


@counter.case
def _view_saved(tensor: Any, saved: Any) -> None:
    """a view is saved and its base is written"""
    whole = _pair(tensor, 4)
    part = whole.part(slice(1, 3))
    slot = _SavedPair(part, saved)
    whole.write(5.0)
    part.compare("after a write to the base, for the view")
    slot.compare("after a write to the base of what was saved")


@counter.case
def _view_of_a_view(tensor: Any, saved: Any) -> None:
    """a write through a view of a view, to another part"""
    whole = _pair(tensor, 4, 3)
    slot = _SavedPair(whole.part(slice(0, 1)), saved)
    whole.part(slice(1, 4)).part((slice(1, 3), slice(0, 2))).write(5.0)
    whole.compare("after a write through a view of a view")
    slot.compare("after a write to another part")


@counter.case
def _apart(tensor: Any, saved: Any) -> None:
    """two tensors over one array, which is copied"""
    array = np.ones(3)
    mine, other = tensor(array), tensor(array)
    slot = saved(mine)
    other.write_(5.0)
    array[...] = 7.0
    same(mine.storage.version, 0, "after a write to another tensor, the version")
    same(slot.read().tolist(), [1.0, 1.0, 1.0], "after a write to another tensor, what is read")


@counter.case
def _no_copy(tensor: Any, saved: Any) -> None:
    """saving makes no copy"""
    mine = tensor(np.ones(1000))
    arrays = saved(mine).read(), mine[0:1000].array
    for found, what in zip(arrays, ("what is read", "the array of a view"), strict=True):
        # NumPy would look for an array inside of whatever else it is given.
        if not isinstance(found, np.ndarray):
            raise Difference(f"{what} is {shown(found)}, expected an array")
    if not np.shares_memory(*arrays):
        raise Difference("Saved copies the array, expected the very memory of the tensor")


@counter.case
def _random_programs(tensor: Any, saved: Any) -> None:
    """saves and writes in random order, through random views"""
    rng = np.random.default_rng(0)
    for number in range(20):
        parts = [_pair(tensor, 6)]
        slots: list[_SavedPair] = []
        for _ in range(8):
            chosen = parts[rng.integers(len(parts))]
            action = rng.integers(3)
            if action == 0:
                start = int(rng.integers(0, max(1, len(chosen.theirs) - 1)))
                parts.append(chosen.part(slice(start, None)))
            elif action == 1:
                chosen.write(float(rng.integers(9)))
            else:
                slots.append(_SavedPair(chosen, saved))
        for pair in parts:
            pair.compare(f"in random program {number}")
        for slot in slots:
            slot.compare(f"in random program {number}")


def raises_in_backward(program: str) -> bool:
    """Whether the package's backward refuses after this program over `h` and `c`."""
    leaf = tp.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    names: dict[str, Any] = {"h": leaf * 1.0, "c": tp.ones(4), "tp": tp}
    exec(program, names)
    try:
        names["y"].sum().backward()
    except RuntimeError:
        return True
    return False


def _numbers(must_raise: Any, programs: Mapping[int, str]) -> set[int]:
    """The numbers that were handed in, as a set of numbers of programs."""
    if not isinstance(must_raise, (set, frozenset, list, tuple)):
        raise Difference(f"must_raise is {shown(must_raise)}, expected a set such as {{3, 9}}")
    for number in must_raise:
        if number not in programs:
            raise Difference(f"there is no program {shown(number)}")
    return set(must_raise)


def _add_case(number: int) -> None:
    def program(must_raise: Any, programs: Mapping[int, str]) -> None:
        said = number in _numbers(must_raise, programs)
        happens = raises_in_backward(programs[number])
        if said != happens:
            raise Difference(
                f"program {number} {'raises' if happens else 'does not raise'} in the package: "
                f"{' '.join(programs[number].split())}"
            )

    program.__doc__ = f"program {number}"
    programs.case(program)


for _number in range(1, 13):
    _add_case(_number)
