"""Convolution and pooling of images: input (N, C, H, W), weight (O, C / groups, h, w).

A convolution is linear in its input and in its weight. Its two gradients are again such products,
and the three operations here are each other's gradients, so any order of derivative is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..tensor_base import wrap
from .matmul import plus_bias
from .operation import Operation, View
from .promotion import promoted

Pair = tuple[int, int]


class Geometry(NamedTuple):
    """Where a window goes: its size, its steps, zeros around the image, gaps in the window."""

    size: Pair
    stride: Pair
    padding: Pair
    dilation: Pair

    def spans(self) -> Pair:
        """Height and width from the first to the last element of a window."""
        height, width = (d * (n - 1) + 1 for n, d in zip(self.size, self.dilation, strict=True))
        return height, width

    def padded(self, x: Any, value: float = 0.0) -> Any:
        """The images with their border."""
        if not any(self.padding):
            return x
        (top, left) = self.padding
        return np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)), constant_values=value)

    def windows(self, operation: str, x: Any) -> Any:
        """A view (N, C, rows, columns, h, w) of padded images: the window at each place."""
        spans = self.spans()
        if any(span > length for span, length in zip(spans, x.shape[-2:], strict=True)):
            raise RuntimeError(
                f"{operation}: a window of {spans} does not fit into images of {x.shape[-2:]}, "
                "border included"
            )
        found = np.lib.stride_tricks.sliding_window_view(x, spans, (2, 3))
        (down, across), (gap_down, gap_across) = self.stride, self.dilation
        return found[:, :, ::down, ::across, ::gap_down, ::gap_across]

    def fold(self, parts: Any, shape: tuple[int, ...]) -> Any:
        """Add windows (N, C, rows, columns, h, w) up where they came from, in images of `shape`."""
        (top, left), (down, across) = self.padding, self.stride
        height, width = shape[-2:]
        out = np.zeros((*shape[:2], height + 2 * top, width + 2 * left), parts.dtype)
        rows, columns = parts.shape[2:4]
        for i in range(self.size[0]):
            first = i * self.dilation[0]
            for j in range(self.size[1]):
                start = j * self.dilation[1]
                out[
                    :,
                    :,
                    first : first + down * (rows - 1) + 1 : down,
                    start : start + across * (columns - 1) + 1 : across,
                ] += parts[..., i, j]
        return out[:, :, top : top + height, left : left + width]


def columns_of(geometry: Geometry, groups: int, x: Any) -> tuple[Any, Pair]:
    """The windows as a matrix for each group, and how many rows and columns of windows there are.

    The matrices have the shape (groups, N * rows * columns, C / groups * h * w).
    """
    windows = geometry.windows("Conv2d", geometry.padded(x))
    n, channels, rows, columns, h, w = windows.shape
    split = windows.reshape(n, groups, channels // groups, rows, columns, h, w)
    inner = channels // groups * h * w
    matrices = split.transpose(1, 0, 3, 4, 2, 5, 6).reshape(groups, n * rows * columns, inner)
    return matrices, (rows, columns)


def by_group(maps: Any, groups: int) -> Any:
    """Maps (N, O, rows, columns) as matrices: (groups, N * rows * columns, O / groups)."""
    n, out, rows, columns = maps.shape
    split = maps.reshape(n, groups, out // groups, rows, columns)
    return split.transpose(1, 0, 3, 4, 2).reshape(groups, n * rows * columns, out // groups)


class Conv2d(Operation):
    """Conv2d.apply([input, weight], geometry, groups), or with a bias (O) as a third tensor.

    Source: `nn.functional.conv2d`. Gradients: ConvolutionInput, ConvolutionWeight, g summed.
    Saves: input if weight needs a gradient, weight if input does.
    """

    arity = None
    saves = ("input", "weight")

    @staticmethod
    def forward(arrays: list[Any], geometry: Geometry, groups: int) -> Any:
        x, weight = promoted(*arrays[:2])
        if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
            raise RuntimeError(
                f"Conv2d: input {x.shape} has {x.shape[1]} channels, and weight {weight.shape} in "
                f"{groups} groups takes {weight.shape[1] * groups}; the {weight.shape[0]} output "
                "channels must be a multiple of groups"
            )
        n, out = x.shape[0], weight.shape[0]
        matrices = weight.reshape(groups, out // groups, -1).swapaxes(1, 2)
        windows, (rows, columns) = columns_of(geometry, groups, x)
        product = (windows @ matrices).reshape(groups, n, rows, columns, out // groups)
        maps = product.transpose(1, 0, 4, 2, 3)
        result = np.ascontiguousarray(maps).reshape(n, out, rows, columns)
        if len(arrays) == 3:
            result = plus_bias(result, arrays[2].reshape(-1, 1, 1))
        return result

    @classmethod
    def flops(cls, arrays: Iterable[Any], out: Any) -> int:
        _, weight, *_ = arrays
        return 2 * int(out.size) * int(weight[0].size)

    def save(self, result: Any, x: Any, weight: Any, *bias: Any) -> None:
        self.saved_slots = (
            self.keep(x) if self.input_nodes[1] else None,
            self.keep(weight) if self.input_nodes[0] else None,
        )
        self.params = (*self.params, x.shape, weight.shape)

    def backward(self, grad: Any) -> Any:
        x, weight = self.read()
        geometry, groups, shape, _ = self.params
        grads = [
            None if weight is None else ConvInput.apply(grad, weight, geometry, groups, shape),
            None if x is None else ConvWeight.apply(x, grad, geometry, groups),
        ]
        if len(self.input_nodes) == 3:
            grads.append(grad.sum((0, 2, 3)) if self.input_nodes[2] else None)
        return tuple(grads)


class ConvInput(Operation):
    """The gradient of an input of `shape` from that of the maps: a transposed convolution.

    Saves: weight if grad needs a gradient, grad if weight does.
    """

    arity = 2
    saves = ("grad", "weight")

    @staticmethod
    def forward(g: Any, weight: Any, geometry: Geometry, groups: int, shape: Any) -> Any:
        n, channels = shape[:2]
        out, rows, columns = g.shape[1:]
        parts = by_group(g, groups) @ weight.reshape(groups, out // groups, -1)
        parts = parts.reshape(groups, n, rows, columns, channels // groups, *geometry.size)
        parts = parts.transpose(1, 0, 4, 2, 3, 5, 6)
        return geometry.fold(parts.reshape(n, channels, rows, columns, *geometry.size), shape)

    def save(self, result: Any, g: Any, weight: Any) -> None:
        need_g, need_weight = self.input_nodes
        self.saved_slots = (
            self.keep(g) if need_weight else None,
            self.keep(weight) if need_g else None,
        )

    def backward(self, grad: Any) -> Any:
        g, weight = self.read()
        geometry, groups, _ = self.params
        return (
            None if weight is None else Conv2d.apply([grad, weight], geometry, groups),
            None if g is None else ConvWeight.apply(grad, g, geometry, groups),
        )


class ConvWeight(Operation):
    """The gradient of the weight, from the input and the gradient of the maps.

    Saves: input if grad needs a gradient, grad if input does.
    """

    arity = 2
    saves = ("input", "grad")

    @staticmethod
    def forward(x: Any, g: Any, geometry: Geometry, groups: int) -> Any:
        matrices = by_group(g, groups).swapaxes(1, 2) @ columns_of(geometry, groups, x)[0]
        return matrices.reshape(g.shape[1], x.shape[1] // groups, *geometry.size)

    def save(self, result: Any, x: Any, g: Any) -> None:
        need_x, need_g = self.input_nodes
        self.saved_slots = (self.keep(x) if need_g else None, self.keep(g) if need_x else None)
        self.params = (*self.params, x.shape)

    def backward(self, grad: Any) -> Any:
        x, g = self.read()
        geometry, groups, shape = self.params
        return (
            None if g is None else ConvInput.apply(g, grad, geometry, groups, shape),
            None if x is None else Conv2d.apply([x, grad], geometry, groups),
        )


class Windows(View):
    """The windows of images as a view (N, C, rows, columns, h, w). Gradient: Fold.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, geometry: Geometry) -> Any:
        return geometry.windows("Windows", x)

    def save(self, result: Any, x: Any) -> None:
        self.params = (*self.params, x.shape)

    def backward(self, grad: Any) -> Any:
        return Fold.apply(grad, *self.params)


