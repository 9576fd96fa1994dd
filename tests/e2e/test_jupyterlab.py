"""The notebooks in a real JupyterLab, in a real browser.

    pip install -e ".[lab,test,e2e]"
    python -m pytest tests/e2e

The browser is the system's Chromium, or what the environment variable CHROMIUM names. With
TENSORPLAY_REF_SCREENSHOTS=FOLDER the pages are kept as pictures, to be looked at.
"""

import importlib.util
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tensorplay_ref.course.guard import NOT_COMPARED
from tensorplay_ref.course.notebook_file import (
    code_cells,
    normalise,
    read,
    tags,
    to_text,
    without_outputs,
    write_text,
)
from tensorplay_ref.course.refresh import changes
from tests.e2e.lab import Lab, Notebook, browser_path, lab
from tests.tiny_notebook import code, write

ROOT = Path(__file__).resolve().parents[2]
MISSING = [name for name in ("jupyterlab", "playwright") if not importlib.util.find_spec(name)]
MISSING += [] if browser_path() else ["chromium"]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")

MERMAID = "text/vnd.mermaid"
# What stands in one line, as a reader would type it.
SOLUTION = (
    'return (lambda each: log.append(("pack", each.shape, each.nbytes)) or each), '
    '(lambda each: log.append(("unpack", each.shape, each.nbytes)) or each)'
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("work")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    with lab(folder, tmp_path_factory.mktemp("home")) as running:
        yield running


def photograph(notebook: Notebook, name: str) -> None:
    """Keep the whole notebook as a picture if somebody wants to look."""
    if folder := os.environ.get("TENSORPLAY_REF_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        height = notebook.page.evaluate(
            "document.querySelector('.jp-WindowedPanel-outer').scrollHeight"
        )
        notebook.page.set_viewport_size({"width": 1300, "height": min(height + 150, 15_000)})
        notebook.page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
        notebook.page.wait_for_timeout(500)
        notebook.page.screenshot(path=Path(folder, f"{name}.png"))


def differences(stored: NotebookNode, saved: NotebookNode) -> list[str]:
    """What JupyterLab showed otherwise than is stored, as far as outputs are compared."""
    for before, after in zip(code_cells(stored), code_cells(saved), strict=True):
        if NOT_COMPARED in tags(before):
            after.outputs = before.outputs
        for output in after.outputs:
            if MERMAID in output.get("data", {}):
                # JupyterLab saves what it made of the diagram beside the text.
                output["data"].pop("image/svg+xml", None)
            output.get("metadata", {}).pop(MERMAID, None)
    normalise(saved)
    return changes(to_text(stored), to_text(saved))


@pytest.mark.parametrize("name", ["02_function_and_ctx", "05_saved_tensor_hooks"])
def test_run_all_shows_what_is_stored(server: Lab, name: str) -> None:
    path = server.folder / "notebooks" / f"{name}.ipynb"
    stored, stripped = read(path), read(path)
    without_outputs(stripped)
    write_text(path, to_text(stripped))
    notebook = server.open(path)
    assert notebook.outputs() == 0
    notebook.run_all()
    notebook.save()
    photograph(notebook, name)
    assert differences(stored, read(path)) == []
    page = notebook.page
    kinds = Counter(
        kind
        for cell in code_cells(stored)
        for output in cell.outputs
        for kind in output.get("data", {})
    )
    assert (
        page.locator(".jp-RenderedMermaid img, .jp-RenderedMermaid svg").count() == kinds[MERMAID]
    )
    assert page.locator(".jp-RenderedImage img").count() == kinds["image/png"]
    with_formulas = any("$" in c.source for c in stored.cells if c.cell_type == "markdown")
    assert bool(page.locator(".jp-MarkdownCell mjx-container").count()) == with_formulas
    assert page.locator("mjx-merror").count() == 0
    notebook.close()
    assert server.errors == []


def test_the_pages_looked_at_have_diagrams_and_formulas() -> None:
    text = (ROOT / "notebooks" / "02_function_and_ctx.ipynb").read_text(encoding="utf-8")
    assert MERMAID in text and "$" in text


@pytest.mark.parametrize(
    ("typed", "name", "shown"),
    [
        ("x.su", "sum", ("dim: 'Dims | None' = None", "The sum.")),
        (
            "graph.saved_tensor_",
            "saved_tensor_hooks",
            ("unpack_hook", "Install a (pack, unpack) pair"),
        ),
    ],
)
def test_tab_completes_and_shift_tab_explains(
    server: Lab, typed: str, name: str, shown: tuple[str, str]
) -> None:
    path = server.folder / "notebooks" / f"try_{name}.ipynb"
    imports = "from tensorplay_ref.autograd import graph"
    write(path, code(f"import tensorplay_ref as tp\n{imports}\nx = tp.ones(3)"), code(typed))
    notebook = server.open(path)
    notebook.run(notebook.cell("import tensorplay_ref"))
    page = notebook.page
    notebook.cell(typed).locator(".cm-content").click()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    found = page.locator(".jp-Completer-match", has_text=re.compile(f"^{name}$"))
    found.wait_for()
    photograph(notebook, f"completion_{name}")
    found.click()
    page.locator(".cm-line", has_text=name).wait_for()
    page.keyboard.type("(")
    page.keyboard.press("Shift+Tab")
    tooltip = page.locator(".jp-Tooltip")
    tooltip.wait_for()
    photograph(notebook, f"hover_{name}")
    said = tooltip.inner_text()
    assert all(words in said for words in shown), said
    notebook.close()
    assert server.errors == []


def test_an_unsolved_exercise_notebook_runs_to_its_end_and_one_is_solved(server: Lab) -> None:
    path = server.folder / "notebooks" / "exercises" / "05_saved_tensor_hooks.ipynb"
    notebook = server.open(path)
    notebook.run_all()
    notebook.save()
    cells = list(code_cells(read(path)))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert to_text(read(path)).count('"not yet (your turn: ') == 3

    checked = notebook.cell('check("05.log"')
    assert "not yet (your turn: logging_hooks)" in checked.inner_text()
    exercise = notebook.cell("def logging_hooks")
    exercise.locator(".cm-line", has_text="raise NotImplementedError").click()
    notebook.page.keyboard.press("End")
    notebook.page.keyboard.press("Shift+Home")
    notebook.page.keyboard.type(SOLUTION)
    exercise.locator(".cm-content").focus()
    notebook.page.keyboard.press("Shift+Enter")
    notebook.wait()
    assert notebook.run(checked) == "ok 7/7"
    photograph(notebook, "05_solved")
    notebook.close()
    assert server.errors == []
