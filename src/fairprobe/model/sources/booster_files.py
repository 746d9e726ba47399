"""Models in files of boosters: of XGBoost, in JSON or UBJ, and of LightGBM, in text."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.model.categories import xgboost_categories
from fairprobe.model.sources.node_checks import check_nodes, must
from fairprobe.model.sources.reading import FileContent, Permission, SavedModel, check_nesting, classifier, imported

_JSON: Final = re.compile(rb'\s*\{\s*"(learner|version)"\s*:')
_UBJ: Final = re.compile(rb"\{(?:[iU].|I..|l....|L.{8})(learner|version)[{\[]", re.DOTALL)
_TEXT: Final = re.compile(rb"tree\r?\nversion=")
_NUMBER: Final = re.compile(r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf|nan)")

CLASSIFIERS: Final = ("binary:hinge", "binary:logistic", "binary:logitraw", "multi:softmax", "multi:softprob")


def knows(content: FileContent) -> bool:
    """Return True if a file begins with a key of XGBoost's format, in JSON or UBJ, or with LightGBM's first lines."""
    return any(pattern.match(content.head) for pattern in (_JSON, _UBJ, _TEXT))


def read(content: FileContent, permission: Permission) -> SavedModel:
    """Return the model in a file of a booster, if its trees are valid; labels are numbers from 0."""
    return _lightgbm(content) if _TEXT.match(content.head) else _xgboost(content)


# XGBoost


def _xgboost(content: FileContent) -> SavedModel:
    """Return the model in a file of XGBoost, asked as XGBoost's own estimators do."""
    xgboost = imported("xgboost", "xgboost", "a file of XGBoost")
    if _JSON.match(content.head):
        check_nesting(content.data)
    booster = xgboost.Booster()
    booster.load_model(bytearray(content.data))
    n_columns, names = booster.num_features(), booster.feature_names
    _check_xgboost(json.loads(bytes(booster.save_raw("json")))["learner"], n_columns)
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


def _check_xgboost(learner: dict[str, Any], n_columns: int) -> None:
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
        _check_xgboost_tree(tree, n_columns)


def _check_xgboost_tree(tree: dict[str, Any], n_columns: int) -> None:
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


# LightGBM


def _lightgbm(content: FileContent) -> SavedModel:
    """Return the model in a file of LightGBM."""
    lightgbm = imported("lightgbm", "lightgbm", "a file of LightGBM")
    text = content.data.decode()
    header, n_columns = _checked_header(text)
    booster = lightgbm.Booster(model_str=text)
    names, n = booster.feature_name(), booster.num_feature()
    _checked_header(booster.model_to_string())  # as LightGBM understood it
    must(n == n_columns, "the columns are those of the header")
    objective = header.get("objective", "").split(" ")[0]
    n_classes = 2 if objective == "binary" else int(header["num_class"])
    columns = None if names == [f"Column_{place}" for place in range(n)] else names
    told = n, columns, _categories(header, names, booster.pandas_categorical)
    if objective == "binary" or objective.startswith("multiclass"):
        return classifier(booster.predict, range(n_classes), *told)
    return SavedModel(*told, predict=booster.predict)


