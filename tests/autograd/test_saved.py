"""One saved slot: packed now, unpacked at each read, released after use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.course.compare import reference_counting
from tests.autograd.tools import Recorder, constant, equal, leaf

graph = tp.autograd.graph


def test_pack_gets_the_input_itself() -> None:
    seen: list[Any] = []
    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: seen.append(t) or t, lambda t: t):
        x.sin()
    assert seen[0] is x


def test_pack_gets_an_alias_of_a_result() -> None:
    seen: list[Any] = []
    x = leaf([2.0])
    with graph.saved_tensor_hooks(lambda t: seen.append(t) or t.clone(), lambda t: t):
        y = x.exp()
    assert seen[0] is not y and seen[0].grad_fn is None and not seen[0].requires_grad
    assert seen[0]._storage is y._storage


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_in_pack_is_off_and_in_unpack_the_readers(create_graph: bool) -> None:
    modes: list[bool] = []

    def note(value: Any) -> Any:
        modes.append(tp.is_grad_enabled())
        return value

    x = leaf([2.0])
    with graph.saved_tensor_hooks(note, note):
        y = x.sin()
    y.backward(create_graph=create_graph)
    assert modes == [False, create_graph]
    assert tp.is_grad_enabled()


def test_each_slot_is_packed_in_the_order_of_its_inputs() -> None:
    recorder = Recorder()
    x, w = leaf([2.0]), leaf([5.0])
    with recorder.hooks():
        x * w
        x * x
    assert [float(a[0]) for a in recorder.packed] == [2.0, 5.0, 2.0, 2.0]


def test_numbers_are_kept_and_never_packed() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    with recorder.hooks():
        y = x * 3.0
        z = x**2
    assert len(recorder.packed) == 1
    (y + z).backward()
    equal(x.grad, [7.0])


def test_only_what_a_formula_reads_for_a_needed_gradient_is_packed() -> None:
    recorder = Recorder()
    x, c = leaf([2.0]), constant([5.0])
    with recorder.hooks():
        x * c
    assert [a.tolist() for a in recorder.packed] == [[5.0]]


def test_a_pack_that_writes_is_refused_and_nothing_is_recorded() -> None:
    recorder = Recorder()
    x = leaf([2.0])
    h = x * 1.0
    with pytest.raises(RuntimeError, match="pack hook has modified its input"):
        with graph.saved_tensor_hooks(lambda t: t.mul_(2.0), lambda t: t):
            h.sin()
    assert graph._current_pair() is None
    with recorder.hooks():
        h.sin().backward()
    equal(x.grad, [np.cos(4.0)])


def test_an_exception_of_pack_leaves_the_operation_undone() -> None:
    x = leaf([2.0])
    h = x * 1.0
    error = KeyError("pack")

    def refuse(tensor: Any) -> Any:
        raise error

    node, version = h.grad_fn, h._version
    with pytest.raises(KeyError) as caught, graph.saved_tensor_hooks(refuse, lambda t: t):
        h.mul_(h.detach())
    assert caught.value is error
    assert h.grad_fn is node and h._version == version
    equal(h, [2.0])
    assert tp.is_grad_enabled()


# -- versions ----------------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["itself", "view", "alias", "no_grad"])
def test_a_write_through_any_name_is_noticed(way: str) -> None:
    x = leaf([2.0, 3.0])
    h = x * 1.0
    y = h.sin().sum()
    if way == "no_grad":
        with tp.no_grad():
            h.mul_(2.0)
    else:
        {"itself": h, "view": h[0], "alias": h.detach()}[way].mul_(2.0)
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    text = str(caught.value)
    assert "modified by an inplace operation" in text
    assert "float64" in text and "(2,)" in text and "version 1; expected version 0" in text
    assert "Sin" in text and "Mul" in text
    assert x.grad is None


def test_a_write_to_what_is_not_saved_is_nobodys_business() -> None:
    x = leaf([2.0])
    h = x * 1.0
    y = h + 1.0
    h.mul_(2.0)
    y.backward()
    equal(x.grad, [1.0])


# Formulas read what they saved as tensors or, while nothing is recorded, as bare arrays.
RESULTS = ["exp", "sqrt", "tanh", "relu", "sigmoid", "softmax", "log_softmax"]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_a_saved_result_is_checked_too(name: str, create_graph: bool) -> None:
    x = leaf([2.0, 1.0])
    y = getattr(x, name)(0) if name.endswith("softmax") else getattr(x, name)()
    z = (y * 1.0).sum()
    with tp.no_grad():
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*saved by"):
        z.backward(create_graph=create_graph)
    assert x.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["mul", "div", "pow", "matmul"])
def test_a_saved_operand_is_checked(name: str, create_graph: bool) -> None:
    x, other = leaf([[2.0]]), leaf([[3.0]])
    h = x * 1.0
    z = getattr(h, name)(other).sum()
    with tp.no_grad():
        h.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*saved by"):
        z.backward(create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["mul", "div", "pow", "matmul", "sin"])
def test_assigning_data_leaves_what_was_saved(name: str, create_graph: bool) -> None:
    def gradients(assign: bool) -> list[float]:
        x, other = leaf([[2.0]]), leaf([[3.0]])
        y = x.sin() * other if name == "sin" else getattr(x, name)(other)
        if assign:
            x.data = constant([[9.0]])
            other.data = constant([[7.0]])
        y.sum().backward(create_graph=create_graph)
        return [float(t.grad.detach().numpy().item()) for t in (x, other)]

    assert gradients(True) == gradients(False)


def test_increment_version_counts_for_the_check() -> None:
    x = leaf([2.0])
    h = x * 1.0
    y = h.sin()
    graph.increment_version([h])
    with pytest.raises(RuntimeError, match="version 1; expected version 0"):
        y.backward()


def test_save_on_cpu_checks_what_it_keeps() -> None:
    x = leaf([2.0])
    h = x * 1.0
    with graph.save_on_cpu():
        y = h.sin()
    h.mul_(2.0)
    with pytest.raises(RuntimeError, match="kept on the host by save_on_cpu, is at version 1"):
        y.backward()


# -- the end -----------------------------------------------------------------------------------
def test_a_slot_that_has_run_is_empty_and_says_so() -> None:
    x = leaf([2.0])
    y = x.sin()
    slot = y.grad_fn._raw_saved_self
    y.backward()
    for read in (y.backward, slot.unpack, lambda: slot.data, lambda: y.grad_fn._saved_self):
        with pytest.raises(RuntimeError, match="a second time.*retain_graph"):
            read()
    equal(x.grad, [np.cos(2.0)])


def test_a_released_slot_lets_its_unpack_go() -> None:
    x = leaf([2.0])
    recorder = Recorder()
    with recorder.hooks():
        y = x.sin()
    slot = y.grad_fn._raw_saved_self
    assert slot.unpack_hook == recorder.unpack
    y.backward()
    assert slot.unpack_hook is None and recorder.alive == 0


def test_each_node_is_released_as_it_has_run() -> None:
    alive: list[int] = []
    recorder = Recorder()

    def unpack(parcel: Any) -> Any:
        alive.append(recorder.alive)
        return parcel.content

    x = leaf([2.0])
    with reference_counting(), graph.saved_tensor_hooks(recorder.pack, unpack):
        y = x.sin().sin().sin()
    y.backward()
    assert alive == [3, 2, 1] and recorder.alive == 0


def test_a_failed_backward_releases_what_had_run() -> None:
    x = leaf([2.0])
    h = x.sin()
    y = h.sin()
    h.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.grad_fn._saved_self  # noqa: B018
    equal(h.grad_fn._saved_self, [2.0])
