"""Tensor: Python's protocols, dtypes, devices, memory, hooks, copies, and how it prints."""

import copy
import pickle
import typing
import weakref
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.tensor import Tensor
from tests.ops.gradients import needs_torch


def _leaf(*values: float) -> Tensor:
    return tp.tensor(values, requires_grad=True)


# -- Python's protocols ----------------------------------------------------------------------------
def test_one_element_is_a_number() -> None:
    x = tp.tensor([2.5])
    assert (float(x), int(x), bool(x), x.item(), complex(x)) == (2.5, 2, True, 2.5, 2.5 + 0j)
    assert f"{tp.tensor(3.14159):.2f}" == "3.14"
    assert "abc"[tp.tensor(1)] == "b"
    assert list(range(5))[tp.tensor(1) :] == [1, 2, 3, 4]


@pytest.mark.parametrize("convert", [float, int, complex, lambda x: x.item()])
def test_several_elements_are_no_number(convert: Any) -> None:
    with pytest.raises(RuntimeError, match="2 elements cannot be converted"):
        convert(tp.ones(2))


def test_the_truth_of_several_elements_is_ambiguous() -> None:
    with pytest.raises(RuntimeError, match=r"ambiguous; use .any\(\) or .all\(\)"):
        bool(tp.ones(2))
    with pytest.raises(RuntimeError, match="0 elements"):
        bool(tp.ones(0))


def test_a_floating_tensor_is_no_index() -> None:
    with pytest.raises(TypeError, match="integer"):
        [1, 2][tp.tensor(1.0)]


def test_length_and_iteration_go_along_the_first_axis() -> None:
    x = tp.arange(6).reshape(3, 2)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    for call in (len, iter):
        with pytest.raises(TypeError, match="without axes"):
            call(tp.tensor(1.0))


def test_containment_compares_elements() -> None:
    assert 2.0 in _leaf(1.0, 2.0)
    assert 3.0 not in _leaf(1.0, 2.0)
    assert tp.tensor(2) in tp.tensor([1, 2])


def test_equality_is_by_element_and_hash_by_identity() -> None:
    x, y = tp.tensor([1.0, 2.0]), tp.tensor([1.0, 3.0])
    assert (x == y).tolist() == [True, False]
    assert (x != y).tolist() == [False, True]
    assert len({x, y, x}) == 2
    assert (x == None) is False  # noqa: E711
    assert (x == "text") is False


@pytest.mark.parametrize("other", ["text", None, [1.0], object()])
def test_operators_leave_unknown_operands_to_python(other: Any) -> None:
    x = _leaf(1.0)
    for operation in (lambda: x + other, lambda: other * x, lambda: x @ other, lambda: x < other):
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(TypeError, match="expected a Tensor, a number or a NumPy array"):
        x.add(other)


def test_a_class_of_one_s_own_may_take_over_an_operator() -> None:
    class Money:
        def __radd__(self, other: Any) -> str:
            return "reflected"

    assert tp.ones(1) + Money() == "reflected"


def test_operators_have_names() -> None:
    a, b = tp.tensor([7.0, -7.0]), tp.tensor([2.0, 4.0])
    pairs: list[tuple[Any, Any]] = [
        (a + b, a.add(b)),
        (a + b * 3, a.add(b, alpha=3)),
        (a - b * 3, tp.sub(a, b, alpha=3)),
        (a * b, tp.mul(a, b)),
        (a / b, a.div(b)),
        (a**b, tp.pow(a, b)),
        (a % b, tp.remainder(a, b)),
        (a // b, a.floor_divide(b)),
        (-a, tp.neg(a)),
        (abs(a), tp.abs(a)),
        (a @ b, tp.matmul(a, b)),
        (a >= b, tp.ge(a, b)),
        (2 - a, tp.sub(2, a)),
        (2.0**b, tp.pow(2.0, b)),
        (+a, a),
        (~(a > 0), tp.logical_not(a > 0)),
        ((a > 0) & (b > 3), tp.logical_and(a > 0, b > 3)),
        ((a > 0) | (b > 3), tp.logical_or(a > 0, b > 3)),
        ((a > 0) ^ (b > 3), tp.logical_xor(a > 0, b > 3)),
    ]
    for number, (operator, named) in enumerate(pairs):
        assert operator.tolist() == named.tolist(), number


def test_rounding_has_gradient_zero() -> None:
    x = _leaf(-1.5, 0.5, 1.7)
    for call, expected in (
        (tp.round, [-2.0, 0.0, 2.0]),
        (tp.floor, [-2.0, 0.0, 1.0]),
        (tp.ceil, [-1.0, 1.0, 2.0]),
        (tp.trunc, [-1.0, 0.0, 1.0]),
    ):
        y = call(x)
        assert y.tolist() == expected
        assert tp.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]
    whole = tp.tensor([3])
    assert whole.round().dtype == tp.int64 and not np.shares_memory(whole.round(), whole)
    assert np.rint(x).grad_fn.name() == "RoundBackward"
    assert tp.tensor([1.6]).round_().tolist() == [2.0]


