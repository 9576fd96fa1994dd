"""Slides from notebooks: a section begins one, other text is a step down, code stays with it.

What a teacher set by hand in JupyterLab (Property Inspector, Slide Type) goes first. The
pages are nbconvert's, for reveal.js; a slide that is longer than the screen can be scrolled.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from tqdm import tqdm

from tensorplay_ref.course.command_line import FETCHED
from tensorplay_ref.course.notebook_file import read, write_text

_HEADING = re.compile(r"^(?=#{1,2} )", re.M)


def mark_slides(notebook: NotebookNode) -> None:
    """Give each cell that has none its slide type, in place.

    The title and every heading begin a slide, any other text goes one step down, and code stays on
    the slide of the text before it. A text with a heading in its middle is cut there. Diagrams
    keep their text form only, which nbconvert shows without drawing.
    """
    cells = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("text/vnd.mermaid", None)
        if cell.cell_type == "code" or "slideshow" in cell.metadata:
            cells.append(cell)
            continue
        sources = [source for source in _HEADING.split(cell.source) if source.strip()]
        for number, source in enumerate(sources, 1):
            part = copy.deepcopy(cell)
            part.id, part.source = f"{cell.id}-{number}", source
            # The words before a heading belong to the slide that ends there.
            kind = "slide" if _HEADING.match(source) else "subslide" if len(sources) == 1 else "-"
            part.metadata["slideshow"] = {"slide_type": kind}
            cells.append(part)
    notebook.cells = cells


def slides(path: Path, **addresses: str) -> str:
    """The page of slides of a notebook, with its stored outputs.

    Args:
        path: the notebook.
        addresses: where the page finds what it fetches, by the names that nbconvert has for it.

    Errors: ModuleNotFoundError without nbconvert; ValueError when the file is no notebook.
    """
    from nbconvert.exporters.slides import SlidesExporter  # noqa: PLC0415 - comes with JupyterLab

    notebook = read(path)
    mark_slides(notebook)
    exporter: Any = SlidesExporter(reveal_scroll=True, **addresses)
    page: str = exporter.from_notebook_node(
        notebook, {"metadata": {"name": path.stem, "path": str(path.parent)}}
    )[0]
    return page


def main(arguments: argparse.Namespace) -> int:
    """Make a page of slides for each notebook; 1 when one is no notebook."""
    named = {name: getattr(arguments, name) for name in FETCHED}
    addresses = {name: address for name, address in named.items() if address}
    arguments.to.mkdir(parents=True, exist_ok=True)
    for path in tqdm(arguments.notebooks, unit="notebook", disable=None):
        try:
            page = slides(path, **addresses)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        write_text(arguments.to / f"{path.stem}.slides.html", page)
        tqdm.write(str(arguments.to / f"{path.stem}.slides.html"))
    return 0
