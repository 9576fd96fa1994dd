"""Making tensors: dtypes, copying and sharing, devices, options, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays, from_dtype

import tensorplay_ref as tp
from tests.ops.gradients import needs_torch

DATA: list[Any] = [
    1.5,
    1,
    True,
    1 + 2j,
    [1.0, 2.0],
    [1, 2],
    [True, False],
    [1, 2.5],
    [True, 2],
    [],
    [[], []],
    [[1, 2], [3, 4]],
    ((1.0,), (2.0,)),
    np.float32(1.5),
    np.float64(1.5),
    np.int16(3),
    np.zeros((2, 0), np.float16),
    np.array([1, 2], np.uint8),
    np.array([1.0]),
    [np.array([1.0]), np.array([2.0])],
    [np.float64(1.5), np.float64(2.5)],
    range(3),
]


@needs_torch
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays")
@pytest.mark.parametrize("data", DATA, ids=repr)
def test_dtype_and_shape_are_those_of_pytorch(data: Any) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.tensor(data)
    found = tp.tensor(data)
    assert f"torch.{found.dtype}" == str(expected.dtype)
    assert found.shape == tuple(expected.shape)
    assert found.tolist() == expected.tolist()


def test_a_list_of_tensors_without_axes_is_a_vector() -> None:
    assert tp.tensor([tp.tensor(1), tp.tensor(2)]).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="detach"):
        tp.tensor([tp.tensor(1.0, requires_grad=True)])


@given(arrays(np.float64, array_shapes(), elements=from_dtype(np.dtype(np.float64))))
def test_an_array_is_copied_exactly(array: Any) -> None:
    copied = tp.tensor(array)
    np.testing.assert_array_equal(copied.numpy(), array)
    assert not np.may_share_memory(copied.numpy(), array)


def test_a_tensor_of_a_tensor_is_a_leaf_of_its_own() -> None:
    x = tp.tensor([1.0], requires_grad=True)
    y = tp.tensor(x * 2.0)
    assert y.is_leaf and not y.requires_grad and y.storage() is not x.storage()


def test_a_tensor_of_a_tensor_stays_on_its_device() -> None:
    with tp.cuda.simulate(1_000) as device:
        x = tp.ones(2, device=device)
        assert tp.tensor(x).device is device
        host = tp.tensor(x, dtype=tp.float64, device="cpu", pin_memory=True, requires_grad=True)
        assert host.device == "cpu" and host.dtype == tp.float64
        assert host.is_pinned() and host.is_leaf and host.requires_grad


@pytest.mark.parametrize("byte_order", ["<f8", ">f8"])
def test_the_byte_order_of_a_copy_is_the_machine_s(byte_order: str) -> None:
    copied = tp.tensor(np.array([1.0, 2.0], byte_order))
    assert copied.dtype == tp.float64 and copied.dtype.isnative
    assert copied.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [tp.float64, np.float64, "float64", tp.double])
def test_a_dtype_can_be_given_in_many_ways(dtype: Any) -> None:
    assert tp.tensor([1], dtype=dtype).dtype == tp.float64


@pytest.mark.parametrize("name", ["bool", "int64", "float16", "float32", "float64", "complex64"])
def test_a_dtype_is_one_object_however_it_was_named(name: str) -> None:
    # Operations compare dtypes with `is` first; another object for the same dtype would be slower.
    dtype = np.dtype(name)
    for spelling in (name, dtype, dtype.type, dtype.newbyteorder("S"), dtype.newbyteorder("=")):
        assert tp.zeros(2, dtype=spelling).dtype is dtype


def test_the_dtypes_are_those_of_tensors() -> None:
    names = {x.dtype: x for x in (tp.ones(1), tp.ones(1, dtype=tp.int64))}
    assert tp.float32 in names and tp.long in names
    assert (tp.half, tp.float, tp.int, tp.short) == (tp.float16, tp.float32, tp.int32, tp.int16)


def test_from_numpy_shares_also_what_is_turned_round() -> None:
    array = np.arange(6.0).reshape(2, 3)
    x = tp.from_numpy(array[::-1, ::2])
    assert x.tolist() == [[3.0, 5.0], [0.0, 2.0]]
    x.zero_()
    assert array.tolist() == [[0.0, 1.0, 0.0], [0.0, 4.0, 0.0]]
    (x.requires_grad_() * 2.0).sum().backward()
    assert x.grad is not None and x.grad.is_contiguous()


def test_as_tensor_copies_only_if_it_must() -> None:
    array, x = np.ones(2), tp.ones(2)
    assert tp.as_tensor(x) is x
    assert tp.as_tensor(array).data_ptr() == array.ctypes.data
    assert tp.as_tensor(array, tp.float32).dtype == tp.float32
    assert tp.as_tensor([1, 2]).tolist() == [1, 2]


def _read_only() -> Any:
    array = np.ones(1)
    array.flags.writeable = False
    return array


WHOLE = "expected whole numbers as lengths or axes"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tp.tensor([[1.0], [1.0, 2.0]]), ValueError, "equal lengths"),
        (lambda: tp.tensor("text"), TypeError, "expected numbers, found str"),
        (lambda: tp.tensor("1.5", dtype=tp.float32), TypeError, "expected numbers, found str"),
        (lambda: tp.tensor(None), TypeError, "expected numbers, found NoneType"),
        (lambda: tp.tensor(None, dtype=tp.float32), TypeError, "found NoneType"),
        (lambda: tp.tensor([1.0, None]), TypeError, "expected numbers, found NoneType"),
        (lambda: tp.tensor([object()]), TypeError, "expected numbers, found object"),
        (lambda: tp.tensor({1: 2}), TypeError, "expected numbers, found dict"),
        (lambda: tp.tensor([1j], dtype=tp.float32), TypeError, "complex numbers"),
        (lambda: tp.tensor([1, 300], dtype=tp.int8), OverflowError, "1 to 300 cannot be stored"),
        (lambda: tp.tensor(-1, dtype=tp.uint8), OverflowError, "uint8, which holds 0 to 255"),
        (lambda: tp.tensor(1e300, dtype=tp.int64), OverflowError, "cannot be stored as int64"),
        (lambda: tp.tensor(2.0**63, dtype=tp.int64), OverflowError, "cannot be stored as int64"),
        (lambda: tp.tensor([np.nan], dtype=tp.int32), OverflowError, "nan to nan"),
        (lambda: tp.tensor(np.array(["a"])), TypeError, "<U1"),
        (lambda: tp.tensor(np.array(1, "M8[s]")), TypeError, "datetime64"),
        (lambda: tp.tensor(2**70), OverflowError, f"{2**70} is too large for int64"),
        (lambda: tp.tensor([2**63]), OverflowError, f"{2**63} is too large for int64"),
        (lambda: tp.full((2,), 2**70), OverflowError, "is too large for int64"),
        (lambda: tp.full((2,), 300, dtype=tp.int8), OverflowError, "holds -128 to 127"),
        (lambda: tp.full((2,), np.nan, dtype=tp.int8), OverflowError, "nan cannot be stored"),
        (lambda: tp.full((2,), 1j, dtype=tp.float32), TypeError, "a complex number"),
        (lambda: tp.full((2,), None), TypeError, "full: expected a number, found NoneType"),
        (lambda: tp.full((2,), [1, 2]), TypeError, "full: expected a number, found list"),
        (lambda: tp.full((2,), "a", dtype=tp.float32), TypeError, "found str"),
        (lambda: tp.full((2,), tp.ones(2)), TypeError, "full: expected a number, found Tensor"),
        (lambda: tp.zeros_like(3), TypeError, "full_like: input must be a Tensor, found int"),
        (
            lambda: tp.tensor([1], dtype="float33"),
            TypeError,
            "no dtype 'float33'; tensors hold bool",
        ),
        (lambda: tp.ones(1, dtype="float33"), TypeError, "ones: there is no dtype 'float33'"),
        (lambda: tp.ones(1, dtype=3), TypeError, "ones: there is no dtype 3"),
        (lambda: tp.ones(1, requires_grad="yes"), TypeError, "ones: requires_grad must be True"),
        (lambda: tp.ones(1, pin_memory="yes"), TypeError, "ones: pin_memory must be True or False"),
        (lambda: tp.tensor([1.0], requires_grad="no"), TypeError, "tensor: requires_grad must be"),
        (lambda: tp.linspace("a", 1, 3), TypeError, "linspace: expected numbers, found str"),
        (lambda: tp.ones(1).new_full(1, 1, requires_grad="a"), TypeError, "requires_grad must be"),
        (lambda: tp.tensor([1], requires_grad=True), RuntimeError, "floating point"),
        (lambda: tp.ones(1, dtype=tp.bool, requires_grad=True), RuntimeError, "floating point"),
        (lambda: tp.from_numpy([1.0]), TypeError, "expected a NumPy array, found list"),
        (lambda: tp.from_numpy(_read_only()), ValueError, "read-only"),
        (lambda: tp.from_numpy(np.array(["a"])), TypeError, "not supported"),
        (lambda: tp.from_numpy(np.zeros(1, ">f8")), TypeError, "foreign order"),
        (lambda: tp.ones(1).new_tensor(None), TypeError, "expected numbers, found NoneType"),
        (lambda: tp.ones(1).new_full((1,), None), TypeError, "new_full: expected a number"),
        (lambda: tp.ones(1).new_full((1,), 1j), TypeError, "a complex number"),
        (lambda: tp.ones(1).new_zeros(-1), RuntimeError, "new_full: expected no number below 0"),
        (lambda: tp.zeros(1).long().new_full((1,), np.nan), OverflowError, "nan cannot be stored"),
        (lambda: tp.zeros(-1), RuntimeError, "zeros: expected no number below 0, found (-1,)"),
        (lambda: tp.ones((2, -3)), RuntimeError, "ones: expected no number below 0"),
        (lambda: tp.full((-1,), 0), RuntimeError, "full: expected no number below 0"),
        (lambda: tp.eye(2, -1), RuntimeError, "eye: expected no number below 0"),
        (lambda: tp.linspace(0, 1, -1), RuntimeError, "linspace: expected no number below 0"),
        (
            lambda: tp.zeros("ab"),
            TypeError,
            "zeros: expected whole numbers as lengths or axes, found 'ab'",
        ),
        (lambda: tp.zeros(1.5), TypeError, f"zeros: {WHOLE}, found 1.5"),
        (
            lambda: tp.zeros(None),
            TypeError,
            "expected whole numbers as lengths or axes, found None",
        ),
        (lambda: tp.linspace(0, 1, 2.5), TypeError, "expected whole numbers as lengths"),
        (lambda: tp.arange("a"), TypeError, "arange: expected numbers, found str"),
        (lambda: tp.arange(0, np.inf), RuntimeError, "expected finite numbers, found inf"),
        (lambda: tp.zeros(2, colour=3), TypeError, "colour"),
        (lambda: tp.ones(1, device="banana"), ValueError, "banana"),
        (lambda: tp.ones(1, device="cuda", pin_memory=True), RuntimeError, "pinned"),
        (lambda: tp.arange(0, 1, -1), RuntimeError, "step -1"),
        (lambda: tp.arange(0, 1, 0), RuntimeError, "step 0"),
    ],
)
def test_what_is_no_tensor_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


def test_a_number_too_large_for_an_integer_can_be_a_float() -> None:
    assert tp.tensor(2**70, dtype=tp.float64).item() == 2.0**70
    assert tp.full((1,), 2**70, dtype=tp.float64).item() == 2.0**70
    assert tp.tensor(1e300).item() == np.inf
    assert tp.tensor(2**63 - 1).item() == 2**63 - 1


def test_nothing_is_counted_when_a_leaf_is_refused() -> None:
    with tp.cuda.simulate(1_000) as device:
        with pytest.raises(RuntimeError):
            tp.tensor([1], device=device, requires_grad=True)
        with pytest.raises(RuntimeError):
            tp.ones(3, dtype=tp.int64, device=device, requires_grad=True)
        assert tp.cuda.memory_allocated() == 0 == tp.cuda.max_memory_allocated()


@needs_torch
@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.zeros(2, 3),
        lambda lib: lib.zeros((2, 3)),
        lambda lib: lib.zeros([2]),
        lambda lib: lib.zeros(()),
        lambda lib: lib.ones(2, dtype=lib.int64),
        lambda lib: lib.full((2,), 3),
        lambda lib: lib.full((2,), 3.5),
        lambda lib: lib.full((), True),
        lambda lib: lib.full((2,), 1, dtype=lib.float64),
        lambda lib: lib.arange(5),
        lambda lib: lib.arange(2, 8, 3),
        lambda lib: lib.arange(1.0),
        lambda lib: lib.arange(0, 1, 0.25),
        lambda lib: lib.arange(5, 0, -2),
        lambda lib: lib.arange(3, dtype=lib.float32),
        lambda lib: lib.linspace(0, 1, 5),
        lambda lib: lib.eye(2),
        lambda lib: lib.eye(2, 3),
        lambda lib: lib.zeros_like(lib.ones(2, dtype=lib.int64)),
        lambda lib: lib.ones_like(lib.zeros(2, 1), dtype=lib.float64),
        lambda lib: lib.full_like(lib.zeros(2), 7),
        lambda lib: lib.scalar_tensor(2),
    ],
)
def test_values_and_dtypes_are_those_of_pytorch(make: Any) -> None:
    torch = pytest.importorskip("torch")
    found, expected = make(tp), make(torch)
    assert f"torch.{found.dtype}" == str(expected.dtype)
    assert found.shape == tuple(expected.shape) and found.tolist() == expected.tolist()


def test_empty_shows_zeros_and_never_what_stood_in_memory() -> None:
    assert tp.empty(2, 2).tolist() == tp.empty_like(tp.ones(2, 2)).tolist() == [[0.0, 0.0]] * 2


def test_a_full_tensor_may_take_its_value_from_a_tensor() -> None:
    assert tp.full((2,), tp.tensor(1.5)).tolist() == [1.5, 1.5]


def test_what_is_made_on_a_device_does_not_cross_the_link() -> None:
    with tp.cuda.simulate(10_000) as device:
        accelerator: Any = device.accelerator
        with accelerator.recording() as events:
            made = [
                tp.zeros(2, device=device),
                tp.arange(3, device=device),
                tp.eye(2, device="cuda"),
            ]
            made.append(tp.randn(2, device=device))
        assert [event.kind for event in events] == ["allocate"] * 4
        with accelerator.recording() as events:
            made.append(tp.tensor([1.0], device=device))
        assert [event.kind for event in events] == ["allocate", "copy"]
        assert {each.device for each in made} == {device}


def test_like_stays_on_the_device() -> None:
    with tp.cuda.simulate(10_000) as device:
        x = tp.ones(2, device=device)
        assert tp.zeros_like(x).device is device
        assert tp.randn_like(x).device is device
        assert tp.ones_like(x, device="cpu").device == "cpu"


def test_pinned_tensors_are_counted_as_pinned_host_memory() -> None:
    before = tp.cuda.host_memory_allocated()
    made = [tp.zeros(100, pin_memory=True), tp.tensor([1.0], pin_memory=True)]
    assert all(each.is_pinned() for each in made)
    assert tp.cuda.host_memory_allocated() - before == 404
    del made
    assert tp.cuda.host_memory_allocated() == before
