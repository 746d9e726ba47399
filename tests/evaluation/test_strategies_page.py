"""docs/strategies.md: its numbers are those of the runs beside it, and our best strategies are spread widely."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from evaluation import strategies
from evaluation.ledger import Ledger
from evaluation.plan import FULL
from evaluation.run import FILE, PAGES, wanted_cells

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(DOCS / FILE)


def test_page_is_that_of_the_runs(ledger):
    [page] = [page for page in PAGES if page.name == "strategies"]
    assert (DOCS / "strategies.md").read_text(encoding="utf-8") == page.text(FULL, ledger)


def test_every_run_is_there(ledger):
    assert ledger.has_all(wanted_cells("strategies", FULL))
    for subject in FULL.duel_subjects:
        for budget in strategies.BUDGETS:
            found = strategies.figures(FULL, ledger, subject, budget)
            assert {strategy: len(runs) for strategy, runs in found.items()} == dict.fromkeys(strategies.STRATEGIES, 20)


def test_cases_are_spread_as_widely_as_those_of_fully_directed(ledger):
    for subject in FULL.duel_subjects:
        recall = {
            strategy: statistics.median(run["recall"] for run in runs)
            for strategy, runs in strategies.figures(FULL, ledger, subject, "queries").items()
        }
        assert recall["anchored"] >= recall["fully-directed"], subject
        assert recall["guided"] >= recall["fully-directed"], subject
