"""A model's fingerprint: the same for copies, another for another model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from fairprobe.model.fingerprint import fingerprint

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)

MODELS = [
    lambda: RandomForestClassifier(3, random_state=0),
    lambda: HistGradientBoostingClassifier(max_iter=3, random_state=0),
    lambda: SVC(),
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0]), remainder="passthrough"), SVC()
    ),
]


@pytest.mark.parametrize("make", MODELS)
def test_copies_are_alike_and_others_are_not(make):
    model = make().fit(X, Y)
    first = fingerprint(model)
    assert first is not None
    model.predict(X)
    assert fingerprint(model) == first
    assert fingerprint(pickle.loads(pickle.dumps(model))) == first
    assert fingerprint(make().fit(X, Y)) == first
    assert fingerprint(make().fit(X, 1 - Y)) != first


def test_functions_are_told_by_their_code():
    assert fingerprint(lambda frame: frame > 1) != fingerprint(lambda frame: frame + frame)
    assert fingerprint(fingerprint) == fingerprint(fingerprint)


def test_parts_in_a_circle():
    one = {"name": "one"}
    one["self"] = one
    other = {"name": "one"}
    other["self"] = other
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize("kind", [np.random.RandomState, lambda seed: np.random.Generator(np.random.MT19937(seed))])
def test_generators_are_told_by_their_state(kind):
    """Not by what they were seeded with: a model that is loaded from a file has another."""
    one, other = kind(1), kind(2)
    assert fingerprint([one]) != fingerprint([other])
    if isinstance(one, np.random.RandomState):
        other.set_state(one.get_state())
    else:
        other.bit_generator.state = one.bit_generator.state
    assert fingerprint([one]) == fingerprint([other])


def test_what_cannot_be_told(tmp_path):
    with (tmp_path / "file").open("w") as file:
        assert fingerprint({"file": file}) != fingerprint({"file": file})
