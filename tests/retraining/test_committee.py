"""The default committee: the five kinds of classifier that the model is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted import labeller
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, Real
from fairprobe.retraining.labels import kind_of, kinds, other_kinds
from fairprobe.retraining.parts import LabelledRows
from fairprobe.subjects.fair_svm import FairSVM

KINDS = {
    "tree": [DecisionTreeClassifier()],
    "forest": [RandomForestClassifier(), ExtraTreesClassifier(), GradientBoostingClassifier()],
    "network": [MLPClassifier()],
    "kernel": [SVC()],
    "linear": [LinearSVC(), LogisticRegression(), SGDClassifier(), FairSVM("sex")],
    "vote": [VotingClassifier([]), GaussianNB(), len],
}
DOMAIN = Domain(
    [
        Integer("age", 20, 60),
        Real("rate", 0, 1, 0.1, missing=True),
        Category("job", list("abc")),
        Category("sex", ["F", "M"]),
    ],
    ["sex"],
)


@pytest.mark.parametrize(("kind", "model"), [(kind, model) for kind, models in KINDS.items() for model in models])
def test_kinds(kind, model):
    assert kind_of(model) == kind
    if model is not len:
        assert kind_of(make_pipeline(StandardScaler(), model)) == kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_models_own_kind_has_no_vote(kind):
    committee = other_kinds(DOMAIN, KINDS[kind][0], 5000, seed=0)
    assert len(committee) == 5
    every = {name: type(made.steps[-1][1]) for name, made in kinds(DOMAIN, 5000, 0).items()}
    assert len(set(every.values())) == 6
    assert {type(each.steps[-1][1]) for each in committee} == {made for name, made in every.items() if name != kind}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = DOMAIN.sample(120, seed=1)
    frame.loc[3, "job"] = "never seen"
    frame["age"] = frame["age"].astype(float)
    frame.loc[5, "age"] = np.nan
    return LabelledRows(frame, np.where((frame["age"] > 40) ^ (rng.random(120) < 0.05), "yes", "no"))


def test_votes_on_any_columns(rows):
    """Missing values, values out of the domain and fewer rows than a kernel machine may draw: all members vote."""
    model = DecisionTreeClassifier()
    codes = DOMAIN.sample_codes(300, np.random.default_rng(3))
    votes, again = (labeller("vote", None, model, DOMAIN, rows)(codes) for _ in range(2))
    np.testing.assert_array_equal(votes, again)
    assert votes.shape == (2, 300, 2)
    np.testing.assert_array_equal(votes.sum(axis=2), 5)
    ages = DOMAIN.decode(codes)["age"].to_numpy()
    far = np.abs(ages - 40.5) > 5
    right = votes.argmax(axis=2)[:, far] == (ages > 40)[far]
    assert right.mean() > 0.9
    assert isinstance(rows.frame, pd.DataFrame)
    assert rows.frame.loc[3, "job"] == "never seen"
