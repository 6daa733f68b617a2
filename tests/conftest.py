"""Settings that hold for every test."""

import os

from hypothesis import settings

# A machine under load is slow, which says nothing about an example; in CI the same examples run
# every time, so that a change is judged by itself.
settings.register_profile("numatune", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("numatune")
