"""The checks of notebook 05 for pairs with a state: a log of all calls, and a list of tensors."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import tensorplay_ref as tp

from ...autograd.graph import saved_tensor_hooks
from ...autograd.observer import watching
from ..check import Exercise
from ..compare import (
    Difference,
    a_pair,
    alive,
    freed,
    reference_counting,
    same,
    same_gradient,
    same_trace,
    same_values,
    unchanged,
)
from .programs import constant, gradient_of, network, product, selection, variable

# -- the log -----------------------------------------------------------------------------------
log = Exercise(
    "05.log",
    '`logging_hooks(log)` returns a pack and an unpack that change nothing and append `("pack", '
    'shape, bytes)` or `("unpack", shape, bytes)` to the list `log` at each call.',
    takes=("logging_hooks",),
    difficulty=1,
    minutes=10,
)


def hooks_of(logging_hooks: Any, log: list[Any]) -> tuple[Any, Any]:
    """The reader's pack and unpack, which write into `log`."""
    return a_pair(logging_hooks(log), "logging_hooks(log)")


def same_log(logging_hooks: Any, program: Callable[[Any], None], what: str) -> None:
    """The reader's log has the calls that the package itself reports."""
    events: list[tuple[str, tuple[int, ...], int]] = []

    def watch(kind: str, node: Any, details: dict[str, Any]) -> None:
        if kind in ("pack", "unpack"):
            tensor = details["tensor" if kind == "pack" else "value"]
            # Whatever else an unpack returns is refused by the package a moment later.
            if isinstance(tensor, tp.Tensor):
                events.append((kind, tensor.shape, tensor.nbytes))

    log: list[Any] = []
    hooks = hooks_of(logging_hooks, log)
    with watching(watch):
        with saved_tensor_hooks(*hooks):
            program(variable(0.5, -1.0, 2.0, 0.25, 1.5, -0.75))
    for kind in ("pack", "unpack"):
        found = sum(entry[0] == kind for entry in log)
        expected = sum(event[0] == kind for event in events)
        if found != expected:
            raise Difference(f"{what}: {found} calls of {kind} in the log, expected {expected}")
    same_trace(log, events, what)


@log.case
def logs_each_slot(logging_hooks: Any) -> None:
    """a product, whose two slots hold one tensor"""
    same_log(logging_hooks, lambda x: product(x).backward(), "x * x")


@log.case
def logs_each_read(logging_hooks: Any) -> None:
    """two backwards through one graph"""

    def program(x: Any) -> None:
        loss = product(x)
        loss.backward(retain_graph=True)
        loss.backward()

    same_log(logging_hooks, program, "x * x and two backwards")


@log.case
def logs_a_network(logging_hooks: Any) -> None:
    """a small network"""
    same_log(logging_hooks, lambda x: network(x).backward(), "a network")


@log.case
def logs_an_index(logging_hooks: Any) -> None:
    """an operation that saves its integer index"""
    same_log(logging_hooks, lambda x: selection(x).backward(), "an index")


@log.case
def logs_nothing_when_nothing_is_saved(logging_hooks: Any) -> None:
    """a sum, which saves nothing, and a graph that is never walked"""
    same_log(logging_hooks, lambda x: (x + x).sum().backward(), "x + x")
    same_log(logging_hooks, product, "x * x without a backward")


@log.case
def changes_no_gradient(logging_hooks: Any) -> None:
    """gradients with and without the log"""
    for program in (product, network, selection):
        found = gradient_of(program, hooks_of(logging_hooks, []))
        same_gradient(found, gradient_of(program), "x")


@log.case
def keeps_no_tensor_alive(logging_hooks: Any) -> None:
    """a graph that is dropped while the log is kept"""
    log: list[Any] = []
    pair = hooks_of(logging_hooks, log)
    with reference_counting():
        hidden = variable(1.0, 2.0) * 1.0
        with saved_tensor_hooks(*pair):
            result = hidden * hidden
        reference = weakref.ref(hidden)
        del hidden, result
        freed(reference, "a tensor that only the log can still hold")


# -- the index ---------------------------------------------------------------------------------
index_store = Exercise(
    "05.index_store",
    "`IndexStore().pack(tensor)` puts a copy of the tensor at the end of the list `self.tensors` "
    "and returns its index, an `int`; `unpack(index)` returns the tensor that is there, at each "
    "read.",
    takes=("IndexStore",),
    difficulty=2,
    minutes=15,
)


@index_store.case
def packs_into_an_index(store_of: Any) -> None:
    """packing three tensors by hand"""
    store = store_of()
    tensors = [constant(1.0), constant(2.0, 3.0), constant(1.0)]
    found = [store.pack(tensor) for tensor in tensors]
    same_trace(found, [0, 1, 2], "what pack returned for three tensors, two of them equal")
    same(len(store.tensors), 3, "the number of stored tensors")
    for index in (1, 0, 2, 1):
        same_values(store.unpack(index), tensors[index], f"unpack({index})")


@index_store.case
def every_store_has_its_own_list(store_of: Any) -> None:
    """two stores"""
    first, second = store_of(), store_of()
    first.pack(constant(1.0))
    same(len(second.tensors), 0, "the number of tensors in a second, unused store")


@index_store.case
def the_graph_holds_an_index(store_of: Any) -> None:
    """what the slots of x * y hold"""
    store = store_of()
    x, y = variable(1.0, 2.0), variable(3.0, 4.0)
    with saved_tensor_hooks(store.pack, store.unpack):
        node = (x * y).grad_fn
    same_trace([slot.data for slot in node.saved_slots], [0, 1], "what the two slots of x * y hold")


@index_store.case
def gradients_are_the_same(store_of: Any) -> None:
    """gradients with and without the store"""
    for program in (product, network, selection):
        store = store_of()
        found = gradient_of(program, (store.pack, store.unpack))
        same_gradient(found, gradient_of(program), "x")


@index_store.case
def a_slot_can_be_read_again(store_of: Any) -> None:
    """two backwards through one graph"""
    store = store_of()
    x = variable(1.0, 2.0)
    with saved_tensor_hooks(store.pack, store.unpack):
        loss = product(x)
    plain = variable(1.0, 2.0)
    expected = product(plain)
    for each in (loss, expected):
        each.backward(retain_graph=True)
        each.backward()
    same_gradient(x.grad, plain.grad, "x")


@index_store.case
def a_later_change_does_not_reach_the_copy(store_of: Any) -> None:
    """a tensor that is changed in place after it was saved"""
    store = store_of()
    x = variable(1.0, 2.0)
    hidden = x * 3.0
    with saved_tensor_hooks(store.pack, store.unpack), unchanged(x=x):
        loss = (hidden * hidden).sum()
    hidden.zero_()
    loss.backward()
    plain = variable(1.0, 2.0)
    product(plain * 3.0).backward()
    # Zeroing is recorded for what comes later; what was saved before it counts here.
    same_gradient(x.grad, plain.grad, "x, whose product was overwritten after saving,")


@index_store.case
def the_store_keeps_what_it_was_given(store_of: Any) -> None:
    """a graph that is dropped while the store is kept"""
    store = store_of()
    with reference_counting():
        hidden = variable(1.0, 2.0) * 1.0
        reference = weakref.ref(hidden)
        with saved_tensor_hooks(store.pack, store.unpack):
            result = hidden * hidden
        del result
        alive(reference, "a tensor in use")
        del hidden
        freed(reference, "the tensor of which the store has a copy")
    same(len(store.tensors), 2, "the number of stored tensors when the graph is gone")