def test_var_may_be_biased_in_several_spellings() -> None:
    x = tp.tensor([1.0, 2.0, 6.0])
    assert x.var().item() == 7.0
    for y in (
        x.var(unbiased=False),
        x.var(0, False),
        x.var(correction=0),
        x.std(correction=0) ** 2,
    ):
        assert abs(y.item() - 14.0 / 3.0) < 1e-6


# -- dtypes and devices ----------------------------------------------------------------------------
def test_casts_have_names() -> None:
    x = tp.tensor([0.0, 1.5])
    names = ["half", "float", "double", "int", "long", "bool"]
    dtypes = [tp.float16, tp.float32, tp.float64, tp.int32, tp.int64, tp.bool]
    assert [getattr(x, name)().dtype for name in names] == dtypes
    assert x.float() is x
    assert x.type_as(tp.tensor([1])).dtype == tp.int64


def test_to_understands_dtypes_devices_and_tensors() -> None:
    x = _leaf(1.0)
    for moved in (
        x.to(tp.float64),
        x.to("float64"),
        x.to(dtype=np.float64),
        x.to("cpu", tp.float64),
        x.to(tp.device("cpu"), dtype=tp.float64),
        x.to(tp.ones(1, dtype=tp.float64)),
        x.to(other=tp.ones(1, dtype=tp.float64)),
    ):
        assert moved.dtype == tp.float64 and moved.device == "cpu"
    assert x.to("cpu") is x is x.to(tp.float32) is x.to(None)
    assert x.to(tp.float32, copy=True) is not x
    with pytest.raises(TypeError, match="'banana'"):
        x.to("banana")
    with pytest.raises(TypeError, match="shape"):
        x.to(shape=3)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to("cpu", "cuda"),
        lambda x: x.to("cpu", device="cpu"),
        lambda x: x.to(tp.float32, tp.float64),
        lambda x: x.to(tp.float32, dtype=tp.float64),
        lambda x: x.to(x, tp.float64),
    ],
)
def test_to_is_told_each_thing_once(call: Any) -> None:
    with pytest.raises(TypeError, match="the (device|dtype) is given twice, as .* and as "):
        call(_leaf(1.0))


def test_to_takes_non_blocking_and_copy_by_position_as_pytorch() -> None:
    x = _leaf(1.0)
    assert x.to(tp.float32, False, True) is not x
    assert x.to("cpu", tp.float32, True) is x is x.to(x, True, False)
    assert x.to(tp.float64, False, True).dtype == tp.float64


def test_moving_there_and_back_is_differentiated() -> None:
    with tp.cuda.simulate(10_000) as device:
        x = _leaf(1.0, 2.0)
        there = x.cuda()
        assert there.is_cuda and there.device is device
        back = (there * 3.0).cpu()
        assert back.tolist() == [3.0, 6.0] and not back.is_cuda
        back.sum().backward()
        assert x.grad is not None and x.grad.device == "cpu"
        assert x.grad.tolist() == [3.0, 3.0]
        assert x.cuda(0).device is device


def test_a_move_and_a_cast_in_one_call() -> None:
    with tp.cuda.simulate(10_000):
        x = _leaf(1.0)
        y = x.to("cuda", tp.float64)
        assert (y.device.type, y.dtype) == ("cuda", tp.float64)
        y.sum().backward()
        assert x.grad is not None and x.grad.dtype == tp.float32


def test_numpy_needs_the_host_and_no_gradient() -> None:
    with pytest.raises(RuntimeError, match=r"tensor.detach\(\).numpy\(\)"):
        _leaf(1.0).numpy()
    with tp.cuda.simulate(1_000) as device, pytest.raises(TypeError, match=r"tensor.cpu\(\)"):
        tp.ones(1, device=device).numpy()


