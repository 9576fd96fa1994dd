"""What the modules show at Tab, and what is loaded only when it is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import tensorplay_ref as tp


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def public_modules(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, ModuleType) and value.__name__.startswith("tensorplay_ref"):
            if hasattr(value, "__all__"):
                yield from public_modules(value)


@pytest.mark.parametrize("module", [*public_modules(tp)], ids=lambda module: module.__name__)
def test_completion_shows_public_names_alone(module: ModuleType) -> None:
    assert set(module.__all__) <= set(dir(module))
    others = set(dir(module)) - set(module.__all__)
    assert {"__doc__", "__file__", "__name__"} <= others
    assert [name for name in others if not name.startswith("__")] == []


def test_a_name_that_is_nowhere_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tensorplay_ref' has no attribute 'nowhere'"):
        _ = tp.nowhere  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'nowhere'"):
        from tensorplay_ref import nowhere  # type: ignore[attr-defined]  # noqa: F401


def test_the_start_does_not_load_the_types_of_numpy_that_few_programs_use() -> None:
    run(
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import tensorplay_ref\n"
        "assert 'numpy.typing' in before or 'numpy.typing' not in sys.modules\n"
    )