def _checked_header(text: str) -> tuple[dict[str, str], int]:
    """Return the header of a file, as values by name, and the number of columns.

    Raises a DataError if trees are missing or have invalid links.
    """
    head, begun, _ = text.partition("\nTree=")
    header = _lines(head)
    sizes = list(map(int, header.get("tree_sizes", "").split()))
    n_columns, place = int(header["max_feature_idx"]) + 1, len(head) + 1
    n_scores, said = int(header["num_tree_per_iteration"]), re.search(r" num_class:(\d+)", header.get("objective", ""))
    must(0 < n_columns == len(header["feature_names"].split()), "each column has a name")
    must(n_scores == int(header["num_class"]) > 0, "each class has a tree in each round")
    must(said is None or int(said[1]) == n_scores, "the objective has the classes of the header")
    trees = []
    for number, size in enumerate(sizes):
        trees.append(text[place : place + size])
        is_there = size > 0 and trees[-1].startswith(f"Tree={number}\n") and trees[-1].endswith("\n\n")
        must(is_there and trees[-1].isascii(), f"all {len(sizes)} trees are as long as they say, as the tree {number}")
        place += size
    must(text[place:].lstrip("\n").startswith("end of trees") and bool(begun) == bool(sizes), "all trees are told")
    for each in trees:
        tree = _lines(each)
        must(all(map(_NUMBER.fullmatch, " ".join(tree.values()).split())), "each line of a tree has numbers")
        must(len(tree["leaf_value"].split()) == int(tree["num_leaves"]), "each leaf has a value")
        if int(tree["num_leaves"]) > 1:
            _check_tree(tree, int(tree["num_leaves"]), n_columns)
        if tree.get("is_linear", "0") != "0":
            _check_linear(tree, int(tree["num_leaves"]), n_columns)
    return header, n_columns


def _lines(text: str) -> dict[str, str]:
    pairs = [line.split("=", 1) for line in text.split("\n") if "=" in line]
    made = dict(pairs)
    must(len(made) == len(pairs), "each line has a name of its own")
    return made


def _whole(tree: dict[str, str], *names: str) -> list[NDArray[np.int64]]:
    """Return named lines of a tree as arrays of whole numbers."""
    return [np.array(tree[name].split(), dtype=np.int64) for name in names]


def _check_tree(tree: dict[str, str], n_leaves: int, n_columns: int) -> None:
    columns, left, right = _whole(tree, "split_feature", "left_child", "right_child")
    n_inner = n_leaves - 1
    told = ["left_child", "right_child", "threshold", "decision_type"]
    told += [name for name in tree if name.startswith(("split_", "internal_"))]
    must({len(tree[name].split()) for name in told} == {n_inner}, f"a tree of {n_leaves} leaves has {n_inner} nodes")
    # Leaves are counted downwards from -1: they are nodes after the others.
    left, right = (np.where(side < 0, n_inner - 1 - side, side) for side in (left, right))
    leaves = np.full(n_leaves, -1)
    left, right, columns = (np.append(each, leaves) for each in (left, right, columns))
    check_nodes(left, right, columns, n_columns)
    categorical = _whole(tree, "decision_type")[0] & 1 == 1
    if categorical.any():
        places = np.array(tree["threshold"].split(), dtype=np.float64)[categorical]
        (bounds,) = _whole(tree, "cat_boundaries")
        n_words = len(tree["cat_threshold"].split())
        is_whole = (np.diff(bounds) >= 0).all() and bounds[0] >= 0 and bounds[-1] <= n_words
        is_there = ((places >= 0) & (places < len(bounds) - 1)).all()
        must(is_whole and is_there, "a tree has the categories that its nodes name")


def _check_linear(tree: dict[str, str], n_leaves: int, n_columns: int) -> None:
    """Raise a DataError if a linear leaf of a tree uses columns that do not exist."""
    counts, columns = _whole(tree, "num_features", "leaf_features")
    must(len(counts) == n_leaves == len(tree["leaf_const"].split()), "each leaf has its line")
    is_whole = (counts >= 0).all() and counts.sum() == len(columns) == len(tree["leaf_coeff"].split())
    must(is_whole and ((columns >= 0) & (columns < n_columns)).all(), "a leaf adds up columns that are there")


def _categories(header: dict[str, str], names: list[str], lists: Any) -> dict[str, tuple[Any, ...]]:
    """Return the values of each pandas categorical column, by column name; the file lists them in column order."""
    ranges = header.get("feature_infos", "").split()
    told = [name for name, values in zip(names, ranges, strict=False) if not values.startswith(("[", "none"))]
    return dict(zip(told, map(tuple, lists), strict=True)) if lists and len(told) == len(lists) else {}
