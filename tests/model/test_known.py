"""Known models: the very classes, as they were shipped, with all their parts; nothing that only looks like one."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairprobe.model.known import KINDS, is_repeatable, known_kind, own_kind, why_unknown

RNG = np.random.default_rng(0)
X = RNG.integers(0, 10, (200, 4)).astype(float)
Y = (X[:, 0] + X[:, 1] > 9).astype(int)

NEEDS = {
    "VotingClassifier": {"estimators": [("a", DecisionTreeClassifier()), ("b", LogisticRegression())]},
    "VotingRegressor": {"estimators": [("a", DecisionTreeRegressor()), ("b", SVR())]},
    "NuSVC": {"nu": 0.1},
    "Pipeline": {"steps": [("a", StandardScaler()), ("b", LogisticRegression())]},
    "FeatureUnion": {"transformer_list": [("a", StandardScaler())]},
    "ColumnTransformer": {"transformers": [("a", StandardScaler(), [0, 1])], "remainder": "passthrough"},
    "SelectFromModel": {"estimator": DecisionTreeClassifier()},
}
PARTS_ONLY = (
    "constant",
    "libsvm",
    *(kind for kind in set(KINDS.values()) if kind.startswith("regression-")),
)


def fitted(model):
    with warnings.catch_warnings(action="ignore"):
        return model.fit(X, Y)


def class_at(path):
    module, name = path.split(":")
    cls = getattr(pytest.importorskip(module), name, None)
    if cls is None:
        pytest.skip(f"this version has no {name}")
    return cls


def made(cls, like=None):
    with warnings.catch_warnings(action="ignore"):  # some classes are on their way out
        return cls(**NEEDS.get((like or cls).__name__, {}))


@pytest.mark.parametrize("path", KINDS)
def test_every_class_of_the_table_is_known_fitted_or_not(path):
    model = made(class_at(path))
    assert known_kind(model) == KINDS[path]
    assert known_kind(fitted(model)) == KINDS[path]
    assert is_repeatable(model) == (hasattr(model, "predict") and KINDS[path] not in PARTS_ONLY)


@pytest.mark.parametrize("path", KINDS)
def test_a_subclass_is_not(path):
    cls = class_at(path)
    model = made(type(cls.__name__, (cls,), {"__module__": cls.__module__}), like=cls)
    assert known_kind(model) is own_kind(model) is None
    assert not is_repeatable(model)
    assert f"is a subclass of {cls.__name__}" in why_unknown(model)


class OwnTree(DecisionTreeClassifier):
    pass


class OwnScaler(StandardScaler):
    pass


def with_own_tree(model):
    model.estimators_[1].__class__ = OwnTree
    return model


def with_own_predict(model, name="predict"):
    setattr(model, name, lambda X, **options: np.zeros(len(X)))
    return model


FOREIGN = {
    "function": lambda: len,
    "other class": lambda: fitted(GaussianNB()),
    "forest with a tree of a subclass": lambda: with_own_tree(fitted(RandomForestClassifier(3))),
    "forest with a tree's predict replaced": lambda: _forest_with_a_tree_replaced(),
    "vote with a subclass": lambda: fitted(VotingClassifier([("a", DecisionTreeClassifier()), ("b", OwnTree())])),
    "vote with a foreign class": lambda: fitted(VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())])),
    "step of a subclass": lambda: fitted(make_pipeline(OwnScaler(), LogisticRegression())),
    "end of a subclass": lambda: fitted(make_pipeline(StandardScaler(), OwnTree())),
    "step within columns": lambda: fitted(
        make_pipeline(ColumnTransformer([("a", OwnScaler(), [0])]), LogisticRegression())
    ),
    "step within a union": lambda: fitted(make_pipeline(FeatureUnion([("a", OwnScaler())]), LogisticRegression())),
    "function as a step": lambda: fitted(make_pipeline(FunctionTransformer(np.sqrt), LogisticRegression())),
    "function as a kernel": lambda: fitted(SVC(kernel=lambda a, b: a @ b.T)),
    "selection by a foreign model": lambda: fitted(make_pipeline(SelectFromModel(OwnTree()), LogisticRegression())),
    "boosting from a random start": lambda: fitted(
        GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="stratified"))
    ),
    "predict replaced": lambda: with_own_predict(fitted(DecisionTreeClassifier())),
    "transform of a step replaced": lambda: make_pipeline(
        with_own_predict(fitted(StandardScaler()), "transform"), fitted(LogisticRegression())
    ),
}


def _forest_with_a_tree_replaced():
    forest = fitted(RandomForestClassifier(3))
    with_own_predict(forest.estimators_[1], "predict_proba")
    return forest


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_known(make):
    model = make()
    assert known_kind(model) is None
    assert not is_repeatable(model)
    assert why_unknown(model)


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, True), (1, True), (2, False), (-1, False)])
def test_threads_add_up_a_forest_s_trees_in_any_order(n_jobs, expected):
    forest = fitted(RandomForestClassifier(3, n_jobs=n_jobs))
    models = [forest, make_pipeline(fitted(StandardScaler()), forest)]
    vote = fitted(VotingClassifier([("a", forest), ("b", LogisticRegression())]))
    assert [is_repeatable(model) for model in [*models, vote]] == [expected] * 3
    assert known_kind(forest) == "forest"


def test_no_import_for_a_model_that_is_none_of_scikit_learn_s():
    program = (
        "import sys\n"
        "from fairprobe.model.known import is_repeatable, known_kind\n"
        "from fairprobe import Domain, Integer\n"
        "from fairprobe.model import Asker\n"
        "assert known_kind(len) is None and not is_repeatable(lambda rows: rows)\n"
        "class Own:\n"
        "    def predict(self, X): return X[:, 0] > 0\n"
        "asker = Asker(Own(), Domain([Integer('x', 0, 1), Integer('s', 0, 1)], ['s']))\n"
        "with asker.quiet(): asker.ask(asker.domain.levels[None] - 1)\n"
        "assert 'sklearn' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("path", ["lightgbm:LGBMClassifier", "xgboost:XGBClassifier"])
def test_boosters_repeat_themselves_whatever_the_batch(path):
    """What `is_repeatable` says of them: to the last bit, over batches of many sizes and two threads."""
    module, name = path.split(":")
    booster = getattr(pytest.importorskip(module), name)(n_estimators=20, n_jobs=2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(130, 4))
    booster.fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    whole = booster.predict_proba(X)
    for size in (3, 64, 65):
        parts = [booster.predict_proba(X[first : first + size]) for first in range(0, len(X), size)]
        assert (np.concatenate(parts) == whole).all()
