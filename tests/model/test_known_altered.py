"""What was shipped and then altered is not known, however much it still looks like what was shipped."""

from __future__ import annotations

import functools
import importlib
from unittest import mock

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, estimate
from fairprobe.model.known import is_repeatable, known_kind, why_unknown

RNG = np.random.default_rng(0)
X = RNG.integers(0, 10, (200, 4)).astype(float)
Y = (X[:, 0] + X[:, 1] > 9).astype(int)


def tree():
    return DecisionTreeClassifier(random_state=0).fit(X, Y)


MODELS = {
    "tree": tree,
    "forest": lambda: RandomForestClassifier(3, random_state=0).fit(X, Y),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=2).fit(X, Y),
    "linear": lambda: LogisticRegression().fit(X, Y),
    "vote": lambda: VotingClassifier([("a", DecisionTreeClassifier())]).fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
}

WRAPPED = [
    ("tree", "sklearn.tree:DecisionTreeClassifier", "predict"),
    ("tree", "sklearn.tree:DecisionTreeClassifier", "__getattribute__"),
    ("tree", "sklearn.tree._classes", "_check_n_features"),
    ("forest", "sklearn.tree:DecisionTreeClassifier", "predict_proba"),
    ("forest", "sklearn.ensemble:RandomForestClassifier", "predict_proba"),
    ("forest", "sklearn.ensemble._forest", "_accumulate_prediction"),
    ("histograms", "sklearn.ensemble._hist_gradient_boosting.predictor:TreePredictor", "predict"),
    ("linear", "sklearn.linear_model:LogisticRegression", "decision_function"),
    ("linear", "sklearn.utils.validation", "check_array"),
    ("vote", "sklearn.preprocessing:LabelEncoder", "inverse_transform"),
    ("pipeline", "sklearn.pipeline:Pipeline", "_iter"),
]


def place(path):
    module, _, name = path.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


@pytest.mark.parametrize(("name", "path", "method"), WRAPPED, ids=lambda each: str(each))
def test_a_function_wrapped_so_that_it_looks_like_the_original(monkeypatch, name, path, method):
    model, owner = MODELS[name](), place(path)
    original = getattr(owner, method, None)
    if original is None:
        pytest.skip("this version has no such function")
    assert known_kind(model) is not None

    @functools.wraps(original)
    def other(*arguments, **named):
        return original(*arguments, **named)

    del other.__wrapped__
    monkeypatch.setattr(owner, method, other)
    assert known_kind(model) is None
    assert not is_repeatable(model)
    assert "was replaced: only as it was shipped it is known exactly" in why_unknown(model)
    monkeypatch.undo()
    assert known_kind(model) is not None


PUT = {
    "mock": lambda: mock.MagicMock(return_value=np.zeros(1)),
    "mock that looks alike": lambda: mock.create_autospec(LogisticRegression.predict_proba),
    "property": lambda: property(lambda self: lambda rows: np.zeros(len(rows))),
    "partial": lambda: functools.partialmethod(lambda self, by, rows: np.zeros(len(rows)), 1),
    "cached": lambda: functools.lru_cache(lambda self, rows: np.zeros(len(rows))),
    "static": lambda: staticmethod(lambda rows: np.zeros(len(rows))),
    "method of an object": lambda: mock.MagicMock().method,
    "another method of the package": lambda: LogisticRegression.predict_log_proba,
    "another class's method": lambda: DecisionTreeClassifier.predict_proba,
    "a builtin": lambda: len,
    "a class": lambda: type("Zeros", (list,), {}),
}


@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
def test_something_else_in_the_place_of_a_method(monkeypatch, put):
    model = MODELS["linear"]()
    monkeypatch.setattr(LogisticRegression, "predict_proba", put())
    assert known_kind(model) is None


def test_a_method_with_the_code_of_another(monkeypatch):
    model = MODELS["linear"]()
    code = (lambda self, rows: np.zeros(len(rows))).__code__
    monkeypatch.setattr(LogisticRegression.predict, "__code__", code)
    assert known_kind(model) is None


class Weights(np.ndarray):
    """Whatever is multiplied with it, it says how."""


class Zeros:
    """In the place of a fitted tree's nodes."""

    def __init__(self, nodes):
        self._nodes = nodes

    def __getattr__(self, name):
        return getattr(self._nodes, name)

    def predict(self, rows):
        return np.zeros((len(rows), 2))


def test_what_was_fitted_is_of_another_class():
    model, linear, forest = tree(), MODELS["linear"](), MODELS["forest"]()
    model.tree_ = Zeros(model.tree_)
    linear.coef_ = linear.coef_.view(Weights)
    forest.estimators_[1].tree_ = Zeros(forest.estimators_[1].tree_)
    assert [known_kind(each) for each in (model, linear, forest)] == [None] * 3


def test_an_object_within_a_booster_has_a_predict_of_its_own():
    booster = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=1, verbosity=-1, n_jobs=1).fit(X, Y)
    assert known_kind(booster) == "booster"
    booster.booster_.predict = lambda rows, **options: np.zeros(len(rows))
    assert known_kind(booster) is None


def test_a_subclass_in_the_very_place_of_its_class(monkeypatch):
    class Meta(type(DecisionTreeClassifier)):
        pass

    names = {name: getattr(DecisionTreeClassifier, name) for name in ("__module__", "__qualname__")}
    own = {"predict": lambda self, rows: np.zeros(len(rows))}
    for made in (
        type("DecisionTreeClassifier", (DecisionTreeClassifier,), names | own),
        Meta("DecisionTreeClassifier", (DecisionTreeClassifier,), names),
    ):
        monkeypatch.setattr("sklearn.tree.DecisionTreeClassifier", made)
        assert known_kind(made().fit(X, Y)) is None


def test_the_share_of_an_altered_tree():
    """A tree whose class says another label to every third input of one group: no share of it is exact, or 0."""
    domain = Domain([Integer("x", 0, 9), Integer("z", 0, 10**7), Integer("s", 0, 1)], ["s"])
    rows = domain.sample(300, seed=0).to_numpy()
    model = DecisionTreeClassifier(max_depth=3).fit(rows, rows[:, 0] > 4)
    original = DecisionTreeClassifier.predict

    @functools.wraps(original)
    def predict(self, rows, check_input=True):
        return original(self, rows) ^ ((rows[:, 2] == 1) & (rows[:, 1] % 3 == 0))

    with mock.patch.object(DecisionTreeClassifier, "predict", predict):
        share = estimate(model, domain)
        assert share.method == "sample"
        assert 0.29 < share.value < 0.38
