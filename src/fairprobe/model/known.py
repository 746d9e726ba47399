"""Known models: classes whose answers can be computed from their fitted attributes, and the check for them.

A subclass may predict otherwise. So a model is known only if it is of exactly such a class, as it was shipped, and so
are all its parts. It is not as it was shipped if a method was replaced or wrapped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Final, Literal

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
"""Kind of model or transformer, by class as "module:Class". No other place names classes of scikit-learn.

Of the transformers, a "monotone" one never makes a larger number a smaller one, in floating point either. A
"columnwise" one makes each of its columns out of one column. The kinds after these are known only as parts of a model,
except for a "booster", whose batches are known.
"""

COMMITTEES = frozenset({"forest", "regression-forest", "vote", "regression-vote"})
"""Kinds of models that combine the answers of member models."""

LEAFY = frozenset({"boosting", "forest", "histogram-boosting", "tree"})
"""Kinds of classifiers made of trees, whose scores are piecewise constant."""

LABELS_FOLLOW: dict[str, Literal["proba", "score"]] = {
    **dict.fromkeys(("tree", "forest", "boosting", "histogram-boosting", "network", "booster"), "proba"),
    "linear": "score",
}
"""Output from which the label follows, by kind. "proba": the class of the highest probability. "score": by the sign of
the score, or the highest of several scores."""

REPEATABLE = frozenset(
    {"booster", "boosting", "forest", "histogram-boosting", "kernel", "linear", "network", "tree", "vote"}
)
"""Kinds of classifiers that always give the same row the same label."""


def known_kind(model: Any, seen: dict[Any, Any] | None = None, *, with_parts: bool = True) -> str | None:
    """Return the kind of a model or transformer, such as "tree"; None unless it and all its parts are of known classes.

    None also if a method was replaced, or a function of the caller is called. To check many models, pass one dictionary
    as `seen` to all calls; it caches what was found about each class. Without `with_parts`, the parts of the model may
    be of any class.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> known_kind(DecisionTreeClassifier())
    'tree'
    >>> class Own(DecisionTreeClassifier): ...
    >>> known_kind(Own()) is None
    True
    """
    seen = {} if seen is None else seen
    path = _path(type(model))
    if path is None or is_altered(model, seen) or _calls_a_function(model, KINDS[path]):
        return None
    return KINDS[path] if not with_parts or all(known_kind(part, seen) for part in _parts(model)) else None


def own_kind(model: Any) -> str | None:
    """Return the kind of a model or transformer, such as "tree", by its own class alone; None if it is not known."""
    return known_kind(model, with_parts=False)


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
    """Return the kind, such as "tree", of a model's nearest base class that is known; None if no base class is.

    A pipeline has the kind of its last step. The kind guides what is tried. Claims about a model rest on `known_kind`.
    """
    last = last_step(model)
    return next((KINDS[path] for base in type(last).__mro__ if (path := _path(base)) is not None), None)


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, however deeply nested; any other model is returned itself."""
    while isinstance(getattr(model, "steps", None), list):
        model = model.steps[-1][1]
    return model


def works_on_float32(model: Any) -> bool:
    """Return True if a model converts its rows to float32: a tree, or a forest or vote of such models."""
    if (told := getattr(model, "works_on_float32_", None)) is not None:  # of one in another process
        return bool(told)
    kind = KINDS.get(_path(type(model)) or "")
    if kind in COMMITTEES:
        return all(works_on_float32(member) for member in model.estimators_)
    return kind in ("tree", "regression-tree")


def why_unknown(model: Any) -> str:
    """Return a clause, for messages, that says why a model's answers cannot be computed from its attributes."""
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


def _path(cls: type) -> str | None:
    """Return the key in `KINDS` ("module:Class") of exactly this class; None if it is not listed."""
    ending = f":{cls.__name__}"
    for path in KINDS:
        # Only a class of that name and package is worth an import, which then is none: the model brought it along.
        if path.endswith(ending) and package_of(cls.__module__) == package_of(module := path.removesuffix(ending)):
            return path if getattr(import_module(module), cls.__name__, None) is cls else None
    return None


def _calls_a_function(model: Any, kind: str) -> bool:
    """Return True if a setting makes a model call a function of the user, or may make its answers random."""
    if kind == "identity":
        return getattr(model, "func", None) is not None
    if kind == "constant":
        return getattr(model, "strategy", None) != "prior"
    return any(callable(getattr(model, name, None)) for name in ("kernel", "importance_getter", "objective"))


def _parts(model: Any) -> Iterator[Any]:
    """Yield the fitted models and transformers that a model directly consists of, without dropped ones."""
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


# As it was shipped

PACKAGES: Final = frozenset(
    ("fairprobe", "joblib", "lightgbm", "narwhals", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "threadpoolctl")
) | {"xgboost", *(sys.stdlib_module_names - {"unittest"})}
"""Packages that define the known classes of models, and packages whose functions and classes these classes use."""

_IMMUTABLE: Final = 1 << 8
"""Flag of classes whose attributes cannot be replaced: Py_TPFLAGS_IMMUTABLETYPE of Python's C API."""

_WRITTEN: Final = 1 << 9
"""Flag of classes that are made at run time, as all that are written in Python: Py_TPFLAGS_HEAPTYPE."""

_DATA: Final = frozenset({bool, bytes, dict, float, int, str, type(None)})
"""Types of values that contain no function, so they need not be followed."""


