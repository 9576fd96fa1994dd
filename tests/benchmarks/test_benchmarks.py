"""The benchmarks measure the same mathematics everywhere, and run."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

from tests.benchmarks.__main__ import main
from tests.benchmarks.by_hand import ByHand
from tests.benchmarks.frameworks import FRAMEWORKS
from tests.benchmarks.measuring import Row
from tests.benchmarks.table import check_plot
from tests.benchmarks.workloads import WORKLOADS, data, label

# The same chain by hand; an empty Function and hooks change no gradient.
BY_HAND = {"hooked_chain": "tanh_chain"}


@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if name != "numpy"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_framework_computes_the_gradients_of_hand_written_numpy(workload, framework):
    pytest.importorskip(framework)
    method = getattr(FRAMEWORKS[framework](), workload.name, None)
    if method is None:
        assert framework != "tensorplay_ref"
        pytest.skip(f"{framework} has no {workload.name}")
    arrays = data(workload.name, workload.quick)
    found = [FRAMEWORKS[framework]().array(gradient) for gradient in method(arrays)()]
    if workload.name == "function_chain":
        expected = [np.ones_like(arrays["x"])]
    else:
        expected = getattr(ByHand(), BY_HAND.get(workload.name, workload.name))(arrays)()
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-6)
        if framework == "tensorplay_ref":
            assert one.dtype == np.float32


def test_a_quick_run_on_the_reference_alone_prints_every_workload():
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(["--quick", "--frameworks", "tensorplay_ref"]) == 0
    for workload in WORKLOADS:
        assert label(workload, quick=True) in printed.getvalue()
    assert "Tiny workloads" in printed.getvalue() and "1024" not in printed.getvalue()
    assert "import, in a fresh process" in printed.getvalue()


def test_a_label_names_the_sizes_that_are_run():
    large = next(workload for workload in WORKLOADS if workload.name == "mlp_large")
    assert label(large, quick=False) == "MLP 784-1024-1024-10, batch 512, with cross entropy"
    assert label(large, quick=True) == "MLP 16-32-32-10, batch 16, with cross entropy"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rounds", "0"], "at least 1, found 0"),
        (["--plot", "no/such/folder/times.png"], "No such file"),
        (["--plot", "times.nonsense"], "format 'nonsense'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(words, said, capsys, monkeypatch):
    if "--plot" in words:
        pytest.importorskip("matplotlib")
    monkeypatch.setattr("tests.benchmarks.__main__.measure", None)
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_asking_for_a_plot_leaves_no_empty_file(tmp_path):
    pytest.importorskip("matplotlib")
    check_plot(str(tmp_path / "times.png"))
    assert list(tmp_path.iterdir()) == []


def test_a_ratio_is_taken_within_a_round():
    row = Row("name", "what", {"numpy": [1.0, 10.0, 2.0], "tensorplay_ref": [2.0, 20.0, 6.0]})
    assert row.base == "numpy"
    assert row.ratio("tensorplay_ref") == (2.0, 2.0, 2.5)
