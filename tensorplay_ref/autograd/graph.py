"""autograd.graph: context managers around what the graph saves.

A pack hook runs once for every tensor that is saved while its context is open, by a built-in
operation or by a Function's `save_for_backward`; the matching unpack hook runs whenever the saved
tensor is read, typically inside `backward`, after the context has been left.

Source: the module `tensorplay.autograd.graph` of TensorPlay; what it has not is PyTorch's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from ..arguments import call_text, flag, function_name, require_callable
from ..completion import public_names
from ..contexts import Context, context
from ..device import CPU, Device
from ..tensor_base import TensorBase, detached
from ..transfer import copy_to
from .kept import require_version
from .multi_grad import register_multi_grad_hook
from .mutation import allow_mutation_on_saved_tensors
from .node import GradientEdge, Node, get_gradient_edge
from .packing import HookPair, hook_stack
from .saved import SavedTensor

__all__ = [
    "GradientEdge",
    "Node",
    "SavedTensor",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "native_engine",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensor_hooks",
    "saved_tensors_hooks",
]

__dir__ = public_names(__name__)

P = ParamSpec("P")
R = TypeVar("R")

# Why hooks are forbidden here; None when they are allowed.
_disabled: ContextVar[str | None] = ContextVar("_disabled", default=None)

# The seam to an engine that saves outside Python. TensorPlay's built-in operations save in C++, so
# its hooks are mirrored into `_push_saved_tensors_hooks` / `_pop_saved_tensors_hooks` of its native
# module. Here everything saves through one SavedTensor, so nothing stands behind the seam unless
# `native_engine` puts something there.
_native_autograd: Any = None


class saved_tensor_hooks:
    """Install a (pack, unpack) pair for every tensor saved while the context is open.

    `pack_hook(tensor)` runs once for each saved tensor, with recording off, and may return any
    object. `unpack_hook(packed)` runs at each read, in the grad mode of the reader, and must return
    a tensor of the same shape, dtype kind and device. Only the innermost pair applies. The pair is
    kept with what it packed, so unpacking works after the context has been left.

    A context manager that can be entered again and nested in itself, and a decorator. The stack of
    open contexts is private to each thread and each asyncio task. (In a generator, an open context
    is open for the consumer too, until the generator goes on: that is how context variables work.)

    Errors:
        TypeError on entering when a hook cannot be called; RuntimeError on entering inside
        `disable_saved_tensors_hooks`. What a hook raises reaches the caller as the same object.

    Source: TensorPlay's `saved_tensor_hooks`; `saved_tensors_hooks` is the same object.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        for name in ("pack_hook", "unpack_hook"):
            require_callable(f"saved tensor hooks: {name}", getattr(self, name))
        message = _disabled.get()
        if message is not None:
            raise RuntimeError(message)
        push = getattr(_native_autograd, "_push_saved_tensors_hooks", None)
        pop = getattr(_native_autograd, "_pop_saved_tensors_hooks", None)
        entry = HookPair(self.pack_hook, self.unpack_hook, self, None if push is None else pop)
        before = hook_stack.get()
        try:
            hook_stack.set((*before, entry))
            if push is not None:
                push(self.pack_hook, self.unpack_hook)
        except BaseException:
            # An error of the engine's, or an interrupt: nobody will call __exit__.
            hook_stack.set(before)
            raise

    def __exit__(self, *exception: object) -> None:
        # Remove this object's own innermost entry, whatever was left open above it.
        stack = hook_stack.get()
        for position in range(len(stack) - 1, -1, -1):
            if stack[position].owner is self:
                break
        else:
            raise RuntimeError(
                "saved tensor hooks: left without having been entered in this thread or task"
            )
        try:
            native_pop = stack[position].native_pop
            if native_pop is not None:
                native_pop()
        finally:
            hook_stack.set(stack[:position] + stack[position + 1 :])

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate `function`: its calls run inside the context."""

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return wrapper

    def __repr__(self) -> str:
        return call_text(type(self).__name__, self.pack_hook, self.unpack_hook)


saved_tensors_hooks = saved_tensor_hooks


class OnHost(tuple[TensorBase, Device]):
    """What `save_on_cpu` packs: `(host tensor, original device)`, and the version of the former."""

    version: int


class save_on_cpu(saved_tensor_hooks):
    """Keep saved tensors in host memory and bring each back to its device when it is read.

    A tensor that is on the host already is kept, not copied; it keeps its protection: changed in
    place after it was saved, it raises RuntimeError when read (TensorPlay and PyTorch give silently
    wrong gradients there).

    Args:
        pin_memory: use pinned host memory, so that copies run beside the computing.
        device_type: accepted as in TensorPlay and PyTorch, and not used.

    Saves: what the pair packs is `(host tensor, original device)`.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if callable(pin_memory):
            raise TypeError(
                "save_on_cpu: pin_memory must be True or False, found the function "
                f"{function_name(pin_memory)}; as a decorator write @save_on_cpu() with parentheses"
            )
        del device_type
        self._pinned = flag("save_on_cpu: pin_memory", pin_memory)

    # Methods instead of the base's attributes, so that the object can be copied and pickled.
    def pack_hook(self, tensor: TensorBase) -> OnHost:
        """The tensor on the host, and the device that it comes from."""
        device = tensor.device
        if device is CPU:
            # An alias, because the tensor itself may be written in place by one of its users, and
            # would then hold the graph that holds it.
            host = detached(tensor)
        else:
            host = copy_to(
                tensor,
                CPU,
                pinned=self._pinned,
                non_blocking=self._pinned,
                operation="save_on_cpu",
                category="saved for backward",
            )
        packed = OnHost((host, device))
        packed.version = host._version
        return packed

    def unpack_hook(self, packed: OnHost) -> TensorBase:
        """The tensor on its device. Errors: RuntimeError when it was changed in place since."""
        host, device = packed
        require_version(host, packed.version, "kept on the host by save_on_cpu")
        if device is CPU:
            return host
        return copy_to(host, device, non_blocking=self._pinned, operation="save_on_cpu")

    def __repr__(self) -> str:
        return call_text(type(self).__name__, pin_memory=self._pinned)


