"""Models in text files of LightGBM, as written by `Booster.save_model`."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.model.sources.node_checks import check_nodes, must
from fairprobe.model.sources.reading import Content, Permission, SavedModel, classifier, imported

_NUMBER: Final = re.compile(r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf|nan)")


def knows(content: Content) -> bool:
    """Return True if a file begins with the first lines of LightGBM's text format."""
    return re.match(rb"tree\r?\nversion=", content.head) is not None


def read(content: Content, permission: Permission) -> SavedModel:
    """Return the model in a file of LightGBM, if its trees are valid; labels are numbers from 0."""
    lightgbm = imported("lightgbm", "lightgbm", "a file of LightGBM")
    text = content.data.decode()
    header, n_columns = _checked(text)
    booster = lightgbm.Booster(model_str=text)
    names, n = booster.feature_name(), booster.num_feature()
    _checked(booster.model_to_string())  # as LightGBM understood it
    must(n == n_columns, "the columns are those of the header")
    objective = header.get("objective", "").split(" ")[0]
    n_classes = 2 if objective == "binary" else int(header["num_class"])
    columns = None if names == [f"Column_{place}" for place in range(n)] else names
    told = n, columns, _categories(header, names, booster.pandas_categorical)
    if objective == "binary" or objective.startswith("multiclass"):
        return classifier(booster.predict, range(n_classes), *told)
    return SavedModel(*told, predict=booster.predict)


def _checked(text: str) -> tuple[dict[str, str], int]:
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
    lengths = {len(tree[name].split()) for name in tree if name.startswith(("split_", "internal_"))}
    lengths |= {len(tree[name].split()) for name in ("left_child", "right_child", "threshold", "decision_type")}
    must(lengths == {n_inner}, f"a tree of {n_leaves} leaves has {n_inner} nodes")
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
