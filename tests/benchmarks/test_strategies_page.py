"""docs/strategies.md: its numbers are those of the runs beside it, and our best strategies are spread widely."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def page_maker():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import strategies

    sys.path.remove(str(ROOT / "benchmarks"))
    return strategies


def test_page_is_that_of_the_runs(page_maker):
    assert (DOCS / "strategies.md").read_text(encoding="utf-8") == page_maker.page(DOCS)


def test_every_run_is_there(page_maker):
    for name in page_maker.SUBJECTS:
        runs = {(run["budget"], run["strategy"], run["seed"]) for run in page_maker.kept(DOCS, name)}
        assert len(runs) == len(page_maker.BUDGETS) * len(page_maker.STRATEGIES) * 20


def test_cases_are_spread_as_widely_as_those_of_fully_directed(page_maker):
    for name in page_maker.SUBJECTS:
        runs = [run for run in page_maker.kept(DOCS, name) if run["budget"] == "queries"]
        recall = {
            strategy: statistics.median(run["recall"] for run in runs if run["strategy"] == strategy)
            for strategy in page_maker.STRATEGIES
        }
        assert recall["anchored"] >= recall["fully-directed"], name
        assert recall["guided"] >= recall["fully-directed"], name
