"""The repository's public address, and what is made from it: badges, and a first cell for Colab.

The address stands in pyproject.toml, in ``[project.urls]``, and nowhere else by hand: the command
``readme`` makes the badges from it, ``refresh`` the cells. While it is a placeholder there are no
badges, which would be broken pictures, and the cells say on Colab what could not be fetched.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tensorplay_ref.course import notebook_file

CELL_ID = "colab"
_BRANCH = "main"
# The tag is the site's, the slide is left out, and JupyterLab and Colab fold the code.
_METADATA = {
    "jupyter": {"source_hidden": True},
    "slideshow": {"slide_type": "skip"},
    "tags": ["remove-cell"],
}
_CELL = """
# On Colab only: get the course and install its package. Elsewhere there is nothing to do.
import sys

if "google.colab" in sys.modules:
    import os
    import subprocess

    address, folder = "{address}", "/content/{name}"
    if not os.path.isdir(folder):
        got = subprocess.run(["git", "clone", "--quiet", "--depth=1", address, folder])
        if got.returncode:
            raise RuntimeError(
                "the course could not be fetched: " + address + " is no public repository, or not "
                "yet; whoever published this copy sets the address in pyproject.toml"
            )
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, folder + "[plot]"], check=True)
    os.chdir(folder + "/notebooks")
""".strip()


def repository() -> str:
    """The address of the repository, such as "https://github.com/owner/name".

    Errors: FileNotFoundError outside of a checkout; KeyError when pyproject.toml has no address.
    """
    project = notebook_file.notebooks_folder().parent / "pyproject.toml"
    content = tomllib.loads(project.read_text(encoding="utf-8"))
    address: str = content["project"]["urls"]["Repository"]
    return address.rstrip("/")


def is_placeholder() -> bool:
    """Whether the address leads nowhere yet: no account of GitHub can have an underscore."""
    return "_" in repository().split("/")[-2]


def badges() -> str:
    """The README's badges: the tests, and the first notebook on Binder and on Colab.

    Empty while the address is a placeholder.
    """
    if is_placeholder():
        return ""
    owner_and_name = "/".join(repository().split("/")[-2:])
    workflow = f"{repository()}/actions/workflows/tests.yml"
    start = "notebooks/00_start_here.ipynb"
    binder = f"https://mybinder.org/v2/gh/{owner_and_name}/{_BRANCH}?urlpath=lab/tree/{start}"
    shown = (
        ("tests", f"{workflow}/badge.svg", workflow),
        ("Binder", "https://mybinder.org/badge_logo.svg", binder),
        ("Colab", "https://colab.research.google.com/assets/colab-badge.svg", on_colab(start)),
    )
    return "\n".join(f"[![{name}]({picture})]({target})" for name, picture, target in shown)


def on_colab(notebook: str) -> str:
    """The address at which Colab opens a notebook, a path from the repository's root."""
    owner_and_name = "/".join(repository().split("/")[-2:])
    return f"https://colab.research.google.com/github/{owner_and_name}/blob/{_BRANCH}/{notebook}"


def cell() -> NotebookNode:
    """The cell that prepares a notebook on Colab, and does and prints nothing elsewhere."""
    address = repository()
    source = _CELL.replace("{address}", address).replace("{name}", address.rsplit("/", 1)[-1])
    made: NotebookNode = nbformat.v4.new_code_cell(source, metadata=nbformat.from_dict(_METADATA))
    made.id = CELL_ID
    return made


def is_of_the_course(notebook: Path) -> bool:
    """Whether a notebook is one of the course's own, which have the cell."""
    try:
        return notebook.resolve().parent == notebook_file.notebooks_folder()
    except FileNotFoundError:
        return False


def put_cell(notebook: NotebookNode) -> None:
    """Let the cell stand right below the title, once and as it is now."""
    others = [each for each in notebook.cells if each.get("id") != CELL_ID]
    notebook.cells = [*others[:1], cell(), *others[1:]]
