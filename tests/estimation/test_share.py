"""What a share says, in words and in figures."""

from __future__ import annotations

import dataclasses
import json

import pytest

from fairprobe import Share, estimate
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import all_toys, box
from fairprobe.wording import percent


def make(hits, n, *, confidence=0.95, exact=False, **fields):
    """A share of so many hits."""
    value = hits / n
    low, high = (value, value) if exact else clopper_pearson(hits, n, confidence)
    lower = value if exact else lower_bound(hits, n, confidence)
    upper = value if exact else upper_bound(hits, n, confidence)
    common = {
        "method": "exact" if exact else "sample",
        "population": "domain",
        "confidence": confidence,
        "sensitive": ("sex",),
        "threshold": 0.0,
        "n_queries": 2 * n,
        "seconds": 0.5,
        "seed": 7,
    }
    return Share(value, low, high, lower, upper, n, hits, **(common | fields))


# In words


def test_none_found_is_said_by_the_one_sided_bound():
    text = "none in 400,000: with 95% confidence fewer than 0.00075% of the domain"
    assert make(0, 400_000).sentence() == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (make(0, 1000, population="valid"), "none in 1,000: with 95% confidence fewer than 0.3% of the allowed part"),
        (make(0, 1000, confidence=0.99), "none in 1,000: with 99% confidence fewer than 0.46% of the domain"),
        (make(20, 148, exact=True), "exactly 13.51% of the domain: 20 of 148 inputs"),
        (make(0, 148, exact=True), "exactly 0% of the domain: 0 of 148 inputs"),
        (make(7, 7, exact=True), "exactly 100% of the domain: 7 of 7 inputs"),
        (
            make(50, 1000),
            "5% of the domain, with 95% confidence between 3.73% and 6.54% (50 hits in 1,000 inputs)",
        ),
        (
            make(62, 1000, population="rows", method="rows"),
            "6.2% of the rows (62 of 1,000); with 95% confidence between 4.79% and 7.88% of the people they are drawn",
        ),
    ],
)
def test_sentence(share, text):
    assert share.sentence().startswith(text)
    assert repr(share) == f"Share({share.sentence()})"


def test_none_among_the_rows_is_no_claim_about_the_rows():
    """All rows were judged, so none of them is a hit for certain: the bound is about the people they stand for."""
    share = make(0, 1000, population="rows", method="rows")
    assert "of the people they are drawn from" in share.sentence()


def test_rows_left_out_are_said():
    share = make(62, 1000, population="rows", method="rows", n_left_out=17)
    assert "17" in share.sentence()
    assert "left out" in share.sentence()


def test_no_sentence_says_fair():
    for share in (make(0, 10), make(0, 10, exact=True), make(10, 10), make(0, 10, population="rows", method="rows")):
        assert "fair" not in share.sentence()


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.5, "50%"),
        (0.95, "95%"),
        (1 - 0.05 / 3, "98.33%"),
        (0.0623, "6.23%"),
        (0.00065, "0.065%"),
        (7.489e-6, "0.00075%"),
        (0.9999, "99.99%"),
        (0.999999, "99.9999%"),
    ],
)
def test_percent(fraction, text):
    assert percent(fraction) == text


@pytest.mark.parametrize("exponent", range(1, 18))
def test_percent_tells_a_little_from_none(exponent):
    """A tree's share may be one box in 10^17 inputs."""
    assert percent(10.0**-exponent) != "0%"
    assert float(percent(10.0**-exponent)[:-1]) == pytest.approx(100 * 10.0**-exponent)


@pytest.mark.parametrize("exponent", range(1, 13))
def test_percent_tells_nearly_all_from_all(exponent):
    assert percent(1 - 10.0**-exponent) != "100%"


# In figures


@pytest.mark.parametrize("toy", dict(all_toys()).values(), ids=dict(all_toys()))
@pytest.mark.parametrize("method", ["exact", "sample"])
def test_the_summary_can_be_written_as_json(toy, method):
    share = estimate(toy.model, toy.domain, method=method, n_experiments=2, n_samples=500, **toy.settings)
    summary = json.loads(json.dumps(share.jsonable()))
    for figure in ("value", "low", "high", "lower", "upper", "n", "hits", "method", "seed", "mean_low", "n_left_out"):
        assert summary[figure] == getattr(share, figure)
    assert summary["sentence"] == share.sentence()
    assert summary["sensitive"] == list(share.sensitive)
    if share.hits:
        assert len(summary["outcomes"]) == len(toy.domain.combinations)


def test_a_share_is_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(1, 10).value = 0.0


def test_width_is_that_of_the_two_sided_interval():
    share = make(50, 1000)
    assert share.width == share.high - share.low
    assert estimate(box().model, box().domain).width == 0
