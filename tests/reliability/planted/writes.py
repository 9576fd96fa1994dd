"""Faults in in-place operations, mutation, multi-grad hooks, anomaly, gradcheck, grad."""

from __future__ import annotations

from tests.reliability.planted.mutant import LIFETIMES, PROGRAMS, Mutant, autograd

MUTATION = "autograd/mutation.py"
MULTI = "autograd/multi_grad.py"
INPLACE = "ops/inplace.py"
WRITABLE = "ops/writable.py"
DIFFERENTIATION = "autograd/differentiation.py"

MUTANTS: list[Mutant] = [
    # -- in place ----------------------------------------------------------------------------------
    Mutant(
        "inplace: a write is not counted",
        INPLACE,
        "    storage.version += 1\n",
        "",
        autograd("inplace"),
    ),
    Mutant(
        "inplace: a leaf that requires grad is written",
        WRITABLE,
        '        leaf = "a leaf" if target._node is None else ""\n',
        '        leaf = ""\n',
        autograd("inplace"),
    ),
    Mutant(
        "inplace: a view of a leaf is written",
        WRITABLE,
        "        if base is not None and base._requires_grad and base._node is None:\n",
        "        if False:\n",
        autograd("inplace"),
    ),
    Mutant(
        "inplace: written before everything is saved",
        INPLACE,
        "    node = _record(cls, target, others, params, more) if recorded else None\n"
        "    write(cls.__name__, target, out)\n",
        "    write(cls.__name__, target, out)\n"
        "    node = _record(cls, target, others, params, more) if recorded else None\n",
        autograd("inplace"),
    ),
    Mutant(
        "inplace: a view is written without its base",
        INPLACE,
        "    if target._view is not None:\n        written",
        "    if False:\n        written",
        autograd("views"),
    ),
    Mutant(
        "inplace: what a view overwrote keeps its gradient",
        INPLACE,
        "        copy_(view, 0.0 if inner[0] is None else inner[0])\n",
        "",
        autograd("views"),
    ),
    Mutant(
        "inplace: expanded memory is written",
        WRITABLE,
        "    if expanded or not array.flags.writeable:\n",
        "    if False:\n",
        autograd("inplace"),
    ),
    Mutant(
        "inplace: a result of another shape is written",
        INPLACE,
        "    if out.shape != target._array.shape:\n",
        "    if False:\n",
        autograd("inplace"),
    ),
    Mutant(
        "inplace: floating numbers are cut to integers",
        INPLACE,
        '    if not np.can_cast(out.dtype, target._array.dtype, "same_kind"):\n',
        "    if False:\n",
        autograd("inplace"),
    ),
    Mutant(
        "inplace: writing passes by those who allow mutation",
        INPLACE,
        "    if guard is not None:\n        guard(storage)\n",
        "",
        autograd("mutation"),
    ),
    Mutant(
        "inplace: the copy onto itself is not recorded",
        INPLACE,
        "    node = _record(CopyInto, target, (source,), (), ()) if recorded else None\n",
        "    node = None\n",
        autograd("inplace"),
    ),
    # -- mutation and multi-grad hooks -------------------------------------------------------------
    Mutant(
        "mutation: the saved value is the overwritten one",
        MUTATION,
        "            kept.value = clones[view]\n",
        "",
        autograd("mutation"),
    ),
    Mutant(
        "mutation: one clone for all views of a storage",
        MUTATION,
        "            view = place_of(kept.value)\n",
        "            view = 0\n",
        autograd("mutation"),
    ),
    Mutant(
        "mutation: writes are still watched afterwards",
        MUTATION,
        "            before_write.set(None)\n",
        "            pass\n",
        autograd("mutation"),
    ),
    Mutant(
        "mutation: backward works outside, silently wrong",
        MUTATION,
        "        guard.open = False\n",
        "        pass\n",
        autograd("mutation"),
    ),
    Mutant(
        "mutation: saved values are held",
        MUTATION,
        "WeakSet()).add(kept)\n",
        "set()).add(kept)\n",
        autograd("mutation"),
    ),
    Mutant(
        "multi_grad: waits for gradients that will not come",
        MULTI,
        "                    missing = sum(n() is here or n() in ahead for n in nodes)\n",
        "                    missing = count\n",
        autograd("multi_grad"),
    ),
    Mutant(
        'multi_grad: "any" fires for each',
        MULTI,
        '            if mode == "any" and first:\n',
        '            if mode == "any":\n',
        autograd("multi_grad"),
    ),
    Mutant(
        "multi_grad: the hook holds its nodes, a cycle",
        MULTI,
        "        return ref(node)\n",
        "        return lambda: node\n",
        autograd("multi_grad"),
    ),
    # -- anomaly and gradcheck ---------------------------------------------------------------------
    Mutant(
        "anomaly: a NaN is not noticed",
        "autograd/anomaly.py",
        "        if grad is not None and np.isnan(grad._array).any():\n",
        "        if False:\n",
        autograd("anomaly"),
    ),
    Mutant(
        "gradcheck: everything is near enough",
        "autograd/gradcheck.py",
        "    wrong = ~(np.abs(found - expected) <= allowed)\n",
        "    wrong = np.abs(found - expected) > 1e6\n",
        autograd("gradcheck"),
    ),
    Mutant(
        "differentiation: two gradients of grad share a buffer",
        DIFFERENTIATION,
        "            if gradient._storage in taken:\n",
        "            if False:\n",
        autograd("gradient_buffers"),
    ),
    Mutant(
        "differentiation: a retained gradient is counted twice",
        DIFFERENTIATION,
        "        if not retains_grad(tensor):\n",
        "        if True:\n",
        autograd("engine"),
    ),
    Mutant(
        "differentiation: create_graph follows the caller's mode",
        DIFFERENTIATION,
        "@enable_grad()\n",
        "",
        autograd("gradient_buffers"),
    ),
    Mutant(
        "handles: a removed hook is still called",
        "handles.py",
        "            hooks.pop(self.id, None)\n",
        "            pass\n",
        autograd("hooks") + (LIFETIMES, PROGRAMS),
    ),
]
