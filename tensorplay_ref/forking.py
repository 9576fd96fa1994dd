"""Locks and fork: a child must not inherit a lock that a thread of its parent holds."""

from __future__ import annotations

import os
from collections.abc import Callable


def hold_through_fork(acquire: Callable[[], object], release: Callable[[], object]) -> None:
    """Take a lock before each fork of this process; parent and child give it back.

    So no other thread is in the middle of what the lock protects when the child begins. Where
    processes are not forked, this does nothing.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=acquire, after_in_parent=release, after_in_child=release)
