"""The oracle against a slow one in plain Python, written from the words of the design."""

import numpy as np
import pytest

from fairprobe import Domain, Integer, audit, estimate, search
from fairprobe.errors import HealthWarning, SettingError
from fairprobe.model import Asker
from fairprobe.oracle import Oracle

PAIR = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], sensitive=["s"])


def gap_of_tenths(X):
    return X[:, 0] / 10 * X[:, 1]


@pytest.mark.parametrize("tenths", range(10))
def test_the_threshold_itself_is_no_case(tenths):
    oracle = Oracle(Asker(gap_of_tenths, PAIR, output="score"), tenths / 10)
    judgement = oracle.judge(np.column_stack([np.arange(10), np.zeros(10, int)]))
    assert judgement.hits.tolist() == [x > tenths for x in range(10)]


def test_labels_have_the_threshold_zero():
    assert Oracle(Asker(gap_of_tenths, PAIR)).threshold == 0


@pytest.mark.parametrize(
    ("output", "thresholds", "message"),
    [
        ("label", [1, 2.0], "threshold must be below 1 for labels, whose gap is 0 or 1, got"),
        ("score", [-0.1, np.nan, np.inf, "much", [1]], "threshold must be a finite number of at least 0, got"),
        *((output, [None], f"output='{output}' needs a threshold: the gap") for output in ("score", "proba", "value")),
    ],
)
def test_a_threshold_that_does_not_suit_the_output_is_refused(output, thresholds, message):
    for threshold in thresholds:
        with pytest.raises(SettingError, match=message):
            Oracle(Asker(gap_of_tenths, PAIR, output=output), threshold)


def test_labels_are_names_not_numbers():
    """-1 and +1 are as far apart as 0 and 1: a gap of 1."""
    oracle = Oracle(Asker(lambda X: np.where(X[:, 1] == 1, 100, -100), PAIR))
    assert oracle.judge(np.array([[3, 0]])).gaps.tolist() == [1.0]


def test_tiny_differences_of_numeric_labels_count():
    oracle = Oracle(Asker(lambda X: 1e-300 * X[:, 1], PAIR))
    assert oracle.judge(np.array([[3, 0]])).hits.tolist() == [True]


def test_a_family_of_one_allowed_member_has_no_gap():
    domain = Domain(PAIR.parameters, ["s"], [lambda frame: frame["s"] == 0])
    oracle = Oracle(Asker(gap_of_tenths, domain, output="score"), 0)
    judgement = oracle.judge(np.array([[9, 0], [5, 0]]))
    assert judgement.gaps.tolist() == [0, 0]
    assert not judgement.hits.any()
    assert oracle.asker.n_queries == 2


def halves(X):
    return (X[:, 0] + X[:, 1]) // 5


@pytest.mark.parametrize(("work", "settings"), [(estimate, {"n_experiments": 2}), (search, {"max_judged": 500})])
def test_a_threshold_that_changes_nothing_for_labels_is_remarked(work, settings):
    with pytest.warns(HealthWarning, match="threshold-of-labels: a threshold of 0.5 changes nothing for labels"):
        result = work(halves, PAIR, threshold=0.5, seed=0, **settings)
    assert "threshold-of-labels" in dict(result.health)
    assert "threshold-of-labels" not in dict(work(halves, PAIR, threshold=0.0, seed=0, **settings).health)


def test_an_audit_says_it_once_and_speaks_of_labels():
    rows = PAIR.sample(40, seed=0)
    result = audit(halves, rows, domain=PAIR, threshold=0.3, max_share=0.01, search_cases=5, selfcheck=False)
    remarks = [each for each in result.content["health"] if each["check"] == "threshold-of-labels"]
    assert len(remarks) == 1
    assert "get another outcome when s changes" in result.verdict.sentence
    assert result.content["question"]["threshold"] == 0
