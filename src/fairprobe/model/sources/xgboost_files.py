"""Files of XGBoost, JSON or UBJ, as `save_model` writes them."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.errors import DataError
from fairprobe.model.booster_files import Saved, SavedClassifier, SavedRegressor
from fairprobe.model.categories import xgboost_categories
from fairprobe.model.sources.node_checks import check_nodes
from fairprobe.model.sources.reading import Permission, imported, shortened

_JSON: Final = re.compile(rb'\s*\{\s*"(learner|version)"\s*:')
_UBJ: Final = re.compile(rb"\{(?:[iU].|I..|l....|L.{8})(learner|version)[{\[]", re.DOTALL)

CLASSIFIERS: Final = ("binary:hinge", "binary:logistic", "binary:logitraw", "multi:softmax", "multi:softprob")


def knows(path: Path, head: bytes) -> bool:
    """Whether it begins with a key of theirs, in either form."""
    return _JSON.match(head) is not None or _UBJ.match(head) is not None


def preload() -> None:
    """Import what reads it."""
    imported("xgboost", "xgboost", "a file of XGBoost")


def read(path: Path, permission: Permission) -> Saved:
    """The booster, asked as XGBoost's own estimators ask it; its labels are numbers from 0."""
    xgboost = imported("xgboost", "xgboost", "a file of XGBoost")
    try:
        booster = xgboost.Booster()
        booster.load_model(bytearray(path.read_bytes()))
        learner = json.loads(booster.save_config())["learner"]
        objective, is_linear = learner["objective"]["name"], learner["gradient_booster"]["name"] == "gblinear"
        n_classes = max(2, int(learner["learner_model_param"]["num_class"]))
        names = booster.feature_names
        told = booster.num_features(), names, xgboost_categories(booster, names) if names else {}
    except Exception as error:
        raise DataError(f"a file of XGBoost must be whole, got {shortened(error)}: {path}") from None
    if objective not in CLASSIFIERS:
        return SavedRegressor(partial(_ask, booster, is_linear), *told)
    if objective == "multi:softmax":
        booster.set_param({"objective": "multi:softprob"})  # the same trees; it would answer with labels alone
    ask = _ask_margins if objective == "binary:logitraw" else _ask
    return SavedClassifier(partial(ask, booster, is_linear), range(n_classes), *told)


def _ask(booster: Any, is_linear: bool, batch: Any) -> Any:
    if is_linear:
        return booster.predict(imported("xgboost", "xgboost", "a booster").DMatrix(batch))
    try:
        rounds = (0, booster.best_iteration + 1)  # where training stopped early
    except AttributeError:
        rounds = (0, 0)
    return booster.inplace_predict(batch, iteration_range=rounds)


def _ask_margins(booster: Any, is_linear: bool, batch: Any) -> Floats:
    """The probability of the second class, of a booster that answers with its logarithmic odds."""
    return np.asarray(1 / (1 + np.exp(-np.asarray(_ask(booster, is_linear, batch), dtype=np.float64))))


def check(model: Saved, path: Path) -> None:
    """Refuse trees that lead out of themselves, or add to an output that there is not."""
    booster = model._ask.args[0]  # type: ignore[attr-defined]  # of the partial function
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    numbers, boosted = learner["learner_model_param"], learner["gradient_booster"]
    trees = boosted.get("gbtree", boosted).get("model", {})
    n_outputs = max(1, int(numbers["num_class"]), int(numbers.get("num_target", 1)))
    if not all(0 <= output < n_outputs for output in trees.get("tree_info", ())):
        raise DataError(f"a tree must add to one of {n_outputs} outputs, got one that does not: {path}")
    for tree in trees.get("trees", ()):
        _check_tree(tree, model.n_features_in_, path)


def _check_tree(tree: dict[str, Any], n_columns: int, path: Path) -> None:
    names = ("left_children", "right_children", "split_indices", "categories_segments", "categories_sizes")
    left, right, columns, begins, sizes = (np.array(tree.get(name, ()), dtype=np.int64) for name in names)
    if not len(left) == len(right) == len(columns) or ((left < 0) != (right < 0)).any():
        raise DataError(f"a node must have two children or none, got one: {path}")
    check_nodes(left, right, columns, n_columns, path)
    if ((begins < 0) | (sizes < 0) | (begins + sizes > len(tree.get("categories", ())))).any():
        raise DataError(f"a tree must have the categories that its nodes name, got fewer: {path}")
