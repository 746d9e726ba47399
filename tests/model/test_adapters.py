"""What adapters declare is what the models do."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer
from fairprobe.errors import SettingError
from fairprobe.model import Asker
from fairprobe.model.adapters import ADAPTERS, Adapter, adapter_for, register
from fairprobe.model.forms import ArrayForm
from fairprobe.searching.registry import choose_strategy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
DOMAIN = Domain([Integer("a", 0, 9), Integer("b", 0, 9), Integer("sex", 0, 1)], sensitive=["sex"])

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4),
    "forest": ensemble.RandomForestClassifier(5),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=5),
    "histograms": ensemble.HistGradientBoostingClassifier(max_iter=5),
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(),
    "linear svm": LinearSVC(),
    "network": MLPClassifier((4,), max_iter=20),
    "svm": SVC(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "vote": ensemble.VotingClassifier([("a", DecisionTreeClassifier()), ("b", LogisticRegression())]),
    "bayes": GaussianNB(),
}


def fitted(name, n_classes):
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, np.linspace(0, 2, n_classes + 1)[1:-1])
    with warnings.catch_warnings(action="ignore"):
        return MODELS[name].fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_labels_follow_from_what_is_declared(name, n_classes):
    model = fitted(name, n_classes)
    can = adapter_for(model)
    rows = RNG.normal(size=(3000, 3))
    assert (can.scores, can.probabilities) == (hasattr(model, "decision_function"), hasattr(model, "predict_proba"))
    assert can.classes.tolist() == list(range(n_classes))
    if can.labels_follow is None:
        assert name in ("svm", "vote", "bayes")
        return
    outputs = model.predict_proba(rows) if can.labels_follow == "proba" else model.decision_function(rows)
    places = outputs.argmax(axis=1) if outputs.ndim == 2 else (outputs > 0).astype(int)
    np.testing.assert_array_equal(model.predict(rows), can.classes[places])


def test_leaves_are_told_by_trees():
    trees = {"tree", "forest", "boosting", "histograms"}
    assert {name for name in MODELS if adapter_for(MODELS[name]).is_stepwise} == trees
    assert choose_strategy(MODELS["tree"]) == "anchored"
    assert choose_strategy(MODELS["logistic"]) == "guided"
    assert choose_strategy(make_pipeline(StandardScaler(), MODELS["histograms"])) == "anchored"


def test_an_adapter_of_ones_own(monkeypatch):
    """A kind of model that is asked by `score_all`, which nothing here knows of."""

    class Own(Adapter):
        is_stepwise = True
        accepts = staticmethod(lambda model: hasattr(model, "score_all"))
        form = lambda self, domain, batch: ArrayForm(domain, float)  # noqa: E731
        method = lambda self, output, form: self.model.score_all  # noqa: E731

    monkeypatch.setitem(sys.modules, "own_adapter", SimpleNamespace(Own=Own))

    class Foreign:
        def score_all(self, batch):
            return (batch[:, 0] > 4) & (batch[:, 2] == 1)

    with pytest.raises(SettingError, match="must have predict or be callable, got Foreign"):
        adapter_for(Foreign())
    before = dict(ADAPTERS)
    try:
        register("own", "own_adapter:Own")
        assert next(iter(ADAPTERS)) == "own"
        assert Asker(Foreign(), DOMAIN).ask(np.array([[5, 0, 1], [5, 0, 0]])).tolist() == [True, False]
        assert choose_strategy(Foreign()) == "anchored"
        with pytest.raises(SettingError, match="must be new, got 'own'"):
            register("own", "own_adapter:Own")
    finally:
        ADAPTERS.clear()
        ADAPTERS.update(before)
    with pytest.raises(SettingError, match=r"named as package\.module:Class, got 'a b'"):
        register("spaced", "a b")
