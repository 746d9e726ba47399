"""The oracle against a slow one in plain Python, written from the words of the design."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairprobe import Domain, Integer
from fairprobe.errors import SettingError
from fairprobe.model import Asker
from fairprobe.oracle import Oracle


def twins_of(domain, row):
    """The input in all combinations of sensitive values, in domain order; those a constraint forbids are no inputs."""
    for values in itertools.product(*(range(domain[name].levels) for name in domain.sensitive)):
        member = list(row)
        for name, value in zip(domain.sensitive, values, strict=True):
            member[domain.names.index(name)] = value
        if domain.allows(np.array([member]))[0]:
            yield tuple(member)


def judge(domain, answers, row, output, threshold):
    """(gap, hit, case, twin, the two outputs, class) of one input, by loops; `answers` maps inputs to outputs."""
    members = list(twins_of(domain, row))
    if output == "label":
        labels = [answers[member] for member in members]
        gap = 0 if all(label == labels[0] for label in labels) else 1
        if gap <= threshold:
            return gap, False
        own = answers[tuple(row)]
        twin = next(member for member in members if answers[member] != own)
        return gap, True, tuple(row), twin, (own, answers[twin]), None
    n_classes = len(answers[members[0]])
    spans = []
    for position in range(n_classes):
        column = [answers[member][position] for member in members]
        spans.append(max(column) - min(column))
    gap = max(spans)
    if not gap > threshold:
        return gap, False
    position = spans.index(gap)
    number = {member: answers[member][position] for member in members}
    low, high = min(number.values()), max(number.values())
    ends = [member for member in members if number[member] in (low, high)]
    case = tuple(row) if tuple(row) in ends else ends[0]
    other = high if number[case] == low else low
    twin = next(member for member in members if number[member] == other)
    return gap, True, case, twin, (number[case], number[twin]), position if n_classes > 1 else None


def words(rng, n):
    return rng.choice(["yes", "no", "perhaps"], n, p=[0.8, 0.1, 0.1]).tolist()


# Threshold

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


@pytest.mark.parametrize("output", ["score", "proba", "value"])
def test_others_need_one(output):
    with pytest.raises(SettingError, match=f"output='{output}' needs a threshold: the gap above which"):
        Oracle(Asker(gap_of_tenths, PAIR, output=output))


@pytest.mark.parametrize("threshold", [-0.1, np.nan, np.inf, "much", [1]])
def test_a_threshold_must_be_a_number_from_zero_on(threshold):
    with pytest.raises(SettingError, match="threshold must be a finite number of at least 0, got"):
        Oracle(Asker(gap_of_tenths, PAIR, output="score"), threshold)


@pytest.mark.parametrize("threshold", [1, 2.0])
def test_a_threshold_that_no_label_can_exceed(threshold):
    with pytest.raises(SettingError, match="threshold must be below 1 for labels, whose gap is 0 or 1, got"):
        Oracle(Asker(gap_of_tenths, PAIR), threshold)


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
