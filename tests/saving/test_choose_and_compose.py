"""only, choose and compose: which policy packs which tensor, and two of them in a row."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import save_on_cpu, saved_tensor_hooks
from tensorplay_ref.saving import (
    Policy,
    bitmask,
    cast,
    choose,
    compose,
    offload,
    on_disk,
    only,
    packing_operation,
    quantize,
)
from tensorplay_ref.utils.checkpoint import create_selective_checkpoint_contexts


class Noting(Policy):
    """Notes the operation and the shape of each tensor, and keeps copies."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"deduplicate": False, **options})
        self.seen: list[tuple[str, tuple[int, ...]]] = []

    def pack(self, tensor: Any) -> Any:
        self.seen.append((packing_operation(), tensor.shape))
        return (tensor.detach().clone(),)

    def unpack(self, packed: Any) -> Any:
        return packed[0]


def network(policy: Any) -> Any:
    rng = np.random.default_rng(0)
    x = tp.tensor(rng.standard_normal((8, 16)).astype(np.float32))
    w = tp.tensor(rng.standard_normal((16, 16)).astype(np.float32), requires_grad=True)
    with policy:
        loss = ((x @ w).relu().tanh() @ w).log_softmax(1).mean()
    loss.backward()
    return w.grad.numpy()


SAVES = [
    ("Matmul", (8, 16)),
    ("Relu", (8, 16)),
    ("Tanh", (8, 16)),
    ("Matmul", (8, 16)),
    ("LogSoftmax", (8, 16)),
]
PLAIN = network(Noting())


# -- the name of the operation ---------------------------------------------------------------------
def test_a_pack_hook_can_ask_which_operation_saves() -> None:
    noting = Noting()
    network(noting)
    assert noting.seen == SAVES
    assert packing_operation() == ""


def test_the_name_of_a_function_is_its_class_and_other_hooks_may_ask_too() -> None:
    class Cube(tp.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0] ** 2 * 3.0

    names: list[str] = []

    def pack(tensor: Any) -> Any:
        names.append(packing_operation())
        return tensor

    x = tp.ones(2, requires_grad=True)
    with saved_tensor_hooks(pack, lambda t: t):
        y = Cube.apply(x).exp()
        with pytest.raises(RuntimeError):
            tp.ones(2).requires_grad_().tanh().add_(tp.ones(3))
    assert names == ["Cube", "Exp", "Tanh"]
    assert packing_operation() == ""
    y.sum().backward()


def test_operations_inside_a_pack_hook_have_their_own_name() -> None:
    names: list[str] = []

    def pack(tensor: Any) -> Any:
        names.append(packing_operation())
        if packing_operation() == "Exp":
            with tp.enable_grad():
                tp.ones(2).requires_grad_().tanh()
            names.append(packing_operation())
        return tensor

    with saved_tensor_hooks(pack, lambda t: t):
        tp.ones(2).requires_grad_().exp()
    assert names == ["Exp", "Tanh", "Exp"]


# -- only and choose -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("Matmul", [("Matmul", (8, 16))] * 2),
        (["Relu", "Tanh"], [("Relu", (8, 16)), ("Tanh", (8, 16))]),
        (lambda operation, tensor: operation.startswith("Log"), [("LogSoftmax", (8, 16))]),
        (lambda operation, tensor: tensor.nbytes > 512, []),
    ],
)
def test_only_applies_the_policy_where_the_predicate_says_so(predicate: Any, expected: Any) -> None:
    noting = Noting()
    assert np.array_equal(network(only(predicate, noting)), PLAIN)
    assert noting.seen == expected


def test_choose_asks_for_each_tensor_and_takes_any_pair() -> None:
    noting, calls = Noting(), []
    pairs = {
        "Relu": bitmask(),
        "Matmul": save_on_cpu(),
        "Tanh": saved_tensor_hooks(lambda t: calls.append(t) or t.numpy().copy(), tp.from_numpy),
        "LogSoftmax": noting,
    }
    asked: list[str] = []

    def select(operation: str, tensor: Any) -> Any:
        asked.append(operation)
        return pairs.get(operation)

    assert np.array_equal(network(choose(select)), PLAIN)
    assert asked[0] == "Matmul" and {"Relu", "Tanh", "LogSoftmax"} <= set(asked)
    assert len(calls) == 1 and noting.seen == [("LogSoftmax", (8, 16))]


def test_a_chosen_identity_pair_is_asked_to_unpack() -> None:
    unpacked: list[int] = []

    def unpack(tensor: Any) -> Any:
        unpacked.append(1)
        return tensor

    network(only("Tanh", saved_tensor_hooks(lambda t: t, unpack)))
    assert unpacked == [1]