def test_pinned_memory() -> None:
    x = _leaf(1.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned()
    assert pinned.pin_memory() is pinned
    pinned.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0]
    with tp.cuda.simulate(1_000) as device, pytest.raises(RuntimeError, match="only host memory"):
        tp.ones(1, device=device).pin_memory()


def test_leaves_on_a_device_are_counted_as_parameters() -> None:
    with tp.cuda.simulate(1_000) as device:
        x = tp.ones(10, device=device, requires_grad=True)
        y = tp.ones(10, device=device)
        assert tp.cuda.memory_by_category() == {"parameters": 40, "temporaries": 40}
        y.requires_grad_()
        assert tp.cuda.memory_by_category() == {"parameters": 80}
        del x, y


# -- memory ----------------------------------------------------------------------------------------
def test_strides_offsets_and_addresses() -> None:
    x = tp.zeros(2, 3, 4)
    part = x[1, :, 2:]
    assert (x.stride(), part.stride(), part.stride(0)) == ((12, 4, 1), (4, 1), 4)
    assert part.storage_offset() == 14
    assert part.data_ptr() == x.data_ptr() + 14 * x.element_size()
    assert part.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert part.untyped_storage().nbytes() == 96 and part.nbytes == 24
    assert x.is_contiguous() and not part.is_contiguous() and not x.mT.is_contiguous()
    assert (x.dim(), x.ndim, x.numel(), x.size(), x.size(-1)) == (3, 3, 24, (2, 3, 4), 4)


def test_data_shares_memory_but_not_the_version() -> None:
    x = _leaf(1.0, 2.0)
    y = x * x
    x.data.mul_(10.0)  # goes unnoticed, as in PyTorch
    assert x.tolist() == [10.0, 20.0] and x._version == 0
    y.sum().backward()
    assert not x.data.requires_grad
    x.data = tp.zeros(3)
    assert x.tolist() == [0.0] * 3 and x.requires_grad
    with pytest.raises(RuntimeError, match="float32 on cpu; found float64 on cpu"):
        x.data = tp.zeros(1, dtype=tp.float64)
    with pytest.raises(TypeError, match="list"):
        x.data = [1.0]  # type: ignore[assignment]


def test_data_keeps_its_bytes_in_the_ledger() -> None:
    with tp.cuda.simulate(1_000) as device:
        data = tp.ones(10, device=device).data
        assert tp.cuda.memory_allocated() == 40
        del data
        assert tp.cuda.memory_allocated() == 0


def test_a_tensor_has_no_dictionary() -> None:
    with pytest.raises(AttributeError):
        tp.ones(1).anything = 1  # type: ignore[attr-defined]


def test_a_graph_is_freed_by_reference_counting_alone(no_gc: None) -> None:
    x = _leaf(1.0, 2.0)
    y = x.exp()
    (first, second), watched = y.unbind(), weakref.ref(y.storage())
    z = first * second + y[0]
    del y, first, second, z
    assert watched() is None


# -- the graph -------------------------------------------------------------------------------------
def test_detach_cuts_and_detach_underscore_cuts_in_place() -> None:
    x = _leaf(1.0)
    y = x * 2.0
    assert y.detach().storage() is y.storage() and y.detach().is_leaf
    z = x * 3.0
    assert z.detach_() is z and z.is_leaf and not z.requires_grad
    with pytest.raises(RuntimeError, match="view"):
        y[0:1].detach_()


def test_retain_grad_fills_the_gradient_of_a_result() -> None:
    x = _leaf(1.0, 2.0)
    y = x * 3.0
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad is not None and y.grad.tolist() == [6.0, 12.0]
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        tp.ones(1).retain_grad()


