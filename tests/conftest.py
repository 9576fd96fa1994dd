"""What the tests of several rooms share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Only reference counting frees anything while the test runs."""
    gc.disable()
    yield
    gc.enable()
