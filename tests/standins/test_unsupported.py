"""What is not compiled is left to the model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairprobe import Category, Domain, Integer
from fairprobe.standins import compile_stand_in

DOMAIN = Domain([Integer("s", 0, 1), Integer("a", 0, 20), Integer("b", 0, 20)], sensitive=["s"])
CODES = DOMAIN.sample_codes(80, np.random.default_rng(0))
LABELS = (CODES[:, 0] * 9 + CODES[:, 1] > CODES[:, 2]).astype(int)


class Stubborn(DecisionTreeClassifier):
    def predict(self, X, check_input=True):
        return np.zeros(len(X))


class LogisticRegression2(LogisticRegression):
    pass


LogisticRegression2.__name__ = "LogisticRegression"
LogisticRegression2.__module__ = "sklearn.linear_model._logistic"


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        GradientBoostingClassifier(n_estimators=3),
        Stubborn(),
        LogisticRegression2(),
        SVC(kernel="poly"),
        SVC(kernel="sigmoid"),
        SVC(gamma=0.0),
        LogisticRegression(),
        VotingClassifier([("a", Stubborn()), ("b", LogisticRegression())]),
        VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())], weights=[1, -2]),
        VotingClassifier([("a", SVC(kernel="poly")), ("b", LogisticRegression())]),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_another_kind(model):
    assert compile_stand_in(model.fit(CODES, LABELS), DOMAIN) is None


def test_a_predict_of_its_own():
    model = DecisionTreeClassifier().fit(CODES, LABELS)
    assert compile_stand_in(model, DOMAIN) is not None
    model.predict = lambda rows: np.zeros(len(rows))
    assert compile_stand_in(model, DOMAIN) is None


def test_many_labels_a_row():
    labels = np.column_stack([LABELS, 1 - LABELS])
    for model in (DecisionTreeClassifier(), RandomForestClassifier(3)):
        with warnings.catch_warnings(action="ignore"):
            model.fit(CODES, labels)
        assert compile_stand_in(model, DOMAIN) is None


def test_support_vectors_of_three_classes_or_sparse():
    assert compile_stand_in(SVC().fit(CODES, CODES[:, 1] % 3), DOMAIN) is None
    assert compile_stand_in(SVC().fit(csr_matrix(CODES), LABELS), DOMAIN) is None


@pytest.mark.parametrize(
    "parameter",
    [
        Integer("a", 0, 20, missing=True),
        Category("a", ["x", "y"]),
        Category("a", [0, 1], missing=True),
    ],
)
def test_a_parameter_that_is_no_plain_number(parameter):
    domain = Domain([Integer("s", 0, 1), parameter, Integer("b", 0, 20)], sensitive=["s"])
    assert compile_stand_in(DecisionTreeClassifier().fit(CODES, LABELS), domain) is None
