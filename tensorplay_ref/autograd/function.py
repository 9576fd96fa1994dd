"""Function: an operation of one's own; its ctx is the node that the graph records.

Source of the behaviour: `autograd.Function` of TensorPlay and of PyTorch. Where they differ,
saving packs at once (TensorPlay), nothing is saved without a graph (PyTorch), and tensors inside
list, tuple and dict arguments are differentiated (TensorPlay).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..arguments import require_callable
from ..completion import public_names
from ..tensor_base import TensorBase, ViewOf, detached, keep_retaining
from .context import FunctionContext
from .grad_mode import grad_enabled
from .node import Node, connect
from .observer import notify, watchers

__all__ = ["Function", "FunctionContext", "once_differentiable"]

__dir__ = public_names(__name__)


class Function:
    """Base of custom operations: define static `forward` and `backward`, call `apply`.

    Either `forward(ctx, *inputs)`, or `forward(*inputs)` with `setup_context(ctx, inputs, output)`.
    `backward(ctx, *grads)` gets one gradient for each output and returns one for each input (each
    tensor inside a list, tuple or dict counts as an input of its own; None where none is needed).
    forward runs with recording off; backward with recording on only under create_graph.

    Saves: what `ctx.save_for_backward` is given, packed at once; nothing when no input requires a
    gradient or recording is off.
    """

    def __init__(self) -> None:
        raise TypeError(
            f"{type(self).__name__} is not to be instantiated: "
            f"call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError(
            "You must implement the forward function for your custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what backward needs, when `forward` is written without ctx."""
        raise NotImplementedError("setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the inputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def gradient_rule(cls) -> Callable[..., Any]:
        """`backward`, or `vjp` when the class calls it that."""
        if cls.backward is Function.backward:
            rule: Callable[..., Any] = getattr(cls, "vjp", cls.backward)
            return rule
        return cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward; record the operation when an input requires a gradient.

        Keyword arguments are handed to forward and never differentiated.

        Errors: what forward raises, as it is; RuntimeError when a tensor marked dirty is a leaf
        that requires grad, or is not returned.
        """
        ctx = FunctionContext(cls, flat(args))
        before = grad_enabled.get()
        try:
            grad_enabled.set(False)
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, with_defaults(cls.forward, args), output)
        finally:
            grad_enabled.set(before)
        single = not isinstance(output, (tuple, list))
        outputs = [output] if single else list(output)
        ctx.check_dirty(outputs)
        if ctx._recording:
            _attach(ctx, outputs)
        ctx.end_forward()
        if single:
            return outputs[0]
        return type(output)(outputs) if type(output) in (tuple, list) else tuple(outputs)


def flat(args: Sequence[Any]) -> tuple[Any, ...]:
    """The inputs one by one: a container that holds a tensor counts as its elements."""
    for arg in args:
        if type(arg) in _CONTAINERS and _holds_tensor(arg):
            break
    else:
        return tuple(args)
    inputs: list[Any] = []
    for arg in args:
        if type(arg) in _CONTAINERS and _holds_tensor(arg):
            inputs.extend(flat(list(arg.values()) if isinstance(arg, dict) else arg))
        else:
            inputs.append(arg)
    return tuple(inputs)


_CONTAINERS = (list, tuple, dict)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(item) for item in value)
    return isinstance(value, TensorBase)


def with_defaults(forward: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positional arguments followed by the defaults of those that were left out."""
    bound = inspect.signature(forward).bind_partial(*args)
    bound.apply_defaults()
    return bound.args


def _attach(ctx: FunctionContext, outputs: list[Any]) -> None:
    """Make ctx the history of the outputs, in place of each that is a tensor."""
    forms: list[Any] = []
    views: list[ViewOf] = []
    for position, output in enumerate(outputs):
        if not isinstance(output, TensorBase):
            forms.append(None)
            continue
        array = output._array
        forms.append((array.shape, array.dtype, output._storage.device))
        given = ctx.is_input(output)
        if array.dtype.kind not in "fc" or ctx.is_non_differentiable(output):
            if given:
                outputs[position] = detached(output)
            continue
        result, dirty = output, ctx.is_dirty(output)
        base = None if output._view is None else output._view.base
        if (given or output._requires_grad) and not dirty:
            # The user's own tensor came back: it keeps its history, the result gets another name.
            result = outputs[position] = detached(output)
            base = output if base is None else base
        if base is not None:
            # A view of an input: its history is this operation's, and it may not be written.
            result._view = ViewOf(base, (), None, True)
            views.append(result._view)
        if dirty or not given:
            ctx.note_output(output, position)
        former, number = result._node, result._output_nr
        result._node, result._output_nr, result._requires_grad = ctx, position, True
        if former is not None:
            keep_retaining(result, former, number)
    for view in views:
        # Now, when a base that is a result itself has its history.
        view.base_node = view.base._node
    ctx.result_forms = forms
    if len(forms) == 1 and forms[0] is not None:
        ctx.result_shape, ctx.result_dtype, _ = forms[0]
    if watchers:
        notify("record", ctx, result=outputs[0], inputs=ctx.forward_arguments)


class _Refusal(Node):
    """Stands where a second derivative would be: running it is an error."""

    def name(self) -> str:
        return "OnceDifferentiableBackward"

    def backward(self, grad: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a Function's backward that cannot be differentiated itself.

    It runs with recording off. Under create_graph its results refuse a second derivative with
    RuntimeError, if an incoming gradient requires one.
    """
    require_callable("once_differentiable: backward", backward)

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recording = grad_enabled.get()
        try:
            grad_enabled.set(False)
            results = backward(ctx, *grads)
        finally:
            grad_enabled.set(recording)
        needing = tuple(g for g in grads if isinstance(g, TensorBase) and g._requires_grad)
        if not recording or not needing:
            return results
        many = results if isinstance(results, tuple) else (results,)
        refused = tuple(_refusing(result, needing) for result in many)
        return refused if isinstance(results, tuple) else refused[0]

    return wrapper


def _refusing(result: Any, grads: tuple[Any, ...]) -> Any:
    if not isinstance(result, TensorBase):
        return result
    node = _Refusal()
    connect(node, grads)
    node.result_shape, node.result_dtype = result.shape, result.dtype
    refusing = detached(result)
    refusing._node, refusing._requires_grad = node, True
    return refusing
