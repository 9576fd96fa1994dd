"""RemovableHandle: what registering a hook returns; HookTable: the hooks of one place, in order."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from .arguments import function_name, require_callable

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
        require_callable("a hook", hook)
        self.id = _next_id()
        # Weak, so that a handle kept by the user keeps no graph alive.
        self._hooks = weakref.ref(hooks)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __repr__(self) -> str:
        hooks = self._hooks()
        if hooks is None:
            return "RemovableHandle(its graph is gone)"
        hook = hooks.get(self.id)
        return f"RemovableHandle({'removed' if hook is None else function_name(hook)})"

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
