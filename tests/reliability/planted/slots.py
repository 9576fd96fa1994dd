"""Faults in saved slots."""

from __future__ import annotations

from tests.reliability.planted.mutant import LIFETIMES, Mutant, autograd

SAVED = "autograd/saved.py"
UNPACKED = "autograd/unpacked.py"


MUTANTS: list[Mutant] = [
    Mutant(
        "saved: the outermost pair packs",
        SAVED,
        "        slot._pack(tensor, stack[-1], owner)\n",
        "        slot._pack(tensor, stack[0], owner)\n",
        autograd("graph"),
    ),
    Mutant(
        "saved: the unpack of the outermost pair travels with the slot",
        SAVED,
        "        self._unpack_hook = pair.unpack\n",
        "        self._unpack_hook = (hook_stack.get() or (pair,))[0].unpack\n",
        autograd("graph"),
    ),
    Mutant(
        "saved: a pack that writes is not noticed",
        SAVED,
        "        if storage.version != self._version:\n            raise",
        "        if False:\n            raise",
        autograd("saved"),
    ),
    Mutant(
        "saved: pack runs with recording on",
        SAVED,
        "            grad_enabled.set(False)\n            saving_node[thread] = owner\n",
        "            saving_node[thread] = owner\n",
        autograd("saved"),
    ),
    Mutant(
        "saved: an exception in pack leaves recording off",
        SAVED,
        "the hook.\n            grad_enabled.set(recording)\n        if storage",
        "the hook.\n        grad_enabled.set(recording)\n        if storage",
        autograd("saved"),
    ),
    Mutant(
        "saved: what was packed is looked up by id",
        SAVED,
        "            packed = pair.pack(argument)\n",
        '            seen = globals().setdefault("_seen", {})\n'
        "            if id(argument) not in seen:\n"
        "                seen[id(argument)] = pair.pack(argument)\n"
        "            packed = seen[id(argument)]\n",
        autograd("saved", "graph"),
    ),
    Mutant(
        "saved: unpacking is cached",
        SAVED,
        "            value = hook(self._value)\n",
        "            if not isinstance(self._value, TensorBase):\n"
        "                self._value = hook(self._value)\n"
        "            value = self._value\n",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: no version check",
        SAVED,
        "        if found == self._version:\n",
        "        if True:\n",
        autograd("saved"),
    ),
    Mutant(
        "saved: no version check where only the values are read",
        SAVED,
        "        if storage.version != self._version:\n"
        "            self._check_version(owner)\n        value: Array",
        "        value: Array",
        autograd("saved"),
    ),
    Mutant(
        "saved: freed too late",
        SAVED,
        "        self._value = self._storage = self._unpack_hook = None\n",
        "        self._storage = self._unpack_hook = None\n",
        autograd("saved"),
    ),
    Mutant(
        "saved: a freed slot is read silently",
        SAVED,
        "        self._value = self._storage = self._unpack_hook = None\n",
        "        self._value = self._unpack_hook = None\n",
        autograd("saved"),
    ),
    Mutant(
        "saved: unpack may return another shape",
        UNPACKED,
        "    if array.shape != shape:\n",
        "    if False:\n",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: an index may come back with another dtype",
        UNPACKED,
        '    if array.dtype.kind != dtype.kind or dtype.kind not in "fc":\n',
        "    if array.dtype.kind != dtype.kind:\n",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: another floating dtype is not cast back",
        UNPACKED,
        "    array = array.astype(dtype)\n",
        "",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: the hook's own tensor is dressed",
        SAVED,
        "                value = detached(value)\n",
        "                pass\n",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: what is read has no history",
        SAVED,
        "            value._node = node\n",
        "",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: a leaf read through a hook is another leaf",
        SAVED,
        "                leaf_of(value).stands_for = self._leaf\n",
        "                pass\n",
        autograd("saved_reading"),
    ),
    Mutant(
        "saved: pack gets the result itself, a cycle",
        SAVED,
        "        argument = new_tensor(type(tensor), tensor._array, storage) "
        "if self._is_output else tensor\n",
        "        argument = tensor\n",
        (LIFETIMES,),
    ),
    Mutant(
        "saved: a slot holds its tensor, a cycle",
        SAVED,
        "    slot._original = weak_reference(tensor)\n",
        "    slot._original = lambda: tensor\n",
        (LIFETIMES,),
    ),
    Mutant(
        "saved: an overwritten operand is handed back",
        SAVED,
        "                and original._array is self._value\n",
        "",
        autograd("saved"),
    ),
    Mutant(
        "saved: a written result looks changed",
        SAVED,
        "            self._version = storage.version\n",
        "            pass\n",
        autograd("inplace"),
    ),
]
