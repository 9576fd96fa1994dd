"""Running a notebook in a clean kernel, the same on every machine as far as one can have it."""

import logging
import os
import tempfile
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tensorplay_ref.course.notebook_file import code_cells, without_outputs

# One thread each: sums of floating-point numbers then have one order, and small arrays are faster.
ONE_THREAD = dict.fromkeys(
    ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)

# Kernels warn on every start that they talk over TCP; from here that is this machine alone.
_ONLY_ERRORS = ["--IPKernelApp.log_level=ERROR"]
_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)


class NotebookError(RuntimeError):
    """A notebook did not run to its end; says which, where and why.

    ``cell`` is the cell that stopped it; ``error_name`` the name of the exception it raised, or
    None when it took too long or ended the kernel.
    """

    def __init__(self, reason: str, cell: NotebookNode, error_name: str | None) -> None:
        super().__init__(reason)
        self.cell = cell
        self.error_name = error_name


def kernel_environment(profile: str) -> dict[str, str]:
    """The environment of a clean kernel: one thread, and nobody's own IPython start-up files.

    ``profile`` is an empty folder for IPython's files.
    """
    environment = dict(os.environ) | ONE_THREAD | {"IPYTHONDIR": profile}
    # A backend chosen outside would keep figures from appearing in the notebook.
    environment.pop("MPLBACKEND", None)
    return environment


def warm_up() -> None:
    """Let matplotlib build its list of fonts, which in a slow first kernel warns on stderr."""
    try:
        import matplotlib.font_manager  # noqa: F401, PLC0415 - plots are optional
    except ModuleNotFoundError:
        pass


def run(notebook: NotebookNode, folder: Path, timeout: float) -> None:
    """Run all cells in a fresh kernel and keep their outputs in the notebook.

    ``folder`` is the kernel's working directory, ``timeout`` the seconds one cell may take. Raises
    NotebookError at a cell that takes longer, that ends the kernel, or that raises without the tag
    ``raises-exception``.
    """
    started: list[int] = []
    without_outputs(notebook)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=_ONLY_ERRORS,
        log=_log,
        on_cell_execute=lambda cell, cell_index: started.append(cell_index),
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory() as profile:
        try:
            client.execute(env=kernel_environment(profile))
        except CellExecutionError as error:
            reason, error_name = f"{error.ename}: {error.evalue}", error.ename
        except CellTimeoutError:
            reason, error_name = f"took longer than {timeout:g} s", None
        except DeadKernelError:
            reason, error_name = "ended its kernel", None
        else:
            return
    cell = notebook.cells[started[-1]]
    number = list(code_cells(notebook)).index(cell) + 1
    raise NotebookError(f"code cell {number} ({cell.id}): {reason}", cell, error_name)