def test_hooks_on_a_leaf_and_on_a_result() -> None:
    x = _leaf(1.0, 2.0)
    y = x * 3.0
    seen: list[Any] = []
    y.register_hook(lambda grad: grad * 2.0)
    handle = x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    y.sum().backward(retain_graph=True)
    assert seen == [[6.0, 6.0], [6.0, 6.0]]
    handle.remove()
    y.sum().backward()
    assert seen[2:] == [[12.0, 12.0]]
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(RuntimeError, match="doesn't require gradient"):
            getattr(tp.ones(1), register)(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        y.register_post_accumulate_grad_hook(print)


def test_requires_grad_can_be_switched_on_a_leaf_only() -> None:
    x = tp.ones(1)
    assert x.requires_grad_() is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        tp.ones(1, dtype=tp.int64).requires_grad_()
    with pytest.raises(RuntimeError, match=r"leaf tensors only.*\.detach"):
        (_leaf(1.0) * 2.0).requires_grad_(False)


@pytest.mark.parametrize(
    ("write", "slope"),
    [
        (lambda h: h.add_(1.0), 1.0),
        (lambda h: h.sub_(1.0, alpha=2.0), 1.0),
        (lambda h: h.mul_(3.0), 3.0),
        (lambda h: h.div_(4.0), 0.25),
        (lambda h: h.pow_(2.0), 4.0),
        (lambda h: h.neg_(), -1.0),
        (lambda h: h.exp_(), np.exp(2.0)),
        (lambda h: h.log_(), 0.5),
        (lambda h: h.sqrt_(), 0.5 / np.sqrt(2.0)),
        (lambda h: h.sin_(), np.cos(2.0)),
        (lambda h: h.cos_(), -np.sin(2.0)),
        (lambda h: h.tanh_(), 1.0 - np.tanh(2.0) ** 2),
        (lambda h: h.relu_(), 1.0),
        (lambda h: h.abs_(), 1.0),
        (lambda h: h.reciprocal_(), -0.25),
        (lambda h: h.clamp_(0.0, 1.0), 0.0),
        (lambda h: h.masked_fill_(h.detach() > 1.0, 5.0), 0.0),
        (lambda h: h.zero_(), 0.0),
        (lambda h: h.fill_(3.0), 0.0),
        (lambda h: h.copy_(tp.zeros(1)), 0.0),
    ],
)
def test_writing_in_place_is_recorded(write: Any, slope: float) -> None:
    x = tp.tensor([2.0], dtype=tp.float64, requires_grad=True)
    h = x * 1.0
    assert write(h) is h and h._version == 1
    h.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad, [slope], rtol=1e-12)


def test_augmented_assignment_writes_in_place() -> None:
    x = tp.tensor([8.0])
    same = x
    x += 1.0
    x -= 3.0
    x *= 2.0
    x /= 4.0
    x **= 2
    assert x is same and x.tolist() == [9.0] and x._version == 5


# -- copies ----------------------------------------------------------------------------------------
def test_a_deep_copy_takes_the_gradient_along() -> None:
    x = _leaf(1.0, 2.0)
    x.sum().backward()
    twin = copy.deepcopy({"a": x, "b": x})
    assert twin["a"] is twin["b"] is not x
    assert twin["a"].requires_grad and twin["a"].grad.tolist() == [1.0, 1.0]
    assert twin["a"].storage() is not x.storage()
    assert twin["a"].grad.storage() is not x.grad.storage()  # type: ignore[union-attr]


def test_a_leaf_survives_pickling_with_its_device() -> None:
    with tp.cuda.simulate(1_000) as device:
        x = tp.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
        twin = pickle.loads(pickle.dumps(x))
        assert twin.device is device and twin.requires_grad
        assert twin.cpu().tolist() == x.tolist()
        view = pickle.loads(pickle.dumps(tp.arange(6).reshape(2, 3).T))
        assert view.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("copier", [copy.deepcopy, pickle.dumps, copy.copy])
def test_a_result_cannot_leave_its_graph(copier: Any) -> None:
    with pytest.raises(RuntimeError, match=r"MulBackward.*\.detach\(\)"):
        copier(_leaf(1.0) * 2.0)


def test_new_tensors_are_of_the_same_kind() -> None:
    with tp.cuda.simulate(10_000) as device:
        x = tp.ones(2, dtype=tp.float64, device=device)
        for made in (
            x.new_zeros(3),
            x.new_ones((2, 2)),
            x.new_full((1,), 7),
            x.new_empty(2),
            x.new_tensor([1.0]),
        ):
            assert (made.dtype, made.device) == (tp.float64, device)
    assert tp.ones(1).new_zeros(2, dtype=tp.int64, requires_grad=False).dtype == tp.int64
    with pytest.raises(RuntimeError, match="floating point"):
        tp.ones(1, dtype=tp.int64).new_ones(2, requires_grad=True)


