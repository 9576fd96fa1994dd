"""Who watches: functions that are told of every recording, save, pack, unpack, release and step.

The list is empty in ordinary use, and the engine tests just that, so watching costs nothing when
nobody watches. `tensorplay_ref.inspect.trace` and `detect_anomaly` are the two users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Each watcher is called as watcher(kind, node, details). Kinds: "record" (an operation entered the
# graph), "save", "pack", "unpack", "conflict" (a saved tensor was written since), "release",
# "backward" (a node is about to run), "gradients" (it has run), "accumulate" (a leaf got its
# gradient), "write" (a storage was written in place). `node` is None for a free-standing slot and
# for a write.
Watcher = Callable[[str, Any, dict[str, Any]], None]
watchers: list[Watcher] = []


def notify(kind: str, node: Any, **details: Any) -> None:
    """Tell every watcher, in the order in which they came."""
    for watcher in tuple(watchers):
        watcher(kind, node, details)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Have `watcher` told of everything that happens inside the context."""
    try:
        watchers.append(watcher)
        yield
    finally:
        # This very entry: the same function may be watching twice.
        entries = [i for i, each in enumerate(watchers) if each is watcher]
        if entries:
            del watchers[entries[-1]]
