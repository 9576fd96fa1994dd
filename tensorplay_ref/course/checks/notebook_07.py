"""The checks of notebook 07: hooks that move saved tensors to the host, and keep parameters."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ...autograd.graph import save_on_cpu, saved_tensor_hooks
from ...inspect import timeline
from ..check import Exercise
from ..compare import (
    Difference,
    freed,
    raises,
    reference_counting,
    same,
    same_count,
    same_gradient,
    same_object,
    same_values,
    shown,
    unchanged,
)

Program = Callable[[Any], Any]


class Offload:
    """The package's `save_on_cpu` as hooks, which note what they were given."""

    def __init__(self) -> None:
        context = save_on_cpu()
        self._pack, self._unpack = context.pack_hook, context.unpack_hook
        self.packed: list[tuple[int, ...]] = []

    def pack(self, tensor: Any) -> Any:
        self.packed.append(tensor.shape)
        return self._pack(tensor)

    def unpack(self, packed: Any) -> Any:
        return self._unpack(packed)


def matrix(rows: int, columns: int, device: str = "cuda", first: float = 0.0) -> Any:
    values = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) / 7 + first
    return tp.tensor(values, device=device)


def parameter(rows: int, columns: int, device: str = "cuda") -> Any:
    return matrix(rows, columns, device, -1.0).requires_grad_()


def layers(x: Any) -> Any:
    """A network of two layers on the device of x; saves inputs, parameters, and relu's twice."""
    device = str(x.device)
    hidden = (x @ parameter(x.shape[1], 6, device)).relu()
    return (hidden @ parameter(6, 4, device)).tanh().sum()


def selected(x: Any) -> Any:
    """Rows chosen by an index, which is saved, too."""
    return (x[tp.tensor([2, 0, 2], device=x.device)] * 2.0).exp().sum()


PROGRAMS: dict[str, Program] = {"a network": layers, "a selection": selected}


def gradient(program: Program, hooks: Any = None, device: str = "cuda") -> Any:
    x = parameter(3, 5, device)
    result = program(x) if hooks is None else saved_tensor_hooks(*hooks)(program)(x)
    result.backward()
    return x.grad


def both(hooks: Any) -> tuple[Any, Any]:
    return hooks.pack, hooks.unpack


# -- the pair ------------------------------------------------------------------------------------
offloads = Exercise(
    "07.save_on_cpu",
    "`SaveOnCpu().pack(tensor)` returns a pair, the tensor in the host's memory and the device it "
    "came from, and keeps a tensor that is on the host already without copying it; `unpack` gives "
    "the tensor on its own device, at each read.",
    takes=("SaveOnCpu",),
    difficulty=2,
    minutes=15,
)


@offloads.case
def packs_into_a_pair(hooks_of: Any) -> None:
    """packing a tensor of the device by hand"""
    with tp.cuda.simulate():
        x = matrix(3, 2)
        with unchanged(x=x):
            packed = hooks_of().pack(x)
        if not isinstance(packed, tuple) or len(packed) != 2:
            raise Difference(f"pack returned {shown(packed)}, expected a pair")
        host, device = packed
        same_values(host, x, "the first of the pair")
        same(str(host.device), "cpu", "the device of the first of the pair")
        same(str(device), "cuda:0", "the second of the pair")


@offloads.case
def comes_back_to_its_device(hooks_of: Any) -> None:
    """unpacking tensors of two devices and of the host, twice each"""
    with tp.cuda.simulate(), tp.cuda.simulate(index=1):
        hooks = hooks_of()
        for device in ("cuda:0", "cuda:1", "cpu"):
            x = matrix(3, 2, device)
            packed = hooks.pack(x)
            for _ in range(2):
                back = hooks.unpack(packed)
                same_values(back, x, f"what was saved on {device}")
                same(str(back.device), device, f"the device of what was saved on {device}")


@offloads.case
def keeps_a_host_tensor(hooks_of: Any) -> None:
    """packing a tensor that is on the host already"""
    x = matrix(3, 2, "cpu")
    host = hooks_of().pack(x)[0]
    same(host.data_ptr() == x.data_ptr(), True, "whether a host tensor shares its memory")


@offloads.case
def frees_the_device(hooks_of: Any) -> None:
    """the bytes of the device while the graph waits for backward"""

    def live(hooks: Any) -> int:
        with tp.cuda.simulate(), saved_tensor_hooks(*hooks):
            x = matrix(3, 5).requires_grad_()
            result = (x * 2.0).exp().exp().sum()
            beside: int = tp.cuda.memory_allocated() - x.nbytes - result.nbytes
            return beside

    same(live(both(hooks_of())), live(both(Offload())), "bytes on the device beside x")


