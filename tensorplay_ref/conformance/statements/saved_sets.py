"""What each built-in operation saves, read from the calls of pack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import Api
from ..expect import same
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0

TOPIC = "hooks: what is saved"


def saved(api: Api, operation: Callable[..., Any], *inputs: Any) -> list[str]:
    """What an operation packs, sorted: "a", "b", ... for its inputs, "result", or a dtype."""
    recorder = Recorder(lambda tensor: tensor.detach())
    with api.hooks(recorder.pack, recorder.unpack):
        result = operation(*inputs)
    return sorted(_role(api, each, inputs, result) for each in recorder.packed)


def _role(api: Api, packed: Any, inputs: tuple[Any, ...], result: Any) -> str:
    if packed.dtype != api.float64:
        return str(packed.dtype).split(".")[-1].strip("'<>").lower()
    for letter, candidate in zip("abcd", inputs, strict=False):
        if api.same_memory(packed, candidate):
            return letter
    return "result" if api.same_memory(packed, result) else "something else"


VALUES = [0.5, 1.5, 2.5]


def _vector(api: Api) -> Any:
    return api.leaf(VALUES)


def _matrix(api: Api) -> Any:
    return api.leaf([[1.0, 2.0], [3.0, 4.0]])


@statement(TOPIC, 4)
def sums_and_differences_save_nothing(api: Api) -> None:
    """a + b, a - b and -a save nothing: their gradients do not depend on the values."""
    for operation in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: -a):
        same(saved(api, operation, _vector(api), _vector(api)), [], "saved")


@statement(TOPIC, 4)
def a_product_saves_both_factors(api: Api) -> None:
    """a * b saves a and b when both need a gradient."""
    same(saved(api, lambda a, b: a * b, _vector(api), _vector(api)), ["a", "b"], "saved")


@tensorplay_1_0("saves both factors", shows="found ['a', 'b']")
@statement(TOPIC, 4)
def a_product_with_a_constant_saves_the_constant(api: Api) -> None:
    """a * c with a constant c saves c only: a is not read by any formula that is needed."""
    same(saved(api, lambda a, b: a * b, _vector(api), api.constant(VALUES)), ["b"], "saved")
    same(saved(api, lambda a, b: a * b, api.constant(VALUES), _vector(api)), ["a"], "saved")


@statement(TOPIC, 4)
def a_quotient_saves_both(api: Api) -> None:
    """a / b saves a and b when both need a gradient."""
    same(saved(api, lambda a, b: a / b, _vector(api), _vector(api)), ["a", "b"], "saved")


@tensorplay_1_0("saves both", shows="found ['a', 'b']")
@statement(TOPIC, 4)
def a_quotient_by_a_constant_saves_the_constant(api: Api) -> None:
    """a / c with a constant c saves c only."""
    same(saved(api, lambda a, b: a / b, _vector(api), api.constant(VALUES)), ["b"], "saved")


@statement(TOPIC, 4)
def a_power_saves_its_base(api: Api) -> None:
    """a ** 3 and a.square() save a, not the result."""
    for operation in (lambda a: a**3, lambda a: a.square()):
        same(saved(api, operation, _vector(api)), ["a"], "saved")


@statement(TOPIC, 4)
def a_power_of_tensors_saves_all_three(api: Api) -> None:
    """a ** b saves the base, the exponent and the result, which the logarithm's factor reads."""
    same(saved(api, lambda a, b: a**b, _vector(api), _vector(api)), ["a", "b", "result"], "saved")


