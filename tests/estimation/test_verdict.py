"""Verdicts: the rules of the design, and which population they are about."""

import math
import re
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, breakdown, estimate, verdict
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


def test_naming_a_further_column_that_flips_nobody_changes_no_verdict():
    """Neither alone nor together with the first; the rows compared are the same, and so is the interval."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, weights = int(rng.integers(40, 400)), rng.normal(size=3)
        rows = pd.DataFrame({"x": rng.integers(0, 30, n), "sex": rng.integers(0, 2, n), "town": rng.integers(0, 3, n)})

        def model(X, weights=weights):
            return X[:, 0] + 4 * weights[0] * X[:, 1] > 15 + 5 * weights[1]

        every = Domain.from_frame(rows, ["sex", "town"])
        parts = breakdown(model, every, rows, rows_are="held-out")
        first = verdict(estimate(model, Domain.from_frame(rows, ["sex"]), rows, rows_are="held-out"), 0.05)
        both = verdict(parts["sex x town"], 0.05)
        assert parts["town"].hits == 0
        assert (both.outcome, both.share.low, both.share.high) == (first.outcome, first.share.low, first.share.high)


def test_training_rows_never_pass_and_rows_of_unknown_role_only_on_a_condition():
    """15 random splits of data like German credit, with a tree that knows its training rows by heart."""
    rng, n, seen = np.random.default_rng(0), 1000, set()
    rows = pd.DataFrame({"age": rng.integers(19, 75, n), "duration": rng.integers(1, 13, n) * 6})
    rows["amount"] = np.round(np.exp(rng.normal(6.2, 0.5, n)) * rows["duration"] ** 0.6)
    rows["sex"] = rng.integers(0, 2, n)
    risk = 0.03 * rows["duration"] + 0.0001 * rows["amount"] + 0.2 * rows["sex"]
    bad = risk + rng.logistic(0, 0.5, n) > risk.quantile(0.7)
    for split in range(15):
        order = np.random.default_rng(split).permutation(n)
        learned, held_out = rows.iloc[order[:700]], rows.iloc[order[700:]]
        tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=split).fit(learned, bad.iloc[order[:700]])
        domain = Domain.from_frame(rows, ["sex"])
        shares = estimate(tree, domain, learned, rows_are="training"), estimate(tree, domain, held_out)
        for limit in (0, 0.01, 0.1, 0.5, 0.9):
            trained, unknown = (verdict(share, limit) for share in shares)
            assert trained.outcome != Outcome.PASSED
            assert np.isnan(trained.share.high)
            assert (unknown.condition is not None) == (unknown.outcome == Outcome.PASSED)
            assert unknown.outcome != Outcome.PASSED or "passed, if the model was not trained" in unknown.sentence
            seen |= {trained.outcome, unknown.outcome}
    assert seen == {*Outcome}


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
        (
            0.027,
            "inconclusive: 2.53% of the domain (253 of 10,000 inputs)",
            "; the limit of 2.7% lies within the interval",
        ),
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
