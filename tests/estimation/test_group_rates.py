"""Observed rates by group, and their ratio: intervals that hold, and a rule that follows from them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from fairprobe.auditing.gating import judged_by
from fairprobe.estimation.group_rates import FEWEST, group_rates
from fairprobe.estimation.verdict import Outcome, held_against

LIMIT = SimpleNamespace(gate="impact", min_ratio=0.8, limit=None, min_comparable=0.9, rows_are="held-out")


def rates_of(counts, confidence=0.95, **settings):
    """Of groups with these numbers of favourable rows and of rows."""
    own = np.repeat(np.arange(len(counts)), [n for _, n in counts])
    good = np.concatenate([np.arange(n) < hits for hits, n in counts])
    names = [f"group {place}" for place in range(len(counts))]
    return group_rates("race", own, names, good, "yes", confidence, **settings)


def test_the_interval_of_the_ratio_contains_it_in_as_many_runs_as_it_says():
    rng, truth, sizes = np.random.default_rng(0), np.array([0.3, 0.33, 0.5]), np.array([120, 60, 300])
    found = [rates_of(list(zip(rng.binomial(sizes, truth), sizes, strict=True)), 0.9) for _ in range(300)]
    held = [each.ratio[1] <= 0.6 <= each.ratio[2] for each in found]
    assert np.mean(held) > 0.9


def test_the_outcome_follows_from_the_shown_interval_for_any_counts():
    """3,000 random counts: what a reader sees decides, and never contradicts the verdict."""
    rng, seen = np.random.default_rng(1), set()
    for _ in range(3000):
        sizes = rng.integers(20, 2000, int(rng.integers(1, 4)))
        found = rates_of([(int(rng.binomial(n, rng.choice([0, 0.3, 0.5, 0.9]))), int(n)) for n in sizes])
        outcome, _ = held_against(found, 1 - 0.8, 0.0)
        _, low, high = found.ratio
        shown = "violated" if high < 0.8 else "passed" if low >= 0.8 else "inconclusive"
        assert outcome == ("inconclusive" if math.isnan(found.ratio[0]) else shown)
        seen.add(outcome)
    assert seen == {*Outcome}


KEPT = [(970, 1000), (980, 1000)]
LEAST = "the lowest rate by race is"
LIMIT_OF_80 = "of the highest; the limit is 80%"
FOUR = [(20, 25), (20, 25), (90, 100), (90, 100)]
NEAR = f"inconclusive: {LEAST} 80% of the highest; the limit of 80% lies within the interval"
TRAINED = "inconclusive: the model was trained on these rows, so they cannot show that a limit is kept"
APART = "inconclusive: only 80% of the rows could be compared, less than the 90% that it takes"


@pytest.mark.parametrize(
    ("counts", "settings", "sentence"),
    [
        ([(900, 2000), (900, 1000)], {}, f"violated: {LEAST} 50% {LIMIT_OF_80}"),
        (KEPT, {}, f"passed: {LEAST} 98.98% {LIMIT_OF_80}"),
        ([(40, 100), (50, 100)], {}, NEAR),
        (KEPT, {"is_count": True}, TRAINED),
        ([(300, 1000), (980, 1000)], {"is_count": True}, f"violated: {LEAST} 30.61% {LIMIT_OF_80}"),
        ([(9, 20), (90, 100)], {}, f"inconclusive: fewer than two groups by race have {FEWEST} rows"),
        ([(0, 50), (0, 100)], {}, "inconclusive: no group by race gets the outcome"),
        (FOUR, {}, APART),
    ],
)
def test_verdicts(counts, settings, sentence):
    said = judged_by([rates_of(counts, **settings)], LIMIT)
    assert said.sentence == sentence
    assert len(sentence.split()) <= 25


def test_rows_of_unknown_role_pass_on_a_condition_only():
    said = judged_by([rates_of(KEPT)], SimpleNamespace(**{**vars(LIMIT), "rows_are": "unknown"}))
    assert said.sentence.startswith("passed, if the model was not trained on these rows: the lowest rate by race is")
    assert said.condition == "if the model was not trained on these rows"
    assert len(said.sentence.split()) <= 25


def test_the_worst_of_several_parameters_decides_and_small_groups_are_named():
    found = [rates_of([(970, 1000), (980, 1000), (0, 20)]), rates_of([(300, 1000), (980, 1000)])]
    said = judged_by(found, LIMIT)
    assert said.outcome == "violated"
    assert "group 2 (20 rows)" in " ".join(said.details).replace("\u2068", "").replace("\u2069", "")
    assert not found[0].table["compared"][2]


def test_weights_and_persons_widen_the_interval():
    counts = [(300, 500), (400, 500)]
    own = np.repeat([0, 1], 500)
    plain, grouped = rates_of(counts), rates_of(counts, units=np.arange(1000) // 5)
    weighted = rates_of(counts, weights=np.where(own == 0, 2.0, 1.0))
    assert grouped.ratio[2] - grouped.ratio[1] > 1.5 * (plain.ratio[2] - plain.ratio[1])
    assert weighted.ratio[0] == plain.ratio[0] == pytest.approx(0.75)
