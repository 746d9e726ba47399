"""Fitting: clones or the caller's trainer, in the form of what the model was fitted on."""

import pickle

import numpy as np
import pandas as pd
import pytest
from planted import DOMAIN, Keeping, Planted, Script, rows
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe.errors import ModelError, SettingError
from fairprobe.retraining.fitting import Fitter
from fairprobe.retraining.parts import LabelledRows

X, y = rows(80, 0)


def tree():
    return DecisionTreeClassifier(random_state=0)


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_trainer_gets_what_the_caller_gave(as_frame):
    keeping = Keeping(tree())
    fitted = Fitter(Planted(), keeping, DOMAIN, as_frame=as_frame).fit(LabelledRows(DOMAIN, X, y))
    batch, labels, options = keeping.calls[0]
    assert isinstance(batch, pd.DataFrame if as_frame else np.ndarray)
    assert hasattr(fitted, "feature_names_in_") == as_frame
    np.testing.assert_array_equal(np.asarray(batch), X.to_numpy())
    np.testing.assert_array_equal(labels, y)
    assert options == {}


@pytest.mark.parametrize("fitted_on", ["frame", "array", "nothing"])
@pytest.mark.parametrize("as_frame", [True, False])
def test_a_clone_gets_what_the_model_was_fitted_on(fitted_on, as_frame):
    """The model that comes back must take what the one given took; one that is not fitted yet, what X is."""
    model = tree()
    if fitted_on != "nothing":
        model.fit(X if fitted_on == "frame" else X.to_numpy(), y)
    new = Fitter(model, None, DOMAIN, as_frame=as_frame).fit(LabelledRows(DOMAIN, X, 1 - y))
    expected = as_frame if fitted_on == "nothing" else fitted_on == "frame"
    assert hasattr(new, "feature_names_in_") == expected
    assert new is not model
    if fitted_on != "nothing":
        assert (model.predict(X if fitted_on == "frame" else X.to_numpy()) == y).all(), "the one given is as it was"
    assert (new.predict(X if expected else X.to_numpy()) == 1 - y).all()


def test_what_fits_warn_of_is_kept():
    trainer = Fitter(LogisticRegression(max_iter=1), None, DOMAIN, as_frame=True)
    trainer.fit(LabelledRows(DOMAIN, X, y))
    trainer.fit(LabelledRows(DOMAIN, X, y))
    assert len(trainer.times) == 2
    [(text, n)] = trainer.warned.items()
    assert text.startswith("ConvergenceWarning: ")
    assert n == 2


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        (Script(RuntimeError("out of luck")), "the trainer must give a model, got RuntimeError: out of luck"),
        (Script(None), "the trainer must give a model with predict, got NoneType"),
        (lambda X: Planted(), "the trainer must give a model, got TypeError"),
    ],
)
def test_trainers_that_fail(trainer, message):
    with pytest.raises(ModelError, match=message):
        Fitter(Planted(), trainer, DOMAIN, as_frame=True).fit(LabelledRows(DOMAIN, X, y))


def piped(*steps):
    return make_pipeline(StandardScaler(), *steps)


LOGISTIC, STUMP = LogisticRegression(), DecisionTreeClassifier(max_depth=1, random_state=0)
WEIGHTED = {
    "alone": LOGISTIC,
    "pipeline": piped(LOGISTIC),
    "nested": piped(piped(piped(LOGISTIC))),
    "search": GridSearchCV(piped(LOGISTIC), {"logisticregression__C": [1.0]}, scoring="f1"),
    "piped search": piped(GridSearchCV(piped(LOGISTIC), {}, scoring=["f1", "accuracy"], refit="f1")),
    "vote": VotingClassifier([("a", STUMP), ("b", LOGISTIC), ("c", "drop")], voting="soft"),
    "searched vote": GridSearchCV(VotingClassifier([("a", LOGISTIC)]), {"voting": ["hard"]}, scoring="f1"),
    "stack": piped(StackingClassifier([("a", LOGISTIC)])),
    "calibrated": CalibratedClassifierCV(LOGISTIC, ensemble=False),
    "bagged": BaggingClassifier(LOGISTIC, n_estimators=5, random_state=0),
    "piped boosted": piped(piped(AdaBoostClassifier(STUMP, n_estimators=3))),
    "piped path": piped(LogisticRegressionCV(cv=3, Cs=[1.0])),
    "selected": make_pipeline(SelectFromModel(STUMP), LOGISTIC),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_reach_whatever_predicts(name):
    """Ones that weigh a hundred times as much are predicted for nearly everyone."""
    rng = np.random.default_rng(0)
    labels = (X["x"] + rng.normal(0, 20, len(X)) > 10).astype(int).to_numpy()
    trainer = Fitter(WEIGHTED[name], None, DOMAIN, as_frame=True, is_weighted=True)
    plain, new = (
        trainer.fit(LabelledRows(DOMAIN, X, labels, weights)) for weights in (None, np.where(labels == 1, 100.0, 1.0))
    )
    assert plain.predict(X).mean() < 0.75 < 0.95 < new.predict(X).mean()
    again = pickle.loads(pickle.dumps(new))
    assert (again.predict(X) == new.predict(X)).all()


def test_what_is_said_by_routing_of_ones_own_counts():
    labels = np.arange(len(X)) % 2
    with config_context(enable_metadata_routing=True):
        model = piped(LogisticRegression().set_fit_request(sample_weight=True))
        model[0].set_fit_request(sample_weight=False)
        trainer = Fitter(model, None, DOMAIN, as_frame=True, is_weighted=True)
        assert trainer.fit(LabelledRows(DOMAIN, X, labels, np.where(labels == 1, 100.0, 1.0))).predict(X).mean() == 1


NEAR = KNeighborsClassifier()


@pytest.mark.parametrize(
    ("model", "got"),
    [
        (NEAR, "KNeighborsClassifier"),
        (piped(NEAR), "KNeighborsClassifier"),
        (GridSearchCV(piped(NEAR), {}), "KNeighborsClassifier"),
        (VotingClassifier([("a", LOGISTIC), ("b", NEAR)]), "KNeighborsClassifier in VotingClassifier"),
        (VotingClassifier([("a", LOGISTIC), ("b", piped(LOGISTIC))]), "Pipeline in VotingClassifier"),
        (CalibratedClassifierCV(piped(LOGISTIC)), "Pipeline in CalibratedClassifierCV"),
        (OneVsRestClassifier(LOGISTIC), "OneVsRestClassifier"),
    ],
)
def test_a_model_that_takes_no_weights_is_refused_before_any_work(model, got):
    rule = f"sample_weight must go with a model that takes weights, got {got}, whose fit takes none: leave them out"
    with pytest.raises(SettingError, match=rule):
        Fitter(model, None, DOMAIN, as_frame=True, is_weighted=True)
    Fitter(model, None, DOMAIN, as_frame=True)
