"""The workloads for the reference and its peers, each in the peer's own words.

A workload is a method that takes the arrays and returns a step; a step runs forward and backward
once and returns the gradients. `between` is called between the two. What a package cannot do has
no method.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .by_hand import ByHand, Step, segments
from .workloads import Arrays


class Recorded:
    """What packages with operators and `.backward()` have in common."""

    counts_memory = True

    def __init__(self, name: str, module: str) -> None:
        self.name = name
        self.module: Any = importlib.import_module(module)
        self.between: Callable[[], None] = lambda: None
        try:
            self.version = version(name.replace("_", "-"))
        except PackageNotFoundError:  # run from its source
            self.version = self.module.__version__

    def leaf(self, array: Any) -> Any:
        return self.module.tensor(array, requires_grad=True)

    def constant(self, array: Any) -> Any:
        return self.module.tensor(array)

    def array(self, gradient: Any) -> Any:
        return gradient.detach().numpy()

    def clear(self, leaf: Any) -> None:
        leaf.grad = None

    def swapped(self, x: Any) -> Any:
        return x.transpose(-1, -2)

    def tanh(self, x: Any) -> Any:
        return x.tanh()

    def relu(self, x: Any) -> Any:
        return x.relu()

    def softmax(self, x: Any) -> Any:
        return self.module.nn.functional.softmax(x, dim=-1)

    def cross_entropy(self, x: Any, classes: Any) -> Any:
        return self.module.nn.functional.cross_entropy(x, classes)

    def labels(self, classes: Any) -> Any:
        return self.module.tensor(classes)

    def step(self, forward: Callable[..., Any], leaves: list[Any]) -> Step:
        """A step from a function that computes the loss from the leaves."""

        def run() -> list[Any]:
            for leaf in leaves:
                self.clear(leaf)
            loss = forward(*leaves)
            self.between()
            loss.backward()
            return [leaf.grad for leaf in leaves]

        return run

    def tiny_chain(self, data: Arrays) -> Step:
        a, b = self.constant(data["factor"]), self.constant(data["summand"])
        pairs = range(data["length"] // 2)

        def forward(y: Any) -> Any:
            for _ in pairs:
                y = y * a
                y = y + b
            return y.sum()

        return self.step(forward, [self.leaf(data["x"])])

    node_chain = long_node_chain = tiny_chain

    def tanh_chain(self, data: Arrays) -> Step:
        length, tanh = range(data["length"]), self.tanh

        def forward(y: Any) -> Any:
            for _ in length:
                y = tanh(y)
            return y.sum()

        return self.step(forward, [self.leaf(data["x"])])

    unhooked_chain = tanh_chain

    def mlp_small(self, data: Arrays) -> Step:
        x, classes = self.constant(data["x"]), self.labels(data["classes"])
        leaves = [self.leaf(array) for array in (*data["weights"], *data["biases"])]
        relu = self.relu

        def forward(w1: Any, w2: Any, w3: Any, b1: Any, b2: Any, b3: Any) -> Any:
            h1 = relu(x @ w1 + b1)
            h2 = relu(h1 @ w2 + b2)
            return self.cross_entropy(h2 @ w3 + b3, classes)

        return self.step(forward, leaves)

    mlp_large = mlp_small

    def attention(self, data: Arrays) -> Step:
        x, probe, scale = self.constant(data["x"]), self.constant(data["probe"]), data["scale"]

        def forward(wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
            q, k, v = x @ wq, x @ wk, x @ wv
            shares = self.softmax((q @ self.swapped(k)) * scale)
            return (shares @ v @ wo * probe).sum()

        return self.step(forward, [self.leaf(array) for array in data["weights"]])


class TorchLike(Recorded):
    """PyTorch, TensorPlay and the reference: the same code after the import."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(name, module)
        self.counts_memory = name == "tensorplay_ref"
        if hasattr(self.module, "set_num_threads"):
            self.module.set_num_threads(1)
        self.checkpoint = importlib.import_module(f"{module}.utils.checkpoint").checkpoint

    def function_chain(self, data: Arrays) -> Step:
        length = range(data["length"])

        class Same(self.module.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad

        def forward(y: Any) -> Any:
            for _ in length:
                y = Same.apply(y)
            return y.sum()

        return self.step(forward, [self.leaf(data["x"])])

    def hooked_chain(self, data: Arrays) -> Step:
        hooks = self.module.autograd.graph.saved_tensors_hooks
        plain = self.tanh_chain(data)

        def run() -> list[Any]:
            with hooks(_same, _same):
                return plain()

        return run

    def checkpointed_chain(self, data: Arrays) -> Step:
        lengths = segments(data["length"], data["segments"])

        def segment(y: Any, length: int) -> Any:
            for _ in range(length):
                y = y.tanh()
            return y

        def forward(y: Any) -> Any:
            for length in lengths:
                y = self.checkpoint(segment, y, length, use_reentrant=False)
            return y.sum()

        return self.step(forward, [self.leaf(data["x"])])


def _same(value: Any) -> Any:
    return value


class MyGrad(Recorded):
    """MyGrad as it is installed, its memory guard on."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(name, module)
        self.tanh, self.relu = self.module.tanh, self.module.nnet.activations.relu

    def leaf(self, array: Any) -> Any:
        return self.module.tensor(array, constant=False)

    def constant(self, array: Any) -> Any:
        return self.module.tensor(array, constant=True)

    def array(self, gradient: Any) -> Any:
        return np.asarray(gradient)

    def clear(self, leaf: Any) -> None:
        leaf.null_grad()

    def swapped(self, x: Any) -> Any:
        return self.module.swapaxes(x, -1, -2)

    def softmax(self, x: Any) -> Any:
        return self.module.nnet.activations.softmax(x, axis=-1)

    def cross_entropy(self, x: Any, classes: Any) -> Any:
        return self.module.nnet.losses.softmax_crossentropy(x, classes)

    def labels(self, classes: Any) -> Any:
        return classes


class Autograd(Recorded):
    """HIPS autograd: gradients of functions of arrays, so a leaf is an array."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(name, f"{module}.numpy")
        self.make_vjp = importlib.import_module(f"{module}.core").make_vjp

    def constant(self, array: Any) -> Any:
        return array

    leaf = labels = array = constant

    def step(self, forward: Callable[..., Any], leaves: list[Any]) -> Step:
        def run() -> list[Any]:
            pull, value = self.make_vjp(lambda boxes: forward(*boxes), leaves)
            self.between()
            return list(pull(np.ones_like(value)))

        return run

    def tanh(self, x: Any) -> Any:
        return self.module.tanh(x)

    def relu(self, x: Any) -> Any:
        return self.module.maximum(x, 0)

    def swapped(self, x: Any) -> Any:
        return self.module.swapaxes(x, -1, -2)

    def softmax(self, x: Any) -> Any:
        shares = self.module.exp(x - self.module.max(x, axis=-1, keepdims=True))
        return shares / self.module.sum(shares, axis=-1, keepdims=True)

    def cross_entropy(self, x: Any, classes: Any) -> Any:
        x = x - self.module.max(x, axis=1, keepdims=True)
        logs = x - self.module.log(self.module.sum(self.module.exp(x), axis=1, keepdims=True))
        return -self.module.mean(logs[np.arange(len(classes)), classes])


FRAMEWORKS: dict[str, Callable[[], Any]] = {
    "numpy": ByHand,
    "tensorplay_ref": lambda: TorchLike("tensorplay_ref", "tensorplay_ref"),
    "torch": lambda: TorchLike("torch", "torch"),
    "tensorplay": lambda: TorchLike("tensorplay", "tensorplay"),
    "mygrad": lambda: MyGrad("mygrad", "mygrad"),
    "autograd": lambda: Autograd("autograd", "autograd"),
}
