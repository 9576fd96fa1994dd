"""on_disk: keep saved tensors in files that live as long as the graph."""

from __future__ import annotations

import os
import weakref
from typing import Any

from ..arguments import shown
from ..tensor_base import TensorBase
from .files import ArrayFile, PrivateDirectory
from .placement import dense, from_host, on_host, restored
from .policy import Packed, Policy, lock


class on_disk(Policy):
    """Keep saved tensors in files; those of an accelerator pass through the host.

    Contract: exact, to the bit, for every dtype. A file is owned by the slots that need it: it goes
    when backward has used it or the graph is dropped, by reference counting alone, and at the
    latest when the interpreter exits. Plain files: a memory map takes several times as long.

    Args:
        directory: where to make a private directory (mode 0700) for the files; by default the
            system's directory for temporary files. It is made for the first file and goes with the
            last.
        min_bytes: smaller tensors stay in memory.
        options: see `Policy`.

    Saves: nothing in memory but the name of the file, its layout and its checksum.

    Errors: TypeError for a directory that is no path. OSError while packing when the directory
    cannot be used or the disk is full: the operation fails and nothing half written is left.
    RuntimeError while unpacking when the file was deleted or changed, naming it.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        min_bytes: int = 4096,
        **options: Any,
    ) -> None:
        super().__init__(min_bytes=min_bytes, **options)
        if directory is not None and not isinstance(directory, (str, os.PathLike)):
            raise TypeError(f"on_disk: directory must be a path, found {shown(directory)}")
        self._parent = directory

    not_copied = (*Policy.not_copied, "_directory")

    def _begin(self) -> None:
        super()._begin()
        # Held by the files, so that it goes with the last of them.
        self._directory: weakref.ref[PrivateDirectory] | None = None

    @property
    def directory(self) -> str | None:
        """The private directory while it holds files, else None."""
        directory = None if self._directory is None else self._directory()
        return None if directory is None else directory.path

    def pack(self, tensor: TensorBase) -> Any:
        """The file, and what is needed to make the tensor again."""
        elements, layout = dense(on_host(tensor, "on_disk")._array)
        directory = self._open_directory()
        try:
            file = ArrayFile(directory.path, elements)
        except BaseException:
            # The traceback keeps this frame: without the name an empty directory goes at once.
            del directory
            raise
        file.directory = directory
        return Packed((), (file, layout, type(tensor), tensor.device))

    def unpack(self, packed: Packed) -> TensorBase:
        """The tensor on its original device."""
        file, layout, kind, device = packed.note
        return from_host(restored(file.read(), layout), kind, device, "on_disk")

    def _open_directory(self) -> PrivateDirectory:
        with lock:
            directory = None if self._directory is None else self._directory()
            # The directory of a parent process goes when that process has done with it.
            if directory is None or directory.process != os.getpid():
                directory = PrivateDirectory(self._parent)
                self._directory = weakref.ref(directory)
            return directory
