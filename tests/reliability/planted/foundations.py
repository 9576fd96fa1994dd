"""Faults in storage, tensors, transfers, the ledger, nodes and the graph module."""

from __future__ import annotations

from tests.reliability.planted.mutant import (
    LIFETIMES,
    PROCESSES,
    THREADS,
    Mutant,
    autograd,
)

SAVED = "autograd/saved.py"
GRAPH = "autograd/graph.py"
NODE = "autograd/node.py"
BUFFERS = ("tests/test_buffers.py",)
OFFLOADING = autograd("graph", "saved")


MUTANTS: list[Mutant] = [
    Mutant(
        "storage: device bytes are never freed",
        "storage.py",
        "            self._ledger.free(allocation)\n",
        "            pass\n",
        (LIFETIMES,),
    ),
    Mutant(
        "buffers: memory that somebody sees is used again",
        "buffers.py",
        "    if _references(holder) != _ALONE or getweakrefcount(holder.buffer):\n",
        "    if getweakrefcount(holder.buffer):\n",
        BUFFERS,
    ),
    Mutant(
        "buffers: a weak reference counts as nobody",
        "buffers.py",
        " or getweakrefcount(holder.buffer):\n",
        ":\n",
        BUFFERS,
    ),
    Mutant(
        "buffers: all that is freed waits",
        "buffers.py",
        "        if _bytes_waiting + array.nbytes <= KEPT_AT_MOST:\n",
        "        if True:\n",
        BUFFERS,
    ),
    Mutant(
        "buffers: what was given back is handed out twice",
        "buffers.py",
        "            array = arrays.pop()\n",
        "            array = arrays[-1]\n",
        BUFFERS,
    ),
    Mutant(
        "tensor_base: an alias has a version of its own",
        "tensor_base.py",
        "    return new_tensor(type(tensor), tensor._array, tensor._storage)\n",
        "    storage = new_storage(tensor._array, tensor._storage.device, 'detach')\n"
        "    return new_tensor(type(tensor), tensor._array, storage)\n",
        autograd("saved", "inplace"),
    ),
    Mutant(
        "tensor_base: a view does not follow its base",
        "tensor_base.py",
        "    if base._node is memory.base_node or (base._node is None and not memory.steps):\n",
        "    if True:\n",
        autograd("views"),
    ),
    Mutant(
        "tensor_base: a result of a Function does not notice a write to its base",
        "tensor_base.py",
        "    if not memory.steps:\n",
        "    if not memory.steps:\n        return\n",
        autograd("function_marks"),
    ),
    Mutant(
        "tensor_base: requires_grad of a view is stale",
        "tensor_base.py",
        "    view._requires_grad = from_base._requires_grad\n",
        "",
        autograd("views"),
    ),
    Mutant(
        "tensor_base: .grad takes any shape",
        "tensor_base.py",
        "            if value.shape != self.shape or value.dtype != self.dtype:\n",
        "            if value.dtype != self.dtype:\n",
        ("tests/test_tensor.py", "tests/conformance/test_statements.py::test_tensorplay_ref"),
    ),
    Mutant(
        "tensor_base: a retained gradient is lost by a write",
        "tensor_base.py",
        "        tensor._node._extras().retained[tensor._output_nr] = reference\n",
        "",
        autograd("engine", "function_marks"),
    ),
    Mutant(
        "transfer: a copy shares its memory",
        "transfer.py",
        '    array = np.array(tensor._array, order="K", copy=True)\n',
        "    array = tensor._array\n",
        autograd("mutation", "inplace"),
    ),
    Mutant(
        "transfer: every copy runs beside the computing",
        "transfer.py",
        "    beside = non_blocking and pinned_host and to_accelerator is not None\n",
        "    beside = to_accelerator is not None\n",
        ("tests/test_transfer.py",),
    ),
    Mutant(
        "ledger: the peak is not kept",
        "accelerator/ledger.py",
        "            self._peak = max(self._peak, self._live)\n",
        "            self._peak = self._live\n",
        ("tests/test_accelerator.py",),
    ),
    Mutant(
        "ledger: there is always room",
        "accelerator/ledger.py",
        "self._live + nbytes > self.capacity:\n",
        "nbytes > self.capacity:\n",
        ("tests/test_accelerator.py",),
    ),
    Mutant(
        "ledger: an owner is counted twice when its category changes",
        "accelerator/ledger.py",
        "            ledger._count(allocation, -1)\n            allocation.category",
        "            allocation.category",
        ("tests/test_accelerator.py",),
    ),
    Mutant(
        "forking: a child inherits a lock that somebody holds",
        "forking.py",
        '    if hasattr(os, "register_at_fork"):\n',
        "    if False:\n",
        (PROCESSES,),
    ),
    Mutant(
        "graph: leaving pops the innermost entry",
        GRAPH,
        "            hook_stack.set(stack[:position] + stack[position + 1 :])\n",
        "            hook_stack.set(stack[:-1])\n",
        autograd("graph"),
    ),
    Mutant(
        "graph: a push that raises leaves its pair",
        GRAPH,
        "            hook_stack.set(before)\n            raise\n",
        "            raise\n",
        autograd("native_engine"),
    ),
    Mutant(
        "graph: native hooks are pushed first",
        GRAPH,
        "            hook_stack.set((*before, entry))\n            if push is not None:\n",
        "            if push is None:\n                hook_stack.set((*before, entry))\n"
        "            else:\n",
        autograd("native_engine"),
    ),
    Mutant(
        "graph: the Python entry leaves before the native one",
        GRAPH,
        "            native_pop = stack[position].native_pop\n",
        "            hook_stack.set(stack[:position] + stack[position + 1 :])\n"
        "            native_pop = stack[position].native_pop\n",
        autograd("native_engine"),
    ),
    Mutant(
        "graph: disabled hooks can be entered",
        GRAPH,
        "        if message is not None:\n",
        "        if False:\n",
        autograd("graph"),
    ),
    Mutant(
        "graph: disabling forgets the message outside",
        GRAPH,
        "        _disabled.set(former)\n",
        "        _disabled.set(None)\n",
        autograd("graph"),
    ),
    Mutant(
        "graph: save_on_cpu does not check versions",
        GRAPH,
        '        require_version(host, packed.version, "kept on the host by save_on_cpu")\n',
        "",
        OFFLOADING,
    ),
    Mutant(
        "graph: save_on_cpu keeps the tensor itself, a cycle",
        GRAPH,
        "            host = detached(tensor)\n",
        "            host = tensor\n",
        (LIFETIMES,),
    ),
    Mutant(
        "graph: save_on_cpu forgets to pin",
        GRAPH,
        "                pinned=self._pinned,\n",
        "",
        OFFLOADING,
    ),
    Mutant(
        "graph: save_on_cpu leaves it on the host",
        GRAPH,
        "        if device is CPU:\n            return host\n",
        "        if True:\n            return host\n",
        OFFLOADING,
    ),
    Mutant(
        "graph: one stack for all threads",
        "autograd/packing.py",
        'hook_stack: ContextVar[tuple[HookPair, ...]] = ContextVar("hook_stack", default=())\n',
        "class _OneForAll:\n"
        "    value: tuple = ()\n\n"
        "    def get(self):\n"
        "        return self.value\n\n"
        "    def set(self, value):\n"
        "        self.value = value\n\n\n"
        "hook_stack = _OneForAll()\n",
        autograd("graph"),
    ),
    Mutant(
        "graph: increment_version does nothing",
        GRAPH,
        "        one._storage.version += 1\n",
        "        pass\n",
        autograd("graph"),
    ),
    Mutant(
        "node: which result an input was is forgotten",
        NODE,
        "    node.input_numbers = tuple(numbers) if any(numbers) else None\n",
        "    node.input_numbers = None\n",
        autograd("engine", "hooks"),
    ),
    Mutant(
        "node: retain_grad holds its tensor, a cycle",
        NODE,
        "        node._extras().retained[tensor._output_nr] = weakref.ref(tensor)\n",
        "        node._extras().retained[tensor._output_nr] = lambda: tensor\n",
        (LIFETIMES,),
    ),
    Mutant(
        "node: a hook on a leaf that came back goes to the copy",
        NODE,
        "        leaf = tensor if leaf_of(tensor).stands_for is None else "
        "leaf_of(tensor).stands_for\n",
        "        leaf = tensor\n",
        autograd("saved_reading"),
    ),
    Mutant(
        "node: two threads make two accumulators",
        NODE,
        "            node = record.accumulator()\n            if node is None:\n"
        "                node = _new",
        "            if True:\n                node = _new",
        (THREADS,),
    ),
]
