"""The rules for worked notebooks that nbval does not know.

nbval compares nothing in a cell whose execution count is missing, so a notebook saved without
outputs passes whatever it shows; and an output that differs between machines or days, such as an
address, a path or the sixteenth digit, passes today and fails for somebody else. Each rule is a
function that yields what breaks it; ``problems`` applies them all. The command ``guard`` applies
them to anybody's notebooks, without those that are conventions of this course.
"""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

from nbformat import NotebookNode

from tensorplay_ref.course.notebook_file import (
    KERNELSPEC,
    LANGUAGE_INFO,
    RELATIVE_LINK,
    code_cells,
    normalise,
    read,
    tags,
    to_text,
)

Rule = Callable[[NotebookNode, Path], Iterator[str]]

RAISES = "raises-exception"
NOT_COMPARED = "nbval-ignore-output"
NEEDS_SOLUTION = "needs-solution"
SOLUTION = "solution"
# The metadata of a notebook that the command `exercises` made: it has no outputs on purpose.
EXERCISE = "tensorplay_ref"
KNOWN_TAGS = {
    RAISES: "the cell raises, and nbval compares the error's name and message",
    NOT_COMPARED: "nbval does not compare the outputs; the cell or the text before it says why",
    NEEDS_SOLUTION: "the cell calls what the reader writes; unsolved, it shows the stub's error",
    SOLUTION: "the cell is left out of the exercise notebook",
    "hide-input": "the site folds the code",
    "remove-cell": "the site leaves the cell out",
}

_PLACE = re.compile(
    r"/home/\w|/root\b|/tmp\b|/Users/\w|/var/folders/|\b[A-Z]:\\Users|site-packages"
)
# What an output must not hold: its name, how to see it, and the way out.
_UNSTABLE = (
    ("an address", re.compile(r"\b0x[0-9a-fA-F]{6,}"), "print a name or a value instead"),
    (
        "a NumPy scalar",
        re.compile(r"\bnp\.(?:(?:float|int|uint|bool|complex|str)\w*\(|True_|False_)"),
        "convert it with float(), int() or .item()",
    ),
    ("more than 6 decimals", re.compile(r"\d\.\d{7,}"), "round it, as with f'{x:.6f}'"),
    ("a negative zero", re.compile(r"(?<![\w.])-0\.0*(?![\de])"), "round first, then add 0.0"),
    (
        "a figure's or an axis' own text",
        re.compile(r"<Figure size|<Axes|<matplotlib|^Text\(", re.M),
        "show the picture by a function that gives it a text of its own",
    ),
    (
        "a time",
        re.compile(r"\d ?(?:ns|µs|us|ms|s) ±|it/s\]|\d{4}-\d\d-\d\d[ T]\d\d:\d\d"),
        f"count instead, or tag the cell {NOT_COMPARED}",
    ),
    ("a version", re.compile(r"(?<![\w.])v?\d+\.\d+\.\d+(?![\w.])"), "name versions in the text"),
    ("a colour code", re.compile(r"\x1b\["), "print plain text"),
)
# What the code of a cell must not hold.
_UNFIT = (
    (re.compile(r";[ \t]*$", re.M), "a ';' at the end of a line hides nothing under nbval"),
    (
        re.compile(r"^[ \t]*(?:!|%{1,2}[A-Za-z])", re.M),
        "magics and shell commands need IPython and the shell",
    ),
    (
        re.compile(r"(?<![.\w])(?:input|exit|quit)\(|\bsys\.exit\b|\bos\._exit\b"),
        "it stops Run All",
    ),
    (re.compile(r"#\s*(?:NBVAL|PYTEST_VALIDATE)_"), "use the cell's tags for nbval"),
    (
        re.compile(r"\bdefault_rng\(\s*\)|\bnp\.random\.(?!default_rng|Generator|PCG64|Seed)\w+\("),
        "random numbers come from numpy.random.default_rng(seed)",
    ),
)
_UNFIT_WHEN_COMPARED = re.compile(
    r"\b(?:clear_output|display_id|update_display|interact|tqdm)\b"
    r"|\btime\.(?:time|perf_counter|monotonic)\b"
)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.S)
_UNNAMED_PICTURE = re.compile(r"!\[\s*\]\(")


def problems(path: Path, without: Collection[str] = ()) -> list[str]:
    """What a worked notebook breaks, one sentence each; empty when it is as it should be.

    ``without`` names rules that are not applied.
    """
    try:
        notebook = read(path)
    except ValueError as error:
        return [str(error)]
    rules = {name: rule for name, rule in RULES.items() if name not in without}
    return [f"{name}: {found}" for name, rule in rules.items() for found in rule(notebook, path)]


