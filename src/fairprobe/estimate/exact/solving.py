"""Solving: find the way to count that fits a model, if there is one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.estimate.exact import trees
from fairprobe.estimate.exact.linear import solve_linear
from fairprobe.estimate.exact.outcome import Method, NotSolved, Solved, UnfitError
from fairprobe.estimate.exact.plan import make_plan
from fairprobe.estimate.exact.preprocessing import split
from fairprobe.estimate.exact.score import is_linear
from fairprobe.estimate.exact.seen import Seen
from fairprobe.estimate.exact.walk import Walk

MAX_BOXES = 1_500_000
MAX_HALF = 10_000_000


def solve(model: Any, domain: Domain, *, max_boxes: int = MAX_BOXES, max_half: int = MAX_HALF) -> Solved | NotSolved:
    """Count the discriminatory families of a domain exactly, by the model's labels.

    Solved are scikit-learn's trees, forests, votes of trees and gradient boosting, and linear classifiers of two
    classes; all of these also behind preprocessing that makes each of its columns out of one column.

    Args:
        model: any; what is not solved is told why.
        domain: without constraints.
        max_boxes: how many boxes the trees may cut the domain into; as many as there are by default take an ensemble
            of 10 trees some 5 seconds, one of 100 some 20.
        max_half: how many combinations either half of the free parameters may have, for a linear classifier.

    Raises:
        ModelError: the model itself fails on an input of the domain.
    """
    if domain.constraints:
        return NotSolved("the domain has constraints, which only sampling can follow")
    try:
        return _solve(model, domain, max_boxes, max_half)
    except UnfitError as error:
        return NotSolved(str(error))


def _solve(model: Any, domain: Domain, max_boxes: int, max_half: int) -> Solved:
    final = split(model)[1]
    if is_linear(final):
        seen = Seen(model, domain, "numeric")
        solved = solve_linear(seen, max_half)
    elif trees.is_tree(final) or trees.is_ensemble(final):
        seen = Seen(model, domain, np.float32)
        solved = _solve_trees("tree" if trees.is_tree(final) else "ensemble", seen, max_boxes)
    else:
        raise UnfitError(f"{type(final).__name__} is not a kind of model that can be solved")
    return replace(solved, n_queries=seen.asker.n_queries)


def _solve_trees(method: Method, seen: Seen, max_boxes: int) -> Solved:
    domain, classes = seen.domain, seen.final.classes_
    walk = Walk(make_plan(seen, trees.read(seen)), seen.asker, classes, max_boxes)
    walk.run()
    walk.confirm()
    assert domain.n_families is not None  # a domain with constraints is not solved
    return Solved(method, walk.hits, domain.n_families, dict(zip(classes.tolist(), walk.by_label, strict=True)))
