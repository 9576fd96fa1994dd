"""Tensor's methods for shapes: views, joins, repetition, axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self, overload

from ..arguments import many, whole
from ..number_data import shape_of
from ..ops.dims import along, axis_of, named_axes, require_axes, require_counts, sequence
from ..ops.join import Contiguous, Flip, Repeat, Roll, Tril, Triu
from ..ops.reduction import Sum
from ..ops.shape import (
    Diagonal,
    Expand,
    Permute,
    Reshape,
    Slice,
    Split,
    Squeeze,
    Transpose,
    Unbind,
    Unsqueeze,
)
from ..tensor_base import TensorBase

Dims = int | Sequence[int]


class ShapeMethods(TensorBase):
    """Reshaping, transposing, cutting, repeating. Everything is differentiable."""

    __slots__ = ()

    # -- asking ----------------------------------------------------------------------------------
    def dim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @overload
    def size(self) -> tuple[int, ...]: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> tuple[int, ...] | int:
        """The shape, or the length of one axis."""
        if dim is None:
            return self._array.shape
        return self._array.shape[axis_of("size", dim, self.ndim)]

    def numel(self) -> int:
        """The number of elements."""
        return int(self._array.size)

    @overload
    def stride(self) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """How many elements of the storage lie between neighbours along each axis (or one)."""
        steps = tuple(step // self._array.itemsize for step in self._array.strides)
        return steps if dim is None else steps[whole("stride: dim", dim)]

    def is_contiguous(self) -> bool:
        """Whether the elements stand in the storage in row-major order without gaps."""
        return bool(self._array.flags.c_contiguous)

    # -- views -----------------------------------------------------------------------------------
    def reshape(self, *shape: Any) -> Self:
        """The elements in another shape, as a view where possible; one length may be -1."""
        lengths = sequence("reshape", shape)
        require_counts("reshape", lengths, -1)
        return Reshape.apply(self, lengths)

    def view(self, *shape: Any) -> Self:
        """The elements in another shape, as a view; RuntimeError where a copy would be needed."""
        lengths = sequence("view", shape)
        require_counts("view", lengths, -1)
        return Reshape.apply(self, lengths, True)

    def reshape_as(self, other: TensorBase) -> Self:
        """The elements in the shape of `other`."""
        return Reshape.apply(self, shape_of("reshape_as", other))

    view_as = reshape_as

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """The axes from `start_dim` to `end_dim` as one; itself when there is one only."""
        start = axis_of("flatten", start_dim, self.ndim)
        end = axis_of("flatten", end_dim, self.ndim)
        if start > end:
            raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
        if self.ndim and start == end:
            return self
        merged = math.prod(self.shape[start : end + 1])
        return Reshape.apply(self, (*self.shape[:start], merged, *self.shape[end + 1 :]))

    def ravel(self) -> Self:
        """All elements along one axis."""
        return Reshape.apply(self, (self.numel(),))

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Self:
        """One axis as several of these lengths; one of them may be -1."""
        require_axes("unflatten", self.shape, 1)
        axis = axis_of("unflatten", dim, self.ndim)
        lengths = [whole("unflatten: a length", each) for each in many("unflatten: sizes", sizes)]
        if -1 in lengths:
            known = -math.prod(lengths)
            lengths[lengths.index(-1)] = self.shape[axis] // known if known else 0
        return Reshape.apply(self, (*self.shape[:axis], *lengths, *self.shape[axis + 1 :]))

    def transpose(self, dim0: int, dim1: int) -> Self:
        """Two axes swapped."""
        first, second = (axis_of("transpose", dim, self.ndim) for dim in (dim0, dim1))
        return Transpose.apply(self, first, second) if self.ndim else Permute.apply(self, ())

    swapaxes = transpose

    def t(self) -> Self:
        """A matrix transposed; vectors and single numbers are given back as they are."""
        if self.ndim > 2:
            raise RuntimeError(f"t: expected at most 2 axes, found shape {self.shape}; use .mT")
        return Transpose.apply(self, 0, 1) if self.ndim == 2 else self

    @property
    def T(self) -> Self:
        """All axes in reverse order."""
        return Permute.apply(self, tuple(range(self.ndim - 1, -1, -1)))

    @property
    def mT(self) -> Self:
        """The last two axes swapped: every matrix of a batch transposed."""
        if self._array.ndim < 2:
            raise RuntimeError(f"mT: expected at least 2 axes, found shape {self.shape}")
        return Transpose.apply(self, -2, -1)

    def permute(self, *dims: Any) -> Self:
        """The axes in another order."""
        named = sequence("permute", dims)
        order = tuple(axis_of("permute", d, self.ndim) for d in named)
        if sorted(order) != list(range(self.ndim)):
            raise RuntimeError(f"permute: {named} does not name each of {self.ndim} axes once")
        return Permute.apply(self, order)

    def movedim(self, source: Dims, destination: Dims) -> Self:
        """Axes moved to other places, the others staying in order."""
        old = named_axes("movedim", source, self.ndim)
        new = named_axes("movedim", destination, self.ndim)
        if len(old) != len(new):
            raise RuntimeError(f"movedim: {source} and {destination} name different numbers")
        order = [axis for axis in range(self.ndim) if axis not in old]
        for place, axis in sorted(zip(new, old, strict=True)):
            order.insert(place, axis)
        return Permute.apply(self, tuple(order))

    def squeeze(self, dim: Dims | None = None) -> Self:
        """Without the axes of length 1: all of them, or those of `dim` that have length 1."""
        named = range(self.ndim) if dim is None else named_axes("squeeze", dim, self.ndim)
        axes = tuple(axis for axis in named if self.shape[axis] == 1)
        return Squeeze.apply(self, axes)

    def unsqueeze(self, dim: int) -> Self:
        """With an axis of length 1 at `dim`, counted in the result."""
        return Unsqueeze.apply(self, axis_of("unsqueeze", dim, self.ndim + 1))

    def expand(self, *shape: Any) -> Self:
        """Axes of length 1 repeated without copying; -1 keeps a length."""
        lengths = sequence("expand", shape)
        require_counts("expand", lengths[: max(len(lengths) - self.ndim, 0)])
        own = (1,) * (len(lengths) - self.ndim) + self.shape
        pairs = zip(lengths, own, strict=False)
        return Expand.apply(self, tuple(n if wanted == -1 else wanted for wanted, n in pairs))

    def expand_as(self, other: TensorBase) -> Self:
        """Expanded to the shape of `other`."""
        return Expand.apply(self, shape_of("expand_as", other))

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """Expanded to `shape`."""
        return self.expand(many("broadcast_to: shape", shape))

    def sum_to_size(self, *shape: Any) -> Self:
        """Summed over the axes that broadcasting from `shape` would repeat: its reverse."""
        wanted = sequence("sum_to_size", shape)
        more = self.ndim - len(wanted)
        pairs = zip(self.shape[more:], wanted, strict=True)
        if more < 0 or any(n != m and m != 1 for n, m in pairs):
            raise RuntimeError(f"sum_to_size: shape {self.shape} cannot be summed to {wanted}")
        longer = enumerate(zip(self.shape[more:], wanted, strict=True))
        axes = (*range(more), *(more + axis for axis, (n, m) in longer if n != m))
        result = Sum.apply(self, axes, True) if axes else self
        return Reshape.apply(result, wanted) if more else result

    def select(self, dim: int, index: int) -> Self:
        """The part at one position along `dim`, without that axis."""
        axis = axis_of("select", dim, self.ndim)
        return Slice.apply(self, along(axis, whole("select: index", index)))

    def narrow(self, dim: int, start: int, length: int) -> Self:
        """The part from `start` of the given length along `dim`."""
        require_axes("narrow", self.shape, 1)
        axis = axis_of("narrow", dim, self.ndim)
        start, length = whole("narrow: start", start), whole("narrow: length", length)
        first = start + self.shape[axis] if start < 0 else start
        if not 0 <= first <= first + length <= self.shape[axis]:
            raise RuntimeError(
                f"narrow: start {start} with length {length} exceeds the {self.shape[axis]} "
                f"elements along dim {dim}"
            )
        return Slice.apply(self, along(axis, slice(first, first + length)))

    def unbind(self, dim: int = 0) -> tuple[Self, ...]:
        """The parts along `dim` as a tuple, without that axis."""
        axis = axis_of("unbind", dim, self.ndim)
        return Unbind.apply(self, range(self.size(dim)), axis)

    def split(self, split_size: Dims, dim: int = 0) -> tuple[Self, ...]:
        """Parts along `dim` of one length (the last may be shorter), or of these lengths."""
        require_axes("split", self.shape, 1)
        total = self.size(dim)
        if isinstance(split_size, int):
            if split_size <= 0:
                raise RuntimeError(f"split: expected a positive length, found {split_size}")
            starts = range(0, max(total, 1), split_size)
            lengths = [min(split_size, total - start) for start in starts]
        else:
            lengths = [
                whole("split: a length", each) for each in many("split: lengths", split_size)
            ]
            require_counts("split", lengths)
            if sum(lengths) != total:
                raise RuntimeError(f"split: lengths {lengths} do not add up to {total}")
        return Split.apply(self, lengths, axis_of("split", dim, self.ndim))

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Self, ...]:
        """At most `chunks` parts of equal length (the last may be shorter) along `dim`."""
        if whole("chunk: chunks", chunks) <= 0:
            raise RuntimeError(f"chunk: expected a positive number, found {chunks}")
        require_axes("chunk", self.shape, 1)
        total = self.shape[axis_of("chunk", dim, self.ndim)]
        return self.split(-(-total // chunks) if total else (0,) * chunks, dim)

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Self:
        """The diagonal `offset` above the main one of two axes, as the last axis."""
        require_axes("diagonal", self.shape, 2)
        axes = named_axes("diagonal", (dim1, dim2), self.ndim)
        return Diagonal.apply(self, whole("diagonal: offset", offset), *axes)

    # -- copies ----------------------------------------------------------------------------------
    def contiguous(self) -> Self:
        """Itself when in row-major order, else a copy that is."""
        return self if self._array.flags.c_contiguous else Contiguous.apply(self)

    def repeat(self, *counts: Any) -> Self:
        """As a tile, repeated so many times along each axis; axes may be added in front."""
        times = sequence("repeat", counts)
        if len(times) < self.ndim:
            raise RuntimeError(f"repeat: {times} has fewer numbers than axes of shape {self.shape}")
        require_counts("repeat", times)
        return Repeat.apply(self, times)

    def tile(self, *counts: Any) -> Self:
        """Like repeat, a missing count in front standing for 1."""
        times = sequence("tile", counts)
        return self.repeat((1,) * (self.ndim - len(times)) + times)

    def repeat_interleave(self, repeats: int, dim: int | None = None) -> Self:
        """Each element (along `dim`, or of the flat tensor) repeated beside itself."""
        if dim is None:
            return self.flatten().repeat_interleave(repeats, 0)
        axis = axis_of("repeat_interleave", dim, self.ndim)
        repeats = whole("repeat_interleave: repeats", repeats)
        require_counts("repeat_interleave", (repeats,))
        wider = (*self.shape[: axis + 1], repeats, *self.shape[axis + 1 :])
        return self.unsqueeze(axis + 1).expand(wider).flatten(axis, axis + 1)

    def flip(self, *dims: Any) -> Self:
        """The order along these axes reversed, in new memory."""
        return Flip.apply(self, named_axes("flip", sequence("flip", dims), self.ndim))

    def roll(self, shifts: Dims, dims: Dims | None = None) -> Self:
        """Moved along axes (without `dims` as one long row), what falls out coming in again."""
        given = (shifts,) if isinstance(shifts, int) else shifts
        moves = tuple(whole("roll: a shift", each) for each in many("roll: shifts", given))
        if dims is None:
            return Roll.apply(self.flatten(), moves, (0,) * len(moves)).reshape(self.shape)
        require_axes("roll", self.shape, 1)
        named = (dims,) if isinstance(dims, int) else dims
        axes = tuple(axis_of("roll", dim, self.ndim) for dim in many("roll: dims", named))
        if len(moves) != len(axes):
            raise RuntimeError(f"roll: {len(moves)} shifts for {len(axes)} dims")
        return Roll.apply(self, moves, axes)

    def tril(self, diagonal: int = 0) -> Self:
        """Zero above the diagonal `diagonal` of each matrix."""
        return Tril.apply(self, whole("tril: diagonal", diagonal))

    def triu(self, diagonal: int = 0) -> Self:
        """Zero below the diagonal `diagonal` of each matrix."""
        return Triu.apply(self, whole("triu: diagonal", diagonal))
