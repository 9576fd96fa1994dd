"""Figures: matplotlib only when drawing, no global state, and pictures that can be compared."""

import base64
import importlib
import io
import itertools
import json
import subprocess
import sys
import textwrap

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from tensorplay_ref.inspect import Picture, memory_plots, new_axes, saved, show, timeline, trace
from tensorplay_ref.inspect.figures import (
    PALETTE,
    byte_axis,
    bytes_text,
    description,
    figure_of,
    new_figure,
    time_axis,
)
from tests.inspect.programs import leaf, two_layers


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_and_reading_reports_does_not_load_matplotlib():
    run_python(
        """
        import sys
        import tensorplay_ref as tp
        from tensorplay_ref import inspect
        with inspect.trace() as t, inspect.timeline() as memory:
            y = tp.ones(3, requires_grad=True).exp()
        strip = inspect.memory_strip({"y": y})
        for report in (t, memory, inspect.saved(y), inspect.graph(y), strip):
            repr(report)
        assert "matplotlib" not in sys.modules
        """
    )


def test_without_matplotlib_drawing_says_how_to_install_it():
    said = run_python(
        """
        import sys
        sys.modules["matplotlib"] = None
        import tensorplay_ref as tp
        from tensorplay_ref import inspect
        report = inspect.saved(tp.ones(3, requires_grad=True).exp())
        repr(report)
        try:
            report.plot()
        except ModuleNotFoundError as error:
            print(error)
        """
    )
    assert "drawing needs matplotlib" in said
    assert "pip install matplotlib" in said
    assert "conda install matplotlib-base" in said


def test_a_module_that_is_missing_elsewhere_is_not_blamed_on_matplotlib(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'pyparsing'", name="pyparsing")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="pyparsing"):
        new_axes()


def test_drawing_leaves_matplotlibs_settings_and_figures_alone():
    before, figures = dict(matplotlib.rcParams), plt.get_fignums()
    loss, _ = two_layers()
    with trace() as t:
        loss.backward()
    show(t.plot())
    show(saved(loss).plot())
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == figures


def test_a_picture_is_an_image_with_a_text_of_its_own():
    loss, _ = two_layers()
    report = saved(loss)
    picture = show(report.plot(), alt="what each operation saves", table=report)
    assert isinstance(picture, Picture)
    data, metadata = picture._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert data["text/plain"] == "[picture: what each operation saves]"
    assert metadata["image/png"]["alt"] == "what each operation saves"
    assert repr(picture) == f"[picture: what each operation saves]\n{report}"


def test_a_picture_has_the_size_that_its_metadata_says():
    figure = new_figure(5.0, 2.0)
    figure.subplots().plot([1, 2])
    picture = show(figure)
    width, height = plt.imread(io.BytesIO(picture.png)).shape[1::-1]
    assert (width, height) == (600, 240)
    assert picture.width == 500


def test_without_an_alternative_text_titles_and_labels_are_told():
    loss, _ = two_layers()
    assert repr(show(saved(loss).plot())) == (
        "[picture: Saved for backward: operation against kept alive (bytes); kept by this "
        "operation, kept by an operation above already]"
    )
    assert description(new_figure(1.0, 1.0)) == ""


def test_a_figure_of_pyplot_is_shown_once():
    figure, ax = plt.subplots()
    ax.plot([1, 2])
    show(ax, alt="two points")
    assert not plt.fignum_exists(figure.number)


def test_in_a_notebook_both_texts_follow_the_image():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook()
    source = """
        import tensorplay_ref as tp
        from tensorplay_ref import inspect
        report = inspect.saved(tp.ones(3, requires_grad=True).exp())
        inspect.show(report.plot(), alt="one bar", table=report)
    """
    notebook.cells.append(nbformat.v4.new_code_cell(textwrap.dedent(source)))
    nbclient.NotebookClient(notebook, timeout=120).execute()
    picture, numbers = notebook.cells[0].outputs
    assert set(picture.data) == {"image/png", "text/plain"}
    assert picture.data["text/plain"] == "[picture: one bar]"
    assert picture.metadata["image/png"]["alt"] == "one bar"
    assert numbers.output_type == "stream"
    assert numbers.text.startswith("[picture: one bar]\nrow ")
    assert "1 slot of 1 operation" in numbers.text
    assert "Figure" not in json.dumps(notebook)


def test_units_suit_the_largest_value():
    assert [bytes_text(n) for n in (0, 9_999, 10_000, 12_345_678, 5 * 10**10)] == [
        "0 bytes",
        "9,999 bytes",
        "10 kB",
        "12,35 MB".replace(",", "."),
        "50 GB",
    ]
    ax = new_axes()
    assert byte_axis(ax.yaxis, 250_000) == "kB"
    assert ax.yaxis.get_major_formatter()(250_000) == "250"
    assert time_axis(ax.xaxis, 2 * 10**10) == "s"
    assert ax.xaxis.get_major_formatter()(2 * 10**10) == "20"
    assert byte_axis(ax.yaxis, 0) == "bytes"


# Linear approximations of the three kinds of colour blindness (Machado, Oliveira, Fernandes 2009,
# severity 1.0).
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
               [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("colours", [PALETTE[:6], tuple(memory_plots.COLOURS.values())])
def test_colours_of_one_picture_stay_apart_for_the_colour_blind(kind, colours):
    matrix = np.array(BLINDNESS[kind])
    seen = [np.clip(matrix @ np.array(matplotlib.colors.to_rgb(c)), 0, 1) for c in colours]
    for first, second in itertools.combinations(seen, 2):
        assert np.linalg.norm(first - second) > 0.25


def test_axes_in_a_part_of_a_figure_find_the_whole_figure():
    figure = new_figure(4.0, 2.0)
    left, _ = figure.subfigures(1, 2)
    assert figure_of(left.subplots()) is figure
    assert figure_of(new_axes()) is not figure


def test_every_figure_has_title_labels_and_legend():
    loss, _ = two_layers()
    with trace() as t, timeline():
        loss.backward()
    for ax in (saved(leaf(3).exp()).plot(), t.plot_saved_bytes()):
        assert ax.get_title(loc="left")
        assert ax.get_xlabel() and ax.get_ylabel()
        assert ax.get_legend() is not None