def test_bad_choices_are_refused() -> None:
    with pytest.raises(TypeError, match="policy .*found int"):
        only("Relu", 3)
    with pytest.raises(TypeError, match="predicate"):
        only(3, bitmask())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="only: expected names of operations, found 3"):
        only([3], bitmask())  # type: ignore[list-item]
    with pytest.raises(TypeError, match="bitmask: also must be a sequence, found int"):
        bitmask(also=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="select"):
        choose(3)  # type: ignore[arg-type]
    with choose(lambda operation, tensor: 3), pytest.raises(TypeError, match="found int"):
        tp.ones(2).requires_grad_().exp()


def test_a_name_that_is_nearly_right_is_reported() -> None:
    class Softplus2(tp.autograd.Function):
        """Known as an operation from here on."""

    # Other tests of the process have left Functions of theirs: a name that none of them has.

    with pytest.warns(
        UserWarning, match="only: no operation is called 'Leaky_Relu' .* 'LeakyRelu'"
    ):
        only("Leaky_Relu", bitmask())
    with pytest.warns(UserWarning, match="'LeakyReluBackward' so far; did you mean 'LeakyRelu'"):
        only(["Exp", "LeakyReluBackward"], bitmask())
    with pytest.warns(UserWarning, match="'softplus2' so far; did you mean 'Softplus2'"):
        bitmask(also=["softplus2"])
    with pytest.warns(UserWarning, match="'leaky_relu' so far; did you mean 'LeakyRelu'"):
        create_selective_checkpoint_contexts(["leaky_relu"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The last one may be a Function that is still to come.
        only(["Matmul", "ReluBackward", "Softplus2", "NobodyKnows"], bitmask())


# -- compose ---------------------------------------------------------------------------------------
def test_the_inner_policy_packs_first_and_the_outer_its_tensors(tmp_path: Path) -> None:
    x = tp.rand(64, 64)
    policy = compose(on_disk(tmp_path), cast("float16"))
    packed = policy.pack_hook(x)
    (path,) = tmp_path.rglob("*.npy")
    assert np.load(path).dtype == np.float16
    unpacked = policy.unpack_hook(packed)
    assert unpacked.dtype == tp.float32
    assert np.array_equal(unpacked.numpy(), x.numpy().astype(np.float16).astype(np.float32))
    del packed
    assert list(tmp_path.iterdir()) == []


def test_what_one_leaves_the_other_still_packs() -> None:
    outer = Noting()
    index = tp.arange(10)
    policy = compose(outer, cast("float16"))
    assert np.array_equal(policy.unpack_hook(policy.pack_hook(index)).numpy(), index.numpy())
    assert len(outer.seen) == 1
    policy = compose(cast("float16"), Noting())
    assert np.array_equal(policy.unpack_hook(policy.pack_hook(index)).numpy(), index.numpy())
    policy = compose(cast("float16"), cast("float16"))
    assert type(policy.pack_hook(index)).__name__ == "Kept"


def test_other_pairs_can_be_composed() -> None:
    with tp.cuda.simulate(capacity=1_000_000) as device:
        before = tp.cuda.host_memory_allocated()
        x = tp.ones(1000, device=device)
        policy = compose(save_on_cpu(), quantize())
        packed = policy.pack_hook(x)
        assert tp.cuda.memory_allocated() == x.nbytes
        assert tp.cuda.host_memory_allocated() - before == 1000 + 4
        assert policy.unpack_hook(packed).device is device
        del packed, x
    as_list = saved_tensor_hooks(lambda t: [t * 2.0, {"n": 1}], lambda p: p[0] / p[1]["n"] / 2.0)
    policy = compose(cast("float16"), as_list)
    assert policy.unpack_hook(policy.pack_hook(tp.ones(100))).tolist() == [1.0] * 100


def test_three_policies_in_a_row_and_a_choice_inside() -> None:
    policy = compose(
        compose(offload(min_bytes=0), on_disk(min_bytes=10**9)),
        only("Tanh", quantize()),
    )
    error = np.abs(network(policy) - PLAIN).max() / np.abs(PLAIN).max()
    assert 0 < error < 0.05


def test_values_that_two_slots_save_are_packed_once_by_both() -> None:
    inner, outer = Noting(deduplicate=True), Noting(deduplicate=True)
    x = tp.rand(4, 4).requires_grad_()
    with compose(outer, inner):
        h = x.exp()
        y = (h * h).sum()
    assert (len(inner.seen), len(outer.seen)) == (1, 1)
    y.backward()


def test_an_inner_pair_without_tensors_is_refused() -> None:
    with compose(cast("float16"), on_disk(min_bytes=0)):
        with pytest.raises(TypeError, match="holds no tensor"):
            tp.ones(2).requires_grad_().exp()
    with pytest.raises(TypeError, match="compose: outer"):
        compose(3, cast("float16"))
    with pytest.raises(TypeError, match="compose: inner"):
        compose(cast("float16"), None)
