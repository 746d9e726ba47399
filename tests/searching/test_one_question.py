"""Where labels follow from scores, one question has both answers; else two are asked, and that is said."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, search
from fairprobe.searching.shard import CHECKED_BOTH

DOMAIN = Domain([*(Integer(f"x{i}", 0, 30) for i in range(4)), Integer("group", 0, 1)], sensitive=["group"])
MODELS = {
    "logistic": LogisticRegression(),
    "network": MLPClassifier((4,), max_iter=300, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "histogram-boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
}


def fitted(model, n_classes=2, names=("no", "yes", "perhaps")):
    rng = np.random.default_rng(0)
    rows = DOMAIN.sample(500, seed=0)
    leaning = rows.to_numpy() @ np.array([3.0, -2.0, 1.0, 0.5, 25.0]) + rng.normal(size=500)
    places = np.searchsorted(np.quantile(leaning, np.arange(1, n_classes) / n_classes), leaning)
    with warnings.catch_warnings(action="ignore"):
        return model.fit(rows, np.array(names)[places])


def run(model, domain=DOMAIN, **options):
    settings = {"max_cases": None, "max_inputs": 4000, "n_global": 1000, "n_walkers": 100, "accelerate": "off"}
    return search(model, domain, strategy="guided", **{**settings, **options})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.thinned(2)
def test_one_question(name, n_classes):
    found = run(fitted(MODELS[name], n_classes))
    assert found.n_cases
    # The two that are asked for both alike: the first cases, of which there may be fewer.
    assert 2 * found.n_judged < found.n_queries <= 2 * found.n_judged + 4 * CHECKED_BOTH
    assert not found.health


class Moved(LogisticRegression):
    """Its threshold was moved."""

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 3).astype(int)]


def test_labels_that_do_not_follow_are_asked_for(monkeypatch):
    """A model is taken at its adapter's word, until the first cases."""
    model = fitted(Moved())
    plain = run(model)
    from fairprobe.searching import hints

    said = hints.adapter_for(model)
    said.labels_follow = "score"
    monkeypatch.setattr(hints, "adapter_for", lambda _: said)
    found = run(model)
    text = dict(found.health)["asked-twice"]
    assert "are not those that follow from the model's score, so it was asked for both" in text
    pd.testing.assert_frame_equal(found.cases, plain.cases)
    assert found.n_queries - plain.n_queries <= 4 * CHECKED_BOTH
