"""Notebook files in one normal form, so that a diff shows what changed and nothing else.

The normal form is format 4.5 with: the kernel named ``python3``, no version of Python, execution
counts 1..n, neighbouring pieces of one stream joined, no colours and no foreign files in
tracebacks, and of the cells' metadata only what a person put there.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python"}
KEPT_METADATA = ("jupyter", "nbgrader", "slideshow", "tags")

RELATIVE_LINK = re.compile(r"(?<=\]\()(?!#|[a-z]+:)[^)#\s]+")

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def notebooks_folder() -> Path:
    """The ``notebooks`` folder of the checkout this package is installed from.

    Raises FileNotFoundError when the package was installed without it, as from a wheel.
    """
    folder = Path(__file__).resolve().parents[2] / "notebooks"
    if not folder.is_dir():
        raise FileNotFoundError(
            "there is no folder 'notebooks' beside the package: name the notebooks, or work in a "
            "checkout of the repository installed with: pip install -e ."
        )
    return folder


def worked_notebooks() -> list[Path]:
    """The worked notebooks of the course, in reading order."""
    return sorted(notebooks_folder().glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """The notebook of a file, as format 4.5 and with an id for every cell.

    Raises ValueError, naming the file, when it is not a notebook of format 4.
    """
    try:
        content = _content(path)
        name_cells(content["cells"])
        content["nbformat_minor"] = 5
        notebook: NotebookNode = nbformat.v4.reads(json.dumps(content))
        nbformat.validate(notebook)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: it lacks what the format asks for") from error
    except (ValueError, nbformat.ValidationError) as error:
        raise ValueError(f"{path} is not a notebook: {error}") from error
    return notebook


def _content(path: Path) -> dict[str, Any]:
    """What the file holds, as far as it can be brought to format 4.5; ValueError says why not."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError("its text is not UTF-8") from error
    except json.JSONDecodeError as error:
        found = "the file is empty" if not path.stat().st_size else f"it is not JSON ({error})"
        raise ValueError(found) from error
    if not isinstance(content, dict) or "nbformat" not in content:
        raise ValueError("it is JSON, but does not say the format of a notebook ('nbformat')")
    if content["nbformat"] != 4:
        raise ValueError(f"its format is {content['nbformat']}, not 4")
    cells = content.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it has no list of cells")
    return content


def name_cells(cells: Iterable[dict[str, Any]]) -> None:
    """Give every cell without an id of its own one that is made from its source.

    Jupyter's own ids are random; these are the same wherever the notebook is written.
    """
    taken: set[str] = set()
    for cell in cells:
        name = cell.get("id")
        if not name or name in taken:
            source = "".join(cell["source"])
            stem = hashlib.sha256(source.encode()).hexdigest()[:8]
            name, copies = stem, 1
            while name in taken:
                copies += 1
                name = f"{stem}-{copies}"
            cell["id"] = name
        taken.add(name)


def code_cells(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """The code cells in order; the first is code cell 1 in every message."""
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def tags(cell: NotebookNode) -> set[str]:
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))


def normalise(notebook: NotebookNode) -> None:
    """Bring a notebook into the normal form, in place."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO}
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in KEPT_METADATA if cell.metadata.get(key)}
        )
    for number, cell in enumerate(code_cells(notebook), 1):
        cell.execution_count = number
        cell.outputs = _joined_streams(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            elif output.output_type == "error":
                output.traceback = _own_frames(output.traceback)


def without_outputs(notebook: NotebookNode) -> None:
    """Drop all outputs and execution counts, in place."""
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None


def to_text(notebook: NotebookNode) -> str:
    """The text of the file that holds this notebook."""
    text: str = nbformat.writes(notebook)
    return text + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all, with the same line ends on every system."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8", newline="\n")
    os.replace(beside, path)


def _joined_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """A kernel cuts what a cell prints into pieces as it likes: join the pieces again."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        ):
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _own_frames(traceback: list[str]) -> list[str]:
    """The traceback without colours and without the frames in files.

    Those frames hold paths and line numbers, which move with every edit of the package, while the
    reader needs the line of the cell and the message.
    """
    plain = [_COLOUR.sub("", part) for part in traceback]
    return [part for part in plain if not part.lstrip().startswith("File ")]
