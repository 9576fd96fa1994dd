"""The network of the last notebook, which saves what its policy says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorplay_ref as tp

from ..autograd.graph import saved_tensor_hooks
from ..saving import choose, offload, quantize
from ..saving.policy import is_parameter
from ..utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

Policy = Callable[[str, Any], Any]

BLOCKS = 8
WIDTH = 64
CLASSES = 10


class Network:
    """64 features, a layer to 64, eight blocks h + relu(h B) A, a layer to 10 classes; float64.

    Args:
        device: where its parameters live, the same at every call.
        policy: what to do with what is saved; None keeps all of it.
        segment: how many blocks a region of recomputation holds; None for no region.
    """

    def __init__(self, device: Any, policy: Policy | None, segment: int | None) -> None:
        if segment is not None and segment not in range(1, BLOCKS + 1):
            raise ValueError(f"segment is None or from 1 to {BLOCKS} blocks, found {segment!r}")
        rng = np.random.default_rng(0)

        def matrix(columns: int = WIDTH, gain: float = 1.0) -> Any:
            values = rng.standard_normal((WIDTH, columns)) * gain / np.sqrt(WIDTH)
            return tp.tensor(values, device=device, requires_grad=True)

        self.first = matrix()
        self.blocks = [(matrix(), matrix(gain=0.1)) for _ in range(BLOCKS)]
        self.last = matrix(CLASSES)
        self.parameters = [self.first, *(w for pair in self.blocks for w in pair), self.last]
        self._segment = segment
        self._hooks = None if policy is None else hooks(policy)
        self._region = None if policy is None else functools.partial(regions, policy)

    def __call__(self, images: Any) -> Any:
        """The logits, shape (n, 10), of images of shape (n, 64)."""
        hidden = images @ self.first
        if self._segment is None or self._region is None:
            return through(self.blocks, hidden) @ self.last
        for start in range(0, BLOCKS, self._segment):
            blocks = self.blocks[start : start + self._segment]
            hidden = checkpoint(through, blocks, hidden, context_fn=self._region)
        return hidden @ self.last

    def loss(self, images: Any, labels: Any) -> Any:
        """The mean cross-entropy, with what is saved for backward saved under the policy."""
        if self._hooks is None:
            return tp.nn.functional.cross_entropy(self(images), labels)
        with self._hooks:
            return tp.nn.functional.cross_entropy(self(images), labels)


def through(blocks: Sequence[tuple[Any, Any]], hidden: Any) -> Any:
    """Apply residual blocks in a row."""
    for before, after in blocks:
        hidden = hidden + (hidden @ before).relu() @ after
    return hidden


def hooks(policy: Policy) -> choose:
    """The pair of hooks that does what a policy says of tensors that are not computed again.

    Parameters stay where they are, and the policy is not asked. "recompute" outside of a region
    means "keep". A policy may also return any saved_tensor_hooks object.

    Errors: ValueError for another answer.
    """
    host, small = offload(min_bytes=0, pin_memory=True), quantize()
    actions = {"keep": None, "recompute": None, "host": host, "int8": small}

    def select(operation: str, tensor: Any) -> Any:
        if is_parameter(tensor):
            return None
        answer = policy(operation, tensor)
        if answer is None or isinstance(answer, saved_tensor_hooks):
            return answer
        if not isinstance(answer, str) or answer not in actions:
            raise ValueError(
                f"a policy answers {', '.join(map(repr, actions))}; found {answer!r} for "
                f"{operation}"
            )
        return actions[answer]

    return choose(select)


def regions(policy: Policy) -> tuple[Any, Any]:
    """The contexts of a region in which only what the policy answers "recompute" for is not saved.

    Everything else of the region is saved through the hooks around it.
    """

    def saves(context: Any, operation: str, tensor: Any) -> bool:
        return is_parameter(tensor) or policy(operation, tensor) != "recompute"

    return create_selective_checkpoint_contexts(saves)
