"""What a submission may not do while it is graded, and how much it may take.

An audit hook, which Python cannot remove again, refuses the network, other processes, writing
outside of the submission's own temporary folder, and reading the folders where solutions are. It
keeps mistakes and pranks from doing harm; it is no jail for somebody who writes machine code.

Memory is limited where the system has `resource` and honours RLIMIT_AS: on Linux it does, on macOS
mostly not, on Windows there is none. A single cell is interrupted where there are alarm signals,
so not on Windows, where only the limit for the whole submission holds.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

_FILES = 100_000_000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = {
    "network": ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"),
    "other processes": (
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    ),
    "foreign libraries": ("ctypes.dlopen",),
}
_REASONS = {event: reason for reason, events in _REFUSED.items() for event in events}
# How many leading arguments of these events are paths that change.
_CHANGING = {
    "os.chmod": 1,
    "os.link": 2,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.symlink": 2,
    "os.truncate": 1,
    "shutil.rmtree": 1,
}


class TookTooLong(BaseException):
    """A cell was interrupted. Not an Exception, so that `except Exception` does not keep it."""


def enclose(own: Path, hidden: Sequence[Path], note: Callable[[str], None]) -> None:
    """Refuse from now on, in this process, what is named above; PermissionError says what.

    Args:
        own: the folder that may be written.
        hidden: folders that may not even be read.
        note: is told each refusal, which the submission may catch and hide.
    """
    inside = os.path.realpath(own)
    secret = [os.path.realpath(folder) for folder in hidden]
    # Kept apart from the module os, where a submission could put something else.
    resolve, decode, devnull = os.path.realpath, os.fsdecode, os.devnull

    def within(path: str, folder: str) -> bool:
        return path == folder or path.startswith(folder + os.sep)

    def refuse(what: str) -> NoReturn:
        note(what)
        raise PermissionError(f"the grader allows no {what}")

    def examine(event: str, arguments: tuple[object, ...]) -> None:
        if event in _REASONS:
            refuse(f"{_REASONS[event]} ({event})")
        if event == "open":
            path, _, flags = arguments
            if not isinstance(path, (str, bytes)):
                return
            place = resolve(decode(path))
            if any(within(place, folder) for folder in secret):
                refuse("reading of solutions")
            writes = isinstance(flags, int) and bool(flags & _WRITING)
            if writes and not within(place, inside) and decode(path) != devnull:
                refuse("writing outside of the own folder")
        elif event in _CHANGING:
            for path in arguments[: _CHANGING[event]]:
                if isinstance(path, (str, bytes)) and not within(resolve(decode(path)), inside):
                    refuse("change outside of the own folder")

    sys.addaudithook(examine)


def limit(seconds: float, megabytes: int) -> None:
    """Limit this process's memory, processor time and files, where the system can."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ModuleNotFoundError:
        return
    wanted = {
        resource.RLIMIT_AS: megabytes * 1_000_000,
        resource.RLIMIT_CPU: int(seconds) + 10,
        resource.RLIMIT_FSIZE: _FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            continue


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the block after so many seconds, and each second from then on.

    Again, because a check catches it as the failure of one case and goes on with the next.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"it took longer than {seconds:g} s")

    before: Callable[[int, FrameType | None], object] | int | None
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
