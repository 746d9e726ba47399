"""Verdicts: the rules of the design, and which population they are about."""

import math
import re
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from fairprobe import Domain, Integer, estimate, verdict
from fairprobe.blocks import Remark
from fairprobe.errors import SettingError
from fairprobe.estimation import Outcome
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import box, score

TOY = box()  # 2.7% of the domain


def sampled(toy, n=10_000, **options):
    return estimate(toy.model, toy.domain, method="sample", n_experiments=10, n_samples=n // 10, **options)


PERCENTAGES = re.compile(r"interval (?:is )?([\d.]+)% to ([\d.]+)%")


def test_what_is_shown_decides():
    """The outcome follows from the interval in the sentence, as a reader sees it, for 10,000 counts."""
    rng, size = np.random.default_rng(0), 10_000
    made = sampled(TOY, n=100)
    all_n = rng.integers(1, 3000, size)
    all_hits = rng.binomial(all_n, rng.choice([0, 0.005, 0.01, 0.02, 0.2], size))
    two_sided = clopper_pearson(all_hits, all_n, 0.95)
    ends = [*two_sided, lower_bound(all_hits, all_n, 0.95), upper_bound(all_hits, all_n, 0.95)]
    names = ("hits", "n", "low", "high", "lower", "upper")
    for counts in zip(all_hits.tolist(), all_n.tolist(), *(each.tolist() for each in ends), strict=True):
        fields = dict(zip(names, counts, strict=True))
        hits, n = fields["hits"], fields["n"]
        fields["value"] = hits / n
        limit = float(rng.choice([0.005, 0.01, 0.02, 0.05, hits / (n + 1)]))
        said = verdict(replace(made, population="rows", method="rows", n_not_comparable=0, **fields), limit)
        shown_low, shown_high = (float(each) / 100 for each in PERCENTAGES.search(" ".join(said.details)).groups())
        shown = "violated" if shown_low > limit else "passed" if shown_high <= limit * (1 + 1e-12) else "inconclusive"
        assert said.outcome == ("violated" if limit == 0 and hits else shown), said.sentence


def test_a_gate_that_is_not_there():
    with pytest.raises(SettingError, match="gate must be one of the populations domain; got 'rows'"):
        verdict(sampled(TOY), 0.5, gate="rows")
    with pytest.raises(SettingError, match="gate must be one of the populations none; got None"):
        verdict({}, 0.5)


@pytest.mark.parametrize("limit", [-0.1, 1, 1.5, np.nan, np.inf, None, "1%", True])
def test_a_limit_is_a_number_from_0_to_below_1(limit):
    with pytest.raises(SettingError, match="max_share must be at least 0 and below 1, got"):
        verdict(sampled(TOY), limit)


def test_every_sentence_of_a_verdict_is_short():
    """At most 25 words for each outcome, population, twins, kind of output and role of the rows."""
    made, outcomes = sampled(TOY, n=100), set()
    numbers = [(0, 4000), (4, 4000), (40, 4000), (400, 4000), (0, 0)]
    several = {"sensitive": ("sex", "race"), "linked": ("relationship",)}
    kinds = [{}, {"threshold": 0.1}, several, {**several, "threshold": 0.1}, {"design": "weighted in 1,234 groups"}]
    unsteady = (Remark("stochastic-model", ""),)
    more = [{}, {"rows_are": "held-out"}, {"rows_are": "training"}, {"health": unsteady}, {"n_not_comparable": 9000}]
    for population, numbers_, kind, other in product(("rows", "domain", "valid", "density"), numbers, kinds, more):
        hits, n = numbers_
        low, high = clopper_pearson(hits, n, 0.95)
        fields = {"hits": hits, "n": n, "value": hits / n if n else math.nan, "low": low, "high": high, **kind, **other}
        share = replace(made, population=population, method="rows" if population == "rows" else "sample", **fields)
        said = verdict(share, 0.01)
        outcomes.add(said.outcome)
        assert len(said.sentence.split()) <= 25, said.sentence
        assert all(len(part.split()) <= 35 for each in said.details for part in each.split(". ")), said.details
    assert len(outcomes) == 3


@pytest.mark.parametrize(
    ("limit", "start", "end"),
    [
        (0.01, "violated: 2.53% of the domain (253 of 10,000 inputs) get", "; the limit is 1%"),
        (0.05, "passed: 2.53% of the domain (253 of 10,000 inputs) get", "; the limit is 5%"),
        (0.027, "inconclusive: 2.53% of the domain (253 of 10,000", "2.7% lies within the interval"),
    ],
)
def test_the_sentence_explains(limit, start, end):
    share = sampled(TOY)
    result = verdict(share, limit)
    assert result.sentence.startswith(start)
    assert result.sentence.endswith(end)
    assert share.interval_words(limit) in " ".join(result.details) or share.sentence(limit) in result.details
    assert "fair" not in result.sentence


def test_a_model_that_does_not_use_the_sensitive_parameters_is_no_success():
    """Proven not to use them: the design wants that said, with a pointer to linked and proxy checks."""
    domain = Domain([Integer("x", 0, 99), Integer("group", 0, 1)], ["group"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = verdict(estimate(lambda X: X[:, 0] > 50, domain), 0.01)
    said = " ".join([result.sentence, *result.details, *(str(warning.message) for warning in caught)])
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
