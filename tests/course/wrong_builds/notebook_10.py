"""Mistakes in notebook 10: regions that run again, their length, the random state."""

import math
from contextlib import contextmanager
from typing import Any

import tensorplay_ref as tp
from tests.course.builds import wrong


def with_region(lesson: Any, kind: Any) -> Any:
    """The lesson's checkpoint with another kind of region."""
    return (lambda function, *args: lesson.checkpoint(function, *args, kind=kind),)


@wrong("10.checkpoint", says="the function was called once, expected twice (one backward)")
def packs_the_tensor(lesson: Any) -> Any:
    class Region(lesson.Rerun):
        def pack(self, tensor: Any) -> Any:
            return tensor

        def unpack(self, packed: Any) -> Any:
            return packed

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="the function was called 9 times, expected twice")
def runs_again_for_every_tensor(lesson: Any) -> Any:
    class Region(lesson.Region):
        def unpack(self, number: Any) -> Any:
            self.values = {}
            return super().unpack(number)

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="a tensor that was handed out is still alive")
def keeps_what_it_has_collected(lesson: Any) -> Any:
    class Region(lesson.Region):
        def unpack(self, number: Any) -> Any:
            tensor = super().unpack(number)
            self.values[number] = tensor
            return tensor

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="KeyError")
def runs_again_only_once(lesson: Any) -> Any:
    class Region(lesson.Region):
        ran = False

        def unpack(self, number: Any) -> Any:
            if self.ran:
                return self.values.pop(number)
            self.ran = True
            return super().unpack(number)

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="KeyError")
def runs_again_only_when_nothing_is_left(lesson: Any) -> Any:
    class Region(lesson.Region):
        def unpack(self, number: Any) -> Any:
            if not self.values:
                return super().unpack(number)
            return self.values.pop(number)

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="a node of the second run")
def collects_with_history(lesson: Any) -> Any:
    class Region(lesson.Region):
        def unpack(self, number: Any) -> Any:
            if number not in self.values:
                collected: list[Any] = []
                self.run_again(collected.append)
                self.values = dict(enumerate(collected))
            return self.values.pop(number)

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="the gradient of")
def counts_from_the_end(lesson: Any) -> Any:
    class Region(lesson.Region):
        def unpack(self, number: Any) -> Any:
            return super().unpack(self.count - 1 - number)

    return with_region(lesson, Region)


@wrong("10.checkpoint", says="KeyError")
def lets_its_arguments_be_constants(lesson: Any) -> Any:
    class Region(lesson.Region):
        def __init__(self, function: Any, args: Any) -> None:
            super().__init__(function, [arg.detach() for arg in args])

    return with_region(lesson, Region)


@wrong("10.segment", says="tensors at the peak, expected")
def saves_the_least(lesson: Any) -> Any:
    return (lambda layers: layers,)


@wrong("10.segment", says="tensors at the peak, expected")
def recomputes_the_least(lesson: Any) -> Any:
    return (lambda layers: 1,)


@wrong("10.segment", says="expected the first such length")
def takes_the_whole_root(lesson: Any) -> Any:
    return (math.isqrt,)


@wrong("10.segment", says="expected the first such length")
def rounds_the_root(lesson: Any) -> Any:
    return (lambda layers: round(math.sqrt(layers)),)


@wrong("10.segment", says="expected the first such length")
def takes_the_last_best(lesson: Any) -> Any:
    def segment(layers: int) -> int:
        lengths = range(layers, 0, -1)
        return min(lengths, key=lambda length: math.ceil(layers / length) + length)

    return (segment,)


@wrong("10.segment", says="expected a whole number from 1 to 1")
def forgets_to_round(lesson: Any) -> Any:
    return (math.sqrt,)


@wrong("10.segment", says="expected a whole number from 1 to 1")
def gives_the_number_of_regions_and_one(lesson: Any) -> Any:
    return (lambda layers: math.isqrt(layers) + 1,)


@wrong("10.random_state", says="what is drawn before and after the context")
def does_not_put_the_state_back(lesson: Any) -> Any:
    @contextmanager
    def random_state(state: Any) -> Any:
        tp.set_rng_state(state)
        yield

    return (random_state,)


@wrong("10.random_state", says="what is drawn after an exception")
def forgets_the_exception(lesson: Any) -> Any:
    @contextmanager
    def random_state(state: Any) -> Any:
        former = tp.get_rng_state()
        tp.set_rng_state(state)
        yield
        tp.set_rng_state(former)

    return (random_state,)


@wrong("10.random_state", says="what is drawn before and after the context")
def puts_the_given_state_back(lesson: Any) -> Any:
    @contextmanager
    def random_state(state: Any) -> Any:
        tp.set_rng_state(state)
        try:
            yield
        finally:
            tp.set_rng_state(state)

    return (random_state,)


@wrong("10.random_state", says="what is drawn inside")
def sets_no_state(lesson: Any) -> Any:
    @contextmanager
    def random_state(state: Any) -> Any:
        yield

    return (random_state,)


@wrong("10.random_state", says="what is drawn inside")
def seeds_with_a_constant(lesson: Any) -> Any:
    @contextmanager
    def random_state(state: Any) -> Any:
        former = tp.get_rng_state()
        tp.manual_seed(0)
        try:
            yield
        finally:
            tp.set_rng_state(former)

    return (random_state,)
