"""The site is built without a warning from what is stored, and needs no other server."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorplay_ref as tp
from tensorplay_ref import inspect, saving
from tensorplay_ref.autograd import graph
from tensorplay_ref.conformance import suite

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MISSING = [
    name for name in ("sphinx", "myst_nb", "furo", "mathjax") if not importlib.util.find_spec(name)
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that the README's command makes."""
    if MISSING:
        pytest.skip(f"needs {', '.join(MISSING)}")
    (line,) = re.findall(r"^python (-m sphinx .*) build/site$", README, re.M)
    pages = tmp_path_factory.mktemp("site")
    command = [sys.executable, *line.split(), str(pages)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return pages


def test_every_notebook_is_a_page(site: Path) -> None:
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        assert (site / f"{notebook.stem}.html").is_file()


def test_the_folder_opens_the_start_page(site: Path) -> None:
    (target,) = re.findall(r"url=([^\"]+)", (site / "index.html").read_text(encoding="utf-8"))
    assert "The course" in (site / target).read_text(encoding="utf-8")
    assert "`build/site/index.html`" in README


def test_the_page_of_the_statements_has_them_all(site: Path) -> None:
    page = (site / "site" / "statements.html").read_text(encoding="utf-8")
    assert [name for name in suite() if name not in page] == []


def test_the_pages_of_the_reference_have_the_interface(site: Path) -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (site / "site").glob("*.html")}
    methods = [name for name in dir(tp.Tensor) if not name.startswith("_")]
    functions = [name for name in tp.functions.__all__ if not hasattr(tp.Tensor, name)]
    wanted = {
        "tensors": [
            *(f"Tensor.{name}" for name in (*methods, "__add__", "__matmul__", "__getitem__")),
            *(f"functions.{name}" for name in functions),
            *(f"creation.{name}" for name in tp.creation.__all__),
            *(f"nn.functional.{name}" for name in tp.nn.functional.__all__),
        ],
        "interface": [
            *(f"autograd.graph.{name}" for name in graph.__all__),
            *(f"saving.{name}" for name in saving.__all__),
        ],
        "inspection": [f"inspect.{name}" for name in inspect.__all__],
    }
    for page, names in wanted.items():
        assert [name for name in names if f'id="tensorplay_ref.{name}"' not in pages[page]] == []
    assert "functions.exp" not in pages["tensors"]


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert (site / "_static" / "mathjax" / "tex-chtml.js").is_file()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|iframe)[^>]* src=\"(?:https?:)?//[^\"]*", text) == []
        assert re.findall(r"<link[^>]* rel=\"stylesheet\"[^>]* href=\"(?:https?:)?//", text) == []


def test_the_terms_are_in_order() -> None:
    text = (ROOT / "notebooks" / "site" / "terms.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(\w[\w ]*)\n  \w", text, re.M)
    assert len(terms) > 10
    assert terms == sorted(terms)
