"""Faults in the backward walk: the engine, hooks, and putting gradients down."""

from __future__ import annotations

from tests.reliability.planted.mutant import DEPTH, LIFETIMES, PROGRAMS, THREADS, Mutant, autograd

ENGINE = "autograd/engine.py"
HOOKS = "autograd/hooks.py"
ACCUMULATE = "autograd/accumulate.py"


MUTANTS: list[Mutant] = [
    Mutant(
        "engine: a gradient is assigned instead of added",
        ENGINE,
        "        pending[node] = held + grad\n",
        "        pending[node] = grad\n",
        autograd("engine"),
    ),
    Mutant(
        "engine: a shared gradient is added to in place",
        ENGINE,
        "    elif node not in owned or create_graph:\n",
        "    elif create_graph:\n",
        autograd("engine", "gradient_buffers") + (PROGRAMS,),
    ),
    Mutant(
        "engine: sums of a recorded backward have no history",
        ENGINE,
        "    elif node not in owned or create_graph:\n",
        "    elif node not in owned:\n",
        autograd("engine") + (PROGRAMS,),
    ),
    Mutant(
        "engine: nodes run in the order in which they are found",
        ENGINE,
        "    order.sort(key=_age)\n",
        "    order.reverse()\n",
        autograd("engine"),
    ),
    Mutant(
        "engine: the walk recurses",
        ENGINE,
        "    for node in order:  # the list grows while it is walked\n"
        "        for below in node.input_nodes:\n"
        "            if below is not None and below not in seen:\n"
        "                seen.add(below)\n"
        "                order.append(below)\n",
        "    def visit(node: Node) -> None:\n"
        "        for below in node.input_nodes:\n"
        "            if below is not None and below not in seen:\n"
        "                seen.add(below)\n"
        "                order.append(below)\n"
        "                visit(below)\n\n"
        "    for node in list(order):\n"
        "        visit(node)\n",
        (DEPTH,),
    ),
    Mutant(
        "engine: nothing is freed",
        ENGINE,
        "                if node.saved_slots and not retain_graph:\n",
        "                if False:\n",
        autograd("saved"),
    ),
    Mutant(
        "engine: freed although the graph is retained",
        ENGINE,
        "                if node.saved_slots and not retain_graph:\n",
        "                if node.saved_slots:\n",
        autograd("engine"),
    ),
    Mutant(
        "engine: grad mode stays after an exception",
        ENGINE,
        "            grad_enabled.set(mode_before)\n",
        "            pass\n",
        autograd("refusals"),
    ),
    Mutant(
        "engine: a failing backward has changed gradients",
        ENGINE,
        "                    elif leaf is not None and leaf.post_hooks:\n",
        "                    elif True:\n",
        autograd("refusals"),
    ),
    Mutant(
        "engine: gradients are put down while memory may still end",
        ENGINE,
        "    if not create_graph:\n        # First",
        "    if False:\n        # First",
        autograd("refusals"),
    ),
    Mutant(
        "engine: the targets of grad run",
        ENGINE,
        "                if running is not None and node not in running:\n",
        "                if False:\n",
        autograd("engine"),
    ),
    Mutant(
        "engine: the walk keeps a gradient too long",
        ENGINE,
        "                grads = grad = array = None\n",
        "                array = None\n",
        (LIFETIMES,),
    ),
    Mutant(
        "engine: a gradient that a hook has seen becomes .grad",
        ENGINE,
        "                        own = False",
        "                        pass",
        autograd("gradient_buffers"),
    ),
    Mutant(
        "engine: a gradient that a node's hook has seen becomes .grad",
        ENGINE,
        " and not watchers and (node.node_extras is None or not node.node_extras.posthooks)\n",
        " and not watchers\n",
        autograd("gradient_buffers"),
    ),
    Mutant(
        "hooks: another dtype is taken",
        HOOKS,
        "    if answer.dtype != grad.dtype:\n",
        "    if False:\n",
        autograd("hooks"),
    ),
    Mutant(
        "hooks: a retained gradient shares its buffer",
        HOOKS,
        "                gradient = gradient.clone() if create_graph else own_copy(gradient)\n",
        "                pass\n",
        autograd("gradient_buffers"),
    ),
    Mutant(
        "hooks: node hooks see gradients that were not summed",
        HOOKS,
        "fitted_to_result(gradient, below, number)\n",
        "gradient\n",
        autograd("hooks"),
    ),
    Mutant(
        "accumulate: .grad is assigned instead of added to",
        ACCUMULATE,
        "        array += grad._array\n",
        "        array[...] = grad._array\n",
        autograd("engine"),
    ),
    Mutant(
        "accumulate: adding to .grad is no write",
        ACCUMULATE,
        "        held._storage.version += 1\n",
        "",
        autograd("engine"),
    ),
    Mutant(
        "accumulate: .grad is the gradient that arrived",
        ACCUMULATE,
        "            own = grad.clone() if create_graph else own_copy(grad)\n",
        "            pass\n",
        autograd("gradient_buffers"),
    ),
    Mutant(
        "accumulate: adding passes by those who allow mutation",
        ACCUMULATE,
        "            guard(held._storage)\n",
        "            pass\n",
        autograd("mutation"),
    ),
    Mutant(
        "engine: two threads put down at once",
        ENGINE,
        "    with leaf_lock:\n",
        "    if True:\n",
        (THREADS,),
    ),
    Mutant(
        "accumulate: two threads put down at once where there are hooks",
        ACCUMULATE,
        "    with leaf_lock:\n",
        "    if True:\n",
        (THREADS,),
    ),
]
