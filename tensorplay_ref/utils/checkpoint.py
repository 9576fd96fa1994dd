"""checkpoint: compute a region again in backward instead of keeping what it saves.

A pair of saved-tensor hooks surrounds the region. Its pack keeps an index in place of each tensor;
the first unpack of a backward runs the region again under a second pair, which collects the tensors
in the same order. `region.py` has the mechanism, `selective.py` the choice by operation.

Source: the non-reentrant variant of `torch.utils.checkpoint`, with its names and defaults, except
that `use_reentrant` is False by default, as PyTorch recommends, and True is not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

from ..arguments import flag, many, require_callable, shown, whole
from ..autograd.grad_mode import grad_enabled
from ..autograd.graph import saved_tensor_hooks
from ..completion import public_names
from ..contexts import context
from .recomputation import CheckpointError
from .region import Region, recompute
from .selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]

__dir__ = public_names(__name__)

Context = AbstractContextManager[Any]

# Set by set_checkpoint_early_stop, which has the last word over the argument; None outside of it.
_early_stop: ContextVar[bool | None] = ContextVar("_early_stop", default=None)


def noop_context_fn() -> tuple[Context, Context]:
    """The contexts for both runs of a region that do nothing: the default of `context_fn`."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    early_stop: bool = True,
    context_fn: Callable[[], tuple[Context, Context]] | None = None,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` and run it again in each backward instead of saving.

    Gradients, also of tensors that the function closes over and of second order, are those of the
    plain call. Under no_grad it is the plain call. Regions may be nested. A backward that reads a
    saved tensor of the region twice runs it twice.

    Args:
        function: must do the same in every run: the same operations on the same values.
        args, kwargs: anything. Tensors among them, also inside lists, tuples and dicts, are saved
            now, so the hooks around the call see them, each once, and nothing else of the region.
        use_reentrant: only False; the other variant of PyTorch is not offered.
        preserve_rng_state: let the second run draw the same numbers from the package's default
            generator; what follows in the stream does not depend on it.
        determinism_check: "default" compares operation, shape, dtype and device of each tensor that
            is saved again; "none" does not.
        early_stop: end the second run with the last tensor that is needed. Contexts opened in the
            function see an exception pass then.
        context_fn: called once; returns a context for the first run and one for the second, which
            is entered anew in each backward. None for `noop_context_fn`.

    Saves: the tensor arguments.

    Errors:
        CheckpointError: in backward, when the second run saves other tensors than the first.
        RuntimeError: in backward, when an argument or a saved tensor from outside of the region was
            changed in place since the first run.
        ValueError: use_reentrant=True or an unknown determinism_check.
        TypeError: a function that cannot be called, or a context_fn that returns no two contexts.
    """
    require_callable("checkpoint: function", function)
    if flag("checkpoint: use_reentrant", use_reentrant):
        raise ValueError(
            "checkpoint: use_reentrant=True is not offered; leave it out or pass False, which also "
            "works with autograd.grad, with keyword arguments and for second derivatives"
        )
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "checkpoint: determinism_check should be 'default' or 'none', "
            f"found {determinism_check!r}"
        )
    if not grad_enabled.get():
        return function(*args, **kwargs)
    first_context, second_context = _contexts(context_fn or noop_context_fn)
    overriding = _early_stop.get()
    region = Region(
        function,
        args,
        kwargs,
        preserve_rng_state=flag("checkpoint: preserve_rng_state", preserve_rng_state),
        compare=determinism_check == "default",
        early_stop=flag("checkpoint: early_stop", early_stop) if overriding is None else overriding,
        context=second_context,
    )
    with saved_tensor_hooks(region.pack, recompute), first_context:
        result = function(*args, **kwargs)
    region.end_first_run()
    return result


def _contexts(context_fn: Any) -> tuple[Context, Context]:
    require_callable("checkpoint: context_fn", context_fn)
    contexts = context_fn()
    listed = contexts if isinstance(contexts, (tuple, list)) else ()
    if len(listed) != 2 or not all(hasattr(each, "__enter__") for each in listed):
        raise TypeError(
            "checkpoint: context_fn must return two contexts, one for each run, found "
            f"{shown(contexts)}"
        )
    return listed[0], listed[1]


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool = False,
    **options: Any,
) -> Any:
    """Apply `functions` one after the other in `segments` checkpointed pieces of equal length.

    The last segment, which also takes what is left over, is not checkpointed: backward begins
    with it, so it would be computed again at once.

    Args:
        functions: layers, each taking the result of the one before.
        segments: how many pieces, from 1 to the number of functions.
        input: the argument of the first function.
        use_reentrant, options: passed on to `checkpoint`.

    Errors: ValueError for a number of segments that is not possible.
    """
    layers = many("checkpoint_sequential: functions", functions)
    for position, layer in enumerate(layers):
        require_callable(f"checkpoint_sequential: function {position}", layer)
    segments = whole("checkpoint_sequential: segments", segments)
    if not 1 <= segments <= len(layers):
        raise ValueError(
            f"checkpoint_sequential: segments must be 1 to {len(layers)}, the number of "
            f"functions; found {segments}"
        )
    length = len(layers) // segments
    for start in range(0, length * (segments - 1), length):
        piece = partial(_in_a_row, layers[start : start + length])
        input = checkpoint(piece, input, use_reentrant=use_reentrant, **options)
    return _in_a_row(layers[length * (segments - 1) :], input)


def _in_a_row(layers: list[Callable[..., Any]], value: Any) -> Any:
    for layer in layers:
        value = layer(value)
    return value


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Decide about `early_stop` of every checkpoint called inside, whatever its argument says."""
    return _set_checkpoint_early_stop(flag("set_checkpoint_early_stop: enable", enable))


@context
def _set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    before = _early_stop.get()
    try:
        _early_stop.set(enable)
        yield
    finally:
        _early_stop.set(before)
