"""One face for every implementation: the common names, and the few differences in spelling."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NotOffered(Exception):
    """The implementation does not offer a name; the message is the name."""


class NoAccelerator(NotOffered):
    """The implementation, or this machine, has no accelerator that can be used."""


class Names:
    """A namespace of an implementation; a name that is missing raises :class:`NotOffered`."""

    def __init__(self, target: Any, path: str) -> None:
        self._target = target
        self._path = path

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name, _MISSING)
        if found is _MISSING:
            raise NotOffered(f"{self._path}.{name}" if self._path else name)
        return found

    @contextmanager
    def replaced(self, name: str, value: Any) -> Iterator[None]:
        """Inside, the namespace holds another value under an offered name."""
        original = self.__getattr__(name)
        setattr(self._target, name, value)
        try:
            yield
        finally:
            setattr(self._target, name, original)


_MISSING = object()


class Api:
    """The names of an implementation, as the statements use them.

    ``module_name`` is the importable name. Every attribute that is not defined here is looked up
    in that module: ``api.cat``, ``api.float32``, ``api.no_grad``. Differences that are only a
    matter of spelling are bridged here and nowhere else.
    """

    def __init__(self, module_name: str) -> None:
        self.module_name = module_name
        self.module = importlib.import_module(module_name)
        self.autograd = self._namespace("autograd")
        self.graph = self._namespace("autograd.graph")
        self.functional = self._namespace("nn.functional")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.module, name, _MISSING)
        if found is _MISSING:
            raise NotOffered(name)
        return found

    def _namespace(self, path: str) -> Names:
        """A submodule, or an attribute of the same path; empty when there is neither."""
        target: Any
        try:
            target = importlib.import_module(f"{self.module_name}.{path}")
        except ImportError:
            target = self.module
            for part in path.split("."):
                target = getattr(target, part, None)
        return Names(target if target is not None else ModuleType(path), path)

    @property
    def version(self) -> str:
        """The version of the implementation, empty when it tells none."""
        return str(getattr(self.module, "__version__", ""))

    # Tensors and values

    def leaf(self, data: Any, dtype: Any = None) -> Any:
        """A leaf that requires grad; float64 unless told otherwise."""
        return self.tensor(data, dtype=dtype or self.float64, requires_grad=True)

    def constant(self, data: Any, dtype: Any = None) -> Any:
        """A tensor that does not require grad; float64 unless told otherwise."""
        return self.tensor(data, dtype=dtype or self.float64)

    def array(self, value: Any) -> NDArray[Any]:
        """A NumPy copy of a tensor's values."""
        if isinstance(value, self.Tensor):
            value = value.detach()
            if str(value.device).split(":")[0] != "cpu":
                value = value.to("cpu")
            value = value.numpy()
        return np.array(value)

    def same_memory(self, first: Any, second: Any) -> bool:
        """Whether two tensors on the host look at common memory."""
        return np.shares_memory(first.detach().numpy(), second.detach().numpy())

    def output_number(self, tensor: Any) -> int:
        """Which output of its node a tensor is; TensorPlay has a method for it."""
        number = tensor.output_nr
        return int(number() if callable(number) else number)

    # Hooks

    def hooks(self, pack: Any, unpack: Any) -> Any:
        """The context that installs a pair, under the name that all implementations share."""
        return self.graph.saved_tensors_hooks(pack, unpack)

    def innermost_pair(self) -> Any:
        """The active pair or None; PyTorch keeps this reader in its native part."""
        native = getattr(getattr(self.module, "_C", None), "_autograd", None)
        reader = getattr(native, "_top_saved_tensors_default_hooks", None)
        return reader(True) if reader is not None else self.graph._current_pair()

    # Functions

    @property
    def Function(self) -> Any:
        """The base class of custom operations."""
        return self.autograd.Function

    def function(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any] | None = None,
        *,
        name: str = "Custom",
        **more: Callable[..., Any],
    ) -> Any:
        """A Function made of plain functions; ``more`` holds setup_context, vjp and the like."""
        body = {"forward": forward, **more}
        if backward is not None:
            body["backward"] = backward
        return type(name, (self.Function,), {key: staticmethod(f) for key, f in body.items()})

    # Gradients

    def grad(self, outputs: Any, inputs: Any, *positional: Any, **keywords: Any) -> Any:
        """``autograd.grad``; a keyword that it does not have is not offered."""
        self._refuse_unknown(self.autograd.grad, "autograd.grad", keywords)
        return self.autograd.grad(outputs, inputs, *positional, **keywords)

    def backward(self, tensors: Any, *positional: Any, **keywords: Any) -> None:
        """``autograd.backward``; a keyword that it does not have is not offered."""
        self._refuse_unknown(self.autograd.backward, "autograd.backward", keywords)
        self.autograd.backward(tensors, *positional, **keywords)

    @staticmethod
    def _refuse_unknown(call: Callable[..., Any], path: str, keywords: dict[str, Any]) -> None:
        offered = inspect.signature(call).parameters
        if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in offered.values()):
            return
        for name in keywords:
            if name not in offered:
                raise NotOffered(f"{path}({name}=)")

    # Nodes

    def node_name(self, node: Any) -> str:
        """A node's name; TensorPlay has an attribute for it, PyTorch a method with C++ names."""
        name = node.name
        return str(name() if callable(name) else name).split("::")[-1]

    def next_nodes(self, node: Any) -> list[Any]:
        """The nodes that a node hands its gradients to, None where there is none."""
        return [following for following, _ in node.next_functions]

    def remove(self, handle: Any) -> None:
        """Take a registered hook off again."""
        if handle is None:
            raise NotOffered("a handle to remove a hook")
        handle.remove()

    # Checkpoint and devices

    def checkpoint(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """``utils.checkpoint.checkpoint``, always of the kind that is built on the hooks."""
        checkpoint = self._namespace("utils.checkpoint").checkpoint
        keywords.setdefault("use_reentrant", False)
        self._refuse_unknown(checkpoint, "utils.checkpoint.checkpoint", keywords)
        return checkpoint(function, *arguments, **keywords)

    @property
    def CheckpointError(self) -> Any:
        """The error of a recomputation that differs from the forward pass."""
        return self._namespace("utils.checkpoint").CheckpointError

    def accelerator(self) -> Any:
        """The device "cuda" where it can be used."""
        self._check_accelerator()
        return self.make_device("cuda")

    def make_device(self, *arguments: Any) -> Any:
        """A device object; PyTorch knows the lower-case name only."""
        kind = getattr(self.module, "Device", None) or self.device
        return kind(*arguments)

    def simulated(self) -> Names:
        """The module ``cuda`` of an implementation whose accelerator is simulated."""
        self._check_accelerator()
        if not getattr(self.module.cuda, "is_simulated", lambda: False)():
            raise NoAccelerator("a simulated accelerator")
        return Names(self.module.cuda, "cuda")

    def _check_accelerator(self) -> None:
        cuda = getattr(self.module, "cuda", None)
        if not getattr(cuda, "is_available", lambda: False)():
            raise NoAccelerator("a usable accelerator")

    # Isolation

    def state(self) -> tuple[bool, bool]:
        """What a statement must leave behind as it was: whether grad is on, and no pair active.

        An implementation without a reader for one of them is taken to be in order.
        """
        try:
            grad_enabled = bool(self.is_grad_enabled())
        except NotOffered:
            grad_enabled = True
        try:
            no_pair = self.innermost_pair() is None
        except NotOffered:
            no_pair = True
        return grad_enabled, no_pair

    def owns(self, value: Any) -> bool:
        """Whether a value is a module or an object of the implementation."""
        roots: Sequence[str]
        if inspect.ismodule(value):
            roots = [value.__name__]
        else:
            roots = [each.__module__ for each in type(value).__mro__ if each is not object]
        own = self.module_name.split(".")[0]
        return any(root.split(".")[0] == own for root in roots)