class Fold(Operation):
    """Windows added up where they came from, in images of `shape`. Gradient: the windows of g.

    Saves: nothing.
    """

    @staticmethod
    def forward(x: Any, geometry: Geometry, shape: tuple[int, ...]) -> Any:
        return geometry.fold(x, shape)

    def backward(self, grad: Any) -> Any:
        return Windows.apply(grad, self.params[0])


class MaxPool2d(Operation):
    """The largest element of each window, the first of equal ones. Gradient: g added at its place.

    Saves: indices, where in its image (flat) each maximum stands: int64, as PyTorch returns them.
    """

    extra = True
    saves = ("indices",)

    @staticmethod
    def forward(x: Any, geometry: Geometry) -> Any:
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        windows = geometry.windows("MaxPool2d", geometry.padded(x, lowest))
        h, w = geometry.size
        flat = windows.reshape(*windows.shape[:4], h * w)
        best = flat.argmax(-1)
        out = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        (down, across), (top, left) = geometry.stride, geometry.padding
        rows, columns = np.ogrid[: best.shape[2], : best.shape[3]]
        row = rows * down - top + best // w * geometry.dilation[0]
        column = columns * across - left + best % w * geometry.dilation[1]
        return out, row * x.shape[3] + column

    def save(self, result: Any, x: Any, indices: Any) -> None:
        slot = wrap(type(x), indices, x.device, "MaxPool2d")
        self.params = (x.shape,)
        self.saved_slots = (self.keep(slot),)

    def backward(self, grad: Any) -> Any:
        (shape,) = self.params
        (indices,) = self.read()
        zeros = grad.new_zeros((*shape[:2], shape[2] * shape[3]))
        return zeros.scatter_add(2, indices.flatten(2), grad.flatten(2)).reshape(shape)
