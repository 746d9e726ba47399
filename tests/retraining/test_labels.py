"""Labels of what is added: votes of a committee, means, labels given, and the caller's own function."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from fairprobe import Category, Domain, Integer, Real
from fairprobe.errors import DataError, ModelError, SettingError
from fairprobe.retraining.labels import (
    as_given,
    by_mean,
    by_vote,
    check_committee,
    chosen,
    fitted_members,
    kind_of,
    labeller_of,
    other_kinds,
)
from fairprobe.retraining.parts import LabelledRows
from fairprobe.subjects import FairSVM
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


def all_labels(seed, classes=CLASSES):
    return np.random.default_rng(seed).choice(classes, len(EVERY))


def test_a_committee_is_fitted_if_it_is_not_and_left_alone():
    rows = LabelledRows(DOMAIN, DOMAIN.decode(EVERY), all_labels(3))
    fitted = DecisionTreeClassifier(random_state=0).fit(rows.frame, all_labels(4))
    plain = DecisionTreeClassifier(random_state=0)
    members = fitted_members([fitted, plain, LogisticRegression()], rows)
    votes = by_vote(members, DOMAIN, CLASSES)(FAMILIES)
    with pytest.raises(NotFittedError):
        check_is_fitted(plain)
    linear = LogisticRegression().fit(rows.frame, rows.labels).predict(rows.frame)
    expected = [Counter(each) for each in zip(all_labels(4).tolist(), all_labels(3).tolist(), linear, strict=True)]
    for place, family in enumerate(FAMILIES.tolist()):
        for number in range(3):
            count = expected[family[0] * 9 + family[1] * 3 + number]
            assert votes[number, place].tolist() == [count[name] for name in CLASSES.tolist()]


def test_members_with_other_names_are_refused():
    rows = DOMAIN.decode(EVERY)
    check_committee([DecisionTreeClassifier().fit(rows, EVERY[:, 0] > 2)], np.array([0, 1]))  # the same names
    with pytest.raises(DataError, match="must use the names of y, 'high', 'low', 'mid'; got 'odd'"):
        by_vote([Table([*all_labels(1)[:-1], "odd"])], DOMAIN, CLASSES)(FAMILIES)


KINDS = {
    "tree": [DecisionTreeClassifier()],
    "forest": [RandomForestClassifier(), ExtraTreesClassifier(), GradientBoostingClassifier()],
    "network": [MLPClassifier()],
    "kernel": [SVC()],
    "linear": [LinearSVC(), LogisticRegression(), SGDClassifier(), FairSVM("sex")],
    "vote": [VotingClassifier([]), GaussianNB(), len],
}
PEOPLE = Domain(
    [Integer("age", 20, 60), Real("rate", 0, 1, 0.1, missing=True), Category("job", list("abc")),
     Category("sex", ["F", "M"])],
    ["sex"],
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_models_own_kind_has_no_vote(kind):
    for model in KINDS[kind]:
        assert kind_of(model) == kind
        assert model is len or kind_of(make_pipeline(StandardScaler(), model)) == kind
    committee = [each.steps[-1][1] for each in other_kinds(PEOPLE, KINDS[kind][0], 5000, seed=0)]
    # The kernel machine votes as a bag of one.
    own = {"kernel" if isinstance(each, BaggingClassifier) else kind_of(each) for each in committee}
    assert own == set(KINDS) - {kind}
    assert len(committee) == 5


def test_votes_on_any_columns():
    """Missing values, values out of the domain and fewer rows than a kernel machine may draw: all members vote."""
    frame = PEOPLE.sample(120, seed=1).astype({"age": float})
    frame.loc[3, "job"] = "never seen"
    frame.loc[5, "age"] = np.nan
    noise = np.random.default_rng(0).random(120) < 0.05
    rows = LabelledRows(PEOPLE, frame, np.where((frame["age"] > 40) ^ noise, "yes", "no"))
    codes = PEOPLE.sample_codes(300, np.random.default_rng(3))
    members = other_kinds(PEOPLE, DecisionTreeClassifier(), 120, seed=7)
    votes, again = (by_vote(fitted_members(members, rows), PEOPLE, np.array(["no", "yes"]))(codes) for _ in range(2))
    np.testing.assert_array_equal(votes, again)
    np.testing.assert_array_equal(votes.sum(axis=2), np.full((2, 300), 5))
    ages = PEOPLE.decode(codes)["age"].to_numpy()
    far = np.abs(ages - 40.5) > 5
    assert (votes.argmax(axis=2)[:, far] == (ages > 40)[far]).mean() > 0.9


def test_the_mean_of_probabilities():
    probabilities = np.random.default_rng(0).dirichlet([1, 1, 1], len(EVERY))
    model = Estimator(predict=Table(all_labels(0)), predict_proba=Table(probabilities), decision_function=None)
    votes = by_mean(model, DOMAIN, CLASSES)(FAMILIES)
    np.testing.assert_allclose(votes, np.tile(probabilities.reshape(-1, 3, 3).mean(axis=1), (3, 1, 1)))


def test_the_mean_of_scores():
    scores, names = np.random.default_rng(0).normal(size=len(EVERY)), CLASSES[:2]
    model = Estimator(predict=Table(all_labels(0, names)), decision_function=Table(scores))
    labels = chosen(by_mean(model, DOMAIN, names)(FAMILIES)[1], names, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(labels, np.where(scores.reshape(-1, 3).mean(axis=1) > 0, "low", "high"))


@pytest.mark.parametrize("more", [{}, {"decision_function": Table(np.zeros((len(EVERY), 3)))}])
def test_the_mean_of_labels(more):
    """Three classes have a score each, of any scale: labels are counted then, as for a model that has nothing else."""
    labels = all_labels(7)
    votes = by_mean(Estimator(predict=Table(labels), **more), DOMAIN, CLASSES)(FAMILIES)
    np.testing.assert_allclose(votes[2], (labels.reshape(-1, 3, 1) == CLASSES).mean(axis=1))


def test_the_mean_is_over_the_twins_that_there_are():
    """Sex 2 is forbidden: it has no twin there, so what the model would say of it counts for nothing."""
    domain = Domain(DOMAIN.parameters, ["sex"], [lambda rows: rows["sex"] < 2])
    probabilities = np.tile([[0.6, 0.4], [0.6, 0.4], [0.0, 1.0]], (15, 1))
    model = Estimator(predict=Table(probabilities.argmax(axis=1)), predict_proba=Table(probabilities))
    votes = by_mean(model, domain, np.array([0, 1]))(FAMILIES)
    np.testing.assert_allclose(votes[0], np.tile([0.6, 0.4], (15, 1)))


def test_labels_given_are_those_of_the_family():
    labels = all_labels(5)[: len(FAMILIES)].tolist()
    given = as_given(dict(zip(map(tuple, FAMILIES[:, :2].tolist()), labels, strict=True)), DOMAIN, CLASSES)
    votes = given(FAMILIES[::-1])
    assert [CLASSES[votes[number].argmax(axis=1)].tolist() for number in range(3)] == [labels[::-1]] * 3
    with pytest.raises(SettingError, match="known for the cases given alone"):
        as_given({(0, 0): "high"}, DOMAIN, CLASSES)(FAMILIES[:2])


def test_a_function_gets_frames_of_every_member():
    domain = Domain([Integer("x", 0, 4), Category("sex", ["F", "M"])], ["sex"])

    def label(frame):
        return np.where((frame["sex"] == "F") & (frame["x"] > 2), "high", "low")

    votes = by_vote([label], domain, CLASSES[:2], "frame")(np.array([[0, 0], [3, 0], [4, 1]]))
    assert CLASSES[votes.argmax(axis=2)].tolist() == [["low", "high", "high"], ["low", "low", "low"]]


def test_a_function_also_sees_what_is_hidden_from_the_model():
    domain = Domain([Integer("x", 0, 4), Category("sex", ["F", "M"])], ["sex"], hidden=["sex"])
    told = {"labels": lambda frame: np.where(frame["sex"] == "F", "high", "low")}
    parts = SimpleNamespace(fit=None)
    task = SimpleNamespace(
        settings=SimpleNamespace(**told), domain=domain, classes=CLASSES, parts=parts, case_labels=None
    )
    votes = labeller_of(task, None)(np.array([[0, 0], [3, 0]]))
    assert CLASSES[votes.argmax(axis=2)].tolist() == [["high", "high"], ["low", "low"]]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda frame: "high", ModelError, r"labels must give one label a row: .* of the shape \(45,\), got \(\)"),
        (lambda frame: np.array(["high", 3, 4] * 15, dtype=object), DataError, "'mid'; got 3 from"),
        (lambda frame: frame["absent"], ModelError, "labels must give one label a row: .*got KeyError: 'absent'"),
    ],
)
def test_a_function_that_answers_what_it_may_not(function, error, message):
    with pytest.raises(error, match=message):
        by_vote([function], DOMAIN, CLASSES, "frame")(FAMILIES)