def _numbered(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    for number, cell in enumerate(code_cells(notebook), 1):
        yield f"code cell {number}", cell


def _normal_form(notebook: NotebookNode, path: Path) -> Iterator[str]:
    stored = path.read_text(encoding="utf-8")
    if notebook.metadata.get("kernelspec") != KERNELSPEC:
        yield f"the kernel is not {KERNELSPEC['name']}, but {notebook.metadata.get('kernelspec')}"
    if notebook.metadata.get("language_info") != LANGUAGE_INFO:
        yield "the metadata names a version of Python"
    normal = read(path)
    normalise(normal)
    if stored != to_text(normal):
        yield "the file is not as the command refresh stores it; run that command"


def _run_in_order(notebook: NotebookNode, path: Path) -> Iterator[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"the execution counts are {counts}: nbval compares nothing without them; refresh it"
    for where, cell in _numbered(notebook):
        if not cell.source.strip():
            yield f"{where} is empty"


def _has_outputs(notebook: NotebookNode, path: Path) -> Iterator[str]:
    if any(code_cells(notebook)) and not any(cell.outputs for cell in code_cells(notebook)):
        yield "no cell has an output: they were stripped; refresh it"


def _errors(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for where, cell in _numbered(notebook):
        raised = [output for output in cell.outputs if output.output_type == "error"]
        if raised and RAISES not in tags(cell):
            yield f"{where} raises {raised[0].ename} without the tag {RAISES}"
        if not raised and RAISES in tags(cell):
            yield f"{where} has the tag {RAISES} and raises nothing"


def _tags(notebook: NotebookNode, path: Path) -> Iterator[str]:
    text = ""
    for cell in notebook.cells:
        for tag in sorted(tags(cell) - KNOWN_TAGS.keys()):
            yield f"cell {cell.id} has the unknown tag {tag!r}; known are {', '.join(KNOWN_TAGS)}"
        if cell.cell_type != "code":
            text = cell.source
        elif NOT_COMPARED in tags(cell):
            comments = " ".join(re.findall(r"#(.*)", cell.source))
            if "not compared" not in f"{text} {comments}":
                yield (
                    f"cell {cell.id} has the tag {NOT_COMPARED}, but neither a comment in it nor "
                    f"the text before it says 'not compared' and why"
                )


def _outputs(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for where, cell in _numbered(notebook):
        for kind, text in _texts(cell):
            if kind == "stderr":
                yield f"{where} writes to stderr: {text.strip()[:80]}"
            if kind == "image/svg+xml":
                yield f"{where} stores an SVG, whose text differs between machines"
            if "widget" in kind:
                yield f"{where} stores a widget"
            if kind.startswith("image/"):
                continue
            if seen := _PLACE.search(text):
                yield f"{where} shows a place on this machine: {seen.group()!r}"
            if NOT_COMPARED in tags(cell):
                continue
            for name, pattern, way_out in _UNSTABLE:
                if seen := pattern.search(text):
                    yield f"{where} shows {name} ({seen.group()!r}): {way_out}"


def _texts(cell: NotebookNode) -> Iterator[tuple[str, str]]:
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.name, output.text
        elif output.output_type == "error":
            yield "error", output.evalue
        else:
            for kind, content in output.data.items():
                yield kind, content if isinstance(content, str) else repr(content)


def _sources(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for where, cell in _numbered(notebook):
        for pattern, why in _UNFIT:
            if seen := pattern.search(cell.source):
                yield f"{where} has {seen.group().strip()!r}: {why}"
        seen = _UNFIT_WHEN_COMPARED.search(cell.source)
        if seen and NOT_COMPARED not in tags(cell):
            yield f"{where} has {seen.group()!r}: tag it {NOT_COMPARED} and say why"
    for cell in notebook.cells:
        if seen := _PLACE.search(cell.source):
            yield f"cell {cell.id} names a place on some machine: {seen.group()!r}"


def _checks(notebook: NotebookNode, path: Path) -> Iterator[str]:
    """A worked notebook solves its own exercises; that of others it may show wrong on purpose."""
    own = re.compile(rf"""\bcheck\(\s*["']{path.name[:2]}\.""")
    for where, cell in _numbered(notebook):
        for kind, text in _texts(cell):
            said = re.match(r"wrong \d+/\d+|not yet\b", text)
            if kind == "text/plain" and said and own.search(cell.source):
                yield f"{where}: the stored check says {said.group()!r}: {text[:120]}"


def _links(notebook: NotebookNode, path: Path) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text = _CODE.sub("", cell.source)
        if _UNNAMED_PICTURE.search(text):
            yield f"cell {cell.id} shows a picture without an alternative text"
        for target in RELATIVE_LINK.findall(text):
            if not (path.parent / unquote(target)).exists():
                yield f"cell {cell.id} links to {target}, which is not there"


RULES: dict[str, Rule] = {
    "normal form": _normal_form,
    "run in order": _run_in_order,
    "has outputs": _has_outputs,
    "errors": _errors,
    "tags": _tags,
    "outputs": _outputs,
    "sources": _sources,
    "checks": _checks,
    "links": _links,
}
OF_THIS_COURSE = ("normal form", "tags")


def notebooks_in(place: Path) -> list[Path]:
    """The notebook of this name, or those below a folder, without the copies that Jupyter keeps.

    Errors: FileNotFoundError when there is neither; ValueError when a folder has no notebook.
    """
    if not place.is_dir():
        if not place.exists():
            raise FileNotFoundError(f"no such file or folder: {place}")
        return [place]
    found = [
        path
        for path in sorted(place.rglob("*.ipynb"))
        if not any(part.startswith(".") for part in path.relative_to(place).parts)
    ]
    if not found:
        raise ValueError(f"there is no notebook in the folder {place}")
    return found


def _is_exercise(path: Path) -> bool:
    try:
        return EXERCISE in read(path).metadata
    except ValueError:
        return False


def main(arguments: argparse.Namespace) -> int:
    """Print the problems of notebooks, each with its file; 1 when there are any."""
    try:
        paths = [path for place in arguments.places for path in notebooks_in(place)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    worked = [path for path in paths if not _is_exercise(path)]
    without = () if arguments.course else OF_THIS_COURSE
    found = [f"{path}: {problem}" for path in worked for problem in problems(path, without)]
    for line in found:
        print(line)
    print(f"notebooks: {len(worked)}, problems: {len(found)}")
    if left := len(paths) - len(worked):
        print(f"left out: {left}, exercise notebooks that have no outputs on purpose")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit("the command is: python -m tensorplay_ref.course guard PLACE...")
