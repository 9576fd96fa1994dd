"""What random programs are made of: operations, in-place writes and Functions by name.

Each operation takes the module (tensorplay_ref or torch), two tensors of any shape and a small
number, and gives a tensor. Arguments are kept inside the domain of the function, and results small,
so that every program has finite values and rounding stays rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Operation = Callable[[Any, Any, Any, int], Any]


def axis(t: Any, n: int) -> int:
    """An axis of `t`, counted from the front or from the back."""
    return n % t.ndim if n % 2 else -1 - n % t.ndim


def flat(t: Any, length: int = 6) -> Any:
    """The first elements of `t` as a vector, never empty."""
    return t.reshape(-1)[:length]


def column(t: Any) -> Any:
    return flat(t).reshape(-1, 1)


def square_matrix(t: Any) -> Any:
    return column(t.sin()) @ column(t.cos()).T


def vector(t: Any) -> Any:
    """The tensor itself, or a vector of its one element when it has no axes."""
    return t if t.ndim else t.reshape(1)


def fitting(a: Any, b: Any) -> Any:
    """`b` where it broadcasts with `a` to at most six elements a side, else its mean."""
    pairs = zip(reversed(tuple(a.shape)), reversed(tuple(b.shape)), strict=False)
    return b if all(x == y or 1 in (x, y) for x, y in pairs) else b.mean()


ELEMENTWISE: dict[str, Operation] = {
    "exp": lambda m, a, b, n: a.sin().exp(),
    "expm1": lambda m, a, b, n: a.tanh().expm1(),
    "log": lambda m, a, b, n: (a * a + 1.0).log(),
    "log1p": lambda m, a, b, n: (a * a).log1p(),
    "sqrt": lambda m, a, b, n: (a * a + 0.5).sqrt(),
    "rsqrt": lambda m, a, b, n: (a * a + 0.5).rsqrt(),
    "reciprocal": lambda m, a, b, n: (a * a + 1.0).reciprocal(),
    "sin": lambda m, a, b, n: a.sin(),
    "cos": lambda m, a, b, n: a.cos(),
    "tan": lambda m, a, b, n: a.tanh().tan(),
    "tanh": lambda m, a, b, n: a.tanh(),
    "sigmoid": lambda m, a, b, n: a.sigmoid(),
    "relu": lambda m, a, b, n: a.relu(),
    "leaky_relu": lambda m, a, b, n: m.nn.functional.leaky_relu(a, 0.1),
    "gelu": lambda m, a, b, n: m.nn.functional.gelu(a),
    "silu": lambda m, a, b, n: m.nn.functional.silu(a),
    "softplus": lambda m, a, b, n: m.nn.functional.softplus(a),
    "erf": lambda m, a, b, n: a.erf(),
    "abs": lambda m, a, b, n: abs(a),
    "neg": lambda m, a, b, n: -a,
    "sign": lambda m, a, b, n: a.sign() * a.cos(),
    "clamp": lambda m, a, b, n: a.clamp(-0.5, 0.7),
    "power": lambda m, a, b, n: a.sin() ** (n % 4),
    "real power": lambda m, a, b, n: (a * a + 1.0) ** (0.5 - n % 3),
    "power of two": lambda m, a, b, n: 2.0 ** a.tanh(),
    "tensor power": lambda m, a, b, n: (a * a + 0.5) ** fitting(a, b).tanh(),
    "add": lambda m, a, b, n: a + fitting(a, b),
    "sub": lambda m, a, b, n: a - fitting(a, b),
    "mul": lambda m, a, b, n: a.sin() * fitting(a, b),
    "twice": lambda m, a, b, n: a.sin() * a,
    "div": lambda m, a, b, n: a / (fitting(a, b) ** 2 + 1.0),
    "number": lambda m, a, b, n: (3 - a) * 0.5 + 2 / (a * a + 1.0),
    "maximum": lambda m, a, b, n: m.maximum(a, fitting(a, b)),
    "minimum": lambda m, a, b, n: m.minimum(a, fitting(a, b)),
    "where": lambda m, a, b, n: m.where(a > 0.1, a, fitting(a, b)),
    "masked_fill": lambda m, a, b, n: a.masked_fill(a > 0.3, 0.25),
    "round": lambda m, a, b, n: (a * 3.0).round() * a.cos(),
    "floor": lambda m, a, b, n: (a * 3.0).floor() * a.cos(),
    "ceil": lambda m, a, b, n: (a * 3.0).ceil() * a.cos(),
    "trunc": lambda m, a, b, n: (a * 3.0).trunc() * a.cos(),
    "remainder": lambda m, a, b, n: a % (fitting(a, b) ** 2 + 1.0),
    "dropout": lambda m, a, b, n: m.nn.functional.dropout(a, 1.0) + a.sin(),
    "cast": lambda m, a, b, n: a.to(m.float32).sin().to(m.float64),
    "clone": lambda m, a, b, n: a.clone(),
    "detach": lambda m, a, b, n: a.detach() * a,
    "checkpoint": lambda m, a, b, n: m.utils.checkpoint.checkpoint(
        lambda t, u: (t.sin() * u).tanh(), a, fitting(a, b), use_reentrant=False
    ),
}

SHAPES: dict[str, Operation] = {
    "reshape": lambda m, a, b, n: a.reshape(-1),
    "flatten": lambda m, a, b, n: vector(a).flatten(),
    "transpose": lambda m, a, b, n: vector(a).transpose(0, axis(vector(a), n)),
    "T": lambda m, a, b, n: square_matrix(a).T,
    "permute": lambda m, a, b, n: vector(a).permute(*reversed(range(vector(a).ndim))),
    "squeeze": lambda m, a, b, n: a.squeeze(),
    "unsqueeze": lambda m, a, b, n: a.unsqueeze(n % (a.ndim + 1)) if a.ndim < 3 else a,
    "expand": lambda m, a, b, n: flat(a).expand(2, -1),
    "flip": lambda m, a, b, n: vector(a).flip(axis(vector(a), n)),
    "roll": lambda m, a, b, n: vector(a).roll(n, axis(vector(a), n)),
    "tril": lambda m, a, b, n: square_matrix(a).tril(n - 2),
    "triu": lambda m, a, b, n: square_matrix(a).triu(n - 2),
    "diagonal": lambda m, a, b, n: square_matrix(a).diagonal(),
    "contiguous": lambda m, a, b, n: square_matrix(a).T.contiguous(),
    "pad": lambda m, a, b, n: m.nn.functional.pad(flat(a), (n % 2, 1)),
    "repeat": lambda m, a, b, n: flat(a, 4).repeat(2),
    "cat": lambda m, a, b, n: m.cat([flat(a), flat(b), flat(a, 2)], dim=-1),
    "stack": lambda m, a, b, n: m.stack([flat(a, 2).sum(), b.mean(), a.sum()]),
    "split": lambda m, a, b, n: flat(a).split(2)[0],
    "chunk": lambda m, a, b, n: flat(a).chunk(2)[-1],
    "unbind": lambda m, a, b, n: vector(a).unbind(0)[-1],
    "select": lambda m, a, b, n: vector(a)[n % len(vector(a))],
    "slice": lambda m, a, b, n: vector(a)[::2],
    "new axis": lambda m, a, b, n: flat(a)[:, None] if n % 2 else flat(a)[None],
    "last": lambda m, a, b, n: vector(a)[..., -1],
    "integers": lambda m, a, b, n: flat(a)[m.tensor([0, 0, -1])],
    "mask": lambda m, a, b, n: m.cat([a.reshape(-1)[a.reshape(-1) > 0.2], flat(b, 1)]),
    "index_put": lambda m, a, b, n: flat(a).index_put((m.tensor([0]),), flat(b, 1), n % 2 == 0),
    "index_add": lambda m, a, b, n: flat(a).index_add(0, m.tensor([0, 0]), flat(b, 1).repeat(2)),
    "index_select": lambda m, a, b, n: flat(a).index_select(0, m.tensor([0, 0])),
    "gather": lambda m, a, b, n: flat(a).gather(0, m.tensor([0, 0, 0])),
    "scatter_add": lambda m, a, b, n: flat(a).scatter_add(
        0, m.tensor([0, 0]), flat(b, 1).expand(2)
    ),
}

REDUCTIONS: dict[str, Operation] = {
    "sum": lambda m, a, b, n: a.sum(),
    "mean": lambda m, a, b, n: a.mean(),
    "sum along": lambda m, a, b, n: vector(a).sum(axis(vector(a), n), keepdim=n > 4),
    "mean along": lambda m, a, b, n: vector(a).mean(axis(vector(a), n), keepdim=n > 4),
    "prod": lambda m, a, b, n: flat(a).tanh().prod(),
    "var": lambda m, a, b, n: flat(m.cat([flat(a), flat(b) + 1.0]), 9).var(),
    "std": lambda m, a, b, n: m.cat([flat(a), flat(a) + 1.0]).std(),
    "max": lambda m, a, b, n: a.max(),
    "min": lambda m, a, b, n: a.min(),
    "prod with zeros": lambda m, a, b, n: (flat(a).masked_fill(flat(a) > 0.3, 0.0) * 0.5).prod(),
    "min along": lambda m, a, b, n: vector(a).min(axis(vector(a), n)).values,
    "max along": lambda m, a, b, n: vector(a).max(axis(vector(a), n)).values,
    "amax": lambda m, a, b, n: vector(a).amax(axis(vector(a), n)),
    "amin": lambda m, a, b, n: vector(a).amin(axis(vector(a), n), keepdim=True),
    "norm": lambda m, a, b, n: (vector(a) + 2.0).norm(),
    "logsumexp": lambda m, a, b, n: vector(a).logsumexp(axis(vector(a), n)),
    "softmax": lambda m, a, b, n: vector(a).softmax(axis(vector(a), n)),
    "log_softmax": lambda m, a, b, n: vector(a).log_softmax(axis(vector(a), n)),
    "cumsum": lambda m, a, b, n: vector(a).cumsum(axis(vector(a), n)).sin(),
}

PRODUCTS: dict[str, Operation] = {
    "matmul": lambda m, a, b, n: square_matrix(a) @ column(a.cos()),
    "mm": lambda m, a, b, n: m.mm(column(a.sin()), column(b).T),
    "mv": lambda m, a, b, n: square_matrix(a) @ flat(a),
    "dot": lambda m, a, b, n: m.dot(flat(a.sin(), 1), flat(b.cos(), 1)),
    "inner": lambda m, a, b, n: m.inner(square_matrix(a), flat(a).cos()),
    "outer": lambda m, a, b, n: m.outer(flat(a).sin(), flat(b).cos()),
    "bmm": lambda m, a, b, n: m.bmm(column(a.sin())[None], column(b.cos()).T[None]),
    "einsum": lambda m, a, b, n: m.einsum("i,j->ji", flat(a).sin(), flat(b).cos()),
    "linear": lambda m, a, b, n: m.nn.functional.linear(flat(a).sin(), square_matrix(a), flat(a)),
    "mse_loss": lambda m, a, b, n: m.nn.functional.mse_loss(flat(a, 1), flat(b.sin(), 1)),
    "binary_cross_entropy": lambda m, a, b, n: m.nn.functional.binary_cross_entropy(
        flat(a, 1).sigmoid(), flat(b, 1).sigmoid()
    ),
    "cross_entropy": lambda m, a, b, n: m.nn.functional.cross_entropy(
        square_matrix(a)[:1], m.tensor([0])
    ),
    "layer_norm": lambda m, a, b, n: m.nn.functional.layer_norm(
        m.cat([flat(a), flat(b) + 1.0])[None], [len(flat(a)) + len(flat(b))]
    ),
    "embedding": lambda m, a, b, n: m.nn.functional.embedding(m.tensor([[0, 0]]), square_matrix(a)),
    "conv2d": lambda m, a, b, n: m.nn.functional.conv2d(
        square_matrix(a)[None, None], flat(b, 1).reshape(1, 1, 1, 1).sin()
    ).reshape(-1),
    "avg_pool2d": lambda m, a, b, n: m.nn.functional.avg_pool2d(
        square_matrix(a)[None, None], 1
    ).reshape(-1),
    "max_pool2d": lambda m, a, b, n: m.nn.functional.max_pool2d(
        square_matrix(a)[None, None], 1
    ).reshape(-1),
}

OPERATIONS: dict[str, Operation] = {**ELEMENTWISE, **SHAPES, **REDUCTIONS, **PRODUCTS}

# In-place writes: the first tensor is the target; it is no leaf.
WRITES: dict[str, Operation] = {
    "add_": lambda m, a, b, n: a.add_(b.mean()),
    "sub_": lambda m, a, b, n: a.sub_(b.sum() * 0.1),
    "mul_": lambda m, a, b, n: a.mul_(b.mean().sin()),
    "mul_ itself": lambda m, a, b, n: a.mul_(a.sigmoid()),
    "div_": lambda m, a, b, n: a.div_(b.mean() ** 2 + 1.0),
    "pow_": lambda m, a, b, n: a.pow_(2),
    "neg_": lambda m, a, b, n: a.neg_(),
    "copy_": lambda m, a, b, n: a.copy_(b.mean().sin()),
    "zero_": lambda m, a, b, n: a.zero_(),
    "fill_": lambda m, a, b, n: a.fill_(0.5),
    "iadd": lambda m, a, b, n: a.__iadd__(1.0),
    "set item": lambda m, a, b, n: vector(a).__setitem__(n % len(vector(a)), b.mean()),
    "set slice": lambda m, a, b, n: vector(a).__setitem__(slice(None, None, 2), b.mean().cos()),
    "set row": lambda m, a, b, n: vector(a).__setitem__(
        0, vector(a)[len(vector(a)) - 1].clone() * 2.0
    ),
    "set integers": lambda m, a, b, n: vector(a).__setitem__(m.tensor([0]), b.mean().sin()),
    "set mask": lambda m, a, b, n: vector(a).__setitem__(vector(a) > 0.4, b.mean().cos()),
    "set number": lambda m, a, b, n: vector(a).__setitem__(..., 0.5 * n),
}
