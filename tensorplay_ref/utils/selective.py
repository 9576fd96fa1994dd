"""Selective checkpointing: keep what some operations save, compute the rest of the region again."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from contextvars import ContextVar
from typing import Any

from ..arguments import call_text, flag, shown
from ..autograd.node import Node
from ..autograd.operation_names import warn_of_near_misses
from ..autograd.packing import operation_name
from ..tensor_base import TensorBase


class CheckpointPolicy(enum.Enum):
    """What shall happen to a tensor that an operation in a region saves.

    Here MUST and PREFER mean the same; in PyTorch a compiler may overrule the latter.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """The first argument of a policy function.

    Attributes:
        is_recompute: whether the region runs for the second time. The policy is asked in the first
            run; in the second one only for regions inside the region, and must answer the same.
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute

    def __repr__(self) -> str:
        return call_text(type(self).__name__, is_recompute=self.is_recompute)


Policy = Callable[[SelectiveCheckpointContext, str, TensorBase], CheckpointPolicy | bool]


class SelectiveContext:
    """A context in which a policy decides what checkpointed regions save. Can be entered again.

    Attributes:
        copies: whether saved tensors are copied, so that they may be changed in place afterwards.
    """

    def __init__(self, policy: Policy, copies: bool, is_recompute: bool) -> None:
        self._policy = policy
        self._context = SelectiveCheckpointContext(is_recompute=is_recompute)
        self.copies = copies

    def saves(self, node: Node | None, tensor: TensorBase) -> bool:
        """The decision of the policy.

        Errors: TypeError when it is neither a CheckpointPolicy nor a bool.
        """
        decision = self._policy(self._context, operation_name(node), tensor)
        if isinstance(decision, bool):
            return decision
        if not isinstance(decision, CheckpointPolicy):
            raise TypeError(
                "a selective checkpoint policy must return a CheckpointPolicy or a bool, found "
                f"{type(decision).__name__}"
            )
        return decision in _SAVING

    def __repr__(self) -> str:
        run = "second" if self._context.is_recompute else "first"
        return f"SelectiveContext({shown(self._policy)}, {run} run, copies={self.copies})"

    def __enter__(self) -> None:
        before = selection.get()
        try:
            selection.set((*before, self))
        except BaseException:
            # An interrupt, after which nobody will call __exit__.
            selection.set(before)
            raise

    def __exit__(self, *exception: object) -> None:
        stack = selection.get()
        position = max(index for index, each in enumerate(stack) if each is self)
        selection.set(stack[:position] + stack[position + 1 :])


# The open policies of this thread or task, innermost last; only that one is asked.
selection: ContextVar[tuple[SelectiveContext, ...]] = ContextVar("selection", default=())


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Collection[str | type], allow_cache_entry_mutation: bool = False
) -> tuple[SelectiveContext, SelectiveContext]:
    """The two contexts of a `context_fn` that saves what some operations save.

    Use it as `context_fn=functools.partial(create_selective_checkpoint_contexts, ["Matmul"])`.
    A tensor that is to be saved is saved as if there were no checkpoint: the hooks around the call
    see it. The others are computed again, by a run of the function up to the last one that is
    needed. (PyTorch keeps the *results* of the named operations and does not run those again.)

    Args:
        policy_fn_or_list: operations whose saved tensors are kept, as classes or by the names that
            `packing_operation` gives, such as "Matmul"; or a function of (context, operation name,
            tensor to be saved) that returns a CheckpointPolicy, or True to save.
        allow_cache_entry_mutation: save copies, so that the saved tensors may be changed in place;
            else such a change is an error in backward.

    Errors: TypeError for another argument; ValueError for a member that is no operation.
    Source: `torch.utils.checkpoint.create_selective_checkpoint_contexts`.
    """
    policy: Policy
    if isinstance(policy_fn_or_list, (list, tuple, set, frozenset)):
        names = frozenset(_name_of(member) for member in policy_fn_or_list)
        warn_of_near_misses("create_selective_checkpoint_contexts", names)

        def save_those(context: Any, operation: str, tensor: TensorBase) -> bool:
            return operation in names

        policy = save_those

    elif callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, type):
        policy = policy_fn_or_list
    else:
        raise TypeError(
            "create_selective_checkpoint_contexts: policy_fn_or_list must be either a function or "
            f"a list of operations, found {type(policy_fn_or_list).__name__}"
        )
    copies = flag(
        "create_selective_checkpoint_contexts: allow_cache_entry_mutation",
        allow_cache_entry_mutation,
    )
    return SelectiveContext(policy, copies, False), SelectiveContext(policy, copies, True)


def _name_of(member: Any) -> str:
    if isinstance(member, str):
        return member
    if isinstance(member, type):
        return member.__name__
    raise ValueError(
        "create_selective_checkpoint_contexts: expected operation classes or their names in the "
        f"list, found {member!r}"
    )
