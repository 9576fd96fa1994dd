"""RemovableHandle: what registering a hook returns; HookTable: the hooks of one place, in order."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

Hook = Callable[..., Any]
_next_id = itertools.count().__next__


class HookTable(dict[int, Hook]):
    """Hooks in the order of their registration; a dict that can be referred to weakly."""

    __slots__ = ("__weakref__",)


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook off; also a context manager.

    Errors: TypeError when the hook cannot be called.
    """

    def __init__(self, hooks: HookTable, hook: Hook) -> None:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, found {type(hook).__name__}")
        self.id = _next_id()
        # Weak, so that a handle kept by the user keeps no graph alive.
        self._hooks = weakref.ref(hooks)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()
