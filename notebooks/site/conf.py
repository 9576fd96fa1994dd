"""The site: the course from its stored outputs, the statements, the interface, the terms.

    pip install -e ".[docs]"
    python -m sphinx -q -W -c notebooks/site notebooks build/site

Nothing is run and nothing fetched, neither while building nor while reading: outputs are the
stored ones, and MathJax is copied out of a package.
"""

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx

from tensorplay_ref import __version__
from tensorplay_ref.conformance import RULES, TOPICS, suite
from tensorplay_ref.course.claims import claims

project = "tensorplay_ref"
author = "the authors of tensorplay_ref"
release = __version__
root_doc = "site/index"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["exercises"]
html_theme = "furo"
html_title = "tensorplay_ref"
html_show_copyright = False

nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
myst_update_mathjax = False
# Diagrams are stored as text and drawn by JupyterLab only; here their text form is shown.
nb_mime_priority_overrides = [("html", "text/vnd.mermaid", None)]
# Docstrings are plain text with backticks, which docutils takes for reStructuredText.
suppress_warnings = ["docutils", "myst.header", "mystnb.unknown_mime_type", "ref.python"]

# What stands between single backticks in a docstring is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}

mathjax_path = "mathjax/tex-chtml.js"

Lines = list[str]
_STATEMENTS = "<!-- the statements -->"


def _statements(app: Sphinx, name: str, content: list[str]) -> None:
    """Put all statements, by topic, where the page of the statements asks for them."""
    if _STATEMENTS not in content[0]:
        return
    known = suite()
    parts = []
    for topic in TOPICS:
        names = [each.name for each in known.values() if each.topic == topic]
        rows = [
            f"| {_cell(sentence)} | {_cell(torch)} | {_cell(tensorplay)} | `{of}` |"
            for sentence, torch, tensorplay, of in claims(*names).rows()
        ]
        head = ["| statement | PyTorch | TensorPlay | name |", "|---|---|---|---|"]
        parts.append("\n".join([f"## {topic}\n", *head, *rows]))
    rules = "\n".join(f"- {rule}: {text}" for rule, text in RULES.items())
    content[0] = content[0].replace(_STATEMENTS, "\n\n".join([*parts, f"## The rules\n\n{rules}"]))


def _cell(text: str) -> str:
    for mark in "\\`*_[]|<$":
        text = text.replace(mark, f"\\{mark}")
    return text


_properties: dict[str, list[str]] = {}


def _keep(app: Sphinx, what: str, name: str, found: object, options: object, lines: Lines) -> None:
    if what == "property":
        _properties[name] = list(lines)


def _restore(
    app: Sphinx, what: str, name: str, found: object, options: object, lines: Lines
) -> None:
    """Undo what napoleon does to a property: it takes the words before a colon for its type."""
    if what == "property":
        lines[:] = _properties.pop(name)


def _copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    found = importlib.util.find_spec("mathjax")
    if error is None and found and found.submodule_search_locations:
        source = Path(found.submodule_search_locations[0], "static", "mathjax", "es5")
        target = Path(app.outdir, "_static", "mathjax")
        shutil.copytree(
            source / "output" / "chtml", target / "output" / "chtml", dirs_exist_ok=True
        )
        shutil.copy(source / "tex-chtml.js", target)


def _lead_to_the_start(app: Sphinx, error: Exception | None) -> None:
    """Let the folder itself open the start page, which is one folder deeper."""
    if error is None and app.builder.format == "html":
        Path(app.outdir, "index.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>{project}</title>'
            f'<meta http-equiv="refresh" content="0; url={root_doc}.html">'
            f'<a href="{root_doc}.html">{project}</a>\n',
            encoding="utf-8",
        )


def setup(app: Sphinx) -> None:
    """Connect them to the build; napoleon reads docstrings at priority 500."""
    app.connect("autodoc-process-docstring", _keep, priority=400)
    app.connect("autodoc-process-docstring", _restore, priority=600)
    app.connect("source-read", _statements)
    app.connect("build-finished", _copy_mathjax)
    app.connect("build-finished", _lead_to_the_start)