@offloads.case
def moves_what_the_package_moves(hooks_of: Any) -> None:
    """the bytes over the link in a step"""
    for name, program in PROGRAMS.items():

        def copied(hooks: Any, program: Program = program) -> dict[str, int]:
            with tp.cuda.simulate(), timeline() as record:
                gradient(program, hooks)
            return record.copied()

        found, expected = copied(both(hooks_of())), copied(both(Offload()))
        for direction in ("to host", "to device"):
            same(found[direction], expected[direction], f"{name}: bytes copied {direction}")


@offloads.case
def gradients_are_the_same(hooks_of: Any) -> None:
    """gradients with and without the hooks"""
    with tp.cuda.simulate():
        for program in PROGRAMS.values():
            same_gradient(gradient(program, both(hooks_of())), gradient(program), "x")
    on_host = gradient(layers, both(hooks_of()), "cpu")
    same_gradient(on_host, gradient(layers, device="cpu"), "x, on the host,")


@offloads.case
def leaves_nothing_behind(hooks_of: Any) -> None:
    """the bytes of the host when the graph is gone"""
    hooks = hooks_of()
    with tp.cuda.simulate(), reference_counting():
        before = tp.cuda.host_memory_allocated()
        gradient(layers, both(hooks))
        same(tp.cuda.host_memory_allocated() - before, 0, "bytes left on the host by a step")


# -- parameters stay -----------------------------------------------------------------------------
skips = Exercise(
    "07.skip_leaves",
    "`SkipLeaves(hooks).pack(tensor)` returns `Kept(tensor)` for a leaf that requires a gradient "
    "and for a view of one; every other tensor it hands to `hooks.pack`.",
    takes=("SkipLeaves", "Kept"),
    difficulty=2,
    minutes=15,
)


def kept(skip_leaves: Any, kind: Any, tensor: Any) -> bool:
    """Whether it is kept; what is kept or packed must give the tensor back."""
    inner = Offload()
    hooks = skip_leaves(inner)
    packed = hooks.pack(tensor)
    stays = isinstance(packed, kind)
    if stays:
        same_object(packed.tensor, tensor, "what a Kept holds")
    same_count("hooks.pack", len(inner.packed), 0 if stays else 1, "one tensor")
    same_values(hooks.unpack(packed), tensor, "what was packed")
    return stays


@skips.case
def keeps_parameters(skip_leaves: Any, kind: Any) -> None:
    """a parameter, transposed, reshaped, and a part of it"""
    with tp.cuda.simulate():
        w = parameter(3, 4)
        views = {"a parameter": w, "w.T": w.T, "w.reshape(12)": w.reshape(12), "w[1]": w[1]}
        for name, tensor in views.items():
            same(kept(skip_leaves, kind, tensor), True, f"whether {name} is kept")


@skips.case
def packs_all_others(skip_leaves: Any, kind: Any) -> None:
    """a result, a view of a result, data, and labels"""
    with tp.cuda.simulate():
        hidden = parameter(3, 4) * 2.0
        others = {
            "the result of an operation": hidden,
            "a view of a result": hidden.T,
            "data": matrix(3, 4),
            "a view of data": matrix(3, 4).T,
            "an index": tp.tensor([1, 2], device="cuda"),
        }
        for name, tensor in others.items():
            same(kept(skip_leaves, kind, tensor), False, f"whether {name} is kept")


@skips.case
def a_step_moves_the_rest(skip_leaves: Any, kind: Any) -> None:
    """which tensors of a network are handed on"""
    with tp.cuda.simulate():
        inner = Offload()
        found = gradient(lambda x: layers(x * 1.0), both(skip_leaves(inner)))
        expected = Offload()
        parameters = 0

        def pack(tensor: Any) -> Any:
            nonlocal parameters
            parameters += tensor.is_leaf and tensor.requires_grad
            return expected.pack(tensor)

        right = gradient(lambda x: layers(x * 1.0), (pack, expected.unpack))
        number = len(expected.packed) - parameters
        same_count("hooks.pack", len(inner.packed), number, "a network")
        same_gradient(found, right, "x")


@skips.case
def a_changed_parameter_is_an_error(skip_leaves: Any, kind: Any) -> None:
    """a parameter that is changed between forward and backward"""
    with tp.cuda.simulate():
        x, w = parameter(2, 2), parameter(2, 2)
        hooks = skip_leaves(Offload())
        with saved_tensor_hooks(hooks.pack, hooks.unpack):
            loss = (x @ w).sum()
        with tp.no_grad():
            w += 1.0
        raises(RuntimeError, loss.backward, "at a read after a parameter was changed")


@skips.case
def holds_no_tensor(skip_leaves: Any, kind: Any) -> None:
    """the hooks, when everything else is gone"""
    with tp.cuda.simulate(), reference_counting():
        hooks = skip_leaves(Offload())
        w = parameter(2, 2)
        hidden = w * 2.0
        packed = [hooks.pack(w), hooks.pack(hidden)]
        references = weakref.ref(w), weakref.ref(hidden)
        del w, hidden, packed
        for reference, name in zip(references, ("a parameter", "a result"), strict=True):
            freed(reference, f"{name} that only the hooks can still hold")
