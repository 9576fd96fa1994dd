"""How a tensor prints: its values, then what is not the default (dtype, device, graph).

The text is the same on every machine: four decimals, never "-0.", the middle of long axes left
out. Summing up in another order changes the last digits of a float32, and those are not shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import hook_name
from .device import CPU
from .storage import Array
from .tensor_base import TensorBase

DECIMALS = 4
WIDTH = 80
LONGEST = 1_000
EDGE = 3
if TYPE_CHECKING:
    from .autograd.saved import SavedTensor

# What a list of Python numbers becomes; other dtypes are named.
DEFAULT_DTYPES = (np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_))


def tensor_text(tensor: TensorBase) -> str:
    """The tensor as text, such as `tensor([1., 2.], requires_grad=True)`."""
    array = tensor._array
    opening = f"{type(tensor).__name__.lower()}("
    notes = _notes(tensor)
    if array.size == 0:
        if array.shape != (0,):
            notes.insert(0, f"size={array.shape}")
        values = "[]"
    else:
        values = _values(array, opening)
    text = opening + values
    for number, note in enumerate(notes, 1):
        line = text.rsplit("\n", 1)[-1]
        # Behind the last note stands the closing parenthesis.
        wide = len(line) + len(note) + 2 + (number == len(notes)) > WIDTH
        text += (",\n" + " " * len(opening) if wide else ", ") + note
    return text + ")"


def slot_text(slot: SavedTensor) -> str:
    """A saved slot as text: what was saved, and how it is kept."""
    if slot.freed:
        return "SavedTensor(freed)"
    if slot.unpack_hook is not None:
        shape, dtype, _ = slot._form
        packed = (
            f"packed as {type(slot._value).__name__}, unpacked by {hook_name(slot.unpack_hook)}"
        )
        return f"SavedTensor({dtype} {shape}, {packed})"
    return f"SavedTensor({slot._value.dtype} {slot._value.shape}, version {slot._version})"


def _notes(tensor: TensorBase) -> list[str]:
    notes = []
    if tensor.device is not CPU:
        notes.append(f"device='{tensor.device}' (simulated)")
    # Without an element to see, only float32 goes without saying.
    if tensor.dtype not in (DEFAULT_DTYPES if tensor._array.size else DEFAULT_DTYPES[:1]):
        notes.append(f"dtype={tensor.dtype}")
    node = tensor.grad_fn
    if node is not None:
        notes.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    return notes


def _values(array: Array, opening: str) -> str:
    shown = _shown(array)
    formatter: Any = None
    if array.dtype.kind == "f":
        formatter = {"float_kind": _float_format(shown)}
    elif array.dtype.kind == "c":
        formatter = {"complex_kind": _complex_format(shown)}
    elif array.dtype.kind == "b" and shown.all():
        # NumPy leaves room for a False that is not there.
        formatter = {"bool": str}
    return np.array2string(
        array,
        max_line_width=WIDTH,
        separator=", ",
        prefix=opening,
        threshold=LONGEST,
        edgeitems=EDGE,
        formatter=formatter,
    )


def _shown(array: Array) -> Array:
    """The elements that are printed: all of them, or both ends of every axis."""
    if array.size <= LONGEST:
        return array
    for axis, length in enumerate(array.shape):
        if length > 2 * EDGE:
            array = array.take([*range(EDGE), *range(length - EDGE, length)], axis)
    return array


def _float_format(shown: Array) -> Any:
    """A function from a number to text of one width for the whole tensor."""
    numbers = np.abs(shown[np.isfinite(shown)]).astype(np.float64)
    nonzero = numbers[numbers > 0]
    if nonzero.size == 0 or bool(np.all(nonzero == np.rint(nonzero))):
        style = "whole"
        if nonzero.size and nonzero.max() >= 1e8:
            style = "scientific"
    else:
        least, most = nonzero.min(), nonzero.max()
        wide = most / least > 1000 or most >= 1e8 or least < 1e-4
        style = "scientific" if wide else "fixed"

    def text(value: Any) -> str:
        number = float(value) + 0.0  # turns -0. into 0.
        if not np.isfinite(number):
            return str(number)
        if style == "whole":
            return f"{number:.0f}."
        return f"{number:.{DECIMALS}e}" if style == "scientific" else f"{number:.{DECIMALS}f}"

    width = max((len(text(value)) for value in shown.reshape(-1)), default=0)
    return lambda value: text(value).rjust(width)


def _complex_format(shown: Array) -> Any:
    real, imaginary = _float_format(shown.real), _float_format(np.abs(shown.imag))

    def text(value: Any) -> str:
        sign = "-" if value.imag < 0 else "+"
        return f"{real(value.real)}{sign}{imaginary(abs(value.imag)).strip()}j"

    return text
