"""The one lock of the simulated machine, which a finalizer may decline to wait for."""

from __future__ import annotations

import threading
from types import TracebackType

from ..forking import hold_through_fork


class Guard:
    """A lock that its own thread may take again, and that knows when it is being taken again.

    Tensors die at any moment, also inside an allocation when the garbage collector runs there.
    A finalizer must neither wait for another thread nor change books that its own thread is in
    the middle of changing; `try_outermost` tells it when it may go on.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def try_outermost(self) -> bool:
        """Take the lock if nobody holds it, the calling thread included; True when taken."""
        if not self._lock.acquire(blocking=False):
            return False
        if self._depth:
            self._lock.release()
            return False
        self._depth += 1
        return True

    def acquire(self) -> None:
        """Wait for the lock and take it."""
        self._lock.acquire()
        self._depth += 1

    def release(self) -> None:
        """Give the lock back once."""
        self._depth -= 1
        self._lock.release()


LOCK = Guard()
hold_through_fork(LOCK.acquire, LOCK.release)
