"""Solving: find the way to count that fits a model, if there is one and it takes no longer than sampling.

What it would take is foreseen from counts. Everything is counted in rows: so much time as sampling takes to ask about
one. The weights are rounded up from measurements on the census and are the same on every machine, so that the method
chosen is too; `benchmarks/auto.py` shows what comes of them. What is foreseen to be done by then may take as long as
sampling would; anything else is tried for a small part of that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.checks import shown
from fairprobe.domain.allowed import TooManyError
from fairprobe.domain.boxes import Part
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError
from fairprobe.estimation.exact.linear import balanced, is_linear, solve_linear
from fairprobe.estimation.exact.regions import too_many
from fairprobe.estimation.exact.solved import Method, NotSolved, Solved
from fairprobe.estimation.exact.trees import are_trees, in_order, inner_levels, make_plan, read, trees_of
from fairprobe.estimation.exact.walk import BoxWalk
from fairprobe.model.known import known_kind, why_unknown
from fairprobe.model.tables import MismatchError, Seen, UnfitError, split

MAX_BOXES = 1_500_000
MAX_HALF = 10_000_000

TRIED = 0.1
"""The part of sampling's effort that is risked on what may come to nothing."""

PER_HALF = 4
"""For each sum of a linear classifier's larger half."""

PER_STATE = 1000
"""For each state of the rules' tables, from which boxes are made; of rows of one tree."""

WORDS = 10
"""So many times longer takes a tree's row if it holds words, which a model must encode first."""

RULES = 3
"""Or if rules are checked of it."""


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
        n_rows: how many rows sampling would ask instead: solve only if that is foreseen to take no longer, or can be
            tried for a small part of it.

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
    """Whether it is worth it is foreseen first, before the model is asked anything."""
    final, n_each = seen.final, len(domain.families)
    if is_linear(final):
        if domain.constraints:
            raise UnfitError("a linear classifier is solved where the domain has no constraints")
        if n_rows is not None:
            check_halves(seen, n_rows)
        seen.check()
        return replace(solve_linear(seen, max_half), n_each=n_each)
    trees = trees_of(final)
    if n_rows is not None and domain.constraints:
        check_states(domain, len(trees), n_rows)
    parts = _parts(domain, max_boxes)
    if n_rows is not None:
        max_boxes = min(max_boxes, boxes_worth(seen, trees, n_rows, parts))
    seen.check()
    plan = make_plan(seen, read(seen), parts, max_boxes)
    walk = BoxWalk(plan, seen.asker, final.classes_, max_boxes)
    hits, counts = walk.run()
    walk.confirm(domain)
    method: Method = "tree" if known_kind(final) == "tree" else "ensemble"
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


# What it would take


def check_states(domain: Domain, n_trees: int, n_rows: float) -> None:
    """Raise if making boxes of the rules may take longer than sampling, which would ask so many rows."""
    n_states = domain.restrictions.n_states
    if PER_STATE * n_states / (n_trees * _slowness(domain, n_trees)) > n_rows:
        raise UnfitError(
            f"the constraints have {n_states:,} states, which may take longer to make boxes of than "
            f"{_sampling(domain, n_rows)}"
        )


def boxes_worth(seen: Seen, trees: Sequence[Any], n_rows: float, parts: Sequence[Part] = ()) -> int:
    """How many boxes trees may cut the domain into, where sampling would ask so many rows; raises if none."""
    domain, n_trees = seen.domain, len(trees)
    n_nodes, n_leaves = sum(tree.node_count for tree in trees), sum(tree.n_leaves for tree in trees)
    # A wide parameter is looked at by halving, once for each test.
    n_looks = sum(
        (n_nodes - n_leaves) * n_levels.bit_length() if seen.is_searchable(parameter) else n_levels
        for parameter, n_levels in enumerate(domain.levels.tolist())
    )
    slowness = _slowness(domain, n_trees, bool(parts))
    reading = _looking(domain, n_trees, 1) + n_looks + n_nodes * (1 + 6 / n_trees) / slowness
    per_box = (3 + 2.5 * len(domain.combinations) + 80 / n_trees) / slowness
    # Most of the trees' boxes lie in few of those that the rules leave: 50 of these made 7 times more on the census.
    n_starts = min(math.prod(len(part.boxes) for part in parts), 10**300)
    n_boxes = n_starts - 1 + math.sqrt(n_starts) * boxes_foreseen(trees, seen.sensitive_columns(), domain)
    foreseen = reading + per_box * n_boxes
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
    size = max(math.prod(sizes[i] for i in half) for half in balanced(sizes))
    if _looking(domain, 1, 2) + n_looks + PER_HALF * size > n_rows:
        raise UnfitError(
            f"the halves may have {shown(size)} combinations, which may take longer to count than "
            f"{_sampling(domain, n_rows)}"
        )


def _sampling(domain: Domain, n_rows: float) -> str:
    return f"{shown(int(n_rows) // len(domain.combinations))} inputs to sample"


def _slowness(domain: Domain, n_trees: int, has_rules: bool = False) -> float:
    """How many times longer a row takes than the weights are for; for many trees, boxes of words do so too."""
    if not all(parameter.is_numeric for parameter in domain.parameters):
        return max(1.0, WORDS / n_trees)
    return max(1.0, RULES / n_trees) if has_rules or domain.constraints else 1.0


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
    tests = [np.isin(tree.feature, list(sensitive)) & (tree.children_left >= 0) for tree in trees]
    if not any(test.any() for test in tests):
        return 1.0
    ways = [_ways_to_leaves(tree, test) for tree, test in zip(trees, tests, strict=True)]
    if len(trees) == 1:
        return min(ways[0][1], max(float(trees[0].n_leaves), ways[0][1] / 6))
    n_families = float(min(domain.n_families or math.inf, 1e300))
    n_boxes = min(math.prod(whole for whole, _ in ways), math.prod(_ranges(trees, sensitive)), n_families)
    return n_boxes * (len(domain.combinations) - 1)


def _ways_to_leaves(tree: Any, is_sensitive: Mask) -> tuple[float, float]:
    """In how many ways the combinations can come to leaves: in all, and not counting where they all stay together."""
    whole, apart = np.ones((2, tree.node_count))
    touched = is_sensitive.copy()
    left, right = tree.children_left, tree.children_right
    with np.errstate(over="ignore"):
        for level in reversed(inner_levels(left, right, np.zeros(1, dtype=np.int64))):
            one, other = left[level], right[level]
            product, total = whole[one] * whole[other], whole[one] + whole[other]
            whole[level] = np.where(is_sensitive[level], product, total)
            touched[level] |= touched[one] | touched[other]
            parted = np.where(is_sensitive[level], product, apart[one] + apart[other])
            apart[level] = np.where(touched[level], parted, 1.0)
    return float(whole[0]), float(apart[0])


def _ranges(trees: Sequence[Any], sensitive: Collection[int]) -> list[float]:
    """By free column, into how many ranges the tests of all trees cut it, missing values apart."""
    columns = np.concatenate([tree.feature[tree.children_left >= 0] for tree in trees])
    thresholds = np.concatenate([tree.threshold[tree.children_left >= 0] for tree in trees])
    order, is_new = in_order(columns, thresholds)
    counts = np.bincount(columns[order[is_new]])
    return [float(count) + 2 for column, count in enumerate(counts) if count and column not in sensitive]
