"""One budget of queries for an audit, and the order in which its results are told."""

from __future__ import annotations

import pytest
from audited import SMALL, model, rows, titled

from fairprobe import Domain, Link, audit
from fairprobe.errors import SettingError

SPOUSE = Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])


def audited(answer=model, links=(), **settings):
    domain = Domain.from_frame(rows(), ["sex"]).with_links(links)
    asked = {"rows_are": "held-out", "max_share": 0.5, "favourable": "yes", "selfcheck": False, **SMALL, **settings}
    return audit(answer, rows(), domain=domain, **asked)


def queries(found):
    return sum(each["n_queries"] for each in found.content["sampling"])


def remarks(found, check="short-budget"):
    return {each["phase"]: each["message"] for each in found.content["health"] if each["check"] == check}


@pytest.fixture(scope="module")
def whole():
    return audited()


def test_a_budget_that_is_enough_changes_nothing(whole):
    more = audited(max_queries=100_000)
    for name in ("shares", "verdict", "cases", "why", "impact"):
        assert more.content[name] == whole.content[name]
    assert remarks(whole) == remarks(more) == {}


@pytest.mark.parametrize("budget", [1, 1500, 4000, 6000])
def test_what_is_short_of_budget_says_so_and_the_rows_are_whole(whole, budget):
    found = audited(max_queries=budget)
    assert found.shares["rows"].hits == whole.shares["rows"].hits
    assert found.verdict.sentence == whole.verdict.sentence
    assert queries(found) <= max(budget, 1500) + 500
    assert queries(found) < queries(whole)
    said = {**remarks(found), **remarks(found, "no-share")}
    assert said
    assert all("queries" in each for each in said.values())
    if budget == 1:
        assert found.found is None
        assert "not searched: 0 queries are left for it, too few for one input" in remarks(found)["search"]
        assert "leaves 0 queries for domain, too few for one experiment" in remarks(found, "no-share")["shares"]


def test_a_budget_is_a_number():
    with pytest.raises(SettingError, match="max_queries must be"):
        audited(max_queries=0)


def test_the_share_and_the_rates_of_the_rows_are_told_first():
    told = []
    audited(progress=lambda status: told.append(status.text) if status.is_over else None)
    assert "25% of the rows" in told[0] or "inconclusive" in told[0]
    assert told[1].startswith("rows: 25% of the rows")
    assert told[2] == "rates of yes: 47.5% if everybody were sex=Male, 22.5% if sex=Female"
    assert told[3].startswith(("density", "domain"))


def test_without_its_only_link_the_share_is_the_plain_one():
    """It is not asked about again, and the figures are those of plain twins alone."""
    found = audited(titled, [SPOUSE])
    row = next(each for each in found.content["sensitivity"] if each["what"] == "without the link title")
    alone = audited(titled).shares["rows"]
    assert [row[name] for name in ("hits", "n", "low", "high")] == [alone.hits, alone.n, alone.low, alone.high]
    assert not [each for each in found.content["sampling"] if each["phase"] == "sensitivity"]
