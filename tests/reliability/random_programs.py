"""Random programs: what they are, and how one is run with any module, any hooks, any fault.

A program is a list of steps over a pool of tensors. A step is an operation, an in-place write, a
custom Function, a hook on a tensor, a backward, a second-order term, or a block of steps inside a
context of saved-tensor hooks, which may be left by an exception. The same program can be run
plainly, and its values and gradients must be the same.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.reliability.program_hooks import COPYING, SHARING, Fault, Faults, Pairs, functions
from tests.reliability.program_operations import OPERATIONS, WRITES

PAIRS = (*COPYING, *SHARING)
CUSTOM = ("Product", "Tanh", "SineCosine")
BLOCKS = tuple(f"with {pair}" for pair in PAIRS)
WALKS = ("backward", "second order", "tensor hook", "grad", "retain", "inputs")
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 3), (1, 3), (2, 1))
REFERENCE = "tensorplay_ref"
STALE = "modified by an inplace operation"
EXPANDED = "single memory location", "share one memory location", "memory is read-only"


class Step(NamedTuple):
    """One step: its name, two tensors of the pool (modulo its size) and a small number."""

    name: str
    first: int
    second: int
    number: int


class Program(NamedTuple):
    """Shapes of the leaves, the seed of their values, and the steps."""

    shapes: tuple[tuple[int, ...], ...]
    seed: int
    steps: tuple[Step, ...]


class Left(Exception):
    """The exception by which a block of steps is left on purpose."""


@dataclass
class Outcome:
    """What a run leaves behind: arrays, the steps that failed, and what to watch."""

    values: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    failed: set[int] = field(default_factory=set)
    stale: bool = False
    refused: str = ""
    watched: list[Callable[[], Any]] = field(default_factory=list)
    packed: int = 0


class Run:
    """One run of a program.

    Args:
        module: tensorplay_ref or torch.
        hooks: whether the blocks of hooks are entered; without, their steps run plainly.
        skip: steps to leave out, because they failed in the run to compare with.
        outside: the pair around the whole program, if any.
    """

    def __init__(
        self,
        module: Any,
        program: Program,
        folder: Path,
        *,
        hooks: bool = True,
        faults: Faults | None = None,
        skip: frozenset[int] = frozenset(),
        outside: str = "",
    ) -> None:
        self.module, self.program, self.hooks, self.skip = module, program, hooks, skip
        self.faults = faults or Faults(None, 0)
        self.pairs = Pairs(module, self.faults, folder)
        self.outside = outside
        self.outcome = Outcome()
        self.custom = functions(module, self.faults)
        rng = np.random.default_rng(program.seed)
        self.leaves = [
            module.tensor(np.asarray(rng.uniform(-1.5, 1.5, shape)), requires_grad=number != 1)
            for number, shape in enumerate(program.shapes)
        ]
        self.pool = [leaf * 1.0 for leaf in self.leaves]
        self.retaining: list[Any] = []

    def run(self) -> Outcome:
        """Run every step and the backward at the end."""
        if self.outside:
            with self.pairs.context(self.outside):
                self._steps(0, len(self.program.steps))
                self._end()
        else:
            self._steps(0, len(self.program.steps))
            self._end()
        if self.module.__name__ == REFERENCE:
            check_buffers([*self.leaves, *self.retaining], [*self.leaves, *self.pool])
        outcome = self.outcome
        outcome.values = [t.detach().numpy().copy() for t in self.pool]
        outcome.gradients = self._gradients()
        # A gradient with a graph holds its leaf, which holds the gradient.
        for tensor in (*self.leaves, *self.retaining):
            tensor.grad = None
        outcome.packed = self.pairs.count
        if self.module.__name__ == REFERENCE:
            outcome.watched += [*self.pairs.parcels, *map(weakref.ref, self.pool)]
            outcome.watched += [weakref.ref(t._storage) for t in self.pool]
            outcome.watched += [weakref.ref(t.grad_fn) for t in self.pool if t.grad_fn is not None]
        return outcome

    # -- steps -----------------------------------------------------------------------------------
    def _steps(self, start: int, stop: int) -> None:
        position = start
        while position < stop:
            step = self.program.steps[position]
            if step.name.startswith("with "):
                length = 1 + step.second % 6
                self._block(step, position + 1, min(position + 1 + length, stop))
                position += length
            elif position not in self.skip:
                self._guarded(position, step)
            position += 1

    def _block(self, step: Step, start: int, stop: int) -> None:
        if not self.hooks:
            self._steps(start, stop)
            return
        try:
            with self.pairs.context(step.name.removeprefix("with ")):
                self._steps(start, stop)
                if step.number % 2:
                    raise Left
        except Left:
            pass

    def _guarded(self, position: int, step: Step) -> None:
        try:
            self._step(step)
        except Fault:
            self.outcome.failed.add(position)
        except RuntimeError as error:
            if STALE in str(error):
                self.outcome.stale = True
            elif not any(text in str(error) for text in EXPANDED):
                self.outcome.refused += f"{step.name}: {type(error).__name__}: {error}\n"
            self.outcome.failed.add(position)

    def _step(self, step: Step) -> None:
        first = self.pool[step.first % len(self.pool)]
        second = self.pool[step.second % len(self.pool)]
        name = step.name
        if name in WRITES:
            WRITES[name](self.module, first, second, step.number)
        elif name == "backward":
            self._backward(self._weighted(first), step.number)
        elif name == "inputs":
            self._backward(self._weighted(first), inputs=[self.leaves[0]])
        elif name == "retain":
            if self.retaining:
                # Once more on one that retains already, and may have been written since.
                self.retaining[step.second % len(self.retaining)].retain_grad()
            # A tensor of its own: flatten and its like may or may not return the very tensor.
            self.pool.append(first * 1.0)
            if first.requires_grad:
                self.pool[-1].retain_grad()
                self.retaining.append(self.pool[-1])
        elif name == "tensor hook":
            self._tensor_hook(first, step.number)
        elif name in ("second order", "grad"):
            self._grad(first, name == "second order")
        else:
            operation = OPERATIONS.get(name) or self.custom[name]
            self.pool.append(operation(self.module, first, second, step.number))

    def _backward(self, loss: Any, number: int = 0, inputs: Any = None) -> None:
        before = self._gradients()
        if not loss.requires_grad:
            return
        try:
            loss.backward(retain_graph=True, create_graph=number == 5, inputs=inputs)
        except BaseException:
            unchanged = same(before, self._gradients()) or self.module.__name__ != REFERENCE
            assert unchanged, "a failed backward changed a gradient"
            raise

    def _tensor_hook(self, tensor: Any, number: int) -> None:
        if tensor.requires_grad:

            def hook(grad: Any) -> Any:
                self_faults.passing("hook")
                return grad * 2.0 if number % 2 else None

            self_faults = self.faults
            tensor.register_hook(hook)

    def _grad(self, tensor: Any, second_order: bool) -> None:
        loss = self._weighted(tensor)
        leaf = self.leaves[0]
        if not loss.requires_grad or not leaf.requires_grad:
            return
        (grad,) = self.module.autograd.grad(
            loss, leaf, create_graph=second_order, retain_graph=True, allow_unused=True
        )
        if grad is not None:
            self.pool.append((grad if second_order else grad.detach()).sin())

    def _weighted(self, tensor: Any) -> Any:
        return (tensor.sin() * 0.5).sum()

    def _end(self) -> None:
        """A loss of everything in the pool; when its backward meets a fault, once more."""
        if len(self.program.steps) in self.skip:
            return
        for _ in range(2):
            try:
                # Summed one by one: the order is the same however the program was run.
                loss = sum(self._weighted(tensor) for tensor in self.pool)
                self._backward(loss)
                return
            except Fault:
                continue
            except RuntimeError as error:
                if STALE not in str(error):
                    raise
                self.outcome.stale = True
                return

    def _gradients(self) -> list[Any]:
        grads = [tensor.grad for tensor in (*self.leaves, *self.retaining)]
        return [None if grad is None else grad.detach().numpy().copy() for grad in grads]


def same(first: Sequence[Any], second: Sequence[Any], rtol: float = 0.0) -> bool:
    """Whether two lists of arrays are equal: exactly, or to `rtol` of the largest element."""
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if (one is None) != (other is None):
            return False
        if one is None:
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        scale = rtol * max(1.0, float(np.abs(other).max(initial=0.0)))
        if not np.allclose(one, other, rtol=rtol, atol=scale, equal_nan=True):
            return False
    return True


def check_buffers(leaves: Sequence[Any], tensors: Sequence[Any]) -> None:
    """No gradient shares memory with a tensor or another gradient, and each can be written."""
    arrays = [leaf.grad.detach().numpy() for leaf in leaves if leaf.grad is not None]
    others = [tensor.detach().numpy() for tensor in tensors]
    for position, array in enumerate(arrays):
        assert array.flags.writeable
        for other in (*arrays[position + 1 :], *others):
            assert not np.shares_memory(array, other), "two gradients share a buffer"