def is_altered(thing: Any, seen: dict[Any, Any]) -> bool:
    """Return True if a method of an object, or of an object fitted in it, was replaced.

    Only attributes with a leading or trailing underscore are followed, because settings are copied before they are
    fitted. Attributes that no method of the class names are not followed, because they are never called. `seen`
    collects what was looked at.
    """
    cls = type(thing)
    if cls not in seen:
        seen[cls], seen[cls, "names"] = _is_class_altered(cls), _used_names(cls)
    mine = {} if isinstance(thing, type | FunctionType) or id(thing) in seen else getattr(thing, "__dict__", {})
    seen[id(thing)] = True
    if seen[cls] or any(hasattr(getattr(cls, name, None), "__get__") for name in mine):
        return True
    fitted = [value for name, value in mine.items() if "_" in (name[:1], name[-1:]) and name in seen[cls, "names"]]
    return any(is_altered(each, seen) for each in _flat(fitted) if type(each) not in _DATA)


def _used_names(cls: type) -> frozenset[str]:
    """Return the names of the attributes and globals that the methods of a class and of its bases use."""
    methods = (value for base in cls.__mro__ for value in vars(base).values())
    functions = (getattr(each, "fget", getattr(each, "fn", each)) for each in methods)
    codes = (code for each in functions if hasattr(each, "__code__") for code in codes_of(each.__code__))
    return frozenset(name for code in codes for name in code.co_names)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if type(value) in (list, tuple) else (value,)


def _is_class_altered(cls: type) -> bool:
    """Return True if an attribute of a class or of its bases was replaced or calls code from outside `PACKAGES`."""
    seen: set[Any] = set()
    for base in (each for each in cls.__mro__ if not each.__flags__ & _IMMUTABLE):
        mangled = f"_{base.__name__.lstrip('_')}__"
        values = [(value, f"{base.__qualname__}.{name.replace(mangled, '__')}") for name, value in vars(base).items()]
        values += [(base, ""), (type(base), "")]
        if any(_is_foreign(value, place, seen) for value, place in values):
            return True
    return False


def _is_foreign(value: Any, place: str, seen: set[Any]) -> bool:
    """Return True if a class attribute is not the one that its package defined, or calls a function from elsewhere.

    `place` is the attribute's qualified name, such as "Tree.predict"; it is "" for values that are no attributes.
    """
    if (id(value), place) in seen:
        return False
    seen.add((id(value), place))
    if isinstance(value, FunctionType):
        return not is_shipped(value, place) or any(_is_foreign(each, "", seen) for each in _called(value))
    if isinstance(value, type) or not (callable(value) or hasattr(value, "__get__")):
        return isinstance(value, type) and not _is_class_shipped(value)
    is_misplaced = isinstance(value, BuiltinFunctionType) and not place.endswith(f".{value.__name__}")
    if is_misplaced or package_of(type(value).__module__) not in PACKAGES:
        return True
    inner = (getattr(value, name, None) for name in ("__func__", "__wrapped__", "fget", "fn", "func", "check"))
    return any(_is_foreign(each, "", seen) for each in inner if each is not None)


def _is_class_shipped(cls: type) -> bool:
    """Return True if a class belongs to one of `PACKAGES`.

    Compiled modules of scikit-learn 1.7 name themselves without their package, as "_loss". Their classes are looked up
    where they are; a class written in Python is none of them.
    """
    if package_of(cls.__module__) in PACKAGES:
        return True
    ending = f".{cls.__module__}"
    return not cls.__flags__ & _WRITTEN and any(
        name.endswith(ending) and package_of(name) in PACKAGES and getattr(module, cls.__name__, None) is cls
        for name, module in list(sys.modules.items())
    )


def is_shipped(function: FunctionType, place: str) -> bool:
    """Return True if a function was defined in one of `PACKAGES`, and as the method named by `place`.

    `place` is a qualified name such as "Tree.predict". With "", or for a function outside classes, any name is
    accepted.

    `__module__` and `__wrapped__` prove nothing, because `functools.wraps` copies them. The function's globals and the
    file of its code are checked instead.
    """
    names, file, own = function.__globals__, function.__code__.co_filename, function.__code__.co_qualname
    if names is not getattr(sys.modules.get(names.get("__name__", "")), "__dict__", None):
        return False
    is_as_written = file == names.get("__file__") or file.startswith("<frozen")
    is_in_place = not place or own == place or "." not in own or "<" in own
    return package_of(names["__name__"]) in PACKAGES and is_as_written and is_in_place


def _called(function: FunctionType) -> Iterator[Any]:
    """Return what is written in Python that a function may call: in its closure, and among the globals that it names.

    Classes, partial functions and objects with a method `__call__` are callable too, such as those of unittest.mock.
    """
    values = [function.__globals__.get(name) for code in codes_of(function.__code__) for name in code.co_names]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            values.append(cell.cell_contents)
    kinds = FunctionType, MethodType, partial, type
    return (
        value
        for value in filter(callable, values)
        if isinstance(value, kinds) or hasattr(value, "__wrapped__") or isinstance(type(value).__call__, kinds)
    )


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and, recursively, the code objects of the functions defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


def package_of(module: Any) -> str:
    """Return the top-level package of a module's dotted name; "" if the name is not a string."""
    return module.partition(".")[0] if isinstance(module, str) else ""
