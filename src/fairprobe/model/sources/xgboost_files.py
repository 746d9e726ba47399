"""Models in files of XGBoost, in JSON or UBJ, as written by `save_model`."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, Final

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.model.categories import xgboost_categories
from fairprobe.model.sources.node_checks import check_nodes, must
from fairprobe.model.sources.reading import Content, Permission, SavedModel, check_nesting, classifier, imported

_JSON: Final = re.compile(rb'\s*\{\s*"(learner|version)"\s*:')
_UBJ: Final = re.compile(rb"\{(?:[iU].|I..|l....|L.{8})(learner|version)[{\[]", re.DOTALL)

CLASSIFIERS: Final = ("binary:hinge", "binary:logistic", "binary:logitraw", "multi:softmax", "multi:softprob")


def knows(content: Content) -> bool:
    """Return True if a file begins with a key of XGBoost's format, in JSON or UBJ."""
    return _JSON.match(content.head) is not None or _UBJ.match(content.head) is not None


def read(content: Content, permission: Permission) -> SavedModel:
    """Return the model in a file of XGBoost, asked as XGBoost's own estimators do; labels are numbers from 0."""
    xgboost = imported("xgboost", "xgboost", "a file of XGBoost")
    if _JSON.match(content.head):
        check_nesting(content.data)
    booster = xgboost.Booster()
    booster.load_model(bytearray(content.data))
    n_columns, names = booster.num_features(), booster.feature_names
    _check(json.loads(bytes(booster.save_raw("json")))["learner"], n_columns)
    learner = json.loads(booster.save_config())["learner"]
    objective, is_linear = learner["objective"]["name"], learner["gradient_booster"]["name"] == "gblinear"
    n_classes = max(2, int(learner["learner_model_param"]["num_class"]))
    told = n_columns, names, xgboost_categories(booster, names) if names else {}
    if objective not in CLASSIFIERS:
        return SavedModel(*told, predict=partial(_ask, booster, is_linear))
    if objective == "multi:softmax":
        booster.set_param({"objective": "multi:softprob"})  # the same trees; it would answer with labels alone
    ask = _ask_margins if objective == "binary:logitraw" else _ask
    return classifier(partial(ask, booster, is_linear), range(n_classes), *told)


def _ask(booster: Any, is_linear: bool, batch: Any) -> Any:
    if is_linear:
        return booster.predict(imported("xgboost", "xgboost", "a booster").DMatrix(batch))
    try:
        rounds = (0, booster.best_iteration + 1)  # where training stopped early
    except AttributeError:
        rounds = (0, 0)
    return booster.inplace_predict(batch, iteration_range=rounds)


def _ask_margins(booster: Any, is_linear: bool, batch: Any) -> Floats:
    """Return the probability of the second class by row, for a booster whose outputs are log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.asarray(_ask(booster, is_linear, batch), dtype=np.float64))))


def _check(learner: dict[str, Any], n_columns: int) -> None:
    """Raise a DataError if a booster's tree has an invalid link or output, or its weights do not fit its columns."""
    numbers, boosted = learner["learner_model_param"], learner["gradient_booster"]
    n_outputs = max(1, int(numbers["num_class"]), int(numbers.get("num_target", 1)))
    must(n_columns == int(numbers["num_feature"]) > 0, "the columns are those of the header")
    if boosted["name"] == "gblinear":
        must(len(boosted["model"]["weights"]) == (n_columns + 1) * n_outputs, "each column has its weights")
        return
    model = boosted.get("gbtree", boosted)["model"]
    trees, outputs = model["trees"], model["tree_info"]
    must(len(outputs) == len(trees) and all(0 <= each < n_outputs for each in outputs), "a tree adds to an output")
    must(len(boosted.get("weight_drop", trees)) == len(trees), "each tree has a weight")
    rounds = np.array(model.get("iteration_indptr", [0, len(trees)]), dtype=np.int64)
    is_whole = len(rounds) and rounds[0] == 0 and rounds[-1] == len(trees) and (np.diff(rounds) >= 0).all()
    must(is_whole, "each tree is of a round")
    for tree in trees:
        _check_tree(tree, n_columns)


def _check_tree(tree: dict[str, Any], n_columns: int) -> None:
    names = ("left_children", "right_children", "split_indices", "categories_segments", "categories_sizes")
    left, right, columns, begins, sizes = (np.array(tree.get(name, ()), dtype=np.int64) for name in names)
    others = [len(tree[name]) for name in ("split_conditions", "default_left", "split_type") if name in tree]
    must({len(left), len(right), len(columns), *others} == {len(left)}, "each node has all its numbers")
    must(((left < 0) == (right < 0)).all(), "a node has two children or none")
    check_nodes(left, right, columns, n_columns)
    is_there = (begins >= 0) & (sizes >= 0) & (begins + sizes <= len(tree.get("categories", ())))
    nodes = np.array(tree.get("categories_nodes", ()), dtype=np.int64)
    must(is_there.all() and len(nodes) == len(begins) == len(sizes), "a tree has the categories that its nodes name")
    must(((nodes >= 0) & (nodes < len(left))).all(), "categories are those of a node")
