"""Checks of fitted models from files: every index that compiled code follows must point to something that exists.

scikit-learn and the boosters follow the numbers of nodes and columns without a check, even outside the memory of a
model.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.errors import DataError

CATEGORIES: Final = 256
"""Number of categories that scikit-learn's histogram boosting can distinguish: its sets are 8 words of 32 bits."""

QUIET: Final = {"memory": None, "n_jobs": 1, "_n_threads": 1, "n_threads": 1}
"""Values to set, by parameter, so that an estimator reads no files and starts no processes or threads."""


def must(holds: Any, rule: str) -> None:
    """Raise a DataError that states `rule` unless `holds` is true."""
    if not holds:
        raise DataError(f"a model's file must hold a fitted model, got one in which {rule} does not hold")


def check_nodes(left: NDArray[Any], right: NDArray[Any], column: NDArray[Any], n_columns: int) -> None:
    """Raise a DataError unless a tree's links form a tree; `left` and `right` are the children by node.

    `left` is negative for leaves, and `column` is the number of the column that a node compares. Each child must be an
    existing node other than the root, and may have only one parent; each compared column must exist.
    """
    inner = left >= 0
    children = np.concatenate([left[inner], right[inner]])
    is_there = (children > 0) & (children < len(left))
    columns = column[inner]
    is_column = (columns >= 0) & (columns < n_columns)
    if not (is_there.all() and is_column.all() and len(np.unique(children)) == len(children)):
        raise DataError("a tree must lead from each node to others of its own, got one that does not")


def check_model(model: Any) -> None:
    """Raise a DataError if an index in some part of a model points out of that part; see `CHECKS`."""
    for _, part in parts(model):
        for base in type(part).__mro__:
            check = CHECKS.get(base.__name__) if base.__module__.startswith(("sklearn.", "scipy.sparse")) else None
            if check is not None:
                check(part)


def parts(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield a model and all objects in it, each with the name of the attribute or key that holds it."""
    seen: dict[int, Any] = {}
    stack: list[tuple[str, Any]] = [("", model)]
    while stack:
        name, part = stack.pop()
        if isinstance(part, (str, bytes, int, float, type(None))):
            yield name, part
            continue
        if id(part) in seen:
            continue
        seen[id(part)] = part  # kept, so that no other gets its id
        yield name, part
        if isinstance(part, dict):
            stack += [(f"{name}__{key}", value) for key, value in part.items()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            stack += [(name, value) for value in part]
        elif isinstance(part, np.ndarray):
            stack += [(name, value) for value in part.ravel().tolist()] if part.dtype.hasobject else []
        elif isinstance(part, functools.partial):
            stack += [(name, part.func), (name, part.args), ("keywords", part.keywords)]
        elif isinstance(part, types.MethodType):
            stack.append((name, part.__self__))
        elif hasattr(part, "__dict__") and not isinstance(part, (type, types.ModuleType, types.FunctionType)):
            stack += vars(part).items()


def attributes(part: Any) -> dict[str, Any]:
    """Return the attributes of an estimator by name; an empty dictionary for other objects."""
    return dict(vars(part)) if hasattr(part, "get_params") and not isinstance(part, type) else {}


def quieten(model: Any) -> None:
    """Set the parameters of all estimators in a model as in `QUIET`, so that it starts no process and reads no file."""
    for _, part in parts(model):
        for key, value in attributes(part).items():
            if key in QUIET and value is not None:
                vars(part)[key] = QUIET[key]


def _check_tree(tree: Any) -> None:
    must(0 < tree.node_count <= tree.capacity, "a tree holds as many nodes as it says")
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    must(((left >= 0) == (right >= 0)).all(), "a node has two children or none")
    check_nodes(left, right, np.asarray(tree.feature), tree.n_features)


def _check_trees(part: Any) -> None:
    """Raise a DataError unless all trees of a model take as many columns as the model.

    A forest does not check the width of a row for its trees.
    """
    for tree in [part] if hasattr(part, "tree_") else np.ravel(getattr(part, "estimators_", ())):
        must(tree.tree_.n_features == part.n_features_in_, "each tree takes the columns of its model")


def _check_isolation(part: Any) -> None:
    for tree, columns in zip(getattr(part, "estimators_", ()), getattr(part, "estimators_features_", ()), strict=True):
        n_least = min(len(columns), part.n_features_in_)
        must(tree.tree_.n_features <= n_least, "each tree takes the columns of its forest")


def _check_boosting(part: Any) -> None:
    _check_trees(part)
    if hasattr(part, "estimators_"):
        shapes = {tree.tree_.value.shape[1:] for tree in np.ravel(part.estimators_)}
        must(shapes == {(1, 1)}, "each tree of a boosted model gives one number")
        begun = part._raw_predict_init(np.zeros((1, part.n_features_in_), dtype=np.float32))
        must(begun.shape == (1, part.estimators_.shape[1]), "a boosted model has a tree a round for each of its scores")


def _check_histograms(part: Any) -> None:
    must("_in_fit" not in vars(part), "a model is fitted to its end")
    if not hasattr(part, "_predictors"):
        return
    mapper, n = part._bin_mapper, part._n_features
    must(len(mapper.is_categorical_) == len(mapper.bin_thresholds_) == n, "the bins are those of the columns")
    for is_categorical, values in zip(mapper.is_categorical_, mapper.bin_thresholds_, strict=True):
        is_category = (np.asarray(values) >= 0) & (np.asarray(values) < CATEGORIES)
        must(not is_categorical or is_category.all(), f"categories are numbers below {CATEGORIES}")
    rows: Any = np.zeros((1, part.n_features_in_))
    if part._preprocessor is not None:  # which encodes categories: nothing is none that it does not know
        rows = np.full(rows.shape, None, dtype=object)
    if hasattr(part, "feature_names_in_"):
        import pandas as pd

        rows = pd.DataFrame(rows, columns=part.feature_names_in_)
    must(part._preprocess_X(rows, reset=False).shape == (1, n), "the trees take the columns of their model")
    for tree in (tree for trees in part._predictors for tree in trees):
        _check_histogram_tree(tree, n)


def _check_histogram_tree(tree: Any, n_columns: int) -> None:
    nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
    is_leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    is_set = nodes["is_categorical"].astype(bool) & ~is_leaf
    must(sets.ndim == 2 and sets.shape[1] == CATEGORIES // 32, f"a set of categories has {CATEGORIES} of them")
    must((nodes["bitset_idx"][is_set] < len(sets)).all(), "a tree has the categories that its nodes name")
    must(len(nodes) and (left[~is_leaf] >= 1).all(), "a node has two children or none")
    check_nodes(left, right, nodes["feature_idx"].astype(np.int64), n_columns)


def _check_widths(part: Any) -> None:
    """Raise a DataError if stored rows, such as support vectors, have another number of columns than the model."""
    for kept in (getattr(part, name, None) for name in ("support_vectors_", "_fit_X", "cluster_centers_")):
        must(kept is None or kept.shape[1] == part.n_features_in_, "rows kept from fitting have the model's columns")


CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "Tree": _check_tree,
    "BaseDecisionTree": _check_trees,
    "BaseForest": _check_trees,
    "IsolationForest": _check_isolation,
    "BaseGradientBoosting": _check_boosting,
    "BaseHistGradientBoosting": _check_histograms,
    "BaseEstimator": _check_widths,
    "_cs_matrix": lambda part: part.check_format(full_check=True),
}
"""Function that checks a part of a model, by the name of its class or base class in scikit-learn or SciPy. They cover
the parts whose indexes compiled code follows."""
