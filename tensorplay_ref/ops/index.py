"""Indexing with tensors: what is read by position, and what is written or added there.

A key is what stands in the brackets: integers, slices, None and Ellipsis alone make a view (see
`shape.Slice`); with an integer or boolean tensor, array or list among them the result is a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.saved import SavedTensor
from ..tensor_base import TensorBase, wrap
from .operation import Operation
from .shape import Slice, Unsqueeze


def subscript(tensor: Any, key: Any) -> Any:
    """tensor[key]: a view for a basic key, else the elements that the key's tensors select.

    Errors: IndexError for positions that are not there, too many axes, or a key of a wrong type.
    """
    key = tensor_key(tensor, key)
    if not any(isinstance(part, TensorBase) for part in key):
        return Slice.apply(tensor, key)
    return Index.apply(*integers_first(tensor, key))


def integers_first(tensor: Any, key: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The view that the integers of a key with tensors select, and what is left of the key.

    PyTorch and TensorPlay read x[0, :, t] as x[0][:, t]. NumPy broadcasts the integer with t, which
    moves the axis of t to the front.
    """
    masks = [part for part in key if isinstance(part, TensorBase) and part.dtype.kind == "b"]
    if not any(isinstance(part, int) for part in key) or any(mask.ndim == 0 for mask in masks):
        return tensor, key
    first: list[Any] = []
    left: list[Any] = []
    for part in key:
        if isinstance(part, TensorBase):
            first += [slice(None)] * (part.ndim if part.dtype.kind == "b" else 1)
            left.append(part)
        else:
            first.append(part)
            if not isinstance(part, int):
                left.append(part if part is Ellipsis else slice(None))
    return Slice.apply(tensor, tuple(first)), tuple(left)


def tensor_key(tensor: Any, key: Any) -> tuple[Any, ...]:
    """The key as a tuple in which arrays and lists are tensors, and single integers are ints."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(_part(tensor, part) for part in parts)


def _part(tensor: Any, part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return int(part)
    if not isinstance(part, TensorBase):
        array = np.asarray(part)
        if array.size == 0 and not isinstance(part, np.ndarray):
            array = array.astype(np.int64)
        part = wrap(type(tensor), array.copy(), tensor._storage.device, "index")
    kind = part._array.dtype.kind
    if kind not in "iub":
        raise IndexError(
            "an index must be an integer, a slice, None, ..., or an integer or boolean tensor; "
            f"found {part._array.dtype} of shape {part._array.shape}"
        )
    if part._array.dtype == np.uint8:
        # Masks were bytes before there were booleans, and both frameworks still read them so.
        return wrap(type(tensor), part._array != 0, part._storage.device, "index")
    if part._array.ndim == 0 and kind != "b":
        return int(part._array)
    return part


def arrays_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key as NumPy takes it."""
    return tuple(part._array if isinstance(part, TensorBase) else part for part in key)


class _Keyed(Operation):
    """An operation whose last parameter but `options` is a key; saves the tensors in the key."""

    saves = ("indices",)

    def keep_key(self, key: tuple[Any, ...]) -> None:
        """Save the tensors of the key; what stands beside them stays in `params`."""
        self.saved_slots = tuple(self.keep(part) for part in key if isinstance(part, TensorBase))
        places = tuple(_TENSOR if isinstance(part, TensorBase) else part for part in key)
        self.params = (places, *self.params)

    def key(self) -> tuple[Any, ...]:
        """The key again, with the saved tensors in their places."""
        values = iter(self.read())
        return tuple(next(values) if part is _TENSOR else part for part in self.params[0])

    @property
    def _saved_indices(self) -> tuple[Any, ...]:
        """The tensors among the indices, unpacked at each read."""
        return tuple(self.read())

    @property
    def _raw_saved_indices(self) -> tuple[SavedTensor, ...]:
        """The slots that keep the tensors among the indices."""
        return self.saved_slots


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_TENSOR = type("IndexTensor", (), {"__repr__": lambda self: "<tensor>"})()


class Index(_Keyed):
    """self[key] with tensors in the key. Gradient: g added at the positions, repeated ones add up.

    Saves: indices, the integer or boolean tensors of the key, as they are.
    """

    @staticmethod
    def forward(x: Any, key: tuple[Any, ...]) -> Any:
        return x[arrays_of(key)]

    def save(self, result: Any, x: Any) -> None:
        (key,) = self.params
        self.params = (x.shape,)
        self.keep_key(key)

    def backward(self, grad: Any) -> Any:
        return IndexBackward.apply(grad, self.key(), self.params[1])


