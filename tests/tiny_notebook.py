"""Notebooks of a few cells, made in the test that needs them."""

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook, new_output

from tensorplay_ref.course.notebook_file import name_cells, normalise, to_text

# One pixel, and the same with other bytes: what two machines make of one figure.
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OTHER_PICTURE = PICTURE.replace("R42mNk", "R4nGNk")


def text(source: str) -> NotebookNode:
    return nbformat.from_dict({"cell_type": "markdown", "metadata": {}, "source": source})


def code(source: str, *outputs: NotebookNode, tags: tuple[str, ...] = ()) -> NotebookNode:
    return nbformat.from_dict(
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {"tags": list(tags)},
            "outputs": list(outputs),
            "source": source,
        }
    )


def printed(content: str, stream: str = "stdout") -> NotebookNode:
    return new_output("stream", name=stream, text=content)


def shown(data: dict[str, Any]) -> NotebookNode:
    """A display of an object, by MIME type."""
    return new_output("display_data", data=data)


def result(content: str) -> NotebookNode:
    return new_output("execute_result", data={"text/plain": content}, execution_count=1)


def raised(name: str, value: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=value, traceback=[f"{name}: {value}"])


def notebook(*cells: NotebookNode) -> NotebookNode:
    """A notebook in the normal form."""
    name_cells(cells)
    made = new_notebook(cells=list(cells))
    normalise(made)
    nbformat.validate(made)
    return made


def write(path: Path, *cells: NotebookNode) -> Path:
    path.write_text(to_text(notebook(*cells)), encoding="utf-8", newline="\n")
    return path
