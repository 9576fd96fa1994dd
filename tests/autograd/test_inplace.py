"""In-place operations: recorded, counted, refused where they must be, and never half done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tests.autograd.tools import Recorder, constant, equal, leaf

graph = tp.autograd.graph

# Each: the write, and the same thing out of place.
WRITES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "add_": (lambda h, w: h.add_(w), lambda h, w: h + w),
    "add_ alpha": (lambda h, w: h.add_(w, alpha=3), lambda h, w: h + 3 * w),
    "sub_": (lambda h, w: h.sub_(w), lambda h, w: h - w),
    "mul_": (lambda h, w: h.mul_(w), lambda h, w: h * w),
    "div_": (lambda h, w: h.div_(w), lambda h, w: h / w),
    "pow_": (lambda h, w: h.pow_(w), lambda h, w: h**w),
    "neg_": (lambda h, w: h.neg_(), lambda h, w: -h),
    "exp_": (lambda h, w: h.exp_(), lambda h, w: h.exp()),
    "copy_": (lambda h, w: h.copy_(w), lambda h, w: h * 0.0 + w),
    "zero_": (lambda h, w: h.zero_(), lambda h, w: h * 0.0),
    "fill_": (lambda h, w: h.fill_(7.0), lambda h, w: h * 0.0 + 7.0),
    "+= number": (lambda h, w: h.__iadd__(2.0), lambda h, w: h + 2.0),
    "*= itself": (lambda h, w: h.__imul__(h), lambda h, w: h * h),
}
PAIRS: dict[str, Callable[[], Any]] = {
    "no hooks": lambda: tp.enable_grad(),
    "copying hooks": lambda: Recorder().hooks(),
    "mutation allowed": graph.allow_mutation_on_saved_tensors,
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_recorded(name: str, pair: str) -> None:
    """Value, gradients and second derivatives are those of the out-of-place form."""
    found = []
    for variant in WRITES[name]:
        x, w = leaf([0.5, 1.5]), leaf([2.0, 3.0])
        with PAIRS[pair]():
            h = x.sin()
            out = variant(h, w)
            assert (out is h) or variant is WRITES[name][1]
            loss = (out * constant([1.0, 10.0])).exp().sum() * 0.01
            first = tp.autograd.grad(loss, [x, w], create_graph=True, materialize_grads=True)
            second = tp.autograd.grad(
                (first[0].sin() + first[1].sin()).sum(), [x, w], materialize_grads=True
            )
        found.append([out, *first, *second])
    for written, plain in zip(*found, strict=True):
        equal(written, plain.detach().numpy())


@pytest.mark.parametrize("name", [*WRITES, "set item", "set mask"])
def test_each_write_counts_once(name: str) -> None:
    h = leaf([0.5, 1.5]) * 1.0
    alias, view = h.detach(), h[:1]
    if name == "set item":
        h[0] = 3.0
    elif name == "set mask":
        h[h > 1.0] = 3.0
    else:
        WRITES[name][0](h, leaf([2.0, 3.0]))
    assert h._version == alias._version == view._version == 1


def test_operators_in_place_keep_the_object() -> None:
    x = leaf([2.0])
    h = before = x * 1.0
    h += 1.0
    h *= 3.0
    h -= 1.0
    h /= 2.0
    h **= 2
    assert h is before and h._version == 5
    equal(h, [16.0])
    h.backward()
    equal(x.grad, [2 * 4.0 * 1.5])


# -- refused -----------------------------------------------------------------------------------
def refused(call: Callable[[], Any], target: Any, error: Any, text: str) -> None:
    """The call raises; value, version, history and stack stay what they were."""
    before = (target.detach().numpy().copy(), target._version, target.grad_fn)
    with pytest.raises(error, match=text):
        call()
    after = (target.detach().numpy(), target._version, target.grad_fn)
    assert np.array_equal(before[0], after[0], equal_nan=True) and before[1:] == after[1:]


def test_a_leaf_that_requires_grad_is_refused() -> None:
    x = leaf([1.0, 2.0])
    refused(lambda: x.add_(1.0), x, RuntimeError, "leaf Variable that requires grad.*no_grad")
    refused(lambda: x.zero_(), x, RuntimeError, "a leaf Variable")
    refused(lambda: x[0].mul_(2.0), x, RuntimeError, "a view of a leaf Variable")
    refused(lambda: x.__setitem__(0, 3.0), x, RuntimeError, "a view of a leaf Variable")
    refused(lambda: x.__setitem__(x > 1.0, 3.0), x, RuntimeError, "a leaf Variable")
    with tp.no_grad():
        x.add_(1.0)
        x[0] = 7.0
    equal(x, [7.0, 3.0])
    assert x.is_leaf and x._version == 2


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda h: h.add_(constant([1.0, 2.0, 3.0])), "do not broadcast"),
        (lambda h: h.add_(constant([[1.0], [2.0]])), r"shape \(2, 2\), the target \(2,\)"),
        (lambda h: h.copy_(constant([[1.0], [2.0]])), "do not broadcast"),
        (lambda h: h.mul_(tp.ones(2, device="cuda", dtype=tp.float64)), "cuda"),
    ],
)
def test_what_does_not_fit_is_refused(write: Callable[[Any], Any], text: str) -> None:
    h = leaf([1.0, 2.0]) * 1.0
    refused(lambda: write(h), h, RuntimeError, text)


def test_a_result_of_another_kind_is_refused() -> None:
    integers = tp.tensor([1, 2])
    refused(lambda: integers.add_(0.5), integers, RuntimeError, "cannot be written to a int64")
    refused(lambda: integers.div_(2), integers, RuntimeError, "cannot be written to a int64")
    integers.add_(1)
    equal(integers, [2, 3])


def test_expanded_targets_are_refused() -> None:
    h = (leaf([1.0]) * 1.0).expand(3)
    refused(lambda: h.add_(1.0), h, RuntimeError, "share one memory location.*clone")


def test_a_failing_hook_undoes_the_write() -> None:
    def refuse(tensor: Any) -> Any:
        raise KeyError("pack")

    h = leaf([1.0, 2.0]) * 1.0
    for write in (lambda: h.mul_(h), lambda: h.exp_(), lambda: h[:1].mul_(h[1:])):
        with graph.saved_tensor_hooks(refuse, lambda t: t):
            refused(write, h, KeyError, "pack")
    assert graph._current_pair() is None


@pytest.mark.parametrize("write", [lambda v: v.mul_(2.0), lambda v: v[:1].fill_(2.0)])
def test_a_view_made_under_no_grad_is_not_written_with_grad_mode_on(write: Any) -> None:
    x = leaf([1.0, 2.0])
    for base in (x, x * 2.0):
        with tp.no_grad():
            view = base[0:1]
        refused(lambda view=view: write(view), base, RuntimeError, "a view made under no_grad")


def test_a_view_made_under_no_grad_cannot_record_a_write() -> None:
    h = leaf([1.0, 2.0]) * 1.0
    with tp.no_grad():
        view = h[:1]
    refused(lambda: view.mul_(leaf([3.0])), h, RuntimeError, "a view made under no_grad")
    with tp.no_grad():
        view.mul_(3.0)
    equal(h, [3.0, 2.0])


# -- what is saved from memory that is about to be overwritten -----------------------------------
@pytest.mark.parametrize("name", ["the alias", "an overlapping view"])
def test_an_operand_in_the_same_memory_is_saved_as_it_was(name: str) -> None:
    x = leaf([2.0, 3.0, 5.0])
    base = x * 1.0
    target, other = (base, base.detach()) if name == "the alias" else (base[:2], base[1:])
    target.mul_(other)
    base.sum().backward()
    # The operand is still alive, and holds what was written: the saved one must not be it.
    equal(other, base.detach().numpy() if name == "the alias" else base.detach().numpy()[1:])
    equal(x.grad, [2.0, 3.0, 5.0] if name == "the alias" else [3.0, 2.0 + 5.0, 3.0 + 1.0])


def test_a_constant_that_becomes_a_result() -> None:
    w = leaf([2.0, 3.0])
    c = constant([5.0, 7.0])
    c.mul_(w)
    c.mul_(w)
    assert c.requires_grad and not c.is_leaf
    c.sum().backward()
    equal(w.grad, [2 * 5.0 * 2.0, 2 * 7.0 * 3.0])


def test_copying_onto_itself_and_onto_its_own_transpose() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    h = x * 1.0
    h.copy_(h.T)
    equal(h, [[1.0, 3.0], [2.0, 4.0]])
    (h * constant([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
    equal(x.grad, [[1.0, 100.0], [10.0, 1000.0]])
    h.copy_(h)
    equal(h, [[1.0, 3.0], [2.0, 4.0]])


def test_a_copy_casts_and_crosses_devices() -> None:
    x = tp.tensor([2.5], dtype=tp.float32, device="cuda", requires_grad=True)
    h = leaf([1.0]) * 1.0
    h.copy_(x)
    assert h.dtype == tp.float64 and h.device.type == "cpu"
    (h * 3.0).backward()
    assert x.grad.dtype == tp.float32 and x.grad.device == x.device
    equal(x.grad.cpu(), [3.0])


def test_hooks_pack_what_was_there_before_the_write() -> None:
    recorder = Recorder()
    x, w = leaf([2.0]), leaf([5.0])
    h = x * 1.0
    with recorder.hooks():
        h.mul_(w)
        h.exp_()
    assert [float(a[0]) for a in recorder.packed] == [2.0, 5.0, np.exp(10.0)]
    h.backward()
    equal(w.grad, [2.0 * np.exp(10.0)])


def test_assignment_by_index() -> None:
    indices: list[Any] = [
        0,
        -1,
        slice(None, None, 2),
        (slice(None), 1),
        (..., None, 0),
        tp.tensor([0, 2]),
        [2, 0],
        np.array([True, False, True]),
    ]
    for index in indices:
        x = leaf(np.arange(6.0).reshape(3, 2) + 1.0)
        array = x.detach().numpy().copy()
        key = index.numpy() if isinstance(index, tp.Tensor) else index
        v = leaf(np.full(array[key].shape, 10.0))
        h = x * 1.0
        h[index] = v * 2.0
        array[key] = 20.0
        equal(h, array)
        (h * h).sum().backward()
        equal(v.grad, np.full(v.shape, 2 * 20.0 * 2.0))
        equal(x.grad, np.where(array == 20.0, 0.0, 2 * array))


def test_assignment_broadcasts_numbers_arrays_and_lists() -> None:
    h = constant([[1.0, 2.0], [3.0, 4.0]])
    h[0] = [10.0, 20.0]
    h[:, 1] = np.array([7.0, 8.0])
    h[1, 0] = 9
    equal(h, [[10.0, 7.0], [9.0, 8.0]])
