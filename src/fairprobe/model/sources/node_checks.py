"""Trees from a file: every number that leads from node to node, or to a column, must lead to one that is there.

scikit-learn and the boosters follow them without looking, out of the tree and into whatever lies beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.errors import DataError


def check_trees(model: Any, path: Path) -> None:
    """Refuse an estimator of scikit-learn with a tree, anywhere in it, that leads out of itself."""
    for tree, kind, n_columns in _trees(model):
        _check_histogram(tree, n_columns, path) if kind == "TreePredictor" else _check_tree(tree, path)


def check_nodes(
    left: NDArray[Any], right: NDArray[Any], column: NDArray[Any], n_columns: int | None, path: Path
) -> None:
    """Of nodes that are no leaves: the children are nodes that are there, none is a child twice, the root is none.

    So each way from the root leads down, and ends.
    """
    inner = left >= 0
    children = np.concatenate([left[inner], right[inner]])
    is_there = (children > 0) & (children < len(left))
    columns = column[inner]
    is_column = (columns >= 0) & ((columns < n_columns) if n_columns is not None else True)
    if not (is_there.all() and is_column.all() and len(np.unique(children)) == len(children)):
        raise DataError(f"a tree must lead from each node to others of its own, got one that does not: {path}")


def _check_tree(tree: Any, path: Path) -> None:
    if not 0 < tree.node_count <= tree.capacity:
        raise DataError(f"a tree must hold as many nodes as it says, got {tree.node_count}: {path}")
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    if ((left >= 0) != (right >= 0)).any():
        raise DataError(f"a node must have two children or none, got one: {path}")
    check_nodes(left, right, np.asarray(tree.feature), tree.n_features, path)


def _check_histogram(tree: Any, n_columns: int | None, path: Path) -> None:
    nodes = tree.nodes
    bitsets = tree.raw_left_cat_bitsets
    is_leaf = nodes["is_leaf"].astype(bool)
    left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
    right = np.where(is_leaf, -1, nodes["right"].astype(np.int64))
    if (nodes["is_categorical"].astype(bool) & ~is_leaf & (nodes["bitset_idx"] >= len(bitsets))).any():
        raise DataError(f"a tree must have the categories that its nodes name, got fewer: {path}")
    if not len(nodes) or (~is_leaf & (left < 1)).any():
        raise DataError(f"a node must have two children or none, got one without: {path}")
    check_nodes(left, right, nodes["feature_idx"].astype(np.int64), n_columns, path)


def _trees(part: Any) -> Iterator[tuple[Any, str, int | None]]:
    """All trees in an object, by walking over its attributes and whatever they hold."""
    seen: set[int] = set()
    stack: list[tuple[Any, int | None]] = [(part, None)]
    while stack:
        part, n_columns = stack.pop()
        if id(part) in seen or isinstance(part, (str, bytes, int, float, type(None))):
            continue
        seen.add(id(part))
        name, module = type(part).__name__, type(part).__module__
        if module.startswith("sklearn.") and name in ("Tree", "TreePredictor"):
            yield part, name, n_columns
        elif isinstance(part, dict):
            stack += [(value, n_columns) for value in part.values()]
        elif isinstance(part, (list, tuple, set)):
            stack += [(value, n_columns) for value in part]
        elif isinstance(part, np.ndarray):
            stack += [(value, n_columns) for value in part.ravel().tolist()] if part.dtype.hasobject else []
        elif hasattr(part, "__dict__"):
            own = getattr(part, "_n_features", None)  # of boosting by histograms, after encoding
            stack += [(value, own if isinstance(own, int) else n_columns) for value in vars(part).values()]
