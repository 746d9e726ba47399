"""If no model differs in its share, how often is a round accepted all the same? At most as often as is said.

Every model has the same share of discriminatory inputs, strewn at random anew: whatever is accepted is so by mistake.
At a confidence of 80%, that may happen in one retraining of five, however many rounds it has. A test fails if so many
mistakes, or more, have a chance below 1 in 10,000 at a chance of exactly 1 in 5; the chance is below that, so right
code fails less often still, and since seeds are fixed, never twice by luck.
"""

from __future__ import annotations

import numpy as np
import pytest
from planted import DOMAIN, QUICK, Planted, Script, random_cells, rows, settings_of
from scipy import stats

from fairprobe import Domain, retrain
from fairprobe.estimation.bounds.differences import mcnemar_p, paired_difference
from fairprobe.estimation.compare import Comparison
from fairprobe.retraining.judging import Loss
from fairprobe.retraining.rounds import decide, round_confidence

CONFIDENCE = 0.8
FALSE_ALARM = 1e-4


def check(n_accepted, n, confidence=CONFIDENCE):
    chance = stats.binom.sf(n_accepted - 1, n, 1 - confidence)
    assert chance > FALSE_ALARM, f"{n_accepted} of {n} were accepted by mistake"


def change(n, share, rng, confidence):
    """Two models with the same share, independent of each other, on the same inputs."""
    only_one = share * (1 - share)
    only_a, only_b, _ = (int(count) for count in rng.multinomial(n, [only_one, only_one, 1 - 2 * only_one]))
    p_value = mcnemar_p(only_a, only_b)
    # The interval takes a while, and leaves out 0 only where the test is clear; less clear ones are not computed.
    is_clear = p_value < 1 - confidence
    low, high = paired_difference(only_a, only_b, n, confidence) if is_clear else (-1.0, 1.0)
    return Comparison(None, None, (only_a - only_b) / n, low, high, p_value, only_a, only_b, n)


def accepted_by_the_rule(repetitions, sizes, max_rounds, share=0.1, confidence=CONFIDENCE):
    """How often any of so many rounds is accepted, if each is compared with a model of its own: the worst case."""
    rng = np.random.default_rng([7, max_rounds, len(sizes)])
    wanted = settings_of(max_accuracy_loss=1.0, max_rounds=max_rounds, confidence=confidence)
    each = round_confidence(wanted, len(sizes))
    level = Loss(0.0, 0.0, 0.0, 1, each)
    n_accepted = 0
    for _ in range(repetitions):
        rounds = ({name: change(n, share, rng, each) for name, n in sizes.items()} for _ in range(max_rounds))
        n_accepted += any(decide(wanted, changes, level, 1.0, 0.0)[0] for changes in rounds)
    return n_accepted


TWO = {"domain": 50_000, "rows": 10_000}


@pytest.mark.parametrize("max_rounds", [1, 12])
def test_the_rule_holds_for_two_populations(max_rounds):
    """Were the error not split, nine of ten retrainings of twelve rounds would be fooled."""
    n = 250 if max_rounds == 1 else 100
    check(accepted_by_the_rule(n, TWO, max_rounds), n)


def test_what_does_differ_is_seen():
    """The test above would pass if nothing was ever accepted: half as many cases are seen to be fewer."""
    rng = np.random.default_rng(0)
    better = Planted(random_cells(50, rng))
    result = retrain(
        Planted(random_cells(100, rng)), *rows(20, 1), Domain(DOMAIN.parameters, ["sex"]), trainer=Script(better),
        held_out=rows(800, 2), augment=["flip"], labels="mean", max_rounds=5, max_accuracy_loss=1.0, **QUICK,
    )  # fmt: skip
    assert result.rounds[0].accepted
    assert result.model is better
