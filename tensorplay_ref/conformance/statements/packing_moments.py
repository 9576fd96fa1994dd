"""At which moment pack runs: before an in-place write, after a result, in a backward."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, same, true
from ..functions import product
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "hooks: packing"


@torch_2_13("packs inputs before it looks at the shapes", shows="found (2, 0)")
@statement(TOPIC, 5)
def an_operation_that_fails_packs_nothing(api: Api) -> None:
    """Built-in operations pack after the result exists: a product of unfit shapes packs nothing."""
    recorder = Recorder()
    a, b = api.leaf([[1.0, 2.0]]), api.leaf([[1.0, 2.0]])
    with api.hooks(recorder.pack, recorder.unpack):
        try:
            a.mm(b)
        except (RuntimeError, ValueError):
            pass
        else:
            raise AssertionError("shapes (1, 2) and (1, 2) were multiplied")
    same(recorder.counts, (0, 0), "calls of pack and unpack")


@tensorplay_1_0("packs the written value", shows="found [[5.0], [10.0]]")
@statement(TOPIC, 5)
def an_in_place_operation_packs_before_it_writes(api: Api) -> None:
    """An in-place operation packs what it needs before it writes: h.mul_(w) saves the old h."""
    copies: list[list[float]] = []

    def pack(tensor: Any) -> Any:
        copies.append(tensor.detach().tolist())
        return tensor.detach().clone()

    h, w = api.leaf([2.0]) * 1.0, api.leaf([5.0])
    with api.hooks(pack, lambda packed: packed):
        h.mul_(w)
    same(sorted(copies), [[2.0], [5.0]], "values given to pack")
    h.sum().backward()
    equal(api, w.grad, [2.0])


@tensorplay_1_0("saves the written value", shows="found [-0.75]")
@statement(TOPIC, 5)
def in_place_division_packs_the_old_numerator(api: Api) -> None:
    """h.div_(w) saves h as it was before: the gradient of w is -h / w**2 with the old h."""
    h, w = api.leaf([6.0]) * 1.0, api.leaf([2.0])
    with api.hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        h.div_(w)
    h.sum().backward()
    equal(api, w.grad, [-1.5])


@statement(TOPIC, 5)
def a_plain_backward_packs_nothing(api: Api) -> None:
    """A backward without create_graph inside the context records nothing, so packs nothing."""
    x = api.leaf([2.0, 3.0])
    y = product(api).apply(x, x.exp()).sum()
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        y.backward()
    same(recorder.counts, (0, 0), "calls of pack and unpack")


@statement(TOPIC, 12)
def a_backward_that_creates_a_graph_packs(api: Api) -> None:
    """What a backward with create_graph saves goes through the pair that is active then."""
    x = api.leaf([2.0, 3.0])
    y = (x * x * x).sum()
    recorder = Recorder(lambda tensor: tensor.detach().clone())
    with api.hooks(recorder.pack, recorder.unpack):
        (first,) = api.grad(y, x, create_graph=True)
    true(len(recorder.packed) > 0, "nothing was packed by the backward")
    same(len(recorder.unpacked), 0, "calls of unpack before the second backward")
    (second,) = api.grad(first.sum(), x)
    true(len(recorder.unpacked) > 0, "nothing was unpacked by the second backward")
    equal(api, second, [12.0, 18.0])


@statement(TOPIC, 12)
def a_backward_outside_the_context_packs_nothing(api: Api) -> None:
    """A backward with create_graph after the context was left packs nothing with its pair."""
    x = api.leaf([2.0, 3.0])
    recorder = Recorder()
    with api.hooks(recorder.pack, recorder.unpack):
        y = (x * x * x).sum()
    packs = len(recorder.packed)
    (first,) = api.grad(y, x, create_graph=True)
    same(len(recorder.packed), packs, "packs")
    (second,) = api.grad(first.sum(), x)
    equal(api, second, [12.0, 18.0])


@tensorplay_1_0("packs V as well, which nothing reads", shows="(2, 1)]")
@statement(TOPIC, 5)
def each_layer_of_a_network_packs_its_inputs(api: Api) -> None:
    """tanh(X @ V) @ W with constant X packs four tensors: X, the tanh, its alias and W."""
    recorder = Recorder()
    X = api.constant([[1.0, 2.0]])
    V, W = api.leaf([[0.1], [0.2]]), api.leaf([[3.0, 4.0]])
    with api.hooks(recorder.pack, recorder.unpack):
        y = (X @ V).tanh() @ W
    shapes = sorted(tuple(each.shape) for each in recorder.packed)
    same(shapes, [(1, 1), (1, 1), (1, 2), (1, 2)], "shapes packed")
    y.sum().backward()
    same(recorder.counts, (4, 4), "calls of pack and unpack")
