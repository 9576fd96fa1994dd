"""Solutions between fences, and the stub that an exercise shows in their place.

In a worked notebook the reader's part stands between two lines of their own, as nbgrader has them::

    def unbroadcast(gradient, shape):
        \"\"\"Sum a gradient back to the shape that was broadcast.\"\"\"
        ### BEGIN SOLUTION
        ...
        ### END SOLUTION

Inside a function the lines between become ``raise NotImplementedError("your turn: unbroadcast")``.
At the top of a cell, where an exception would end Run All, they may only give values to names, and
``prediction = [1, 2]`` becomes ``prediction = ...``. A check says "not yet" for both.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
YOUR_TURN = "your turn"

# Also a mistyped fence is a fence: read as a comment, it would give the solution away.
_FENCE = re.compile(r"^[ \t]*#+[ \t]*(BEGIN|END)\b[ \t]*(SOLUTION|HIDDEN)", re.I)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class FenceError(ValueError):
    """The fences of a cell are wrong; says how."""


@dataclass(frozen=True)
class Region:
    """One solution: the numbers, from 1, of its two fences and of its last line of code."""

    begin: int
    last: int
    end: int


def regions(source: str) -> list[Region]:
    """The solutions in the source of a cell.

    Raises FenceError when a fence has no partner, is mistyped, or encloses nothing.
    """
    found = []
    begin = None
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        if not _FENCE.match(line):
            continue
        text = line.strip()
        if text not in (BEGIN, END):
            raise FenceError(f"line {number}: {text!r} should be {BEGIN!r} or {END!r}")
        if (text == BEGIN) == (begin is not None):
            raise FenceError(f"line {number}: {text!r} without its partner before it")
        if begin is None:
            begin = number
            continue
        code = [inner for inner in range(begin + 1, number) if _is_code(lines[inner - 1])]
        if not code:
            raise FenceError(f"line {begin}: no code between the fences")
        fenced = {_indentation(lines[place - 1]) for place in (begin, code[0], number)}
        if len(fenced) > 1:
            raise FenceError(f"line {begin}: fences are indented like the code between them")
        found.append(Region(begin, code[-1], number))
        begin = None
    if begin is not None:
        raise FenceError(f"line {begin}: {BEGIN!r} is never closed")
    return found


def solution_lines(source: str) -> list[str]:
    """The lines of code between the fences, without their indentation."""
    lines = source.split("\n")
    return [
        line.strip()
        for region in regions(source)
        for line in lines[region.begin : region.end - 1]
        if _is_code(line)
    ]


def stub(source: str) -> str:
    """The source of a cell with every solution replaced by what the reader begins with.

    Raises FenceError when the fences are wrong, when a function to be written has no docstring to
    tell what it should do, or when the lines at the top of a cell do more than give values.
    """
    found = regions(source)
    if not found:
        return source
    tree = _parsed(source)
    lines = source.split("\n")
    for region in reversed(found):
        indentation = _indentation(lines[region.begin - 1])
        replacement = [indentation + line for line in _replacement(tree, source, region)]
        lines[region.begin - 1 : region.end] = replacement
    return "\n".join(lines)


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise FenceError(f"line {error.lineno}: {error.msg}") from error


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _replacement(tree: ast.Module, source: str, region: Region) -> Iterator[str]:
    path = list(_enclosing(tree, region))
    functions = [node for node in path if not isinstance(node, ast.ClassDef)]
    if not functions:
        yield from _open_names(path[-1] if path else tree, source, region)
        return
    name = ".".join(node.name for node in path[: path.index(functions[-1]) + 1])
    if ast.get_docstring(functions[-1]) is None:
        raise FenceError(f"line {region.begin}: {name} has no docstring to tell what it should do")
    yield f'raise NotImplementedError("{YOUR_TURN}: {name}")'


def _enclosing(node: ast.AST, region: Region) -> Iterator[_Definition]:
    """The classes and functions around a region, outermost first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and child.lineno < region.begin:
            if region.last <= (child.end_lineno or child.lineno):
                if isinstance(child, _Definition):
                    yield child
                yield from _enclosing(child, region)


def _open_names(parent: ast.Module | _Definition, source: str, region: Region) -> Iterator[str]:
    """The names that a region outside of every function gives values to, left open."""
    inside = [node for node in parent.body if region.begin < node.lineno < region.end]
    for node in inside:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield f"{node.target.id}: {ast.get_source_segment(source, node.annotation)} = ..."
        elif (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            yield f"{node.targets[0].id} = ..."
        else:
            raise FenceError(
                f"line {node.lineno}: outside of a function a solution may only give values to "
                f"names; put the fences inside the function, below its docstring"
            )
    if not inside:
        raise FenceError(f"line {region.begin}: a solution inside a block would stop Run All")
