"""Solving: find the way to count that fits a model, if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.estimate.exact import trees
from fairprobe.estimate.exact.effort import Effort
from fairprobe.estimate.exact.linear import solve_linear
from fairprobe.estimate.exact.outcome import Method, NotSolved, Solved, UnfitError
from fairprobe.estimate.exact.plan import make_plan
from fairprobe.estimate.exact.preprocessing import split
from fairprobe.estimate.exact.score import is_linear
from fairprobe.estimate.exact.seen import Seen
from fairprobe.estimate.exact.walk import Walk
from fairprobe.model.known import known_kind, why_unknown

MAX_BOXES = 1_500_000
MAX_HALF = 10_000_000


def solve(
    model: Any,
    domain: Domain,
    *,
    max_boxes: int = MAX_BOXES,
    max_half: int = MAX_HALF,
    n_rows: float | None = None,
) -> Solved | NotSolved:
    """Count the discriminatory families of a domain exactly, by the model's labels.

    Solved are scikit-learn's own trees, forests, votes of trees and gradient boosting, and linear classifiers of two
    classes; all of these also behind preprocessing that makes each of its columns out of one column. A subclass of
    these, or one whose methods were replaced, is not.

    Args:
        model: any; what is not solved is told why.
        domain: without constraints.
        max_boxes: how many boxes the trees may cut the domain into; as many as there are by default take an ensemble
            of 10 trees some 5 seconds, one of 100 some 20.
        max_half: how many combinations either half of the free parameters may have, for a linear classifier.
        n_rows: how many rows sampling would ask instead: solve only if that is foreseen to take no longer, or can be
            tried for a small part of it.

    Raises:
        ModelError: the model itself fails on an input of the domain.
    """
    if not domain.families.is_complete:
        return NotSolved("the domain has constraints or links, which only sampling can follow")
    try:
        seen = _seen(model, domain)
    except UnfitError as error:
        return NotSolved(str(error))
    try:
        solved = _solved(seen, max_boxes, max_half, n_rows)
    except UnfitError as error:
        return NotSolved(str(error), seen.asker.n_queries)
    return replace(solved, n_queries=seen.asker.n_queries)


def _seen(model: Any, domain: Domain) -> Seen:
    final = split(model)[1]
    if is_linear(final):
        return Seen(model, domain, "numeric")
    if trees.is_tree(final) or trees.is_ensemble(final):
        return Seen(model, domain, np.float32)
    if known_kind(final) is None:
        raise UnfitError(why_unknown(final))
    raise UnfitError(f"{type(final).__name__} is not a kind of model that can be solved")


def _solved(seen: Seen, max_boxes: int, max_half: int, n_rows: float | None) -> Solved:
    final = seen.final
    if is_linear(final):
        if n_rows is not None:
            _foresee_halves(seen, n_rows)
        seen.check()
        return solve_linear(seen, max_half)
    parts = trees.trees_of(final)
    if n_rows is not None:
        max_boxes = min(max_boxes, _foresee_boxes(seen, parts, n_rows))
    seen.check()
    return _solve_trees("tree" if trees.is_tree(final) else "ensemble", seen, max_boxes)


def _foresee_halves(seen: Seen, n_rows: float) -> None:
    """Raise if sampling is quicker; behind preprocessing, any parameter may have a weight."""
    domain = seen.domain
    weights = np.asarray(seen.final.coef_).reshape(-1)
    free = [i for i in domain.free_columns if seen.steps or weights[seen.order.index(domain.names[i])]]
    n_looks = int(domain.levels[[*free, *domain.sensitive_columns]].sum())
    Effort(domain, n_rows, n_looks).check_halves(domain.levels[free].tolist())


def _foresee_boxes(seen: Seen, parts: Sequence[Any], n_rows: float) -> int:
    """How many boxes are worth a try; a wide parameter is looked at by halving, once for each test."""
    n_tests = sum(tree.node_count - tree.n_leaves for tree in parts)
    looks = [
        n_tests * n_levels.bit_length() if seen.is_searchable(parameter) else n_levels
        for parameter, n_levels in enumerate(seen.domain.levels.tolist())
    ]
    return Effort(seen.domain, n_rows, sum(looks), len(parts)).max_boxes(parts, seen.sensitive_columns())


def _solve_trees(method: Method, seen: Seen, max_boxes: int) -> Solved:
    domain, classes = seen.domain, seen.final.classes_
    walk = Walk(make_plan(seen, trees.read(seen)), seen.asker, classes, max_boxes)
    walk.run()
    walk.confirm()
    assert domain.n_families is not None  # a domain with constraints is not solved
    return Solved(method, walk.hits, domain.n_families, dict(zip(classes.tolist(), walk.by_label, strict=True)))
