"""How far a search has got, in words and as a fraction of the nearest limit."""

from __future__ import annotations

from fairprobe.engine.base import Counts
from fairprobe.searching.run import status_of
from fairprobe.searching.settings import Limits


def test_progress_in_words():
    told = status_of(Counts(n_cases=50, n_judged=200, n_queries=400), Limits(), 2.0)
    assert told.text == "50 cases, yield >=25.0%, 25 cases/s"
    assert status_of(Counts(0, 0, 0), Limits(), 0.0).text == "0 cases, yield >=0.0%, 0 cases/s"


def test_progress_is_about_the_nearest_limit():
    snapshot = Counts(n_cases=50, n_judged=200, n_queries=400)
    assert status_of(snapshot, Limits(max_cases=100, max_judged=1000), 1.0).fraction == 0.5
    assert status_of(snapshot, Limits(max_cases=100, max_seconds=1.25), 1.0).fraction == 0.8
    assert status_of(snapshot, Limits(), 1.0).fraction == 0.0
    assert status_of(snapshot, Limits(max_queries=100), 1.0).fraction == 1.0
