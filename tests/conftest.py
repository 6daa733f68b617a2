"""Settings that hold for every test."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A machine under load is slow, which says nothing about an example; in CI the same examples run
# every time, so that a change is judged by itself.
settings.register_profile("numatune", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("numatune")


@pytest.fixture
def untraced() -> Iterator[None]:
    """Measure no coverage during a test that takes the time: tracing alone takes several times it."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)
