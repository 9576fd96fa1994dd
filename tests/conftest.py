"""What the tests of several rooms share."""

from collections.abc import Iterator

import pytest

from tensorplay_ref.course.compare import reference_counting


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Only reference counting frees anything while the test runs."""
    with reference_counting():
        yield