def _current_pair() -> tuple[Callable[[Any], Any], Callable[[Any], Any]] | None:
    """The innermost (pack, unpack) pair of this thread or task; None when there is none."""
    stack = hook_stack.get()
    return (stack[-1].pack, stack[-1].unpack) if stack else None


def disable_saved_tensors_hooks(error_message: str) -> Context[None]:
    """Forbid saved tensor hooks inside: entering a pair raises RuntimeError(error_message).

    Nests, and puts the former message back. Errors: RuntimeError(error_message) at once when hooks
    are open already; TypeError for a message that is no text. Source: PyTorch's
    `disable_saved_tensors_hooks`.
    """
    if not isinstance(error_message, str):
        raise TypeError(
            "disable_saved_tensors_hooks: error_message must be a str, found "
            f"{type(error_message).__name__}"
        )
    return _disable_saved_tensors_hooks(error_message)


@context
def _disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    if hook_stack.get():
        raise RuntimeError(error_message)
    former = _disabled.get()
    try:
        _disabled.set(error_message)
        yield
    finally:
        _disabled.set(former)


@context
def native_engine(engine: Any) -> Iterator[None]:
    """Tell `engine` of every entry and exit of saved tensor hooks inside the context.

    The engine offers `_push_saved_tensors_hooks(pack, unpack)` and `_pop_saved_tensors_hooks()`, as
    TensorPlay's native module does; without them nothing changes.
    """
    global _native_autograd
    former, _native_autograd = _native_autograd, engine
    try:
        yield
    finally:
        _native_autograd = former


def increment_version(tensor: TensorBase | Iterable[TensorBase]) -> None:
    """Count a change that was made behind the package's back, such as through a NumPy alias.

    Errors: TypeError for what is neither a tensor nor an iterable of tensors.
    """
    tensors: list[Any] = [tensor]
    if isinstance(tensor, Iterable) and not isinstance(tensor, TensorBase):
        tensors = list(tensor)
    for one in tensors:
        if not isinstance(one, TensorBase):
            raise TypeError(
                "increment_version expects a Tensor or an iterable of Tensors, found "
                f"{type(one).__name__}"
            )
    for one in tensors:
        one._storage.version += 1
