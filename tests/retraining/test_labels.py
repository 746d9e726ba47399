"""Labels of what is added: votes, means, labels given, and the caller's own function."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import labeller
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from fairprobe import Category, Domain, Integer
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.retraining.labels import (
    as_given,
    by_function,
    by_mean,
    check_committee,
    chosen,
)
from fairprobe.retraining.parts import LabelledRows
from random_domains import every_input

DOMAIN = Domain([Integer("x", 0, 4), Integer("z", 0, 2), Integer("sex", 0, 2)], ["sex"])
EVERY = every_input(DOMAIN)
FAMILIES = EVERY[EVERY[:, 2] == 0]
CLASSES = np.array(["high", "low", "mid"])


class Table:
    """An answer for every input, in their order."""

    def __init__(self, answers):
        self.answers = np.asarray(answers)

    def __call__(self, batch):
        batch = np.asarray(batch).astype(int)
        return self.answers[batch[:, 0] * 9 + batch[:, 1] * 3 + batch[:, 2]]


class Estimator:
    """A model with whichever methods are given."""

    def __init__(self, **methods):
        self.__dict__.update(methods)


def member(codes, number):
    codes = codes.copy()
    codes[:, 2] = number
    return codes


def all_labels(seed, classes=CLASSES):
    return np.random.default_rng(seed).choice(classes, len(EVERY))


# The choice among votes


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=20),
    st.lists(st.sampled_from(CLASSES.tolist()), min_size=3, max_size=12),
)
def test_most_votes_win_and_ties_go_to_the_commoner_label(votes, labels):
    prior = np.array([labels.count(name) / len(labels) for name in CLASSES])
    got = chosen(np.array(votes, dtype=float), CLASSES, prior)
    for row, label in zip(votes, got, strict=True):
        level = [name for name, count in zip(CLASSES, row, strict=True) if count == max(row)]
        assert label == max(level, key=labels.count)


# Votes


def rows_of(labels, domain=DOMAIN):
    return LabelledRows(domain.decode(every_input(domain)), np.asarray(labels))


def test_a_committee_is_fitted_if_it_is_not_and_left_alone():
    rows = rows_of(all_labels(3))
    fitted = DecisionTreeClassifier(random_state=0).fit(rows.frame, all_labels(4))
    plain = DecisionTreeClassifier(random_state=0)
    votes_of = labeller("vote", [fitted, plain, LogisticRegression()], None, DOMAIN, rows)
    with pytest.raises(NotFittedError):
        check_is_fitted(plain)
    linear = LogisticRegression().fit(rows.frame, rows.labels).predict(rows.frame)
    expected = [Counter(each) for each in zip(all_labels(4).tolist(), all_labels(3).tolist(), linear, strict=True)]
    votes = votes_of(FAMILIES)
    for place, family in enumerate(FAMILIES.tolist()):
        for number in range(3):
            count = expected[family[0] * 9 + family[1] * 3 + number]
            assert votes[number, place].tolist() == [count[name] for name in CLASSES.tolist()]


def test_a_fitted_member_with_other_names_is_refused_at_once():
    rows = rows_of(all_labels(0))
    other = DecisionTreeClassifier().fit(rows.frame, np.arange(len(EVERY)) % 2)
    with pytest.raises(DataError, match="'high', 'low', 'mid'; got 0 from DecisionTreeClassifier"):
        check_committee([DecisionTreeClassifier(), other], CLASSES)
    check_committee([DecisionTreeClassifier(), DecisionTreeClassifier().fit(rows.frame, rows.labels)], CLASSES)
    check_committee(None, CLASSES)


# Means


def test_the_mean_of_probabilities():
    probabilities = np.random.default_rng(0).dirichlet([1, 1, 1], len(EVERY))
    model = Estimator(predict=Table(all_labels(0)), predict_proba=Table(probabilities), decision_function=None)
    votes = by_mean(model, DOMAIN, CLASSES)(FAMILIES)
    expected = probabilities.reshape(-1, 3, 3).mean(axis=1)
    assert votes.shape == (3, len(FAMILIES), 3)
    for number in range(3):
        np.testing.assert_allclose(votes[number], expected)


def test_the_mean_of_scores():
    scores = np.random.default_rng(0).normal(size=len(EVERY))
    names = CLASSES[:2]
    model = Estimator(predict=Table(all_labels(0, names)), decision_function=Table(scores))
    labels = chosen(by_mean(model, DOMAIN, names)(FAMILIES)[1], names, np.array([0.5, 0.5]))
    mean = scores.reshape(-1, 3).mean(axis=1)
    assert 0 < (mean > 0).sum() < len(mean)
    np.testing.assert_array_equal(labels, np.where(mean > 0, "low", "high"))


@pytest.mark.parametrize("has_scores", [True, False])
def test_the_mean_of_labels(has_scores):
    """Three classes have a score each, of any scale: labels are counted then, as for a model that has nothing else."""
    labels = all_labels(7)
    more = {"decision_function": Table(np.zeros((len(EVERY), 3)))} if has_scores else {}
    votes = by_mean(Estimator(predict=Table(labels), **more), DOMAIN, CLASSES)(FAMILIES)
    expected = (labels.reshape(-1, 3, 1) == CLASSES).mean(axis=1)
    np.testing.assert_allclose(votes[2], expected)
    function = by_mean(Table(labels), DOMAIN, CLASSES)(FAMILIES)
    np.testing.assert_allclose(function[0], expected)


def test_the_mean_is_over_the_twins_that_there_are():
    """Sex 2 is forbidden: it has no twin there, so what the model would say of it counts for nothing."""
    domain = Domain(DOMAIN.parameters, ["sex"], [lambda rows: rows["sex"] < 2])
    probabilities = np.tile([[0.6, 0.4], [0.6, 0.4], [0.0, 1.0]], (15, 1))
    model = Estimator(predict=Table(probabilities.argmax(axis=1)), predict_proba=Table(probabilities))
    votes = by_mean(model, domain, np.array([0, 1]))(FAMILIES)
    np.testing.assert_allclose(votes[0], np.tile([0.6, 0.4], (15, 1)))


# Labels given


def test_labels_given_are_those_of_the_family():
    labels = all_labels(5)[: len(FAMILIES)].tolist()
    given = as_given(dict(zip(map(tuple, FAMILIES[:, :2].tolist()), labels, strict=True)), DOMAIN, CLASSES)
    votes = given(FAMILIES[::-1])
    assert votes.shape == (3, len(FAMILIES), 3)
    for number in range(3):
        assert CLASSES[votes[number].argmax(axis=1)].tolist() == labels[::-1]


def test_labels_given_are_known_for_the_cases_alone():
    with pytest.raises(SettingError, match="known for the cases given alone"):
        as_given({(0, 0): "high"}, DOMAIN, CLASSES)(FAMILIES[:2])


# The caller's function


def test_a_function_gets_frames_of_every_member():
    domain = Domain([Integer("x", 0, 4), Category("sex", ["F", "M"])], ["sex"])
    seen = []

    def label(frame):
        seen.append(frame)
        return np.where((frame["sex"] == "F") & (frame["x"] > 2), "high", "low")

    codes = np.array([[0, 0], [3, 0], [4, 1]])
    votes = by_function(label, domain, CLASSES[:2])(codes)
    assert CLASSES[votes.argmax(axis=2)].tolist() == [["low", "high", "high"], ["low", "low", "low"]]
    pd.testing.assert_frame_equal(pd.concat(seen), domain.decode(domain.families.members(codes)))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda frame: "high", ModelError, r"one label a row, got the shape \(\) for 45 rows"),
        (lambda frame: np.full((len(frame), 1), "high"), ModelError, r"got the shape \(45, 1\) for 45 rows"),
        (lambda frame: ["high"] * 44, ModelError, r"got the shape \(44,\) for 45 rows"),
        (lambda frame: np.array(["high", 3, 4] * 15, dtype=object), DataError, "'mid'; got 3 from labels"),
        (lambda frame: ["odd"] * 45, DataError, "the names of y, 'high', 'low', 'mid'; got 'odd' from labels"),
        (lambda frame: frame["absent"], ModelError, "label a frame of inputs, got KeyError: 'absent'"),
    ],
)
def test_a_function_that_answers_what_it_may_not(function, error, message):
    with pytest.raises(error, match=message):
        by_function(function, DOMAIN, CLASSES)(FAMILIES)


# The choice of labels
