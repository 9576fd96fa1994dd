"""The operations as functions: `tp.exp(x)` is `x.exp()`, `tp.cat([a, b])` joins.

A function that is a method of Tensor too has the method's arguments after the tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from .arguments import amount, flag
from .methods.arithmetic import result, scaled
from .number_data import require_tensor
from .ops import arithmetic, comparison, selection
from .ops.dims import axis_of, sequence
from .ops.einsum import einsum as summed_products
from .ops.join import Cat, Stack
from .ops.matmul import Matmul
from .ops.operation import Operation
from .ops.selection import Where
from .tensor import Tensor

# fmt: off
__all__ = [
    "abs", "absolute", "add", "addmm", "all", "allclose", "amax", "amin", "any", "argmax", "argmin",
    "argsort", "bmm", "broadcast_shapes", "broadcast_tensors", "broadcast_to", "cat", "ceil",
    "chunk", "clamp", "clip", "clone", "concat", "concatenate", "cos", "cumsum", "detach",
    "diagonal", "div", "divide", "dot", "einsum", "eq", "equal", "erf", "exp", "expm1", "flatten",
    "flip", "floor", "floor_divide", "gather", "ge", "gt", "index_add", "index_put", "index_select",
    "inner", "is_tensor", "isfinite", "isinf", "isnan", "le", "log", "log1p", "log_softmax",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "lt", "masked_fill",
    "masked_select", "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "movedim", "mul",
    "multiply", "mv", "narrow", "ne", "neg", "negative", "nonzero", "norm", "numel", "outer",
    "permute", "pow", "prod", "ravel", "reciprocal", "relu", "remainder", "repeat_interleave",
    "reshape", "roll", "round", "rsqrt", "scatter_add", "select", "sigmoid", "sign", "sin",
    "softmax", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum",
    "swapaxes", "t", "tan", "tanh", "tile", "topk", "transpose", "tril", "triu", "true_divide",
    "trunc", "unbind", "unflatten", "unsqueeze", "var", "where",
]
# fmt: on

F = TypeVar("F", bound=Callable[..., Any])
TwoOperands = Callable[[Any, Any], Tensor]


def function(method: F) -> F:
    """A method as a function whose first argument is a tensor, called `input`."""
    name = method.__name__

    @functools.wraps(method)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name}: argument 'input' must be a Tensor, found {type(input).__name__}; "
                "make one with tensor(...)"
            )
        return method(input, *args, **kwargs)

    return cast(F, call)


def two_operands(operation: type[Operation], method: Callable[..., Any]) -> TwoOperands:
    """A function of two operands of which the first may be a number, too."""

    @functools.wraps(method)
    def call(input: Any, other: Any) -> Tensor:
        return result(operation, input, other)

    return call


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input + alpha * other."""
    return result(arithmetic.Add, input, scaled("add: alpha", other, alpha))


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input - alpha * other."""
    return result(arithmetic.Sub, input, scaled("sub: alpha", other, alpha))


mul = multiply = two_operands(arithmetic.Mul, Tensor.mul)
div = divide = true_divide = two_operands(arithmetic.Div, Tensor.div)
pow = two_operands(arithmetic.Pow, Tensor.pow)
remainder = two_operands(arithmetic.Remainder, Tensor.remainder)
floor_divide = two_operands(arithmetic.FloorDiv, Tensor.floor_divide)
matmul = two_operands(Matmul, Tensor.matmul)
maximum = two_operands(selection.Maximum, Tensor.maximum)
minimum = two_operands(selection.Minimum, Tensor.minimum)
eq = two_operands(comparison.Eq, Tensor.eq)
ne = two_operands(comparison.Ne, Tensor.ne)
lt = two_operands(comparison.Lt, Tensor.lt)
le = two_operands(comparison.Le, Tensor.le)
gt = two_operands(comparison.Gt, Tensor.gt)
ge = two_operands(comparison.Ge, Tensor.ge)
logical_and = two_operands(comparison.LogicalAnd, Tensor.logical_and)
logical_or = two_operands(comparison.LogicalOr, Tensor.logical_or)
logical_xor = two_operands(comparison.LogicalXor, Tensor.logical_xor)
logical_not = function(Tensor.logical_not)
isnan, isinf, isfinite = map(function, (Tensor.isnan, Tensor.isinf, Tensor.isfinite))

neg = negative = function(Tensor.neg)
reciprocal = function(Tensor.reciprocal)
abs = absolute = function(Tensor.abs)
sign = function(Tensor.sign)
round = function(Tensor.round)
floor = function(Tensor.floor)
ceil = function(Tensor.ceil)
trunc = function(Tensor.trunc)
exp = function(Tensor.exp)
expm1 = function(Tensor.expm1)
log = function(Tensor.log)
log1p = function(Tensor.log1p)
sqrt = function(Tensor.sqrt)
rsqrt = function(Tensor.rsqrt)
square = function(Tensor.square)
sin = function(Tensor.sin)
cos = function(Tensor.cos)
tan = function(Tensor.tan)
tanh = function(Tensor.tanh)
erf = function(Tensor.erf)
sigmoid = function(Tensor.sigmoid)
relu = function(Tensor.relu)
clamp = clip = function(Tensor.clamp)
masked_fill = function(Tensor.masked_fill)
clone = function(Tensor.clone)
detach = function(Tensor.detach)

sum = function(Tensor.sum)
mean = function(Tensor.mean)
prod = function(Tensor.prod)
var = function(Tensor.var)
std = function(Tensor.std)
norm = function(Tensor.norm)
logsumexp = function(Tensor.logsumexp)
cumsum = function(Tensor.cumsum)
softmax = function(Tensor.softmax)
log_softmax = function(Tensor.log_softmax)
max = function(Tensor.max)
min = function(Tensor.min)
amax = function(Tensor.amax)
amin = function(Tensor.amin)
argmax = function(Tensor.argmax)
argmin = function(Tensor.argmin)
all = function(Tensor.all)
any = function(Tensor.any)

reshape = function(Tensor.reshape)
flatten = function(Tensor.flatten)
ravel = function(Tensor.ravel)
unflatten = function(Tensor.unflatten)
transpose = swapaxes = function(Tensor.transpose)
t = function(Tensor.t)
permute = function(Tensor.permute)
movedim = function(Tensor.movedim)
squeeze = function(Tensor.squeeze)
unsqueeze = function(Tensor.unsqueeze)
broadcast_to = function(Tensor.broadcast_to)
select = function(Tensor.select)
narrow = function(Tensor.narrow)
unbind = function(Tensor.unbind)
split = function(Tensor.split)
chunk = function(Tensor.chunk)
diagonal = function(Tensor.diagonal)
tile = function(Tensor.tile)
repeat_interleave = function(Tensor.repeat_interleave)
flip = function(Tensor.flip)
roll = function(Tensor.roll)
tril = function(Tensor.tril)
triu = function(Tensor.triu)
numel = function(Tensor.numel)

index_select = function(Tensor.index_select)
index_add = function(Tensor.index_add)
index_put = function(Tensor.index_put)
masked_select = function(Tensor.masked_select)
gather = function(Tensor.gather)
scatter_add = function(Tensor.scatter_add)
nonzero = function(Tensor.nonzero)
argsort = function(Tensor.argsort)
sort = function(Tensor.sort)
topk = function(Tensor.topk)

mm = function(Tensor.mm)
bmm = function(Tensor.bmm)
mv = function(Tensor.mv)
dot = function(Tensor.dot)
inner = function(Tensor.inner)
outer = function(Tensor.outer)
addmm = function(Tensor.addmm)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after the other along an axis that they have; vectors of length 0 fit."""
    parts = _several("cat", tensors)
    first = next((part for part in parts if part.shape != (0,)), parts[0])
    return Cat.apply(parts, axis_of("cat", dim, first.ndim))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    parts = _several("stack", tensors)
    return Stack.apply(parts, axis_of("stack", dim, parts[0].ndim + 1))


