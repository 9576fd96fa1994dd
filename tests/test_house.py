"""The house: short files, imports that run one way, and nothing but NumPy below."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tensorplay_ref"
FILES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 300

# From the ground to the roof; a room may use those before it, and files of its own.
ROOMS = (
    ("completion", "forking", "arguments", "contexts", "buffers", "handles", "dtypes"),
    ("accelerator",),
    ("device",),
    ("storage",),
    ("tensor_base", "transfer", "twins"),
    ("formatting",),
    ("autograd",),
    ("ops", "number_data"),
    ("methods",),
    ("tensor",),
    ("functions", "creation", "generator", "random"),
    ("nn", "cuda", "utils", "saving"),
    ("inspect",),
    ("conformance",),
    ("course",),
)
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path, tree: ast.AST) -> list[tuple[str, int, bool]]:
    """Rooms of the package and other packages that a file imports, not counting types alone."""
    only_for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = []
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(tree):
        if id(node) in only_for_types:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                found.append((node.module or "", node.lineno, False))
            elif node.level == depth:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                found += [(name.split(".")[0], node.lineno, True) for name in names]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_is_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__", "__main__"}
    assert rooms == FLOOR.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, line, inside in imports(path, tree):
        if inside and name in FLOOR and name != room:
            assert FLOOR[name] <= FLOOR[room], f"line {line} imports {name}"


def test_what_lies_below_the_course_needs_numpy_alone() -> None:
    known = {*sys.stdlib_module_names, "numpy", "tensorplay_ref", "__future__"}
    optional = {"matplotlib", "IPython"}  # pictures, where they are asked for
    for path in FILES:
        room = room_of(path)
        if room == "course":
            continue
        for name, line, inside in imports(path, ast.parse(path.read_text(encoding="utf-8"))):
            top = name.split(".")[0]
            allowed = known | (optional if room == "inspect" else set())
            assert inside or top in allowed, f"{path.name}, line {line}: {name}"
