"""files_alive(): how many files a directory holds while a program saves tensors to disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..autograd.observer import watching
from .figures import LINES, MARKERS, PALETTE, finish, new_axes, whole_numbers
from .tables import text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADERS = ("event", "what happened", "files", "bytes")


class FilesAlive:
    """Files and bytes below a directory over the events inside `with`. Made by `files_alive`.

    Attributes:
        points: (event number, what happened, files, bytes) at the start, after each change that was
            noticed at an event of autograd, at each `look`, and at the end.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.points: list[tuple[int, str, int, int]] = []
        self._events = 0
        self._contexts = ExitStack()

    def __enter__(self) -> FilesAlive:
        self.look("before")
        self._contexts.enter_context(watching(self._watch))
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.close()
        self.look("after")

    def _watch(self, kind: str, node: Any, details: dict[str, Any]) -> None:
        self._events += 1
        found = _count(self.directory)
        if found != self.points[-1][2:]:
            self.points.append((self._events, kind, *found))

    def look(self, what: str) -> None:
        """Count now, such as after the last reference to a graph has gone."""
        self._events += 1
        self.points.append((self._events, what, *_count(self.directory)))

    @property
    def most(self) -> int:
        """The most files that were there at once."""
        return max(point[2] for point in self.points)

    @property
    def left(self) -> int:
        """Files that were there at the last look."""
        return self.points[-1][2]

    def __repr__(self) -> str:
        rows = [(str(n), what, str(files), f"{size:,}") for n, what, files, size in self.points]
        return text_table(HEADERS, rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The number of files as a step line."""
        return plot_files({"files": self}, ax)


def files_alive(directory: str | os.PathLike[str]) -> FilesAlive:
    """Record how many files are below a directory while a `with` block runs.

    The directory need not exist yet, and may go; then it holds no files.
    """
    return FilesAlive(directory)


def plot_files(versions: Mapping[str, FilesAlive], ax: Axes | None = None) -> Axes:
    """One step line for each program: how many of its files were there after each event."""
    ax = new_axes() if ax is None else ax
    for position, (name, files) in enumerate(versions.items()):
        ax.step(
            [point[0] for point in files.points],
            [point[2] for point in files.points],
            where="post",
            label=name,
            color=PALETTE[position % len(PALETTE)],
            linestyle=LINES[position % len(LINES)],
            marker=MARKERS[position % len(MARKERS)],
            markersize=4,
            clip_on=False,
        )
    for axis in (ax.xaxis, ax.yaxis):
        whole_numbers(axis)
    ax.set_ylim(bottom=0)
    return finish(ax, "Files on disk", "event number", "files alive", "below")


def _count(directory: Path) -> tuple[int, int]:
    files = size = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                size += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
            files += 1
    return files, size
