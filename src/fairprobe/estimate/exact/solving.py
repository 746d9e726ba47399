"""Solving: find the way to count that fits a model, if there is one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.estimate.exact import effort, trees
from fairprobe.estimate.exact.linear import is_linear, solve_linear
from fairprobe.estimate.exact.preprocessing import Seen, split
from fairprobe.estimate.exact.solved import NotSolved, Solved, UnfitError
from fairprobe.estimate.exact.walk import BoxWalk
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
    seen = None
    try:
        seen = _seen(model, domain)
        solved = _solved(seen, max_boxes, max_half, n_rows)
    except UnfitError as error:
        return NotSolved(str(error), 0 if seen is None else seen.asker.n_queries)
    return replace(solved, n_queries=seen.asker.n_queries)


def _seen(model: Any, domain: Domain) -> Seen:
    final = split(model)[1]
    if is_linear(final):
        return Seen(model, domain, "numeric")
    if trees.are_trees(final):
        return Seen(model, domain, np.float32)
    if known_kind(final) is None:
        raise UnfitError(why_unknown(final))
    raise UnfitError(f"{type(final).__name__} is not a kind of model that can be solved")


def _solved(seen: Seen, max_boxes: int, max_half: int, n_rows: float | None) -> Solved:
    """Whether it is worth it is foreseen first, before the model is asked anything."""
    domain, final = seen.domain, seen.final
    if is_linear(final):
        if n_rows is not None:
            effort.check_halves(seen, n_rows)
        seen.check()
        return solve_linear(seen, max_half)
    parts = trees.trees_of(final)
    if n_rows is not None:
        max_boxes = min(max_boxes, effort.boxes_worth(seen, parts, n_rows))
    seen.check()
    walk = BoxWalk(trees.make_plan(seen, trees.read(seen)), seen.asker, final.classes_, max_boxes)
    walk.run()
    walk.confirm()
    by_label = dict(zip(final.classes_.tolist(), walk.by_label, strict=True))
    return Solved("tree" if known_kind(final) == "tree" else "ensemble", walk.hits, domain.families.n_keys, by_label)
