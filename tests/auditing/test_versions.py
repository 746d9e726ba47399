"""The versions of what a model is made with."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairprobe.auditing.auditing import versions_of

FITTED = make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0]], [0, 1])


class Holder:
    def __init__(self, held):
        self.held = held

    def predict(self, batch):
        return batch


def boosted():
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=1, min_child_samples=1, verbose=-1).fit([[0.0], [1.0]] * 9, [0, 1] * 9)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m,
        lambda m: make_pipeline(StandardScaler(), m),
        lambda m: Holder({"models": [m]}),
        lambda m: lambda batch: m.predict(batch),
        lambda m: m.predict,
        lambda m: partial(lambda model, batch: model.predict(batch), m),
    ],
    ids=["itself", "pipeline", "held", "closure", "method", "partial"],
)
def test_versions_tell_the_models_own_library(wrap):
    assert versions_of(wrap(boosted()))["lightgbm"] == version("lightgbm")
    assert "lightgbm" not in versions_of(wrap(FITTED))


def test_versions_of_a_function_tell_the_modules_that_it_names():
    pytest.importorskip("xgboost")
    names = {}
    exec("import xgboost\ndef predict(batch):\n    return xgboost.DMatrix(batch)", names)
    assert any("xgboost" in each for each in versions_of(names["predict"]))
