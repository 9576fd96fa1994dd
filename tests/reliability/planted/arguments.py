"""Faults in what refuses wrong arguments, and at the borders of domains."""

from __future__ import annotations

from tests.reliability.planted.mutant import RELIABILITY, Mutant

BCE = "ops/binary_cross_entropy.py"
INDEX = "ops/index.py"
PROMOTION = "ops/promotion.py"
TWINS = "twins.py"
POSITIONS = ("tests/ops/test_positions.py",)
NUMBERS = ("tests/ops/test_numbers.py",)
COPIES = ("tests/test_deep_copies.py",)

MUTANTS: list[Mutant] = [
    Mutant(
        "index: a position that is not there is taken",
        INDEX,
        "    if outside(positions, length):\n        raise",
        "    if False:\n        raise",
        POSITIONS,
    ),
    Mutant(
        "index: a negative position counts from the end",
        INDEX,
        "    unsigned = positions.view(_UNSIGNED[positions.itemsize])\n",
        "    unsigned = positions\n",
        POSITIONS,
    ),
    Mutant(
        "index: adding beyond the end begins anew",
        INDEX,
        "    if not -length <= index.min() <= index.max() < length:\n",
        "    if False:\n",
        POSITIONS,
    ),
    Mutant(
        "index: a value of another dtype is cast",
        INDEX,
        "        if fancy and isinstance(value, np.ndarray) and value.dtype != x.dtype:\n",
        "        if False:\n",
        POSITIONS,
    ),
    Mutant(
        "index: a value with more axes has no gradient",
        INDEX,
        "            if more > 0:\n",
        "            if False:\n",
        POSITIONS,
    ),
    Mutant(
        "promotion: a number is wrapped round",
        PROMOTION,
        "            raise OverflowError(\n"
        '                f"{value} cannot be stored as {dtype}, which holds',
        "            value = (int(value) - limits.min) % 256 + limits.min\n"
        "            OverflowError(\n"
        '                f"{value} cannot be stored as {dtype}, which holds',
        NUMBERS,
    ),
    Mutant(
        "promotion: a complex number loses its imaginary part",
        PROMOTION,
        '        raise TypeError(f"{value} cannot be stored as {dtype}: it is a complex number")\n',
        "        value = value.real\n",
        NUMBERS,
    ),
    Mutant(
        "binary_cross_entropy: divides by zero at 0 and 1",
        BCE,
        "np.maximum(x * (1 - x), x.dtype.type(SMALLEST)) * grad",
        "(x * (1 - x)) * grad",
        ("tests/ops/test_binary_cross_entropy.py",),
    ),
    Mutant(
        "binary_cross_entropy: the logarithms have no limit",
        BCE,
        "        return np.maximum(np.log(x), lowest), np.maximum(np.log1p(-x), lowest)\n",
        "        return np.log(x), np.log1p(-x)\n",
        ("tests/ops/test_binary_cross_entropy.py",),
    ),
    Mutant(
        "binary_cross_entropy: scores are taken for probabilities",
        BCE,
        "    if x.size and not (x.min() >= 0 and x.max() <= 1):\n",
        "    if False:\n",
        ("tests/ops/test_binary_cross_entropy.py",),
    ),
    Mutant(
        "loss: a weight waits for its gradient in vain",
        "nn/losses.py",
        "    if weight is not None and weight.requires_grad:\n",
        "    if False:\n",
        ("tests/test_functional.py",),
    ),
    Mutant(
        "attention: who sees nothing gets NaN",
        "nn/functional.py",
        "    if blind is None or not blind.any():\n",
        "    if True:\n",
        ("tests/test_functional.py",),
    ),
    Mutant(
        "twins: every view gets memory of its own",
        TWINS,
        "    if key not in memo:\n",
        "    if True:\n",
        COPIES,
    ),
    Mutant(
        "twins: a copy begins at the beginning",
        TWINS,
        '    offset = int(array.__array_interface__["data"][0]) - start\n',
        "    offset = 0\n",
        COPIES,
    ),
    Mutant(
        "node: the first of two handles keeps the gradient",
        "autograd/node.py",
        "        node._extras().retained[tensor._output_nr] = weakref.ref(tensor)\n",
        "        node._extras().retained.setdefault(tensor._output_nr, weakref.ref(tensor))\n",
        (RELIABILITY + "test_retained_gradients.py",),
    ),
    Mutant(
        "policy: a copy has packed what the original has",
        "saving/on_disk.py",
        '    not_copied = (*Policy.not_copied, "_directory")\n',
        "    not_copied = Policy.not_copied\n",
        ("tests/saving/test_copies.py",),
    ),
]
