"""Themis' measure, with an interval that holds whenever it stops; and the smallest sets above a threshold."""

from __future__ import annotations

import numpy as np
import pytest

from fairprobe import Domain, Integer, causal_score, causal_search
from fairprobe.errors import SettingError

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

SMALL = [Integer("x", 0, 9)]
LARGE = [Integer("x", 0, 10**9)]  # too many inputs to be enumerated


def domain(free, names="abc"):
    return Domain([*free, *(Integer(name, 0, 1) for name in names)], sensitive=list(names))


def both(X):
    """1 if a and b are: a alone changes it where b is 1, both together always; c never does."""
    return X[:, 1] & X[:, 2]


@pytest.mark.parametrize("free", [SMALL, LARGE], ids=["exact", "sampled"])
def test_scores_of_the_sets_given(free):
    sets = ["a", "b", "c", ("a", "b"), ("a", "b", "c")]
    scores = causal_score(both, domain(free), sets=sets)
    truth = {"a": 0.5, "b": 0.5, "c": 0, "a x b": 1, "a x b x c": 1}
    assert list(scores) == list(truth)
    for name, share in scores.items():
        assert share.low <= truth[name] <= share.high
        assert share.width <= 0.02
        assert share.method == ("exact" if free is SMALL else "sequential")


def test_no_hits_are_no_reason_to_stop_at_once():
    """Themis stops after 11 inputs without a hit and says that its error is 0."""
    share = causal_score(lambda X: X[:, 0] > 7, domain(LARGE, "a"), error=0.001)["a"]
    assert share.hits == 0
    assert share.value == 0
    assert 0 < share.high <= 0.002
    assert share.n > 2000


@pytest.mark.parametrize("error", [0, -0.1, 0.5, 1, np.nan, "small", None])
def test_an_error_is_a_number_between_0_and_a_half(error):
    with pytest.raises(SettingError, match=r"error must be above 0 and below 0\.5, got"):
        causal_score(both, domain(SMALL), error=error)


# The smallest sets


@pytest.mark.parametrize("free", [SMALL, LARGE], ids=["exact", "sampled"])
@pytest.mark.parametrize(
    ("min_share", "found"),
    [(0.4, ["a", "b"]), (0.95, ["a x b"])],
)
def test_the_smallest_sets_above_a_threshold(free, min_share, found):
    sets = causal_search(both, domain(free), min_share=min_share)
    assert list(sets) == found
    for share in sets.values():
        assert share.lower > min_share


def test_the_confidence_is_split_over_all_sets_there_are():
    sets = causal_search(both, domain(LARGE), min_share=0.6, confidence=0.93)
    assert sets["a x b"].confidence == pytest.approx(0.99)


@pytest.mark.parametrize("min_share", [-0.1, 1, 2, np.nan, "much", None])
def test_a_threshold_is_a_number_from_0_to_below_1(min_share):
    with pytest.raises(SettingError, match="min_share must be at least 0 and below 1, got"):
        causal_search(both, domain(SMALL), min_share=min_share)