class IndexBackward(_Keyed):
    """Zeros of `shape` to which g is added at the key. Gradient: the gradient there.

    Saves: indices, the tensors of the key.
    """

    @staticmethod
    def forward(g: Any, key: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
        out = np.zeros(shape, g.dtype)
        add_at(out, arrays_of(key), g)
        return out

    def save(self, result: Any, grad: Any) -> None:
        key, _ = self.params
        self.params = ()
        self.keep_key(key)

    def backward(self, grad: Any) -> Any:
        return Index.apply(grad, self.key())


def add_at(out: Any, key: tuple[Any, ...], values: Any) -> None:
    """out[key] += values, in which a position that is named twice is added to twice."""
    if not any(isinstance(part, np.ndarray) and part.dtype.kind != "b" for part in key):
        # Slices and masks name each position once.
        out[key] += values
        return
    whole = [isinstance(part, slice) and part == slice(None) for part in key[:-1]]
    if not all(whole) or values.shape == () or key[-1].size == 0:
        np.add.at(out, key, values)
        return
    # One integer array after whole axes, such as rows of a table: sort, and add up runs of equal
    # positions, which is many times faster than `np.add.at`.
    axis = len(whole)
    length = out.shape[axis]
    index = key[-1].reshape(-1).astype(np.intp, copy=False)
    if not -length <= index.min() <= index.max() < length:
        raise IndexError(
            f"index {index.min()} to {index.max()} is out of bounds for axis {axis} with size "
            f"{length}"
        )
    index = index % length
    shape = (*out.shape[:axis], index.size, *out.shape[axis + 1 :])
    order = np.argsort(index, kind="stable")
    index = index[order]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    values = np.broadcast_to(values, (*out.shape[:axis], *key[-1].shape, *out.shape[axis + 1 :]))
    rows = values.reshape(shape).take(order, axis)
    if starts.size < index.size:
        rows, index = np.add.reduceat(rows, starts, axis), index[starts]
    out[(*key[:-1], index)] += rows


class IndexPut(_Keyed):
    """self with `value` at the key, or added there. Gradients: g outside the key, g at the key.

    The value broadcasts. Where a position is named twice without `accumulate`, one of the two
    values stays, and both get its gradient, as in PyTorch.
    Saves: indices, the tensors of the key.

    Errors: RuntimeError for a value of another dtype or of a shape that does not broadcast.
    """

    arity = 2

    @staticmethod
    def forward(x: Any, value: Any, key: Any, accumulate: bool = False) -> Any:
        key = arrays_of(key if isinstance(key, tuple) else (key,))
        fancy = any(isinstance(part, np.ndarray) for part in key)
        if fancy and isinstance(value, np.ndarray) and value.dtype != x.dtype:
            raise RuntimeError(
                f"IndexPut: expected values of dtype {x.dtype}, found {value.dtype}; convert them "
                f"with .to({x.dtype})"
            )
        out = x.copy()
        try:
            if accumulate:
                add_at(out, key, np.asarray(value, out.dtype))
            else:
                out[key] = value
        except ValueError as error:
            raise RuntimeError(f"IndexPut: {error}") from None
        return out

    def save(self, result: Any, x: Any, value: Any) -> None:
        key, *accumulate = self.params
        axes = value.ndim if isinstance(value, TensorBase) else 0
        self.params = (bool(accumulate and accumulate[0]), axes)
        self.keep_key(tensor_key(x, key))

    def backward(self, grad: Any) -> Any:
        key, need_self, need_value = self.key(), *self.input_nodes
        for_self = for_value = None
        if need_self:
            for_self = grad if self.params[1] else IndexPut.apply(grad, grad.new_zeros(()), key)
        if need_value:
            basic = not any(isinstance(part, TensorBase) for part in key)
            for_value = (Slice if basic else Index).apply(grad, key)
            more = self.params[2] - for_value.ndim
            if more > 0:
                # Axes of length 1 in front of the value, which an assignment does not count.
                for_value = for_value.reshape((*(1,) * more, *for_value.shape))
        return for_self, for_value


def indices_of(operation: str, index: Any) -> Any:
    """The index itself. Errors: TypeError when it is no tensor."""
    if not isinstance(index, TensorBase):
        raise TypeError(f"{operation}: index must be a Tensor, found {type(index).__name__}")
    return index


def vector_of(operation: str, index: Any, dim: int, length: int) -> Any:
    """An index as a vector of positions along `dim`; one without axes is a vector of one.

    Errors: TypeError for what is no tensor; IndexError for other dtypes and shapes, and for
    positions that are not there, negative ones among them.
    """
    array = indices_of(operation, index)._array
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise IndexError(
            f"{operation}: expected an integer vector as index, found {array.dtype} of shape "
            f"{array.shape}"
        )
    require_positions(operation, array, length, f" along dim {dim}")
    return index if array.ndim else Unsqueeze.apply(index, 0)


def outside(positions: Any, length: int) -> bool:
    """Whether one of the integers is negative, or not below `length`."""
    # Seen as unsigned numbers the negative ones are the largest, so one pass finds both kinds.
    unsigned = positions.view(_UNSIGNED[positions.itemsize])
    return bool(positions.size) and int(np.maximum.reduce(unsigned, axis=None)) >= length


def require_positions(operation: str, positions: Any, length: int, where: str = "") -> None:
    """Refuse positions that are not there, with an IndexError; negative ones do not count back."""
    if outside(positions, length):
        raise IndexError(
            f"{operation}: index must lie between 0 and {length - 1}{where}, found "
            f"{positions.min()} to {positions.max()}"
        )
