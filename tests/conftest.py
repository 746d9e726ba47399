from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time: a failure is a bug of today's change, never luck. Search wider with
# HYPOTHESIS_PROFILE=wide, which draws other examples each time.
_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("fairprobe", deadline=None, derandomize=True, max_examples=60, suppress_health_check=_QUIET)
settings.register_profile("wide", deadline=None, max_examples=2_000, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fairprobe"))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """Fitted subjects are kept for the session, in one folder for all processes of pytest-xdist."""
    if "FAIRPROBE_CACHE" in os.environ:
        yield os.environ["FAIRPROBE_CACHE"]
        return
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fairprobe-cache"
    os.environ["FAIRPROBE_CACHE"] = str(folder)
    yield str(folder)
    del os.environ["FAIRPROBE_CACHE"]


@pytest.fixture(scope="session")
def census_tree(cache_folder):
    """The decision tree on the encoded census, and its domain."""
    from fairprobe import subjects
    from fairprobe.datasets import census_domain

    return subjects.load("decision-tree"), census_domain()
