"""What every operation saves, read from a pack hook: its `saves` and its "Saves:" line tell it.

Each operation of the package is run once with inputs that all need a gradient, and an operation
without an example here makes a test fail.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref import ops
from tensorplay_ref.autograd import grad
from tensorplay_ref.autograd.graph import saved_tensor_hooks
from tensorplay_ref.autograd.saved import SavedTensor
from tensorplay_ref.ops.convolution import Geometry, Windows
from tensorplay_ref.ops.operation import Operation


def _classes() -> Iterator[type[Operation]]:
    for module in pkgutil.iter_modules(ops.__path__):
        for each in vars(importlib.import_module(f"{ops.__name__}.{module.name}")).values():
            if isinstance(each, type) and issubclass(each, Operation):
                yield each


BASES = {"Operation", "View", "Reduction", "Comparison", "Predicate", "GradientOf", "Activation"}
OPERATIONS = sorted(
    {c for c in _classes() if c.__name__ not in BASES and not c.__name__.startswith("_")},
    key=lambda c: c.__name__,
)
OPS = {each.__name__: each for each in OPERATIONS}


def _leaf(shape: tuple[int, ...]) -> Any:
    values = np.linspace(0.25, 0.75, int(np.prod(shape))).reshape(shape)
    return tp.tensor(values, requires_grad=True)


# An example gives the inputs and the result.
Example = Callable[[], tuple[tuple[Any, ...], Any]]


def of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Example:
    """The example `function(*leaves)` with leaves of these shapes."""

    def run() -> tuple[tuple[Any, ...], Any]:
        inputs = tuple(_leaf(shape) for shape in shapes)
        return inputs, function(*inputs)

    return run


def applied(name: str, *params: Any, shape: tuple[int, ...] = (2, 3), count: int = 1) -> Example:
    """The example `Op.apply(leaves..., params...)`."""
    return of(lambda *leaves: OPS[name].apply(*leaves, *params), *[shape] * count)


def backward_of(function: Callable[..., Any], *shapes: tuple[int, ...], number: int = 0) -> Example:
    """The gradient of `function`, as a function of the gradient that comes in and of the result."""

    def run() -> tuple[tuple[Any, ...], Any]:
        leaves = [_leaf(shape) for shape in shapes]
        result = function(*leaves)
        upstream = _leaf(result.shape)
        gradient = grad(result, leaves, upstream, create_graph=True)[number]
        return (upstream, result), gradient

    return run


index = tp.tensor([1, 0])
mask = tp.tensor([[True, False, True], [False, True, True]])
images, kernels = (1, 2, 4, 4), (2, 2, 3, 3)
geometry = Geometry((3, 3), (1, 1), (1, 1), (1, 1))


def _conv(x: Any, weight: Any) -> Any:
    return OPS["Conv2d"].apply([x, weight], geometry, 1)


def _nll(x: Any) -> Any:
    weight = tp.tensor(np.array([1.0, 2.0, 3.0]))
    return OPS["NllLoss"].apply(x, index, weight, -100, "mean")


def _bce(x: Any, target: Any) -> Any:
    weight = tp.tensor(np.array([1.0, 2.0, 3.0]))
    return OPS["BceLoss"].apply(x, target, weight, "mean")


EXAMPLES: dict[str, Example] = {
    **{
        name: of(function, (2, 3), (2, 3))
        for name, function in {
            "Add": lambda a, b: a + b,
            "Sub": lambda a, b: a - b,
            "Mul": lambda a, b: a * b,
            "Div": lambda a, b: a / b,
            "Pow": lambda a, b: a**b,
            "Remainder": lambda a, b: a % b,
            "FloorDiv": lambda a, b: a // b,
            "Maximum": lambda a, b: a.maximum(b),
            "Minimum": lambda a, b: a.minimum(b),
            "Where": lambda a, b: a.where(mask, b),
            "Matmul": lambda a, b: a @ b.T,
            "Cat": lambda a, b: OPS["Cat"].apply([a, b], 0),
            "Stack": lambda a, b: OPS["Stack"].apply([a, b], 0),
            "Linear": lambda a, b: OPS["Linear"].apply([a, b]),
            "MseLoss": lambda a, b: OPS["MseLoss"].apply(a, b, "mean"),
            "CopyInto": lambda a, b: (a * 1.0).copy_(b),
        }.items()
    },
    **{
        name: of(lambda a, name=name: OPS[name].apply(a), (2, 3))
        for name in (
            "Neg Reciprocal Exp Expm1 Log Log1p Sqrt Rsqrt Sin Cos Tan Tanh Abs Sign Clone Sigmoid "
            "Round Floor Ceil Trunc "
            "Relu Erf Silu Sum Mean Prod Amax Amin MaxAll MinAll Contiguous Round Floor Ceil Trunc"
        ).split()
    },
    "Cast": applied("Cast", np.float32),
    "ToDevice": applied("ToDevice", tp.Device("cuda")),
    "LeakyRelu": applied("LeakyRelu", 0.1),
    "Gelu": applied("Gelu", "none"),
    "Softplus": applied("Softplus", 1.0, 20.0),
    "Clamp": applied("Clamp", 0.3, 0.6),
    "MaskedFill": applied("MaskedFill", mask, 0.0),
    "Var": applied("Var", None, 1, False),
    "Std": applied("Std", None, 1, False),
    "Norm": applied("Norm", 2, None, False),
    "LogSumExp": applied("LogSumExp", 1, False),
    "Softmax": applied("Softmax", 1),
    "LogSoftmax": applied("LogSoftmax", 1),
    "Cumsum": applied("Cumsum", 1),
    "MaxDim": of(lambda a: a.max(1)[0], (2, 3)),
    "MinDim": of(lambda a: a.min(1)[0], (2, 3)),
    "OtherFactors": applied("OtherFactors", 1),
    "TanhBackward": backward_of(lambda a: a.tanh(), (3,)),
    "SigmoidBackward": backward_of(lambda a: a.sigmoid(), (3,)),
    "ReluBackward": backward_of(lambda a: a.relu(), (3,)),
    "SoftmaxBackward": backward_of(lambda a: a.softmax(0), (3,)),
    "LogSoftmaxBackward": backward_of(lambda a: a.log_softmax(0), (3,)),
    "Reshape": of(lambda a: a.reshape(3, 2), (2, 3)),
    "Squeeze": of(lambda a: a.squeeze(0), (1, 3)),
    "Unsqueeze": of(lambda a: a.unsqueeze(0), (2, 3)),
    "Transpose": of(lambda a: a.transpose(0, 1), (2, 3)),
    "Permute": of(lambda a: a.permute(1, 0), (2, 3)),
    "Expand": of(lambda a: a.expand(4, 2, 3), (2, 3)),
    "Slice": of(lambda a: a[0], (2, 3)),
    "SliceBackward": backward_of(lambda a: a[0], (2, 3)),
    "Split": of(lambda a: a.split(1, 0)[1], (2, 3)),
    "Unbind": of(lambda a: a.unbind(0)[1], (2, 3)),
    "Diagonal": of(lambda a: a.diagonal(), (2, 3)),
    "DiagonalBackward": backward_of(lambda a: a.diagonal(), (2, 3)),
    "Repeat": of(lambda a: a.repeat(2, 1), (2, 3)),
    "Flip": of(lambda a: a.flip(0), (2, 3)),
    "Roll": of(lambda a: a.roll(1, 0), (2, 3)),
    "Tril": of(lambda a: a.tril(), (2, 3)),
    "Triu": of(lambda a: a.triu(), (2, 3)),
    "Pad": applied("Pad", ((0, 1), (1, 0)), 0.0),
    "Index": of(lambda a: a[index], (2, 3)),
    "IndexBackward": backward_of(lambda a: a[index], (2, 3)),
    "IndexPut": of(lambda a, b: a.index_put((index,), b), (2, 3), (2, 3)),
    "Gather": of(lambda a: a.gather(1, index.reshape(2, 1)), (2, 3)),
    "ScatterAdd": of(lambda a, b: a.scatter_add(1, index.reshape(2, 1), b), (2, 3), (2, 1)),
    "LayerNorm": of(lambda *ts: OPS["LayerNorm"].apply(ts, (1,), 1e-5), (2, 3), (3,), (3,)),
    "Dropout": applied("Dropout", mask, 0.5),
    "Embedding": applied("Embedding", index, None),
    "BceLoss": of(_bce, (2, 3), (2, 3)),
    "BceGradient": applied("BceGradient", count=3),
    "BceTargetGradient": applied("BceTargetGradient", count=2),
    "NllLoss": of(_nll, (2, 3)),
    "NllLossBackward": backward_of(_nll, (2, 3)),
    "Conv2d": of(_conv, images, kernels),
    "ConvInput": backward_of(_conv, images, kernels, number=0),
    "ConvWeight": backward_of(_conv, images, kernels, number=1),
    "Windows": of(lambda a: Windows.apply(a, geometry), images),
    "Fold": backward_of(lambda a: Windows.apply(a, geometry), images),
    "MaxPool2d": of(lambda a: OPS["MaxPool2d"].apply(a, geometry), images),
}

MADE_BY_BACKWARD = {n for n in EXAMPLES if "Backward" in n} | {"Fold", "ConvInput", "ConvWeight"}


def node_of(name: str, result: Any) -> Any:
    """The node of this operation in the graph of the result."""
    nodes = [result.grad_fn]
    for node in nodes:
        nodes.extend(
            below for below in node.input_nodes if below is not None and below not in nodes
        )
    return next(node for node in nodes if type(node).__name__ == name)


recorded = pytest.mark.parametrize("name", [n for n, c in OPS.items() if c.differentiable])


def test_every_operation_that_can_be_recorded_has_an_example() -> None:
    assert {n for n, c in OPS.items() if c.differentiable} == set(EXAMPLES)


@recorded
def test_pack_is_called_for_the_slots_that_the_class_names_and_for_no_other(name: str) -> None:
    packed: list[Any] = []

    def pack(tensor: Any) -> int:
        packed.append(tensor.detach())
        return len(packed) - 1

    with saved_tensor_hooks(pack, lambda number: packed[number]):
        inputs, result = EXAMPLES[name]()
        node = node_of(name, result)
        slots = [slot for slot in node.saved_slots if type(slot) is SavedTensor]
        # A slot keeps the number that its own call of pack returned.
        assert len({slot.data for slot in slots}) == len(slots) == len(node.saves)
        for slot_name, slot in zip(node.saves, slots, strict=True):
            check_role(slot_name, packed[slot.data], inputs, result)


def check_role(role: str, packed: Any, inputs: tuple[Any, ...], result: Any) -> None:
    """A slot called self keeps the first input, result the result, mask a boolean tensor, ..."""
    storage = packed._storage
    if role in ("self", "grad"):
        assert storage is inputs[0]._storage
    elif role in ("other", "exponent"):
        assert storage is inputs[1]._storage
    elif role == "result":
        assert storage in (result._storage, *(tensor._storage for tensor in inputs[1:]))
    elif role in ("mask", "condition"):
        assert packed.dtype == np.bool_
    elif role in ("index", "indices"):
        assert packed.dtype == np.int64


@pytest.mark.parametrize("name", [n for n in EXAMPLES if n not in MADE_BY_BACKWARD])
def test_nothing_is_packed_when_no_input_needs_a_gradient(name: str) -> None:
    packed: list[Any] = []
    with tp.no_grad(), saved_tensor_hooks(packed.append, lambda nothing: nothing):
        EXAMPLES[name]()
    assert packed == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__)
def test_the_docstring_says_what_is_saved(operation: type[Operation]) -> None:
    found = re.search(r"Saves: ([^.]*)\.", operation.__doc__ or "")
    assert found, f"{operation.__name__} has no line 'Saves: ...'"
    vocabulary = {slot for each in OPERATIONS for slot in each.saves}
    # "self if other needs a gradient" names self; what stands behind "if" is the condition.
    sentence = re.sub(r"\bif\b[^,;]*", "", found[1])
    words = re.findall(r"\w+", sentence)
    said = {word for word in words if word in vocabulary}
    assert said == set(operation.saves)
    assert (words[0] == "nothing") == (not operation.saves)


@pytest.mark.parametrize("name", [n for n, c in OPS.items() if not c.differentiable])
def test_operations_without_a_gradient_name_no_slots(name: str) -> None:
    assert OPS[name].saves == ()
