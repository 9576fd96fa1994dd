"""Convolution, pooling and padding: tensors (N, C, H, W), or one image (C, H, W)."""

from __future__ import annotations

from collections.abc import Sequence

from ..arguments import amount, flag, many, whole
from ..number_data import require_tensors
from ..ops.convolution import Conv2d, Geometry, MaxPool2d, Pair, Windows
from ..ops.join import Pad
from ..tensor import Tensor

Lengths = int | Sequence[int]


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Lengths = 1,
    padding: Lengths | str = 0,
    dilation: Lengths = 1,
    groups: int = 1,
) -> Tensor:
    """Each output channel is the sum of the products of its weights with the window at each place.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (O, C / groups, h, w).
        bias: (O,), added to each output channel.
        stride: steps of the window.
        padding: zeros around the image; "same" keeps its size (stride 1), "valid" is 0.
        dilation: steps inside the window.
        groups: how many parts the channels fall into, each with output channels of its own.

    Saves: input if weight needs a gradient, weight if input does.
    """
    require_tensors("conv2d", weight=weight, bias=weight if bias is None else bias)
    images, single = _batch("conv2d", input)
    if weight.ndim != 4:
        raise RuntimeError(f"conv2d: expected a weight with 4 axes, found shape {weight.shape}")
    size, gaps = _pair("kernel", weight.shape[2:]), _pair("dilation", dilation)
    steps, border = _pair("stride", stride), (0, 0)
    if padding == "same":
        if steps != (1, 1):
            raise ValueError(f"conv2d: padding='same' needs stride 1, found {steps}")
        total = [d * (n - 1) for n, d in zip(size, gaps, strict=True)]
        halves = [(t // 2, t - t // 2) for t in total]
        if any(before != after for before, after in halves):
            images = Pad.apply(images, ((0, 0), (0, 0), *halves), 0.0)
        else:
            border = (halves[0][0], halves[1][0])
    elif isinstance(padding, str):
        if padding != "valid":
            raise ValueError(f"conv2d: padding must be 'same', 'valid' or numbers, not {padding!r}")
    else:
        border = _pair("padding", padding, least=0)
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"conv2d: expected a bias of {weight.shape[:1]}, found {bias.shape}")
    tensors = [images, weight] if bias is None else [images, weight, bias]
    result = Conv2d.apply(
        tensors, Geometry(size, steps, border, gaps), whole("conv2d: groups", groups)
    )
    return result.squeeze(0) if single else result


def max_pool2d(
    input: Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
) -> Tensor:
    """The largest element of the window at each place; `stride` is the kernel's size if left out.

    The border counts as minus infinity. Saves: the int64 positions of the maxima.
    """
    images, single = _batch("max_pool2d", input)
    geometry = _geometry("max_pool2d", kernel_size, stride, padding, dilation)
    result = MaxPool2d.apply(images, geometry)
    return result.squeeze(0) if single else result


def avg_pool2d(
    input: Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of the window at each place; `stride` is the kernel's size if left out.

    The border counts as zeros, or not at all without `count_include_pad`. Saves: nothing (without
    `count_include_pad`, the counts).
    """
    images, single = _batch("avg_pool2d", input)
    geometry = _geometry("avg_pool2d", kernel_size, stride, padding, 1)
    sums = _window_sums(images, geometry)
    counted = flag("avg_pool2d: count_include_pad", count_include_pad)
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError("avg_pool2d: divisor_override must not be 0")
        result = sums / whole("avg_pool2d: divisor_override", divisor_override)
    elif counted or not any(geometry.padding):
        result = sums / (geometry.size[0] * geometry.size[1])
    else:
        result = sums / _window_sums(images.new_ones((1, 1, *images.shape[2:])), geometry)
    return result.squeeze(0) if single else result


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    """More elements at the edges, all `value`.

    Args:
        input: any shape.
        pad: (before, after) of the last axis, then of the one before it, and so on.
        mode: "constant"; the package has no other.
        value: what the new elements are.
    """
    if mode != "constant":
        raise NotImplementedError(f"pad: mode {mode!r} is not there, only 'constant'")
    require_tensors("pad", input=input)
    pad = [whole("pad: a width", each) for each in many("pad: pad", pad)]
    if len(pad) % 2 or len(pad) > 2 * input.ndim or min(pad, default=0) < 0:
        raise RuntimeError(
            f"pad: expected at most {input.ndim} pairs of non-negative numbers, found {tuple(pad)}"
        )
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    widths = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    return Pad.apply(input, tuple(widths), amount("pad: value", value))


def _window_sums(images: Tensor, geometry: Geometry) -> Tensor:
    (top, left) = geometry.padding
    padded = pad(images, (left, left, top, top)) if top or left else images
    return Windows.apply(padded, geometry._replace(padding=(0, 0))).sum((-2, -1))


def _geometry(
    name: str, size: Lengths, stride: Lengths | None, padding: Lengths, dilation: Lengths
) -> Geometry:
    kernel = _pair("kernel_size", size)
    border = _pair("padding", padding, least=0)
    if any(2 * b > n for b, n in zip(border, kernel, strict=True)):
        raise RuntimeError(
            f"{name}: padding {border} must be at most half of the kernel's size {kernel}"
        )
    steps = kernel if stride is None else _pair("stride", stride)
    return Geometry(kernel, steps, border, _pair("dilation", dilation))


def _pair(name: str, value: Lengths, least: int = 1) -> Pair:
    numbers = (value, value) if isinstance(value, int) else tuple(value)
    if len(numbers) == 1:
        numbers = numbers * 2
    if len(numbers) != 2 or any(int(n) != n or n < least for n in numbers):
        raise RuntimeError(f"{name}: expected one or two integers >= {least}, found {value!r}")
    return int(numbers[0]), int(numbers[1])


def _batch(name: str, input: Tensor) -> tuple[Tensor, bool]:
    """The images with a batch axis, and whether it had to be added."""
    require_tensors(name, input=input)
    if input.ndim not in (3, 4):
        raise RuntimeError(
            f"{name}: expected images (N, C, H, W) or one image (C, H, W), found {input.shape}"
        )
    return (input.unsqueeze(0), True) if input.ndim == 3 else (input, False)
