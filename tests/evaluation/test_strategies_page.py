"""docs/strategies.md: its numbers are those of the runs beside it, and our best strategies are spread widely."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation import strategies
from evaluation.ledger import Ledger
from evaluation.plan import FULL
from evaluation.run import FILE, PAGES, wanted_cells

DOCS = Path(__file__).parents[2] / "docs"
BUDGETS = range(4)
"""The budgets, by number."""
_, *QUERIES, _ = BUDGETS
FEW = QUERIES[0]


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(DOCS / FILE)


def test_page_is_that_of_the_runs(ledger):
    [page] = [page for page in PAGES if page.name == "strategies"]
    assert (DOCS / "strategies.md").read_text(encoding="utf-8") == page.text(FULL, ledger)


def every_budget():
    return [(subject, budget) for subject in FULL.duel_subjects for budget in strategies.budgets(FULL, subject)]


def test_every_run_is_there(ledger):
    assert ledger.has_all(wanted_cells("strategies", FULL))
    for subject, budget in every_budget():
        found = strategies.figures(FULL, ledger, subject, budget)
        assert {strategy: len(runs) for strategy, runs in found.items()} == dict.fromkeys(
            budget.strategies, budget.n_seeds
        )


def standings(ledger, number):
    """By subject, how `auto` does within one of the budgets."""
    return {
        subject: strategies.standing(FULL, ledger, subject, strategies.budgets(FULL, subject)[number])
        for subject in FULL.duel_subjects
    }


@pytest.mark.parametrize("number", QUERIES)
def test_cases_are_spread_as_widely_as_those_of_fully_directed(ledger, number):
    for subject, its in standings(ledger, number).items():
        assert its.recall["anchored"] >= its.recall["fully-directed"], subject
        assert its.recall["guided"] >= its.recall["fully-directed"], subject


def test_few_queries_are_a_budget(ledger):
    for subject, its in standings(ledger, FEW).items():
        for other in ("uniform", strategies.ONE):
            assert its.cases[its.pick].value > its.cases[other].value, (subject, other)


@pytest.mark.parametrize("number", BUDGETS)
def test_auto_finds_about_as_much_as_the_best(ledger, number):
    parts = [its.part(its.best).value for its in standings(ledger, number).values()]
    assert min(parts) >= 0.85
    assert sum(part >= 0.95 for part in parts) >= 8


@pytest.mark.parametrize("number", BUDGETS)
def test_recall_of_auto_is_about_the_highest(ledger, number):
    assert max(its.behind(its.pick) for its in standings(ledger, number).values()) <= strategies.NEARLY_ALL
