"""The crown of a tree: its most visited part, from the root down to a given number of ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fairprobe.accelerate.rows import Floats, Rows, Singles

DRAWN, CLOSE, ANY = 1024, 256, 128
"""Inputs that show which parts are visited: drawn, those of them with the closest votes, any of them."""


class Test(NamedTuple):
    """A test of a crown: the ends from `start` to `middle` are on its left, from there to `stop` on its right."""

    column: int
    threshold: float
    start: int
    middle: int
    stop: int


@dataclass
class Crown:
    """The tests, and the nodes where they end: leaves, or where the tree goes on."""

    tests: list[Test] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """From left to right."""


def grown(trees: list[Any], rows: Rows, most_ends: int) -> list[Crown]:
    """The crowns of a forest's trees."""
    sample = _sample(trees, rows)
    lows, highs = rows.spans.astype(np.float32).astype(np.float64)
    return [_crown(tree, sample, lows, highs, most_ends) for tree in trees]


def _sample(trees: list[Any], rows: Rows) -> Singles:
    """Mostly inputs whose votes are close: the others are settled by less than all trees."""
    codes = rows.domain.without_constraints().sample_codes(DRAWN, np.random.default_rng(0))
    singles = rows.batch(codes).singles
    singles[:, rows.sensitive] = rows.twins[np.arange(DRAWN) % len(rows.twins)]
    votes = sum(tree.value[:, 0, 1].take(tree.apply(singles)) for tree in trees)
    closest = np.argsort(np.abs(votes - len(trees) / 2), kind="stable")[:CLOSE]
    return singles[np.concatenate([closest, np.arange(ANY)])]


def _crown(tree: Any, sample: Singles, lows: Floats, highs: Floats, most_ends: int) -> Crown:
    """The nodes visited most, as many as have that many ends."""
    visits = np.bincount(tree.decision_path(sample).indices, minlength=tree.node_count)
    inner = np.flatnonzero((visits > 0) & (tree.children_left >= 0))
    inner = inner[np.argsort(-visits[inner], kind="stable")]  # a node never comes before the one above it
    columns, thresholds = tree.feature[inner], tree.threshold[inner]
    only_left, only_right = highs[columns] <= thresholds, lows[columns] > thresholds
    n = np.searchsorted(np.cumsum(~(only_left | only_right)), most_ends)  # each other test adds an end
    lefts = np.where(only_right, -1, tree.children_left[inner])
    rights = np.where(only_left, -1, tree.children_right[inner])
    fields = (columns, thresholds, lefts, rights)
    nodes = dict(zip(inner[:n].tolist(), zip(*(column[:n].tolist() for column in fields), strict=True), strict=True))
    crown = Crown()
    _climb(0, nodes, crown)
    return crown


def _climb(node: int, nodes: dict[int, tuple[int, float, int, int]], crown: Crown) -> None:
    """Number the ends below a node from left to right, and note the tests between them."""
    while node in nodes:
        column, threshold, left, right = nodes[node]
        if left >= 0 and right >= 0:
            start = len(crown.ends)
            _climb(left, nodes, crown)
            middle = len(crown.ends)
            _climb(right, nodes, crown)
            crown.tests.append(Test(column, threshold, start, middle, len(crown.ends)))
            return
        node = max(left, right)  # no input of the domain goes the other way
    crown.ends.append(node)
