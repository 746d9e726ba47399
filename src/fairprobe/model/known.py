"""Known models: classes whose answers follow from their fitted numbers, and the check that a model is one of them.

A subclass may predict otherwise, and so may an object or a class whose methods were replaced or wrapped. So a model is
known only if it is of exactly such a class, with the functions that were shipped, and so are all its parts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Literal

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
"""By class, its kind: the one place where classes of scikit-learn are named.

Of the transformers, a "monotone" one never makes a larger number a smaller one, in floating point either, and a
"columnwise" one makes each of its columns out of one column. Those after them are known as parts only, but for a
"booster", whose batches are.
"""

COMMITTEES = frozenset({"forest", "regression-forest", "vote", "regression-vote"})
"""Kinds whose members decide."""

LEAFY = frozenset({"boosting", "forest", "histogram-boosting", "tree"})
"""The kinds made of trees: their scores are steps."""

LABELS_FOLLOW: dict[str, Literal["proba", "score"]] = {
    **dict.fromkeys(("tree", "forest", "boosting", "histogram-boosting", "network", "booster"), "proba"),
    "linear": "score",
}
"""The kinds whose label is that of the highest probability, or of the sign (of more classes, the highest) of scores."""

_BENEATH = frozenset({"joblib", "narwhals", "numpy", "pandas", "scipy", "threadpoolctl"}) | (
    sys.stdlib_module_names - {"unittest"}
)
"""Packages, besides those of the table, whose functions known classes work by."""

_IMMUTABLE = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE of Python's C API: nothing can be put in the place of what such a class has."""

_DATA = frozenset({bool, bytes, dict, float, int, str, type(None)})
"""Types that hold no function that a model would call."""

REPEATABLE = frozenset(
    {"booster", "boosting", "forest", "histogram-boosting", "kernel", "linear", "network", "tree", "vote"}
)
"""The kinds that answer with labels, always the same for the same row."""


def known_kind(model: Any, seen: dict[Any, Any] | None = None) -> str | None:
    """The kind of a model or transformer that is known, with all its parts; None of any other.

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
    """The kind of the nearest class in the table that a model, or the last step of a pipeline, is derived from.

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
    if _is_altered(model, {}):
        return f"a method of {name} was replaced: only as it was shipped it is known exactly"
    part = next((part for part in _parts(model) if known_kind(part) is None), None)
    if part is None:
        return f"{name} works by a function that was given to it, and no function is known exactly"
    return f"a part of {name} is not known: {why_unknown(part)}"


def _kind(model: Any, seen: dict[Any, Any], *, with_parts: bool = True) -> str | None:
    """The kind of a model; `seen` remembers objects and classes that were looked at, as a forest has many alike."""
    path = _path(type(model))
    if path is None or _is_altered(model, seen) or _calls_a_function(model, KINDS[path]):
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


def package_of(module: Any) -> str:
    """The first part of a module's name."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def _is_altered(thing: Any, seen: dict[Any, Any]) -> bool:
    """Return True if a method of an object, or of an object fitted in it, was replaced.

    Only attributes with a leading or trailing underscore are followed: settings are copied before they are fitted. An
    attribute that no method of the class uses is never called.
    """
    cls = type(thing)
    if cls not in seen:
        seen[cls], seen[cls, "names"] = _is_class_altered(cls), _used_names(cls)
    mine = {} if isinstance(thing, type | FunctionType) or id(thing) in seen else getattr(thing, "__dict__", {})
    seen[id(thing)] = True
    if seen[cls] or any(hasattr(getattr(cls, name, None), "__get__") for name in mine):
        return True
    fitted = [value for name, value in mine.items() if "_" in (name[:1], name[-1:]) and name in seen[cls, "names"]]
    return any(_is_altered(each, seen) for each in _flat(fitted) if type(each) not in _DATA)


def _used_names(cls: type) -> frozenset[str]:
    """The names of attributes and globals that the methods of a class and of its bases use."""
    methods = (value for base in cls.__mro__ for value in vars(base).values())
    functions = (getattr(each, "fget", getattr(each, "fn", each)) for each in methods)
    codes = (code for each in functions if hasattr(each, "__code__") for code in codes_of(each.__code__))
    return frozenset(name for code in codes for name in code.co_names)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if type(value) in (list, tuple) else (value,)


def _is_class_altered(cls: type) -> bool:
    """Return True if a function that a class would call does not come from the packages that shipped the class."""
    packages = _BENEATH.union(package_of(path.partition(":")[0]) for path in KINDS)
    seen: set[Any] = set()
    for base in (each for each in cls.__mro__ if not each.__flags__ & _IMMUTABLE):
        mangled = f"_{base.__name__.lstrip('_')}__"
        values = [(value, f"{base.__qualname__}.{name.replace(mangled, '__')}") for name, value in vars(base).items()]
        values += [(base, ""), (type(base), "")]
        if any(_is_foreign(value, place, packages, seen) for value, place in values):
            return True
    return False


def _is_foreign(value: Any, place: str, packages: frozenset[str], seen: set[Any]) -> bool:
    """Return True if a value was not shipped by the packages for that place of a class, or calls such a value."""
    if (id(value), place) in seen:
        return False
    seen.add((id(value), place))
    if isinstance(value, FunctionType):
        return not is_shipped(value, place, packages) or any(
            _is_foreign(each, "", packages, seen) for each in _called(value)
        )
    if isinstance(value, type) or not (callable(value) or hasattr(value, "__get__")):
        return isinstance(value, type) and package_of(value.__module__) not in packages
    is_misplaced = isinstance(value, BuiltinFunctionType) and not place.endswith(f".{value.__name__}")
    if is_misplaced or package_of(type(value).__module__) not in packages:
        return True
    inner = (getattr(value, name, None) for name in ("__func__", "__wrapped__", "fget", "fn", "func", "check"))
    return any(_is_foreign(each, "", packages, seen) for each in inner if each is not None)


def is_shipped(function: FunctionType, place: str, packages: frozenset[str]) -> bool:
    """Return True if a function was written in one of the packages, for that place of a class if one is named.

    `__module__` and `__wrapped__` prove nothing: `functools.wraps` copies them. The globals that it sees and the file
    of its code do.
    """
    names, file, own = function.__globals__, function.__code__.co_filename, function.__code__.co_qualname
    if names is not getattr(sys.modules.get(names.get("__name__", "")), "__dict__", None):
        return False
    is_as_written = file == names.get("__file__") or file.startswith("<frozen")
    is_in_place = not place or own == place or "." not in own or "<" in own
    return package_of(names["__name__"]) in packages and is_as_written and is_in_place


def _called(function: FunctionType) -> Iterator[Any]:
    """The functions that a function calls: those in its closure and those among the globals that it names."""
    values = [function.__globals__.get(name) for code in codes_of(function.__code__) for name in code.co_names]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            values.append(cell.cell_contents)
    return (value for value in values if isinstance(value, FunctionType))


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


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