def test_a_subclass_stays_what_it_is() -> None:
    class Parameter(Tensor):
        __slots__ = ()

    x = tp.tensor([1.0])
    parameter = Parameter()
    for name in ("_array", "_storage", "_requires_grad", "_node", "_output_nr"):
        setattr(parameter, name, getattr(x, name))
    parameter._view = parameter._grad = parameter._leaf = None
    for made in (parameter * 2.0, 2.0 - parameter, parameter[0], parameter.sum(), parameter + x):
        assert type(made) is Parameter


# -- what is shown ---------------------------------------------------------------------------------
SHOWN: list[tuple[Any, str]] = [
    (tp.tensor([1.0, 2.0], requires_grad=True), "tensor([1., 2.], requires_grad=True)"),
    (tp.tensor([1, -20]), "tensor([  1, -20])"),
    (tp.tensor([True, False]), "tensor([ True, False])"),
    (tp.tensor(3.5), "tensor(3.5000)"),
    (tp.tensor([0.5, -1.25]), "tensor([ 0.5000, -1.2500])"),
    (tp.tensor([1.0, float("nan"), -float("inf")]), "tensor([  1.,  nan, -inf])"),
    (tp.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
    (tp.tensor([1e9]), "tensor([1.0000e+09])"),
    (tp.tensor([-0.0, 1.5]), "tensor([0.0000, 1.5000])"),
    (tp.tensor([1.0], dtype=tp.float64), "tensor([1.], dtype=float64)"),
    (tp.tensor([1], dtype=tp.int8), "tensor([1], dtype=int8)"),
    (tp.tensor([1 + 2j, 3 - 4j]), "tensor([1.+2.j, 3.-4.j], dtype=complex64)"),
    (tp.tensor([]), "tensor([])"),
    (tp.zeros(0, 3), "tensor([], size=(0, 3))"),
    (tp.tensor([1.0], requires_grad=True) * 2.0, "tensor([2.], grad_fn=<MulBackward>)"),
    (tp.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
    (tp.arange(2000), "tensor([   0,    1,    2, ..., 1997, 1998, 1999])"),
    (tp.ones(1, device="cuda"), "tensor([1.], device='cuda:0' (simulated))"),
]


def test_an_empty_tensor_tells_its_dtype() -> None:
    assert repr(tp.zeros(0, dtype=tp.int64)) == "tensor([], dtype=int64)"
    assert repr(tp.zeros(0, 2, dtype=tp.bool)) == "tensor([], size=(0, 2), dtype=bool)"


@pytest.mark.parametrize(("tensor", "text"), SHOWN, ids=[text for _, text in SHOWN])
def test_a_tensor_prints_its_values_and_what_is_not_the_default(tensor: Any, text: str) -> None:
    assert repr(tensor) == text


def test_long_notes_go_to_a_line_of_their_own() -> None:
    x = tp.full((8,), 0.5, dtype=tp.float64, requires_grad=True)
    lines = repr(x).split("\n")
    assert max(len(line) for line in lines) <= 80
    assert lines[-1].strip().startswith("dtype=float64, requires_grad=True")


@needs_torch
@pytest.mark.parametrize(
    "data",
    [
        [1.0, 2.0],
        [[0.1, 10.0], [3.0, -4.5]],
        [1, 2, 300],
        3.0,
        [1e-5, 1.0],
        [123456.0, 1.5],
        [0.001, 0.5],
        [1e8, 1.0],
        [float("inf"), 1.5, float("nan")],
        [[[1.0], [2.0]]],
        list(range(30)),
        [0.5] * 20,
        [True, False],
        [[True], [True]],
        [],
    ],
)
def test_values_print_as_in_pytorch(data: Any) -> None:
    torch = pytest.importorskip("torch")
    assert repr(tp.tensor(data)) == repr(torch.tensor(data))


# -- for readers -----------------------------------------------------------------------------------
def _public_methods() -> list[str]:
    return [
        name for name in dir(Tensor) if not name.startswith("_") and callable(getattr(Tensor, name))
    ]


@pytest.mark.parametrize("name", _public_methods())
def test_every_method_says_what_it_does_and_returns(name: str) -> None:
    method = getattr(Tensor, name)
    assert method.__doc__, f"{name} has no docstring"
    assert "return" in method.__annotations__, f"{name} does not say what it returns"


def test_functions_take_the_tensor_first_and_refuse_other_things() -> None:
    x = tp.tensor([1.0, 4.0])
    assert tp.sqrt(x).tolist() == tp.sqrt(input=x).tolist() == [1.0, 2.0]
    assert tp.sum(x, 0).item() == 5.0
    assert tp.max(x, dim=0).indices.item() == 1
    for call in (tp.exp, tp.sum, tp.reshape):
        with pytest.raises(TypeError, match="'input' must be a Tensor, found float"):
            call(2.0)
    with pytest.raises(TypeError, match="expected a Tensor"):
        tp.mul("text", x)
    with pytest.raises(TypeError, match="expected a Tensor.*found int and float"):
        tp.add(3, 4.0)
    with pytest.raises(TypeError, match="fill_: expected a number or a Tensor, found str"):
        x.fill_("a")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.reshape("a"), "reshape: expected whole numbers as lengths or axes, found 'a'"),
        (lambda x: x.permute(None), "permute: expected whole numbers as lengths or axes"),
        (lambda x: x.reshape(x.numel() * 1.0), "reshape: expected whole numbers"),
        (lambda x: x.reshape((x.numel() + 0.7,)), "reshape: expected whole numbers"),
        (lambda x: x.permute(*(axis + 0.2 for axis in range(x.ndim))), "permute: expected whole"),
        (lambda x: x.tile(1.9, 1.0), "tile: expected whole numbers"),
        (lambda x: x.new_zeros(2.0, 3), "new_zeros: expected whole numbers"),
        (lambda x: x.split("ab"), "split: a length must be a whole number, found 'a'"),
        (lambda x: x.split(1.5), "split: lengths must be a sequence, found float"),
        (lambda x: x.chunk("a"), "chunk: chunks must be a whole number, found 'a'"),
        (lambda x: x.narrow(0, 0, 1.5), "narrow: length must be a whole number, found 1.5"),
        (lambda x: x.roll("a"), "roll: a shift must be a whole number, found 'a'"),
        (lambda x: x.topk("a"), "topk: k must be a whole number, found 'a'"),
        (lambda x: x.gather(0, 3), "gather: index must be a Tensor, found int"),
        (lambda x: x.scatter_add(0, 3, x), "scatter_add: index must be a Tensor, found int"),
        (lambda x: x.scatter_add_(0, 3, x), "scatter_add_: index must be a Tensor, found int"),
        (lambda x: x.to("S8"), "to: expected a dtype, .* found 'S8'"),
        (lambda x: tp.equal(x, 3), "equal: input must be a Tensor, found int"),
        (lambda x: tp.broadcast_tensors(x, 3), "broadcast_tensors: input must be a Tensor"),
        (lambda x: tp.einsum(x), "einsum: equation must be a str, found Tensor"),
        (lambda x: tp.einsum("i,i", x, 3), "einsum: operand 1 must be a Tensor, found int"),
    ],
)
def test_arguments_of_another_type_are_named(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(tp.ones(4))


def test_methods_are_called_tensor_s_own_whichever_file_has_them() -> None:
    x = tp.ones(2)
    with pytest.raises(TypeError, match=r"^Tensor\.sum\(\) got an unexpected keyword"):
        x.sum(axes=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Tensor\.softmax\(\) missing 1 required"):
        x.softmax()  # type: ignore[call-arg]
    names = {getattr(Tensor, name).__qualname__.split(".")[0] for name in _public_methods()}
    assert names == {"Tensor"}
    assert pickle.loads(pickle.dumps(Tensor.sum)) is Tensor.sum


def test_functions_of_several_tensors() -> None:
    a, b = tp.ones(2, 1), tp.zeros(3)
    first, second = tp.broadcast_tensors(a, b)
    assert first.shape == second.shape == tp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    with pytest.raises(RuntimeError, match=r"\(2,\), \(3,\) do not broadcast"):
        tp.broadcast_shapes((2,), (3,))
    assert tp.where(a > 0, 5.0, b).tolist() == [[5.0] * 3] * 2
    assert tp.is_tensor(a) and not tp.is_tensor(1)
    assert tp.equal(a, tp.ones(2, 1)) and not tp.equal(a, b)
    assert tp.allclose(a, a + 1e-9) and not tp.allclose(a, a + 1e-3)


def test_the_public_names_are_there() -> None:
    missing = [name for name in tp.__all__ if not hasattr(tp, name)]
    assert missing == [] and len(set(tp.__all__)) == len(tp.__all__)
    assert typing.get_type_hints(Tensor.backward)["return"] is type(None)
