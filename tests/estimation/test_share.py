"""What a share says, in words and in figures."""

import json

import pytest

from fairprobe import Share, estimate
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import all_toys


def make(hits, n, *, confidence=0.95, exact=False, **fields):
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


FLIP = "get another outcome when sex changes"
MOST = f"none of 1,000 inputs {FLIP}: with"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (make(0, 400_000), f"none of 400,000 inputs {FLIP}: with 95% confidence fewer than 0.00075% of the domain"),
        (
            make(0, 1000, population="valid"),
            f"{MOST} 95% confidence fewer than 0.3% of the allowed part",
        ),
        (make(0, 1000, confidence=0.99), f"{MOST} 99% confidence fewer than 0.46% of the domain"),
        (  # all rows were judged, so the bound is about the people they stand for
            make(0, 1000, population="rows", method="rows"),
            f"none of 1,000 rows {FLIP}: with 95% confidence fewer than 0.3% of the people they are drawn from",
        ),
        (make(20, 148, exact=True), f"exactly 13.51% of the domain (20 of 148 inputs) {FLIP}"),
        (make(50, 1000), f"5% of the domain (50 of 1,000 inputs) {FLIP} (95% interval 3.73% to 6.54%)"),
        (
            make(62, 1000, population="rows", method="rows"),
            f"6.2% of the rows (62 of 1,000) {FLIP} (95% interval 4.79% to 7.88%)",
        ),
    ],
)
def test_sentence(share, text):
    assert share.sentence().startswith(text)
    assert repr(share) == f"Share({share.sentence()})"


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
