"""Text files of LightGBM, as `Booster.save_model` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from fairprobe.errors import DataError
from fairprobe.model.booster_files import Saved, SavedClassifier, SavedRegressor
from fairprobe.model.sources.node_checks import check_nodes
from fairprobe.model.sources.reading import Permission, imported, shortened


def knows(path: Path, head: bytes) -> bool:
    """Whether it begins as all of them do."""
    return re.match(rb"tree\r?\nversion=", head) is not None


def preload() -> None:
    """Import what reads it."""
    imported("lightgbm", "lightgbm", "a file of LightGBM")


def read(path: Path, permission: Permission) -> Saved:
    """The booster; its labels are the numbers that it was trained on, from 0."""
    lightgbm = imported("lightgbm", "lightgbm", "a file of LightGBM")
    header = _header(path)
    try:
        booster = lightgbm.Booster(model_file=path)
        names, n = booster.feature_name(), booster.num_feature()
    except Exception as error:
        raise DataError(f"a file of LightGBM must be whole, got {shortened(error)}: {path}") from None
    objective = header.get("objective", "").split(" ")[0]
    n_classes = 2 if objective == "binary" else int(header["num_class"])
    columns = None if names == [f"Column_{place}" for place in range(n)] else names
    told = n, columns, _categories(header, names, booster.pandas_categorical)
    if objective == "binary" or objective.startswith("multiclass"):
        return SavedClassifier(booster.predict, range(n_classes), *told)
    return SavedRegressor(booster.predict, *told)


def check(model: Saved, path: Path) -> None:
    """Refuse trees that lead out of themselves."""
    booster = model._ask.__self__  # type: ignore[attr-defined]  # its bound method
    _, *trees = booster.model_to_string().partition("\nend of trees")[0].split("\nTree=")
    for text in trees:
        tree = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        n_leaves = int(tree["num_leaves"])
        if n_leaves > 1:
            _check_tree(tree, n_leaves, model.n_features_in_, path)


def _check_tree(tree: dict[str, str], n_leaves: int, n_columns: int, path: Path) -> None:
    columns, left, right = (
        np.array(tree[name].split(), dtype=np.int64) for name in ("split_feature", "left_child", "right_child")
    )
    n_inner = n_leaves - 1
    if not len(left) == len(right) == len(columns) == n_inner:
        raise DataError(f"a tree of {n_leaves} leaves must have {n_inner} nodes, got {len(left)}: {path}")
    # Leaves are counted downwards from -1: they are nodes after the others.
    left, right = (np.where(side < 0, n_inner - 1 - side, side) for side in (left, right))
    leaves = np.full(n_leaves, -1)
    left, right, columns = (np.append(each, leaves) for each in (left, right, columns))
    check_nodes(left, right, columns, n_columns, path)
    categorical = np.array(tree["decision_type"].split(), dtype=np.int64) & 1 == 1
    if categorical.any():
        places = np.array(tree["threshold"].split(), dtype=np.float64)[categorical]
        bounds = np.array(tree["cat_boundaries"].split(), dtype=np.int64)
        n_words = len(tree["cat_threshold"].split())
        is_whole = (np.diff(bounds) >= 0).all() and bounds[0] >= 0 and bounds[-1] <= n_words
        if not is_whole or not ((places >= 0) & (places < len(bounds) - 1)).all():
            raise DataError(f"a tree must have the categories that its nodes name, got others: {path}")


def _header(path: Path) -> dict[str, str]:
    """The lines before the trees, of a file that does not end before they do."""
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise DataError(f"a file of LightGBM must be text, got {shortened(error)}: {path}") from None
    head, _, trees = text.partition("\nTree=")
    header = dict(line.split("=", 1) for line in head.splitlines() if "=" in line)
    n_told, n_there = len(header.get("tree_sizes", "").split()), f"\nTree={trees}".count("\nTree=") if trees else 0
    if "\nend of trees" not in text or n_told != n_there or not header.get("num_class", "").isdecimal():
        # It would be loaded with the trees that are there.
        raise DataError(f"a file of LightGBM must be whole, got {n_there} of {n_told} trees, or no end: {path}")
    return header


def _categories(header: dict[str, str], names: list[str], lists: Any) -> dict[str, tuple[Any, ...]]:
    """By column that was a pandas categorical: the file has the categories without names, in the columns' order."""
    ranges = header.get("feature_infos", "").split()
    told = [name for name, values in zip(names, ranges, strict=False) if not values.startswith(("[", "none"))]
    return dict(zip(told, map(tuple, lists), strict=True)) if lists and len(told) == len(lists) else {}
