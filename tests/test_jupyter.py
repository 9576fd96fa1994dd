"""What JupyterLab shows at Tab and Shift-Tab: names, signatures and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

import tensorplay_ref as tp

SET_UP = """
import tensorplay_ref as tp
from tensorplay_ref.autograd import Function
from tensorplay_ref.autograd.graph import save_on_cpu, saved_tensor_hooks
x = tp.ones(2, 3, requires_grad=True)
y = (x * x).sum()
"""
SECONDS = 60


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    """A kernel in which a reader has made a tensor."""
    manager, client = start_new_kernel(
        kernel_name="python3", extra_arguments=["--IPKernelApp.log_level=ERROR"]
    )
    client.execute_interactive(SET_UP, timeout=SECONDS)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def inspected(kernel: BlockingKernelClient, code: str) -> str:
    """The text that Shift-Tab shows with the cursor at the end of the code, without colours."""
    reply: Any = kernel.inspect(code, len(code), reply=True, timeout=SECONDS)
    assert reply["content"]["found"], code
    return re.sub(r"\x1b\[[0-9;]*m", "", reply["content"]["data"]["text/plain"])


@pytest.mark.parametrize(
    ("code", "signature", "docstring"),
    [
        ("x.sum(", "dim", "The sum."),
        ("x.matmul(", "other", "self @ other"),
        ("x.backward(", "retain_graph", "Add the gradients of this tensor"),
        ("x.__add__", "other", "self + other"),
        ("x.__matmul__(", "other", "self @ other"),
        ("x.__getitem__(", "key", "A part"),
        ("tp.tensor(", "requires_grad", "A leaf with a copy"),
        ("tp.exp(", "self", "e ** self"),
        ("tp.nn.functional.relu(", "inplace", "Saves: the result"),
        ("tp.autograd.grad(", "create_graph", "The gradients of `outputs`"),
        ("Function.apply(", "*args", "Run forward"),
        ("saved_tensor_hooks(", "unpack_hook", "Install a (pack, unpack) pair"),
        ("save_on_cpu(", "pin_memory: 'bool' = False", "Keep saved tensors in host memory"),
        ("tp.cuda.simulate(", "capacity", "accelerator"),
        ("x.grad", "property", "The gradient that backward has added up"),
    ],
)
def test_shift_tab_shows_signature_and_docstring(
    kernel: BlockingKernelClient, code: str, signature: str, docstring: str
) -> None:
    text = inspected(kernel, code)
    before, _, after = text.partition("Docstring:")
    assert signature in text and docstring in after, text
    if code.endswith("("):
        assert "ignature:" in before and signature in before, text


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x.su", {"sub", "sub_", "sum", "sum_to_size"}),
        ("x.requires_grad", {"requires_grad", "requires_grad_"}),
        ("x.__m", {"__matmul__", "__mul__"}),
        ("tp.save", set()),
        ("tp.ones", {"ones", "ones_like"}),
        ("tp.autograd.graph.save", {"save_on_cpu", "saved_tensor_hooks", "saved_tensors_hooks"}),
        ("tp.cuda.max_", {"max_memory_allocated"}),
        ("y.grad_fn.next", {"next_functions"}),
        ("tp.tensor(1.0, requ", {"requires_grad="}),
        ("saved_tensor_hooks(pack_", {"pack_hook="}),
    ],
)
def test_tab_completes_the_names(kernel: BlockingKernelClient, code: str, names: set[str]) -> None:
    reply: Any = kernel.complete(code, len(code), reply=True, timeout=SECONDS)
    found = {match.rpartition(".")[2] for match in reply["content"]["matches"]}
    assert names <= found if names else not found


OPERATORS = [
    name
    for name in dir(tp.Tensor)
    if name.startswith("__")
    and hasattr(np.ndarray, name)
    and name not in dir(object)
    # What Python calls by itself has no place where a reader could ask.
    and name != "__deepcopy__"
    and not name.startswith("__array_")
]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_says_what_it_does(name: str) -> None:
    assert getattr(tp.Tensor, name).__doc__, f"{name} has no docstring"
