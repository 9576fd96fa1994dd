"""Faults in Function and its ctx, and in grad mode."""

from __future__ import annotations

from tests.reliability.planted.mutant import Mutant, autograd

CONTEXT = "autograd/context.py"
FUNCTION = "autograd/function.py"
MODE = "autograd/grad_mode.py"

MUTANTS: list[Mutant] = [
    # -- Function and ctx --------------------------------------------------------------------------
    Mutant(
        "context: an output is packed as it is, a cycle",
        CONTEXT,
        "                tensor = detached(tensor)\n",
        "                pass\n",
        autograd("function_saving"),
    ),
    Mutant(
        "context: a parameter from outside loses its history",
        CONTEXT,
        "not self.is_input(tensor) and not tensor.requires_grad\n",
        "not self.is_input(tensor)\n",
        autograd("saved_hooks", "function_saving"),
    ),
    Mutant(
        "context: saved although nothing is recorded",
        CONTEXT,
        "        if not self._recording:\n            return\n",
        "",
        autograd("function_saving"),
    ),
    Mutant(
        "context: what is no tensor is refused after packing",
        CONTEXT,
        "            if tensor is not None and not isinstance(tensor, TensorBase):\n",
        "            if tensor is not None and position > 1:\n",
        autograd("function_saving"),
    ),
    Mutant(
        "context: missing gradients are always zeros",
        CONTEXT,
        "        if self.materialize_grads and",
        "        if",
        autograd("function"),
    ),
    Mutant(
        "context: the number of gradients is not checked",
        CONTEXT,
        "            if len(gradients) < expected or "
        "any(g is not None for g in gradients[expected:]):\n",
        "            if False:\n",
        autograd("function"),
    ),
    Mutant(
        "context: the shape of gradients is not checked",
        CONTEXT,
        "        if gradient._array.shape != shape and not broadcasts_to(shape, gradient.shape):\n",
        "        if False:\n",
        autograd("function"),
    ),
    Mutant(
        "context: forward's arguments are kept, a cycle",
        CONTEXT,
        "        self.forward_arguments = self.to_save = ()\n",
        "",
        autograd("function_saving"),
    ),
    Mutant(
        "context: a saved output has no history",
        CONTEXT,
        "                slot.becomes_output(position)\n",
        "                pass\n",
        autograd("function_saving"),
    ),
    Mutant(
        "context: a dirty leaf is written",
        CONTEXT,
        "            if self._recording and tensor._requires_grad and tensor._node is None:\n",
        "            if False:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "context: a dirty tensor may be kept back",
        CONTEXT,
        "            if not any(tensor is output for output in outputs):\n",
        "            if False:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "function: an input that comes back loses its own history",
        FUNCTION,
        "        if (given or output._requires_grad) and not dirty:\n",
        "        if False:\n",
        autograd("function"),
    ),
    Mutant(
        "function: forward records",
        FUNCTION,
        "        before = grad_enabled.get()\n        try:\n            grad_enabled.set(False)\n",
        "        before = grad_enabled.get()\n        try:\n",
        autograd("function"),
    ),
    Mutant(
        "function: grad mode stays off after an exception",
        FUNCTION,
        "        finally:\n            grad_enabled.set(before)\n",
        "        finally:\n            pass\n        grad_enabled.set(before)\n",
        autograd("function"),
    ),
    Mutant(
        "function: the results are not numbered",
        FUNCTION,
        "result._requires_grad = ctx, position, True\n",
        "result._requires_grad = ctx, 0, True\n",
        autograd("engine"),
    ),
    Mutant(
        "function: a view that comes out can be written",
        FUNCTION,
        "ViewOf(base, (), None, True)",
        "ViewOf(base, (), None, False)",
        autograd("function_marks"),
    ),
    Mutant(
        "function: a view of another result is taken for overwritten",
        FUNCTION,
        "    for view in views:\n",
        "    for view in []:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "function: a saved dirty input keeps its former history",
        FUNCTION,
        "        if dirty or not given:\n",
        "        if not given:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "context: what was saved before the change counts as the result",
        CONTEXT,
        "tensor and version in (None, slot._version):\n",
        "tensor:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "context: a dirty input that is packed closes a cycle",
        CONTEXT,
        "        if self.is_dirty(tensor):\n",
        "        if False:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "context: marking after saving counts as a change",
        CONTEXT,
        "saved is tensor and slot._version == version:\n",
        "False:\n",
        autograd("function_marks"),
    ),
    Mutant(
        "function: once_differentiable does not refuse",
        FUNCTION,
        "        if not recording or not needing:\n",
        "        if True:\n",
        autograd("function"),
    ),
    # -- grad mode ---------------------------------------------------------------------------------
    Mutant(
        "grad_mode: leaving always switches on",
        MODE,
        "                    grad_enabled.set(former)\n",
        "                    grad_enabled.set(True)\n",
        autograd("grad_mode"),
    ),
    Mutant(
        "grad_mode: one mode for all threads",
        MODE,
        'grad_enabled: ContextVar[bool] = ContextVar("grad_enabled", default=True)\n',
        "class _OneForAll:\n"
        "    value = True\n\n"
        "    def get(self):\n"
        "        return self.value\n\n"
        "    def set(self, value):\n"
        "        self.value = value\n\n\n"
        "grad_enabled = _OneForAll()\n",
        autograd("grad_mode"),
    ),
    Mutant(
        "grad_mode: set_grad_enabled waits for with",
        MODE,
        "        self._before = grad_enabled.get()\n        grad_enabled.set(self._mode)\n",
        "        self._before = grad_enabled.get()\n",
        autograd("grad_mode"),
    ),
    Mutant(
        "grad_mode: a decorated generator keeps its mode between steps",
        MODE,
        "                    with _GradMode(mode):\n                        item = step(value)\n",
        "                    grad_enabled.set(mode)\n                    item = step(value)\n",
        autograd("grad_mode"),
    ),
]
