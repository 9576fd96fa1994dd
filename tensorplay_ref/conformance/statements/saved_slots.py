"""Reading the slots of a node: _saved_<name>, _raw_saved_<name>, and hooks of one slot."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..instruments import Recorder
from ..statement import statement, tensorplay_lacks

TOPIC = "graph and nodes"


@tensorplay_lacks("Node._saved_self")
@statement(TOPIC, "PyTorch's graph")
def a_node_shows_its_saved_input(api: Api) -> None:
    """The node of sin shows its input as _saved_self."""
    x = api.leaf([2.0, 3.0])
    equal(api, x.sin().grad_fn._saved_self, [2.0, 3.0], "_saved_self")


@tensorplay_lacks("Node._saved_result")
@statement(TOPIC, "PyTorch's graph")
def a_node_shows_its_saved_output(api: Api) -> None:
    """The node of exp shows its output as _saved_result, with itself as grad_fn."""
    y = api.leaf([0.0]).exp()
    saved = y.grad_fn._saved_result
    equal(api, saved, [1.0], "_saved_result")
    true(saved.grad_fn is y.grad_fn, "the saved output has another node")


@tensorplay_lacks("Node._saved_self")
@statement(TOPIC, "PyTorch's graph")
def a_slot_that_is_not_needed_is_none(api: Api) -> None:
    """x * c shows c as _saved_other and None as _saved_self."""
    node = (api.leaf([2.0]) * api.constant([5.0])).grad_fn
    same(node._saved_self, None, "_saved_self")
    equal(api, node._saved_other, [5.0], "_saved_other")


@tensorplay_lacks("Node._saved_self")
@statement(TOPIC, 8)
def reading_a_slot_unpacks_it(api: Api) -> None:
    """Each read of _saved_self calls unpack anew."""
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.leaf([2.0]).sin()
    equal(api, y.grad_fn._saved_self, [2.0], "_saved_self")
    equal(api, y.grad_fn._saved_self, [2.0], "_saved_self")
    same(recorder.counts, (1, 2), "calls of pack and unpack")


@tensorplay_lacks("Node._saved_self")
@statement(TOPIC, 11)
def a_released_slot_cannot_be_read(api: Api) -> None:
    """After a backward without retain_graph, reading _saved_self is an error."""
    y = api.leaf([2.0]).sin()
    node = y.grad_fn
    y.sum().backward()
    raises(RuntimeError, lambda: node._saved_self, "second time")


@tensorplay_lacks("Node._saved_self")
@statement(TOPIC, 10)
def a_stale_slot_cannot_be_read(api: Api) -> None:
    """Reading _saved_self after its tensor was changed in place is an error."""
    h = api.leaf([2.0]) * 1.0
    node = h.sin().grad_fn
    with api.no_grad():
        h.add_(1.0)
    raises(RuntimeError, lambda: node._saved_self, "modified by an inplace operation")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "PyTorch's graph")
def a_raw_slot_holds_what_pack_returned(api: Api) -> None:
    """_raw_saved_self.data is the packed object, and unpack_hook the unpack of its pair."""
    parcel = object()
    recorder = Recorder(lambda tensor: parcel)
    with api.hooks(recorder.pack, recorder.unpack):
        y = api.leaf([2.0]).sin()
    slot = y.grad_fn._raw_saved_self
    true(slot.data is parcel, "data is another object")
    same(slot.unpack_hook, recorder.unpack, "unpack_hook")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "PyTorch's graph")
def a_raw_slot_without_hooks_has_no_unpack_hook(api: Api) -> None:
    """Without hooks the slot's unpack_hook is None and its data is the tensor's value."""
    y = api.leaf([2.0]).sin()
    slot = y.grad_fn._raw_saved_self
    same(slot.unpack_hook, None, "unpack_hook")
    equal(api, slot.data, [2.0], "data")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "PyTorch's graph")
def hooks_of_one_slot_pack_at_once(api: Api) -> None:
    """register_hooks on a slot packs it at once, and backward uses its unpack."""
    recorder = Recorder(lambda tensor: tensor.detach().clone(), lambda packed: packed * 10.0)
    x = api.leaf([3.0])
    y = x.square().sum()
    z = x.square()
    z.grad_fn._raw_saved_self.register_hooks(recorder.pack, recorder.unpack)
    same(recorder.counts, (1, 0), "calls after register_hooks")
    (y + z.sum()).backward()
    same(recorder.counts, (1, 1), "calls after backward")
    equal(api, x.grad, [66.0])


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "PyTorch's graph")
def hooks_of_one_slot_get_a_detached_tensor(api: Api) -> None:
    """The pack of register_hooks gets a tensor that does not require grad."""
    recorder = Recorder()
    y = api.leaf([3.0]).sin()
    y.grad_fn._raw_saved_self.register_hooks(recorder.pack, recorder.unpack)
    same(recorder.packed[0].requires_grad, False, "requires_grad in pack")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, 9)
def hooks_of_one_slot_serve_second_derivatives(api: Api) -> None:
    """A slot packed by register_hooks as an array has the right second derivative."""
    x = api.leaf([3.0])
    y = x**3
    y.grad_fn._raw_saved_self.register_hooks(
        lambda tensor: tensor.detach().numpy().copy(), api.tensor
    )
    (first,) = api.grad(y.sum(), x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, second, [18.0], "the second derivative")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "bad input")
def a_slot_takes_one_pair(api: Api) -> None:
    """A second register_hooks on one slot is an error."""
    y = api.leaf([3.0]).sin()
    slot = y.grad_fn._raw_saved_self
    slot.register_hooks(lambda tensor: tensor, lambda packed: packed)
    raises(RuntimeError, lambda: slot.register_hooks(lambda t: t, lambda p: p), "hooks")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "bad input")
def a_slot_packed_by_a_context_takes_no_other_pair(api: Api) -> None:
    """register_hooks on a slot that a context has packed is an error."""
    with api.hooks(lambda tensor: tensor, lambda packed: packed):
        y = api.leaf([3.0]).sin()
    slot = y.grad_fn._raw_saved_self
    raises(RuntimeError, lambda: slot.register_hooks(lambda t: t, lambda p: p), "hooks")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "bad input")
def a_released_slot_takes_no_hooks(api: Api) -> None:
    """register_hooks on a released slot is an error that says it was freed."""
    y = api.leaf([3.0]).sin()
    slot = y.grad_fn._raw_saved_self
    y.sum().backward()
    raises(RuntimeError, lambda: slot.register_hooks(lambda t: t, lambda p: p), "freed")


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, "bad input")
def hooks_of_one_slot_must_be_callable(api: Api) -> None:
    """register_hooks with what cannot be called is a TypeError, and the slot stays as it was."""
    x = api.leaf([0.0])
    y = x.sin()
    raises(TypeError, lambda: y.grad_fn._raw_saved_self.register_hooks(1, 2))
    y.sum().backward()
    equal(api, x.grad, [1.0])


@tensorplay_lacks("Node._raw_saved_self")
@statement(TOPIC, 7)
def hooks_of_one_slot_must_not_write(api: Api) -> None:
    """A pack of register_hooks that changes its input in place is an error."""
    h = api.leaf([3.0]) * 1.0

    def pack(tensor: Any) -> Any:
        tensor.mul_(2.0)
        return tensor

    y = h.sin()
    slot = y.grad_fn._raw_saved_self
    raises(RuntimeError, lambda: slot.register_hooks(pack, lambda packed: packed), "in")


@tensorplay_lacks("autograd.graph.disable_saved_tensors_hooks")
@statement(TOPIC, "PyTorch's graph")
def hooks_of_one_slot_work_while_contexts_are_disabled(api: Api) -> None:
    """register_hooks works inside disable_saved_tensors_hooks."""
    recorder = Recorder()
    y = api.leaf([3.0]).sin()
    with api.graph.disable_saved_tensors_hooks("no hooks here"):
        y.grad_fn._raw_saved_self.register_hooks(recorder.pack, recorder.unpack)
    same(recorder.counts, (1, 0), "calls of pack and unpack")
