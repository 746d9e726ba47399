"""Effort: what it would take to solve a model, foreseen from counts and held against sampling.

Everything is counted in rows: so much time as sampling takes to ask about one. The weights are rounded up from
measurements on the census and are the same on every machine, so that the method chosen is too; `benchmarks/auto.py`
shows what comes of them. What is foreseen to be done by then may take as long as sampling would; anything else is
tried for a small part of that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.domain.domain import Domain
from fairprobe.estimate.exact.halves import balanced
from fairprobe.estimate.exact.preprocessing import Seen
from fairprobe.estimate.exact.solved import UnfitError, shown

TRIED = 0.1
"""The part of sampling's effort that is risked on what may come to nothing."""

PER_HALF = 4
"""For each sum of a linear classifier's larger half."""

WORDS = 10
"""So many times longer takes a tree's row if it holds words, which a model must encode first."""


def boxes_worth(seen: Seen, trees: Sequence[Any], n_rows: float) -> int:
    """How many boxes trees may cut the domain into, where sampling would ask so many rows; raises if none."""
    domain, n_trees = seen.domain, len(trees)
    n_nodes, n_leaves = sum(tree.node_count for tree in trees), sum(tree.n_leaves for tree in trees)
    # A wide parameter is looked at by halving, once for each test.
    n_looks = sum(
        (n_nodes - n_leaves) * n_levels.bit_length() if seen.is_searchable(parameter) else n_levels
        for parameter, n_levels in enumerate(domain.levels.tolist())
    )
    slowness = _slowness(domain, n_trees)
    reading = _looking(domain, n_trees, 1) + n_looks + n_nodes * (1 + 6 / n_trees) / slowness
    per_box = (3 + 2.5 * len(domain.combinations) + 80 / n_trees) / slowness
    foreseen = reading + per_box * boxes_foreseen(trees, seen.sensitive_columns(), domain)
    allowed = n_rows if foreseen <= n_rows else TRIED * n_rows
    if reading + per_box > allowed:
        name = "a tree" if n_trees == 1 else f"{n_trees:,} trees"
        raise UnfitError(f"{name} with {n_leaves:,} leaves may take longer to count than {_sampling(domain, n_rows)}")
    return int((allowed - reading) / per_box)


def check_halves(seen: Seen, n_rows: float) -> None:
    """Raise if the halves of a linear classifier may take longer than sampling, which would ask so many rows."""
    domain = seen.domain
    weights = np.asarray(seen.final.coef_).reshape(-1)
    # Behind preprocessing, any parameter may have a weight.
    free = [i for i in domain.free_columns if seen.steps or weights[seen.order.index(domain.names[i])]]
    n_looks = int(domain.levels[[*free, *domain.sensitive_columns]].sum())
    sizes = domain.levels[free].tolist()
    first = balanced(sizes)
    size = max(math.prod(n for i, n in enumerate(sizes) if (i in first) is mine) for mine in (True, False))
    if _looking(domain, 1, 2) + n_looks + PER_HALF * size > n_rows:
        raise UnfitError(
            f"the halves may have {shown(size)} combinations, which may take longer to count than "
            f"{_sampling(domain, n_rows)}"
        )


def _sampling(domain: Domain, n_rows: float) -> str:
    return f"{shown(int(n_rows) // len(domain.combinations))} inputs to sample"


def _slowness(domain: Domain, n_trees: int) -> float:
    """How many times longer a row takes than the weights are for; for many trees, boxes of words do so too."""
    has_words = not all(parameter.is_numeric for parameter in domain.parameters)
    return max(1.0, WORDS / n_trees) if has_words else 1.0


def _looking(domain: Domain, n_trees: int, n_times: int) -> float:
    """To look at the parameters one by one; each call costs as much as many rows, fewer if rows are slow."""
    rows_per_call = 400 + 3600 / (n_trees * _slowness(domain, n_trees))
    return n_times * (len(domain.parameters) + 4) * rows_per_call


def boxes_foreseen(trees: Sequence[Any], sensitive: Collection[int], domain: Domain) -> float:
    """How many boxes a walk over the trees is likely to make; of an ensemble, how many at most.

    A box is cut by one test after another until every combination of sensitive values has come to a leaf of every
    tree. So no more are left in the end than ways to choose a leaf of each tree for each way the sensitive tests may
    go, nor than cells that the free columns' thresholds make, nor than families; and all but two of the combinations
    may walk on alone in each of them. Of a single tree's ways few come about: 25 random trees of the census had no
    more boxes than leaves, or than a sixth of the ways where that is more.
    """
    tests = [_is_test_of(tree, sensitive) for tree in trees]
    if not any(test.any() for test in tests):
        return 1.0
    ways = [_ways_to_leaves(tree, test) for tree, test in zip(trees, tests, strict=True)]
    if len(trees) == 1:
        return min(ways[0][1], max(float(trees[0].n_leaves), ways[0][1] / 6))
    n_families = float(min(domain.n_families or math.inf, 1e300))
    n_boxes = min(math.prod(whole for whole, _ in ways), math.prod(_ranges(trees, sensitive)), n_families)
    return n_boxes * (len(domain.combinations) - 1)


def _is_test_of(tree: Any, columns: Collection[int]) -> Mask:
    return np.isin(tree.feature, list(columns)) & (tree.children_left >= 0)


def _ways_to_leaves(tree: Any, is_sensitive: Mask) -> tuple[float, float]:
    """In how many ways the combinations can come to leaves: in all, and not counting where they all stay together."""
    whole = np.ones(tree.node_count)
    apart = np.ones(tree.node_count)
    touched = is_sensitive.copy()
    left, right = tree.children_left, tree.children_right
    with np.errstate(over="ignore"):
        for level in reversed(_levels(tree)):
            one, other = left[level], right[level]
            product, total = whole[one] * whole[other], whole[one] + whole[other]
            whole[level] = np.where(is_sensitive[level], product, total)
            touched[level] |= touched[one] | touched[other]
            parted = np.where(is_sensitive[level], product, apart[one] + apart[other])
            apart[level] = np.where(touched[level], parted, 1.0)
    return float(whole[0]), float(apart[0])


def _levels(tree: Any) -> list[NDArray[np.intp]]:
    """The inner nodes by their depth."""
    levels: list[NDArray[np.intp]] = []
    level = np.zeros(1, dtype=np.intp)
    while True:
        level = level[tree.children_left[level] >= 0]
        if not len(level):
            return levels
        levels.append(level)
        level = np.concatenate([tree.children_left[level], tree.children_right[level]])


def _ranges(trees: Sequence[Any], sensitive: Collection[int]) -> list[float]:
    """By free column, into how many ranges the tests of all trees cut it, missing values apart."""
    columns = np.concatenate([tree.feature[tree.children_left >= 0] for tree in trees])
    thresholds = np.concatenate([tree.threshold[tree.children_left >= 0] for tree in trees])
    order = np.lexsort((thresholds, columns))
    columns, thresholds = columns[order], thresholds[order]
    is_new = np.ones(len(columns), dtype=bool)
    is_new[1:] = (columns[1:] != columns[:-1]) | (thresholds[1:] != thresholds[:-1])
    counts = np.bincount(columns[is_new])
    return [float(count) + 2 for column, count in enumerate(counts) if count and column not in sensitive]
