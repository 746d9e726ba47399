"""Known models: classes whose answers follow from their fitted numbers, and the check that a model is one of them.

A subclass may predict otherwise. So a model is known only if it is of exactly such a class, as it was shipped
(`shipped.py`), and so are all its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

from fairprobe.model.shipped import is_altered, package_of

_TABLE = """
tree                          sklearn.tree                DecisionTreeClassifier ExtraTreeClassifier
forest                        sklearn.ensemble            ExtraTreesClassifier RandomForestClassifier
boosting                      sklearn.ensemble            GradientBoostingClassifier
histogram-boosting            sklearn.ensemble            HistGradientBoostingClassifier
vote                          sklearn.ensemble            VotingClassifier
linear                        sklearn.linear_model        LogisticRegression LogisticRegressionCV
linear                        sklearn.linear_model        PassiveAggressiveClassifier Perceptron SGDClassifier
linear                        sklearn.linear_model        RidgeClassifier RidgeClassifierCV
linear                        sklearn.svm                 LinearSVC
linear                        fairprobe.subjects.fair_svm FairSVM
kernel                        sklearn.svm                 SVC
network                       sklearn.neural_network      MLPClassifier
pipeline                      sklearn.pipeline            Pipeline
union                         sklearn.pipeline            FeatureUnion
columns                       sklearn.compose             ColumnTransformer
monotone                      sklearn.impute              SimpleImputer
monotone                      sklearn.preprocessing       MaxAbsScaler MinMaxScaler RobustScaler StandardScaler
identity                      sklearn.preprocessing       FunctionTransformer
columnwise                    sklearn.feature_selection   SelectFromModel SelectKBest SelectPercentile VarianceThreshold
columnwise                    sklearn.preprocessing       Binarizer KBinsDiscretizer OneHotEncoder OrdinalEncoder
columnwise                    sklearn.preprocessing       PowerTransformer QuantileTransformer TargetEncoder
regression-tree               sklearn.tree                DecisionTreeRegressor ExtraTreeRegressor
regression-forest             sklearn.ensemble            ExtraTreesRegressor RandomForestRegressor
regression-vote               sklearn.ensemble            VotingRegressor
regression-boosting           sklearn.ensemble            GradientBoostingRegressor
regression-histogram-boosting sklearn.ensemble            HistGradientBoostingRegressor
regression-linear             sklearn.linear_model        ElasticNet Lasso LinearRegression Ridge RidgeCV SGDRegressor
regression-linear             sklearn.svm                 LinearSVR
regression-constant           sklearn.dummy               DummyRegressor
libsvm                        sklearn.svm                 NuSVC NuSVR SVR
constant                      sklearn.dummy               DummyClassifier
booster                       lightgbm                    LGBMClassifier
booster                       xgboost                     XGBClassifier
"""
KINDS: dict[str, str] = {
    f"{module}:{name}": kind for kind, module, *names in map(str.split, _TABLE.strip().splitlines()) for name in names
}
"""Kind of each known class: the only place where classes of scikit-learn are named.