concat = concatenate = cat


def einsum(equation: str, *operands: Any) -> Tensor:
    """The sum of products that `equation` describes, such as "ij,jk->ik" for a matrix product.

    A letter names an axis, one that is not in the output is summed over, `...` stands for any more.
    """
    return summed_products(equation, *operands)


def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    """input where the condition is true, else other; shapes broadcast."""
    return Where.apply(condition, input, other)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    for tensor in tensors:
        require_tensor("broadcast_tensors", tensor)
    shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(tensor.expand(shape) for tensor in tensors)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that tensors of these shapes broadcast to.

    Errors: RuntimeError when they do not.
    """
    lengths = [sequence("broadcast_shapes", (shape,)) for shape in shapes]
    try:
        return np.broadcast_shapes(*lengths)
    except ValueError:
        named = ", ".join(map(str, lengths))
        raise RuntimeError(f"broadcast_shapes: {named} do not broadcast") from None


def is_tensor(obj: object) -> bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    for each in (input, other):
        require_tensor("equal", each)
    return bool(np.array_equal(input._array, other._array))


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere.

    Errors: ValueError for an rtol or atol below 0 or NaN.
    """
    for role, each in (("input", input), ("other", other)):
        if not isinstance(each, Tensor):
            raise TypeError(f"allclose: {role} must be a Tensor, found {type(each).__name__}")
    for name, bound in (("rtol", rtol), ("atol", atol)):
        if not amount(f"allclose: {name}", bound) >= 0:
            raise ValueError(f"allclose: {name} must be at least 0, found {bound}")
    equal_nan = flag("allclose: equal_nan", equal_nan)
    try:
        return bool(np.allclose(input._array, other._array, rtol, atol, equal_nan))
    except ValueError:
        raise RuntimeError(
            f"allclose: shapes {input.shape} and {other.shape} do not broadcast"
        ) from None


def _several(name: str, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        raise TypeError(
            f"{name}: expected a list or tuple of tensors, found {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name}: expected at least one tensor")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name}: element {position} must be a Tensor, found {type(tensor).__name__}"
            )
    return tuple(tensors)
