"""Products of vectors, matrices and batches: values, derivatives, what is saved, errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorplay_ref as tp

from .gradients import Case, away_from_zero, checks_of, saved_roles
from .libraries import alike


def _pair(name: str, first: tuple[int, ...], second: tuple[int, ...]) -> Case:
    arrays = away_from_zero(*first), away_from_zero(*second, seed=1)
    return alike(name, lambda lib, a, b: a @ b, *arrays)


a23, b34 = away_from_zero(2, 3), away_from_zero(3, 4, seed=1)
three, four = away_from_zero(3, seed=2), away_from_zero(4, seed=3)
batch = away_from_zero(2, 2, 3, seed=4)

CASES = [
    _pair("vector by vector", (3,), (3,)),
    _pair("matrix by vector", (2, 3), (3,)),
    _pair("vector by matrix", (3,), (3, 2)),
    _pair("matrix by matrix", (2, 3), (3, 4)),
    _pair("batch by matrix", (2, 2, 3), (3, 2)),
    _pair("matrix by batch", (2, 3), (2, 3, 2)),
    _pair("batch by batch", (2, 2, 3), (2, 3, 2)),
    _pair("batches that broadcast", (2, 1, 2, 3), (3, 3, 2)),
    _pair("batch by vector", (2, 2, 3), (3,)),
    _pair("vector by batch", (3,), (2, 3, 2)),
    _pair("four axes by a matrix", (2, 1, 2, 3), (3, 2)),
    _pair("no rows", (0, 3), (3, 2)),
    _pair("an empty sum", (2, 0), (0, 3)),
    _pair("an empty sum of a batch", (2, 3, 0), (0, 4)),
    _pair("no rows in a batch", (2, 0, 3), (3, 2)),
    _pair("one by one", (1, 1), (1, 1)),
    alike("by itself", lambda lib, a: a @ a.mT @ a, a23),
    alike("a transposed batch", lambda lib, a, b: a.transpose(0, 1) @ b, batch, b34),
    alike("mm", lambda lib, a, b: lib.mm(a, b), a23, b34),
    alike("bmm", lambda lib, a: lib.bmm(a, a.mT), batch),
    alike("mv", lambda lib, a, b: lib.mv(a, b), a23, three),
    alike("dot", lambda lib, a: lib.dot(a, a) * a, three),
    alike("inner of vectors", lambda lib, a: lib.inner(a, a) * a, three),
    alike("inner of matrices", lambda lib, a: lib.inner(a, a * a), a23),
    alike("inner of a batch", lambda lib, a, b: lib.inner(a, b) ** 2, batch, a23),
    alike("inner of matrix and vector", lambda lib, a, b: lib.inner(a, b) ** 2, a23, three),
    alike("inner with a number", lambda lib, a: lib.inner(a, a.sum()), a23),
    alike("inner of empty sums", lambda lib, a: lib.inner(a[:, :0], a[:1, :0]) + a.sum(), a23),
    alike("outer", lambda lib, a, b: lib.outer(a, b) ** 2, three, four),
    alike(
        "addmm",
        lambda lib, c, a, b: lib.addmm(c, a, b, beta=0.5, alpha=2.0) ** 2,
        four,
        a23,
        b34,
    ),
    alike("linear", lambda lib, x, w, b: lib.nn.functional.linear(x, w, b), a23, b34.T, four),
    alike(
        "linear of nothing",
        lambda lib, x, w: lib.nn.functional.linear(x, w),
        np.zeros(0),
        np.zeros((2, 0)),
    ),
    alike("linear without bias", lambda lib, x, w: lib.nn.functional.linear(x, w), batch, b34.T),
    alike(
        "linear of a vector",
        lambda lib, x, w, b: lib.nn.functional.linear(x, w, b) ** 2,
        three,
        b34.T,
        four,
    ),
    alike(
        "linear of a batch",
        lambda lib, x, w, b: lib.nn.functional.linear(x, w, b) ** 2,
        batch,
        b34.T,
        four,
    ),
    alike("einsum product", lambda lib, a, b: lib.einsum("ij,jk->ik", a, b) ** 2, a23, b34),
    alike("einsum implicit", lambda lib, a, b: lib.einsum("ij,jk", a, b) ** 2, a23, b34),
    alike("einsum trace", lambda lib, a: lib.einsum("ii->", a) * a, away_from_zero(3, 3)),
    alike("einsum diagonal", lambda lib, a: lib.einsum("ii->i", a) ** 2, away_from_zero(3, 3)),
    alike("einsum sum", lambda lib, a: lib.einsum("ij->j", a) ** 2, a23),
    alike("einsum transpose", lambda lib, a: lib.einsum("ij->ji", a) ** 2, a23),
    alike("einsum implicit transpose", lambda lib, a: lib.einsum("ba", a) ** 2, a23),
    alike("einsum outer", lambda lib, a, b: lib.einsum("i,j->ij", a, b) ** 2, three, four),
    alike("einsum dot", lambda lib, a: lib.einsum("i,i->", a, a) * a, three),
    alike("einsum by element", lambda lib, a: lib.einsum("ij,ij->ij", a, a), a23),
    alike("einsum batch", lambda lib, a, b: lib.einsum("bij,jk->bik", a, b), batch, b34),
    alike("einsum ellipsis", lambda lib, a: lib.einsum("...ij,...kj->...ik", a, a), batch),
    alike(
        "einsum broadcast ellipsis",
        lambda lib, a, b: lib.einsum("...ij,jk->...ik", a, b) ** 2,
        away_from_zero(2, 1, 2, 3),
        b34,
    ),
    alike("einsum ellipsis summed", lambda lib, a: lib.einsum("i...->...", a) ** 2, batch),
    alike(
        "einsum of three",
        lambda lib, a, b, c: lib.einsum("ij,jk,k->i", a, b, c) ** 2,
        a23,
        b34,
        four,
    ),
    alike(
        "einsum bilinear",
        lambda lib, x, w, y: lib.einsum("bi,oij,bj->bo", x, w, y),
        a23,
        away_from_zero(2, 3, 2),
        away_from_zero(2, 2, seed=5),
    ),
]


TestCases = checks_of(CASES)


SHAPES = st.integers(1, 3)


@given(data=st.data(), rows=SHAPES, inner=SHAPES, columns=SHAPES)
def test_batches_broadcast_as_in_numpy(data: Any, rows: int, inner: int, columns: int) -> None:
    lead = data.draw(st.lists(SHAPES, max_size=2))
    drop = data.draw(st.integers(0, len(lead)))
    ones = [data.draw(st.booleans()) for _ in lead]
    first = (*(1 if one else n for one, n in zip(ones, lead, strict=True)), rows, inner)
    second = (*lead[drop:], inner, columns)
    a = tp.tensor(away_from_zero(*first), requires_grad=True)
    b = tp.tensor(away_from_zero(*second, seed=1), requires_grad=True)
    result = a @ b
    expected = a.detach().numpy() @ b.detach().numpy()
    np.testing.assert_allclose(result.detach(), expected, atol=1e-12)
    result.sum().backward()
    assert (a.grad.shape, b.grad.shape) == (first, second)


def _leaf(*shape: int, grad: bool = True) -> Any:
    return tp.tensor(away_from_zero(*shape), requires_grad=grad)


def _linear(a: Any, b: Any) -> Any:
    return tp.nn.functional.linear(a, b, tp.zeros(2, dtype=tp.float64, requires_grad=True))


@pytest.mark.parametrize("product", [lambda a, b: a @ b, _linear, lambda a, b: a.mm(b)])
def test_each_operand_is_saved_only_for_the_other(product: Any) -> None:
    assert saved_roles(product, _leaf(2, 2), _leaf(2, 2)) == ["a", "b"]
    assert saved_roles(product, _leaf(2, 2), _leaf(2, 2, grad=False)) == ["b"]
    assert saved_roles(product, _leaf(2, 2, grad=False), _leaf(2, 2)) == ["a"]


def test_a_bias_alone_saves_nothing() -> None:
    constants = _leaf(2, 3, grad=False), _leaf(4, 3, grad=False)
    bias = tp.zeros(4, dtype=tp.float64, requires_grad=True)
    result = tp.nn.functional.linear(*constants, bias)
    assert result.grad_fn.saved_slots == (None, None)
    result.sum().backward()
    assert bias.grad.tolist() == [2.0] * 4


def test_the_gradient_of_a_shared_weight_is_one_product() -> None:
    data, weight = _leaf(5, 4, 3, grad=False), _leaf(3, 2)
    seen: list[tuple[int, ...]] = []
    result = data @ weight
    result.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[1].shape))
    result.sum().backward()
    assert seen == [(3, 2)]  # not (5, 3, 2), to be summed afterwards


def test_integers_are_multiplied_as_integers() -> None:
    product = tp.tensor([[1, 2]]) @ tp.tensor([[3], [4]])
    assert (product.dtype, product.tolist()) == (tp.int64, [[11]])


def test_numpy_arrays_are_operands_too() -> None:
    a = _leaf(2, 3)
    for result in (a @ np.ones((3, 1)), np.ones((1, 2)) @ a):
        assert isinstance(result, tp.Tensor) and result.requires_grad


def test_work_is_counted_in_multiplications_and_additions() -> None:
    with tp.cuda.simulate(10_000) as device:
        a = tp.ones(2, 3, device=device)
        accelerator = device.accelerator
        with accelerator.recording() as events:
            a @ a.mT
            tp.nn.functional.linear(a, a)
        flops = [event.flops for event in events if event.kind == "compute"]
    assert flops == [2 * 2 * 2 * 3] * 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: a @ a, r"Matmul: shapes \(2, 3\) and \(2, 3\) do not fit"),
        (lambda a: a @ a.sum(), r"\(2, 3\) and \(\)"),
        (lambda a: a @ 2.0, "Matmul"),
        (lambda a: a.mm(a[0]), r"mm: expected tensors with 2 and 2 axes, .* \(3,\)"),
        (lambda a: a.bmm(a), "bmm: expected"),
        (lambda a: a[None].bmm(tp.ones(2, 3, 1, dtype=tp.float64)), "batches of 1 and 2"),
        (lambda a: a.dot(a), "dot: expected"),
        (lambda a: a.outer(a[0]), "outer: expected"),
        (lambda a: tp.nn.functional.linear(a, a.mT), r"Linear: .* \(2, 3\) and \(3, 2\)"),
        (lambda a: tp.nn.functional.linear(a, a, a[0]), r"bias of shape \(2,\), found \(3,\)"),
        (lambda a: tp.einsum("ij,jk->ik", a), "2 operands, 1 were given"),
        (lambda a: tp.einsum("ijk->i", a), "does not name all 2 axes"),
        (lambda a: tp.einsum("ij->k", a), "'k'"),
        (lambda a: tp.einsum("ij->ii", a), "'i'"),
        (lambda a: tp.einsum("ij,ij->", a, a.mT), "lengths 2 and 3"),
        (lambda a: tp.einsum("i1->i", a), "letters"),
        (lambda a: tp.einsum("ijk...->i", a), "more axes than there are"),
    ],
)
def test_wrong_use_names_what_was_expected(call: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call(_leaf(2, 3))


def test_inner_takes_last_axes_of_one_length() -> None:
    with pytest.raises(
        RuntimeError, match=r"inner: .* one length, found shapes \(2, 3\) and \(2,\)"
    ):
        tp.ones(2, 3).inner(tp.ones(2))


@pytest.mark.parametrize("name", ["mm", "bmm", "mv", "dot", "inner", "outer"])
def test_what_is_no_tensor_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: expected a Tensor, found int"):
        getattr(tp.ones(2), name)(3)


def test_addmm_with_beta_zero_does_not_look_at_self() -> None:
    nothing = tp.full((2,), np.nan)
    assert nothing.addmm(tp.ones(2, 3), tp.ones(3, 2), beta=0).tolist() == [[3.0, 3.0]] * 2
