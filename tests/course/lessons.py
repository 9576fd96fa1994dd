"""Worked notebooks and their exercises, run in this process: what their cells define and show.

The tests of the checks take the solutions from here, so that there is one copy of each.
"""

import ast
import functools
import linecache
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import matplotlib

from tensorplay_ref.course import Verdict, fences
from tensorplay_ref.course.guard import NEEDS_SOLUTION, RAISES, SOLUTION
from tensorplay_ref.course.notebook_file import code_cells, read, tags, worked_notebooks

_CONTAINERS = (list, dict, set)


@dataclass
class Lesson:
    """What is there when the cells up to the last check have run.

    ``names`` holds what the cells define, ``verdicts`` what the checks at the end of cells said.
    """

    names: ModuleType
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    _contents: dict[str, Any] = field(default_factory=dict)

    def remember(self) -> None:
        """Note what the lists, dicts and sets of the cells hold now."""
        self._contents = {
            name: value.copy()
            for name, value in vars(self.names).items()
            if isinstance(value, _CONTAINERS) and not name.startswith("__")
        }

    def restore(self) -> None:
        """Let them hold that again, such as a stack that a wrong build has not tidied."""
        for name, content in self._contents.items():
            value = getattr(self.names, name)
            value.clear()
            value.extend(content) if isinstance(value, list) else value.update(content)


@functools.cache
def solved(notebook: str) -> Lesson:
    """The worked notebook with this number, such as "05", with its solutions."""
    return _run(notebook, stubs=False)


@functools.cache
def unsolved(notebook: str) -> Lesson:
    """The same as a reader begins with it: every solution is a stub."""
    return _run(notebook, stubs=True)


def text_of(notebook: str) -> str:
    """All text cells of the worked notebook with this number."""
    cells = read(_path(notebook)).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def _path(notebook: str) -> Any:
    found = [path for path in worked_notebooks() if path.name.startswith(f"{notebook}_")]
    assert len(found) == 1, f"notebook {notebook}: found {[path.name for path in found]}"
    return found[0]


def _run(notebook: str, stubs: bool) -> Lesson:
    path = _path(notebook)
    name = f"{'unsolved' if stubs else 'solved'}_{notebook}"
    # Registered, as dataclasses and pickle look a class's module up by its name.
    module = sys.modules[name] = ModuleType(name)
    lesson = Lesson(module)
    # The pictures are drawn for nobody here.
    matplotlib.use("agg")
    for number, cell in enumerate(code_cells(read(path)), 1):
        if stubs and SOLUTION in tags(cell):
            continue
        source = fences.stub(cell.source) if stubs else cell.source
        may_raise = RAISES in tags(cell) or (stubs and NEEDS_SOLUTION in tags(cell))
        try:
            value = _run_cell(source, f"<{name}, code cell {number}>", module)
        except Exception:
            if not may_raise:
                raise
        else:
            if isinstance(value, Verdict):
                lesson.verdicts[value.id] = value
    lesson.remember()
    return lesson


def _run_cell(source: str, filename: str, module: ModuleType) -> Any:
    """Execute a cell; the value of its last line when that is an expression."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), vars(module))
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), filename, "eval"), vars(module))