Of the transformers, a "monotone" one never makes a larger number a smaller one, in floating point either. A
"columnwise" one makes each of its columns out of one column. The kinds after these are known only as parts of a model,
except for a "booster", whose batches are known."""

COMMITTEES = frozenset({"forest", "regression-forest", "vote", "regression-vote"})
"""Kinds whose members decide together."""

LEAFY = frozenset({"boosting", "forest", "histogram-boosting", "tree"})
"""The kinds made of trees: their scores are steps."""

LABELS_FOLLOW: dict[str, Literal["proba", "score"]] = {
    **dict.fromkeys(("tree", "forest", "boosting", "histogram-boosting", "network", "booster"), "proba"),
    "linear": "score",
}
"""The kinds whose label is that of the highest probability, or of the sign (of more classes, the highest) of scores."""

REPEATABLE = frozenset(
    {"booster", "boosting", "forest", "histogram-boosting", "kernel", "linear", "network", "tree", "vote"}
)
"""The kinds that answer with labels, always the same for the same row."""


def known_kind(model: Any, seen: dict[Any, Any] | None = None) -> str | None:
    """Return the kind of a model or transformer that is known with all its parts; otherwise None.

    To look at many models of few classes, give all looks one dictionary for `seen`.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> known_kind(DecisionTreeClassifier())
    'tree'
    >>> class Own(DecisionTreeClassifier): ...
    >>> known_kind(Own()) is None
    True
    """
    return _kind(model, {} if seen is None else seen)


def own_kind(model: Any) -> str | None:
    """The kind of a model or transformer by its own class; its parts need not be known."""
    return _kind(model, {}, with_parts=False)


def is_repeatable(model: Any) -> bool:
    """Return True if a model is known to give the same row the same label whenever it is asked.

    Known classifiers do, alone or at the end of a pipeline. Forests must use one thread: several threads add up the
    trees in any order.
    """
    if known_kind(model) is None or own_kind(last_step(model)) not in REPEATABLE:
        return False
    forests = (part for part in _with_parts(model) if hasattr(part, "n_jobs") and own_kind(part) == "forest")
    return all(forest.n_jobs in (None, 1) for forest in forests)


def kin(model: Any) -> str | None:
    """Return the kind of the nearest base class in the table, for a model or the last step of a pipeline.

    It guides what is tried. Claims about a model rest on `known_kind`.
    """
    last = last_step(model)
    return next((KINDS[path] for base in type(last).__mro__ if (path := _path(base)) is not None), None)


def last_step(model: Any) -> Any:
    """The last step of a pipeline; any other model is its own last step."""
    while isinstance(getattr(model, "steps", None), list):
        model = model.steps[-1][1]
    return model


def works_on_float32(model: Any) -> bool:
    """Return True if a model turns its rows into float32 anyway: a tree, or a committee of trees."""
    if (told := getattr(model, "works_on_float32_", None)) is not None:  # of one in another process
        return bool(told)
    kind = KINDS.get(_path(type(model)) or "")
    if kind in COMMITTEES:
        return all(works_on_float32(member) for member in model.estimators_)
    return kind in ("tree", "regression-tree")


def why_unknown(model: Any) -> str:
    """A sentence that says why a model is not known."""
    name = type(model).__name__
    base = next((base.__name__ for base in type(model).__mro__[1:] if _path(base) is not None), None)
    if base is not None:
        return f"{name} is a subclass of {base}, which may answer otherwise: only {base} itself is known exactly"
    if _path(type(model)) is None:
        return f"{name} is not a kind of model that can be solved"
    if is_altered(model, {}):
        return f"a method of {name} was replaced: only as it was shipped it is known exactly"
    part = next((part for part in _parts(model) if known_kind(part) is None), None)
    if part is None:
        return f"{name} works by a function that was given to it, and no function is known exactly"
    return f"a part of {name} is not known: {why_unknown(part)}"


def _kind(model: Any, seen: dict[Any, Any], *, with_parts: bool = True) -> str | None:
    """The kind of a model; `seen` remembers objects and classes that were looked at, as a forest has many alike."""
    path = _path(type(model))
    if path is None or is_altered(model, seen) or _calls_a_function(model, KINDS[path]):
        return None
    return KINDS[path] if not with_parts or all(_kind(part, seen) for part in _parts(model)) else None


def _path(cls: type) -> str | None:
    """The key in `KINDS` of exactly this class; None if it is not in the table."""
    ending = f":{cls.__name__}"
    for path in KINDS:
        # Only a class of that name and package is worth an import, which then is none: the model brought it along.
        if path.endswith(ending) and package_of(cls.__module__) == package_of(module := path.removesuffix(ending)):
            return path if getattr(import_module(module), cls.__name__, None) is cls else None
    return None


def _calls_a_function(model: Any, kind: str) -> bool:
    """Return True if a setting hands work to a function of the user, or makes answers random."""
    if kind == "identity":
        return getattr(model, "func", None) is not None
    if kind == "constant":
        return getattr(model, "strategy", None) != "prior"
    return any(callable(getattr(model, name, None)) for name in ("kernel", "importance_getter", "objective"))


def _parts(model: Any) -> Iterator[Any]:
    """The models and transformers that a model is made of, without dropped ones."""
    kind = KINDS.get(_path(type(model)) or "", "").removeprefix("regression-")
    if kind == "columns":
        named = getattr(model, "transformers_", model.transformers)
    else:
        named = getattr(model, {"pipeline": "steps", "union": "transformer_list"}.get(kind, ""), ())
    parts = [part for _, part, *_ in named]
    if kind in ("forest", "vote"):
        parts = list(getattr(model, "estimators_", ()))
    elif kind == "boosting":
        trees = (tree for stage in getattr(model, "estimators_", ()) for tree in stage)
        parts = [*trees, getattr(model, "init_", None)]
    elif kind == "columnwise":
        parts = [getattr(model, "estimator_", getattr(model, "estimator", None))]
    return (part for part in parts if part is not None and not isinstance(part, str))


def _with_parts(model: Any) -> Iterator[Any]:
    yield model
    for part in _parts(model):
        yield from _with_parts(part)