@statement(TOPIC, 4)
def exp_saves_its_output(api: Api) -> None:
    """exp saves its output, which is its own derivative, and not its input."""
    same(saved(api, lambda a: a.exp(), _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def sqrt_saves_its_output(api: Api) -> None:
    """sqrt saves its output: the derivative is 1 / (2 * output)."""
    same(saved(api, lambda a: a.sqrt(), _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def rsqrt_and_reciprocal_save_their_output(api: Api) -> None:
    """rsqrt and reciprocal save their output."""
    for operation in (lambda a: a.rsqrt(), lambda a: a.reciprocal()):
        same(saved(api, operation, _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def tanh_saves_its_output(api: Api) -> None:
    """tanh saves its output: the derivative is 1 - output**2."""
    same(saved(api, lambda a: a.tanh(), _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def sigmoid_saves_its_output(api: Api) -> None:
    """sigmoid saves its output: the derivative is output * (1 - output)."""
    same(saved(api, lambda a: a.sigmoid(), _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def relu_saves_its_output(api: Api) -> None:
    """relu saves its output, whose sign tells where the input was positive."""
    same(saved(api, lambda a: a.relu(), _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def softmax_saves_its_output(api: Api) -> None:
    """softmax saves its output and nothing else."""
    same(saved(api, lambda a: a.softmax(0), _vector(api)), ["result"], "saved")


@tensorplay_1_0("saves its input", shows="found ['a']")
@statement(TOPIC, 4)
def log_softmax_saves_its_output(api: Api) -> None:
    """log_softmax saves its output, from which the softmax is one exp away."""
    same(saved(api, lambda a: a.log_softmax(0), _vector(api)), ["result"], "saved")


@statement(TOPIC, 4)
def log_saves_its_input(api: Api) -> None:
    """log saves its input, whose reciprocal is the derivative."""
    same(saved(api, lambda a: a.log(), _vector(api)), ["a"], "saved")


@statement(TOPIC, 4)
def sin_and_cos_save_their_input(api: Api) -> None:
    """sin and cos save their input."""
    for operation in (lambda a: a.sin(), lambda a: a.cos()):
        same(saved(api, operation, _vector(api)), ["a"], "saved")


@statement(TOPIC, 4)
def abs_and_clamp_save_their_input(api: Api) -> None:
    """abs and clamp save their input."""
    for operation in (lambda a: a.abs(), lambda a: a.clamp(1.0, 2.0)):
        same(saved(api, operation, _vector(api)), ["a"], "saved")


@statement(TOPIC, 4)
def smooth_activations_save_their_input(api: Api) -> None:
    """gelu, silu, softplus and leaky_relu save their input."""
    activations = api.functional
    for name in ("gelu", "silu", "softplus", "leaky_relu"):
        same(saved(api, getattr(activations, name), _vector(api)), ["a"], f"saved by {name}")


@tensorplay_1_0("saves its input", shows="found ['a']")
@statement(TOPIC, 4)
def sum_saves_nothing(api: Api) -> None:
    """sum saves no tensor, with and without a dimension: it needs the shape only."""
    for operation in (lambda a: a.sum(), lambda a: a.sum(0)):
        same(saved(api, operation, _matrix(api)), [], "saved")


@tensorplay_1_0("saves its input", shows="found ['a']")
@statement(TOPIC, 4)
def mean_saves_nothing(api: Api) -> None:
    """mean saves no tensor, with and without a dimension."""
    for operation in (lambda a: a.mean(), lambda a: a.mean(0)):
        same(saved(api, operation, _matrix(api)), [], "saved")


@statement(TOPIC, 4)
def cumsum_saves_nothing(api: Api) -> None:
    """cumsum saves nothing: its backward is another cumulative sum."""
    same(saved(api, lambda a: a.cumsum(0), _vector(api)), [], "saved")


@tensorplay_1_0("reshape saves its input", shows="found ['a']")
@statement(TOPIC, 4)
def reshape_and_transpose_save_nothing(api: Api) -> None:
    """reshape and transpose save nothing."""
    for operation in (lambda a: a.reshape(4), lambda a: a.transpose(0, 1)):
        same(saved(api, operation, _matrix(api)), [], "saved")


@tensorplay_1_0("expand saves its input", shows="found ['a']")
@statement(TOPIC, 4)
def expand_and_squeeze_save_nothing(api: Api) -> None:
    """expand, squeeze and unsqueeze save nothing."""
    operations = (lambda a: a.expand(3, 1), lambda a: a.squeeze(), lambda a: a.unsqueeze(0))
    for operation in operations:
        same(saved(api, operation, api.leaf([2.0])), [], "saved")


@tensorplay_1_0("saves its input", shows="found ['a']")
@statement(TOPIC, 4)
def a_slice_saves_nothing(api: Api) -> None:
    """a[1] and a[0:2] save nothing: the positions are Python numbers."""
    for operation in (lambda a: a[1], lambda a: a[0:2]):
        same(saved(api, operation, _vector(api)), [], "saved")


@tensorplay_1_0("save all pieces", shows="found ['a', 'b']")
@statement(TOPIC, 4)
def cat_and_stack_save_nothing(api: Api) -> None:
    """cat and stack save nothing."""
    for operation in (lambda a, b: api.cat([a, b]), lambda a, b: api.stack([a, b])):
        same(saved(api, operation, _vector(api), _vector(api)), [], "saved")


@statement(TOPIC, 4)
def a_cast_and_a_clone_save_nothing(api: Api) -> None:
    """A cast to another dtype and a clone save nothing."""
    for operation in (lambda a: a.to(api.float32), lambda a: a.clone()):
        same(saved(api, operation, _vector(api)), [], "saved")


@statement(TOPIC, 4)
def matmul_saves_both_matrices(api: Api) -> None:
    """a @ b saves both when both need a gradient."""
    same(saved(api, lambda a, b: a @ b, _matrix(api), _matrix(api)), ["a", "b"], "saved")


@tensorplay_1_0("saves both matrices", shows="found ['a', 'b']")
@statement(TOPIC, 4)
def matmul_with_a_constant_saves_the_constant(api: Api) -> None:
    """X @ W with constant data X saves X only: W is not needed for its own gradient."""
    data = api.constant([[1.0, 2.0], [3.0, 4.0]])
    same(saved(api, lambda a, b: a @ b, data, _matrix(api)), ["a"], "saved")


@statement(TOPIC, 4)
def linear_saves_input_and_weight(api: Api) -> None:
    """linear saves its input and its weight, not its bias."""
    bias = api.leaf([1.0, 2.0])
    found = saved(api, api.functional.linear, _matrix(api), _matrix(api), bias)
    same(found, ["a", "b"], "saved")
