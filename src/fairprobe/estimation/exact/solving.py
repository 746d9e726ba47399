"""Solving: find the way to count that fits a model, if there is one and it takes no longer than sampling.

Whether it takes longer is decided by counts of boxes, leaves and sums, never by the clock, so that the method chosen is
the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.checks import shown
from fairprobe.domain.allowed import Part
from fairprobe.domain.domain import Domain
from fairprobe.domain.variables import TooManyError
from fairprobe.errors import ModelError
from fairprobe.estimation.exact.linear import balanced, is_linear, solve_linear
from fairprobe.estimation.exact.regions import too_many
from fairprobe.estimation.exact.solved import Method, NotSolved, Solved
from fairprobe.estimation.exact.trees import are_trees, make_plan, read, trees_of
from fairprobe.estimation.exact.walk import BoxWalk
from fairprobe.model.known import known_kind, why_unknown
from fairprobe.model.tables import MismatchError, Seen, UnfitError, split

MAX_BOXES = 1_500_000
"""Boxes that trees may cut a domain into: an ensemble of 10 trees takes some 5 seconds for them, one of 100 some 20."""

MAX_HALF = 10_000_000
"""Sums of each half of a linear classifier's parameters: some 2 seconds."""

READING = 40_000
"""Rows that a model could be asked about while it is read; measured on trees of the census."""

ROWS_PER_BOX = 80
"""Rows that an ensemble could be asked about instead of making a box: ten times as many as measured, as its boxes may
come to nothing."""

ROWS_PER_BOX_OF_A_TREE = 25
"""Rows that a single tree could be asked about instead of making a box; a third of what was measured for the fastest
trees, as most take longer and the leaves tell how many boxes there will be."""

ROWS_PER_SUM = 4
"""Rows that a linear classifier could be asked about while one sum of its larger half is made and looked up."""

BOXES_PER_STATE = 4
"""Boxes that could be cut while one state of the rules' tables is made boxes of."""


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
        domain: constraints must be texts that have tables, and the model made of trees.
        max_boxes: how many boxes the trees may cut the domain into; as many as there are by default take an ensemble
            of 10 trees some 5 seconds, one of 100 some 20.
        max_half: how many combinations either half of the free parameters may have, for a linear classifier.
        n_rows: rows that sampling would ask about instead: the limits are then as much lower as makes solving take
            no longer.

    Raises:
        ModelError: the model itself fails on an input of the domain.
    """
    if not domain.families.is_in_boxes:
        what = "derived parameters" if domain.derived else "constraints or links"
        return NotSolved(f"the domain has {what}, which only sampling can follow")
    seen = None
    try:
        final = split(model)[1]
        if not is_linear(final) and not are_trees(final):
            other = f"{type(final).__name__} is not a kind of model that can be solved"
            raise UnfitError(why_unknown(final) if known_kind(final) is None else other)
        # The model is read as if all were allowed; what is not is left out where it is counted.
        whole = domain.without_constraints() if domain.constraints else domain
        seen = Seen(model, whole, "numeric" if is_linear(final) else np.float32)
        solved = _solved(seen, domain, max_boxes, max_half, n_rows)
    except UnfitError as error:
        n_queries = 0 if seen is None else seen.asker.n_queries
        return NotSolved(str(error), n_queries, contradicts=isinstance(error, MismatchError))
    except ModelError as error:
        if seen is None or not domain.constraints:
            raise
        # It may be one that is not allowed: whether the model takes the others, sampling will tell.
        return NotSolved(f"the model does not take every input, constraints aside: {error}", seen.asker.n_queries)
    return replace(solved, n_queries=seen.asker.n_queries)


def _solved(seen: Seen, domain: Domain, max_boxes: int, max_half: int, n_rows: float | None) -> Solved:
    """Count; what is too large is refused before the model is asked anything, as far as counts tell."""
    final, n_each = seen.final, len(domain.families)
    effort = math.inf if n_rows is None else n_rows - READING
    if is_linear(final):
        if domain.constraints:
            raise UnfitError("a linear classifier is solved where the domain has no constraints")
        if n_rows is not None:
            max_half = int(min(max_half, effort / ROWS_PER_SUM))
            check_halves(seen, max_half)
        seen.check()
        return replace(solve_linear(seen, max_half), n_each=n_each)
    trees = trees_of(final)
    is_tree = known_kind(final) == "tree"
    if n_rows is not None:
        max_boxes = int(min(max_boxes, effort / (ROWS_PER_BOX_OF_A_TREE if is_tree else ROWS_PER_BOX)))
        _check_leaves(trees, seen.sensitive_columns(), max_boxes)
        if domain.constraints and BOXES_PER_STATE * domain.restrictions.n_states > max_boxes:
            raise too_many(max_boxes)
    parts = _parts(domain, max_boxes)
    seen.check()
    plan = make_plan(seen, read(seen), parts, max_boxes)
    walk = BoxWalk(plan, seen.asker, final.classes_, max_boxes)
    hits, counts = walk.run()
    walk.confirm(domain)
    method: Method = "tree" if is_tree else "ensemble"
    by_label = dict(zip(final.classes_.tolist(), counts, strict=True))
    if not parts:
        return Solved(method, hits, domain.families.n_keys, by_label, n_each=n_each)
    n, n_not_comparable = plan.n_inputs()
    return Solved(method, hits, n, by_label, n_not_comparable=n_not_comparable)


def _parts(domain: Domain, max_boxes: int) -> list[Part]:
    if domain.families.is_complete:
        return []
    try:
        return domain.families.parts(max_boxes)
    except TooManyError:
        raise too_many(max_boxes) from None


def _check_leaves(trees: Sequence[Any], sensitive: Collection[int], max_boxes: int) -> None:
    """Refuse trees with more leaves than boxes that are allowed, not counting trees without a sensitive test."""
    leaves = [tree.n_leaves for tree in trees if np.isin(tree.feature[tree.children_left >= 0], list(sensitive)).any()]
    if sum(leaves) > max_boxes or max_boxes < 1:
        name = "a tree" if len(trees) == 1 else f"{len(trees):,} trees"
        raise UnfitError(
            f"{name} with {sum(leaves):,} leaves may take longer to count than to sample: {max(0, max_boxes):,} boxes "
            "are allowed"
        )


def check_halves(seen: Seen, max_half: int) -> None:
    """Refuse a linear classifier whose halves may have more combinations than allowed, before it is looked at."""
    domain = seen.domain
    weights = np.asarray(seen.final.coef_).reshape(-1)
    # Behind preprocessing, any parameter may have a weight.
    free = [i for i in domain.free_columns if seen.steps or weights[seen.order.index(domain.names[i])]]
    sizes = domain.levels[free].tolist()
    size = max(math.prod(sizes[i] for i in half) for half in balanced(sizes))
    if size > max_half:
        raise UnfitError(
            f"the halves may have {shown(size)} combinations, which may take longer to count than to sample: "
            f"{shown(max(0, max_half))} are allowed"
        )
