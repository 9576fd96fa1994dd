"""allow_mutation_on_saved_tensors: the value at saving is copied before it is overwritten."""

from __future__ import annotations

from ..api import Api
from ..expect import equal, raises
from ..statement import statement, tensorplay_lacks, torch_2_13

TOPIC = "versions and in-place"


@tensorplay_lacks("autograd.graph.allow_mutation_on_saved_tensors")
@statement(TOPIC, "PyTorch's graph")
def mutation_can_be_allowed(api: Api) -> None:
    """Inside allow_mutation_on_saved_tensors a saved value may change: the old one is used."""
    x = api.leaf([2.0, 3.0])
    with api.graph.allow_mutation_on_saved_tensors():
        h = x * 1.0
        y = h.square().sum()
        with api.no_grad():
            h.add_(1.0)
        y.backward()
    equal(api, x.grad, [4.0, 6.0])


@tensorplay_lacks("autograd.graph.allow_mutation_on_saved_tensors")
@statement(TOPIC, "PyTorch's graph")
def mutation_through_a_view_is_allowed(api: Api) -> None:
    """A write through a view of a saved value is allowed as well."""
    x = api.leaf([2.0, 3.0])
    with api.graph.allow_mutation_on_saved_tensors():
        h = x * 1.0
        y = h.square().sum()
        with api.no_grad():
            h[0:1].zero_()
        y.backward()
    equal(api, x.grad, [4.0, 6.0])


@tensorplay_lacks("autograd.graph.allow_mutation_on_saved_tensors")
@statement(TOPIC, "PyTorch's graph")
def several_mutations_keep_the_values_apart(api: Api) -> None:
    """Values saved before and after a write are each used where they were saved."""
    x = api.leaf([2.0])
    with api.graph.allow_mutation_on_saved_tensors():
        h = x * 1.0
        before = h.square()
        with api.no_grad():
            h.mul_(10.0)
        after = h.square()
        with api.no_grad():
            h.zero_()
        (before + after).sum().backward()
    equal(api, x.grad, [44.0])


@tensorplay_lacks("autograd.graph.allow_mutation_on_saved_tensors")
@statement(TOPIC, "PyTorch's graph")
def allowing_mutation_does_not_nest(api: Api) -> None:
    """Entering allow_mutation_on_saved_tensors inside itself is an error."""
    with api.graph.allow_mutation_on_saved_tensors():
        inner = api.graph.allow_mutation_on_saved_tensors()
        raises(RuntimeError, inner.__enter__, "nested")


@torch_2_13("the refused entry ends the outer context", shows="Trying to backward outside")
@tensorplay_lacks("autograd.graph.allow_mutation_on_saved_tensors")
@statement(TOPIC, "PyTorch's graph")
def a_refused_nesting_leaves_the_outer_context_working(api: Api) -> None:
    """After a refused inner entry the outer context still allows mutation and backward."""
    x = api.leaf([2.0])
    with api.graph.allow_mutation_on_saved_tensors():
        h = x * 1.0
        y = h.square().sum()
        raises(RuntimeError, api.graph.allow_mutation_on_saved_tensors().__enter__)
        with api.no_grad():
            h.zero_()
        y.backward()
    equal(api, x.grad, [4.0])


@tensorplay_lacks("autograd.graph.allow_mutation_on_saved_tensors")
@statement(TOPIC, "PyTorch's graph")
def a_backward_outside_the_allowance_is_refused(api: Api) -> None:
    """A graph recorded inside allow_mutation_on_saved_tensors is not walked outside of it."""
    with api.graph.allow_mutation_on_saved_tensors():
        y = (api.leaf([2.0]) * 1.0).square().sum()
    raises((AssertionError, RuntimeError), y.backward, "allow_mutation_on_saved_tensors")
