"""Refreshing notebooks: run them in a clean kernel and store what they show, in the normal form.

A notebook of the course gets its cell for Colab (see ``address``), should it have none or an old
one. A second refresh changes nothing. ``--check`` stores nothing and tells what a refresh would
change; there pictures are compared by their presence only, since their bytes differ between
machines, and tracebacks not at all, since the error's name and message say it.
"""

import argparse
import json
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tensorplay_ref.course import address, guard, kernel
from tensorplay_ref.course.notebook_file import (
    normalise,
    read,
    tags,
    to_text,
    worked_notebooks,
    write_text,
)

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")


def refreshed(path: Path, timeout: float) -> str:
    """The text that the notebook's file has after a refresh; the file itself is left alone.

    ``timeout`` is in seconds for one cell. Raises ValueError when the file is no notebook and
    kernel.NotebookError when the notebook does not run to its end.
    """
    notebook = read(path)
    if address.is_of_the_course(path):
        address.put_cell(notebook)
    before = [cell.get("outputs", []) for cell in notebook.cells]
    kernel.run(notebook, path.parent, timeout)
    for cell, outputs in zip(notebook.cells, before, strict=True):
        # A reading of the clock differs in every run: while only numbers differ, keep the old one.
        if guard.NOT_COMPARED in tags(cell) and _shape(outputs) == _shape(cell.outputs):
            cell.outputs = outputs
    normalise(notebook)
    return to_text(notebook)


def changes(stored: str, fresh: str) -> list[str]:
    """What a refresh changes in the text of a notebook's file, in words."""
    old, new = json.loads(stored), json.loads(fresh)
    found = [f"the notebook's {key}" for key in _differing(old, new, besides="cells")]
    number = 0
    if [cell["id"] for cell in old["cells"]] != [cell["id"] for cell in new["cells"]]:
        return [*found, "the cell for Colab is missing, or not right below the title"]
    for old_cell, new_cell in zip(old["cells"], new["cells"], strict=True):
        number += new_cell["cell_type"] == "code"
        where = f"code cell {number}" if new_cell["cell_type"] == "code" else "a text cell"
        found += [f"{where}: its {key}" for key in _differing(old_cell, new_cell, "outputs")]
        old_lines = _lines(old_cell.get("outputs", []))
        new_lines = _lines(new_cell.get("outputs", []))
        if old_lines != new_lines:
            found.append(f"{where}: {_first_difference(old_lines, new_lines)}")
    return found


def _differing(old: dict[str, Any], new: dict[str, Any], besides: str) -> list[str]:
    keys = sorted((old.keys() | new.keys()) - {besides})
    return [key for key in keys if old.get(key) != new.get(key)]


def _lines(outputs: Iterable[dict[str, Any]]) -> list[str]:
    """Outputs as lines of text, as far as they are compared."""
    lines = []
    for output in outputs:
        if output["output_type"] == "stream":
            parts = {output["name"]: output["text"]}
        elif output["output_type"] == "error":
            parts = {"error": f"{output['ename']}: {output['evalue']}"}
        else:
            parts = output["data"]
        for kind, content in sorted(parts.items()):
            if kind.startswith("image/") and kind != "image/svg+xml":
                lines.append(f"{kind}: a picture")
            else:
                lines += [f"{kind}: {line}" for line in _text(content).splitlines()]
    return lines


def _text(content: Any) -> str:
    """The text of one representation: lines of text in the file, or JSON."""
    if isinstance(content, list):
        return "".join(content)
    return content if isinstance(content, str) else json.dumps(content)


def _shape(outputs: Iterable[dict[str, Any]]) -> list[str]:
    return [_NUMBER.sub("0", line) for line in _lines(outputs)]


def _first_difference(old: list[str], new: list[str]) -> str:
    for old_line, new_line in zip(old, new, strict=False):
        if old_line != new_line:
            return f"stored is {old_line!r}, now it is {new_line!r}"
    if len(old) > len(new):
        return f"stored is {old[len(new)]!r}, now there is no such line"
    return f"nothing is stored for {new[len(old)]!r}"


def main(arguments: argparse.Namespace) -> int:
    """Refresh the notebooks; 1 when one does not run, breaks a rule or, with --check, is stale."""
    kernel.warm_up()
    failed = False
    for path in tqdm(arguments.notebooks or worked_notebooks(), unit="notebook", disable=None):
        start = time.perf_counter()
        verdict, remarks = _refresh(path, arguments.check, arguments.timeout)
        failed = failed or bool(remarks)
        tqdm.write(f"{path.name}: {verdict} ({time.perf_counter() - start:.1f} s)")
        for remark in remarks:
            tqdm.write(f"  {remark}")
    return int(failed)


def _refresh(path: Path, check: bool, timeout: float) -> tuple[str, list[str]]:
    """Refresh one notebook; what happened, and what somebody has to mend."""
    try:
        fresh = refreshed(path, timeout)
    except (OSError, ValueError, kernel.NotebookError) as error:
        return "failed, left as it was", [str(error)]
    stored = path.read_text(encoding="utf-8")
    stale = changes(stored, fresh)
    if not check and stored != fresh:
        write_text(path, fresh)
    problems = guard.problems(path)
    if check:
        return ("stale" if stale else "fresh"), stale + problems
    return ("stored" if stored != fresh else "unchanged"), problems
