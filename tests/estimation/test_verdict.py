"""Verdicts: the rules of the design, and which population they are about."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fairprobe import Domain, Integer, estimate, verdict
from fairprobe.errors import SettingError
from fairprobe.estimation import Outcome
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import box, score

TOY = box()  # 2.7% of the domain


def sampled(toy, n=10_000, **options):
    return estimate(toy.model, toy.domain, method="sample", n_experiments=10, n_samples=n // 10, **options)


PERCENTAGES = re.compile(r"interval ([\d.]+)% to ([\d.]+)%")


def test_what_is_shown_decides():
    """The outcome follows from the interval in the sentence, as a reader sees it, for any counts and limit."""
    rng = np.random.default_rng(0)
    made = sampled(TOY, n=100)
    for _ in range(1000):
        n = int(rng.integers(1, 3000))
        hits = int(rng.binomial(n, rng.choice([0, 0.005, 0.01, 0.02, 0.2])))
        limit = float(rng.choice([0.005, 0.01, 0.02, 0.05, hits / (n + 1)]))
        low, high = clopper_pearson(hits, n, 0.95)
        one_sided = {"lower": lower_bound(hits, n, 0.95), "upper": upper_bound(hits, n, 0.95)}
        fields = {"hits": hits, "n": n, "value": hits / n, "low": low, "high": high, **one_sided}
        said = verdict(replace(made, population="rows", method="rows", n_not_comparable=0, **fields), limit)
        shown_low, shown_high = (float(each) / 100 for each in PERCENTAGES.search(said.sentence).groups())
        shown = "violated" if shown_low > limit else "passed" if shown_high <= limit * (1 + 1e-12) else "inconclusive"
        assert said.outcome == ("violated" if limit == 0 and hits else shown), said.sentence


# Which population


def test_a_gate_that_is_not_there():
    with pytest.raises(SettingError, match="gate must be one of the populations domain; got 'rows'"):
        verdict(sampled(TOY), 0.5, gate="rows")
    with pytest.raises(SettingError, match="gate must be one of the populations none; got None"):
        verdict({}, 0.5)


@pytest.mark.parametrize("limit", [-0.1, 1, 1.5, np.nan, np.inf, None, "1%", True])
def test_a_limit_is_a_number_from_0_to_below_1(limit):
    with pytest.raises(SettingError, match="max_share must be at least 0 and below 1, got"):
        verdict(sampled(TOY), limit)


# In words


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (0.01, "violated: 2.53% of the domain (253 of 10,000 inputs) get another outcome when group changes ("),
        (0.05, "passed: 2.53% of the domain (253 of 10,000 inputs) get another outcome when group changes ("),
        (0.027, "inconclusive: the limit lies within the interval. 2.53% of the domain ("),
    ],
)
def test_the_sentence_explains(limit, text):
    share = sampled(TOY)
    result = verdict(share, limit)
    assert result.sentence.startswith(text)
    assert share.sentence() in result.sentence
    assert "fair" not in result.sentence


def test_a_model_that_does_not_use_the_sensitive_parameters_is_no_success():
    """Proven not to use them: the design wants that said, with a pointer to linked and proxy checks."""
    domain = Domain([Integer("x", 0, 99), Integer("group", 0, 1)], ["group"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = verdict(estimate(lambda X: X[:, 0] > 50, domain), 0.01)
    said = " ".join([result.sentence, *(str(warning.message) for warning in caught)])
    assert result.outcome is Outcome.PASSED
    assert "does not use" in said
    assert "linked" in said
    assert "prox" in said
    assert "fair" not in said


def test_a_difference_below_the_threshold_is_a_use():
    """Scores that differ by up to 7/8 are no hits at a threshold of 7/8, but the model does use the group."""
    toy = score(threshold=7 / 8)
    share = estimate(toy.model, toy.domain, **toy.settings)
    assert (share.method, share.hits) == ("exact", 0)
    assert "does not use" not in verdict(share, 0.01).sentence
