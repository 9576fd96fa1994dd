"""What pytest and nbval need to know beyond pyproject.toml, from whatever folder they start."""

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent

# One thread each, before anything imports NumPy; the kernels of the notebooks inherit it. The
# command refresh does the same (tests/test_refresh.py compares them).
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["VECLIB_MAXIMUM_THREADS"] = "1"
# A backend chosen outside would keep figures from appearing in the notebooks.
os.environ.pop("MPLBACKEND", None)

# Exercise notebooks have no outputs to compare; tests/course/test_exercises.py runs them.
collect_ignore = ["notebooks/exercises"]


def pytest_configure(config: pytest.Config) -> None:
    sanitize = config.option.nbval_sanitize_with or ROOT / "tests" / "nbval_sanitize.cfg"
    config.option.nbval_sanitize_with = str(sanitize)
    if not hasattr(config, "workerinput"):
        # Nobody's own IPython start-up files may run in a kernel; xdist's workers inherit this.
        profile = tempfile.TemporaryDirectory()
        config.add_cleanup(profile.cleanup)
        os.environ["IPYTHONDIR"] = profile.name
        from tensorplay_ref.course.kernel import warm_up

        warm_up()
