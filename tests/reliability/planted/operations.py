"""Faults in the operations and in how they are applied and recorded."""

from __future__ import annotations

from tests.reliability.planted.mutant import EDGES, PROGRAMS, Mutant, autograd

OPERATION = "ops/operation.py"
ELEMENTWISE = "ops/elementwise.py"
ARITHMETIC = "ops/arithmetic.py"
SAVED_SETS = "tests/ops/test_saved_sets.py"

MUTANTS: list[Mutant] = [
    Mutant(
        "operation: a view has a version of its own",
        OPERATION,
        "        result = new_tensor(type(tensor), out, tensor._storage)\n        if out.dtype",
        "        result = wrap(type(tensor), out, tensor._storage.device)\n        if out.dtype",
        autograd("views", "saved"),
    ),
    Mutant(
        "operation: a view under no_grad records writes",
        OPERATION,
        "ViewOf(tensor, step, tensor._node, not grad_enabled.get())",
        "ViewOf(tensor, step, tensor._node, False)",
        autograd("inplace"),
    ),
    Mutant(
        "operation: a view of a view forgets the first step",
        OPERATION,
        "                steps = memory.steps + step\n",
        "                steps = step\n",
        autograd("views"),
    ),
    Mutant(
        "operation: devices are mixed silently",
        OPERATION,
        "        elif here is not device:\n",
        "        elif False:\n",
        ("tests/test_tensor.py", "tests/conformance/test_statements.py::test_tensorplay_ref"),
    ),
    Mutant(
        "operation: recorded under no_grad",
        "ops/operation.py",
        '    if a._requires_grad and grad_enabled.get() and out.dtype.kind in "fc":\n',
        '    if a._requires_grad and out.dtype.kind in "fc":\n',
        autograd("grad_mode", "inplace") + (PROGRAMS,),
    ),
    Mutant(
        "elementwise: an operand's place among several results is lost",
        ELEMENTWISE,
        "        node.input_numbers = (first, second) if first or second else None\n",
        "        node.input_numbers = None\n",
        autograd("engine", "hooks"),
    ),
    Mutant(
        "elementwise: a view's history is not brought up to date",
        ELEMENTWISE,
        "    if b._view is not None:\n        follow_base(b)\n",
        "",
        autograd("views", "inplace") + (PROGRAMS,),
    ),
    Mutant(
        "arithmetic: mul saves what no formula reads",
        ARITHMETIC,
        "(self.keep(a) if need_b else None, self.keep(b) if need_a else None)",
        "(self.keep(a), self.keep(b))",
        (SAVED_SETS, *autograd("saved")),
    ),
    Mutant(
        "arithmetic: mul hands its gradients to the wrong operands",
        ARITHMETIC,
        "        return None if b is None else self._times(b, grad), for_other\n",
        "        return for_other, None if b is None else self._times(b, grad)\n",
        autograd("engine"),
    ),
    Mutant(
        "arithmetic: the divisor's gradient has the wrong sign",
        ARITHMETIC,
        "reuse(Div, a / b, b), -1.0), grad)",
        "reuse(Div, a / b, b), 1.0), grad)",
        ("tests/ops/test_arithmetic.py", *autograd("inplace")),
    ),
    Mutant(
        "arithmetic: the gradient of a power has a wrong factor",
        ARITHMETIC,
        "        power = base * exponent if exponent == 2 else ",
        "        power = base if exponent == 2 else ",
        ("tests/ops/test_arithmetic.py", *autograd("engine")),
    ),
    Mutant(
        "arithmetic: sub shares one gradient, unsigned",
        ARITHMETIC,
        "        return grad, None if self.input_nodes[1] is None else -grad\n\n\nclass Mul",
        "        return grad, grad\n\n\nclass Mul",
        ("tests/ops/test_arithmetic.py", *autograd("inplace")),
    ),
    Mutant(
        "temporaries: reused while a graph is recorded",
        "ops/temporaries.py",
        "    if grad_enabled.get() or value.dtype != array.dtype or value.ndim > array.ndim:\n",
        "    if value.dtype != array.dtype or value.ndim > array.ndim:\n",
        ("tests/ops/test_unary.py", *autograd("inplace")),
    ),
    Mutant(
        "unary: exp's gradient is that of the input",
        "ops/unary.py",
        '    saves = ("result",)\n    forward = of_floats(np.exp)\n\n'
        "    def backward(self, grad: Any) -> Any:\n"
        "        (result,) = self.read()\n        return grad * result\n",
        '    saves = ("result",)\n    forward = of_floats(np.exp)\n\n'
        "    def backward(self, grad: Any) -> Any:\n"
        "        (result,) = self.read()\n        return grad * result.log()\n",
        autograd("saved_reading", "inplace"),
    ),
    Mutant(
        "unary: sqrt's gradient is four times too large",
        "ops/unary.py",
        "        return reuse(Div, grad * 0.5, result)\n",
        "        return reuse(Div, grad * 2.0, result)\n",
        ("tests/ops/test_unary.py",),
    ),
    Mutant(
        "index: repeated positions are added to once",
        "ops/index.py",
        "    if starts.size < index.size:\n"
        "        rows, index = np.add.reduceat(rows, starts, axis), index[starts]\n",
        "",
        ("tests/ops/test_index.py", *autograd("saved")),
    ),
    Mutant(
        "index: an assigned place keeps its gradient",
        "ops/index.py",
        "            for_self = grad if self.params[1] else "
        "IndexPut.apply(grad, grad.new_zeros(()), key)\n",
        "            for_self = grad\n",
        autograd("inplace"),
    ),
    Mutant(
        "index: scatter_add assigns",
        "ops/gather.py",
        "        np.add.at(out.reshape(-1), np.ravel(flat), part.",
        "        out.reshape(-1)[np.ravel(flat)] += (part.",
        ("tests/ops/test_index.py",),
    ),
    Mutant(
        "join: cat hands out shifted parts",
        "ops/join.py",
        "            start += length or 0\n        return tuple(parts)\n",
        "            start += 1\n        return tuple(parts)\n",
        ("tests/ops/test_shape.py", "tests/conformance/test_statements.py::test_tensorplay_ref"),
    ),
    Mutant(
        "join: cat does not take vectors without elements",
        "ops/join.py",
        "filled or arrays",
        "arrays",
        ("tests/ops/test_shape.py",),
    ),
    Mutant(
        "reduction: the mean is not divided in backward",
        "ops/reduction.py",
        "        share = grad / max(count(shape, axes), 1)\n",
        "        share = grad\n",
        ("tests/ops/test_reduction.py", EDGES),
    ),
    Mutant(
        "matmul: a recorded backward takes the arrays' way",
        "ops/matmul.py",
        "not grad_enabled.get() and grad._storage.device is CPU:\n            return self._on",
        "grad._storage.device is CPU:\n            return self._on",
        ("tests/ops/test_matmul.py", *autograd("gradcheck")),
    ),
    Mutant(
        "promotion: NumPy arrays decide over tensors with axes",
        "ops/promotion.py",
        "            groups[0 if value.ndim else 1].append(value.dtype)\n",
        "            groups[0].append(value.dtype)\n",
        (EDGES,),
    ),
    Mutant(
        "accumulate: a broadcast operand's gradient is not summed",
        "autograd/accumulate.py",
        "            array = summed(array, shape)\n",
        "            array = array.reshape(-1)[: int(np.prod(shape))].reshape(shape)\n",
        autograd("engine"),
    ),
    Mutant(
        "relu: long rows are compared with the row itself",
        "ops/activation.py",
        "            zero = np.zeros(x.shape[-1], x.dtype)\n",
        "            zero = x[-1]\n",
        ("tests/ops/test_activation.py",),
    ),
    Mutant(
        "nll_loss: nobody looks at the targets",
        "nn/losses.py",
        "None if plain else ignore_index",
        "None",
        ("tests/test_functional.py",),
    ),
    Mutant(
        "dtypes: another object for the same dtype",
        "dtypes.py",
        '    native = SUPPORTED.get(found.newbyteorder("="))\n',
        '    native = found.newbyteorder("=") if found.newbyteorder("=") in SUPPORTED else None\n',
        ("tests/test_creation.py",),
    ),
]
