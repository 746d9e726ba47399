"""Known models: the very classes, as they were shipped, with all their parts; nothing that only looks like one."""

import functools
import importlib
import warnings
from unittest import mock

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
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
    **{name: {"n_estimators": 3, "n_jobs": 1} for name in ("LGBMClassifier", "XGBClassifier")},
    "Pipeline": {"steps": [("a", StandardScaler()), ("b", LogisticRegression())]},
    "FeatureUnion": {"transformer_list": [("a", StandardScaler())]},
    "ColumnTransformer": {"transformers": [("a", StandardScaler(), [0, 1])], "remainder": "passthrough"},
    "SelectFromModel": {"estimator": DecisionTreeClassifier()},
}
PARTS_ONLY = ("constant", "libsvm", *(kind for kind in KINDS.values() if kind.startswith("regression-")))


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


def with_a_tree_replaced(forest):
    with_own_predict(forest.estimators_[1], "predict_proba")
    return forest


FOREIGN = {
    "function": lambda: len,
    "other class": lambda: fitted(GaussianNB()),
    "forest with a tree of a subclass": lambda: with_own_tree(fitted(RandomForestClassifier(3))),
    "forest with a tree's predict replaced": lambda: with_a_tree_replaced(fitted(RandomForestClassifier(3))),
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


MODELS = {
    "tree": lambda: fitted(DecisionTreeClassifier(random_state=0)),
    "forest": lambda: fitted(RandomForestClassifier(3, random_state=0)),
    "histograms": lambda: fitted(HistGradientBoostingClassifier(max_iter=2)),
    "linear": lambda: fitted(LogisticRegression()),
    "vote": lambda: fitted(VotingClassifier([("a", DecisionTreeClassifier())])),
    "pipeline": lambda: fitted(make_pipeline(StandardScaler(), LogisticRegression())),
}

WRAPPED = [
    ("tree", "sklearn.tree:DecisionTreeClassifier", "predict"),
    ("tree", "sklearn.tree:DecisionTreeClassifier", "__getattribute__"),
    ("forest", "sklearn.tree:DecisionTreeClassifier", "predict_proba"),
    ("forest", "sklearn.ensemble:RandomForestClassifier", "predict_proba"),
    ("forest", "sklearn.ensemble._forest", "_accumulate_prediction"),
    ("histograms", "sklearn.ensemble._hist_gradient_boosting.predictor:TreePredictor", "predict"),
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


class Doubling:
    def __call__(self, *arguments, **named):
        return 2 * named["by"](*arguments)


STAND_INS = {
    "partial": lambda original: functools.partial(original),
    "partial of another": lambda original: functools.partial(Doubling().__call__, by=original),
    "object": lambda original: Doubling(),
    "method of an object": lambda original: Doubling().__call__,
    "cache": lambda original: functools.lru_cache(lambda *arguments: original(*arguments)),
    "mock": lambda original: mock.MagicMock(side_effect=original),
    "class": lambda original: type("Doubled", (), {"__module__": __name__}),
}


@pytest.mark.parametrize("kind", STAND_INS)
def test_what_is_called_by_a_method_need_not_be_a_function(monkeypatch, kind):
    model, owner = MODELS["linear"](), place("sklearn.utils.validation")
    monkeypatch.setattr(owner, "check_array", STAND_INS[kind](owner.check_array))
    assert (known_kind(model) is None) is (kind != "partial")
    assert is_repeatable(model) is (kind == "partial")
    monkeypatch.undo()
    assert known_kind(model) is not None


PUT = {
    "mock that looks alike": lambda: mock.create_autospec(LogisticRegression.predict_proba),
    "property": lambda: property(lambda self: lambda rows: np.zeros(len(rows))),
    "cached": lambda: functools.lru_cache(lambda self, rows: np.zeros(len(rows))),
    "another method of the package": lambda: LogisticRegression.predict_log_proba,
    "another class's method": lambda: DecisionTreeClassifier.predict_proba,
    "a builtin": lambda: len,
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


def test_what_was_fitted_is_of_another_class():
    model, linear, forest = (MODELS[name]() for name in ("tree", "linear", "forest"))
    model.tree_ = mock.MagicMock(wraps=model.tree_)
    linear.coef_ = linear.coef_.view(Weights)
    forest.estimators_[1].tree_ = mock.MagicMock(wraps=forest.estimators_[1].tree_)
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
