"""Exact solving: the choice of a method that counts a model's discriminatory inputs exactly and in few steps.

The steps are boxes, leaves and sums. They are limited by number, never by the clock, so that the chosen method is the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.estimation.exact.linear import balanced, is_linear, solve_linear
from fairprobe.estimation.exact.plan import make_plan
from fairprobe.estimation.exact.trees import are_trees, read, trees_of
from fairprobe.estimation.exact.walk import BoxWalk
from fairprobe.model.known import known_kind, why_unknown
from fairprobe.model.tables import MismatchError, Seen, UnfitError, split

MAX_BOXES = 1_500_000
"""Largest number of boxes that trees may cut a domain into; chosen: some 5 seconds for an ensemble of 10 trees, 20
for 100."""

QUICK_BOXES = 20_000
"""Largest number of boxes (parts of the domain), and of leaves, if solving trees must not take longer than a sample of
the default size. Chosen, as measured on trees and ensembles of the census."""

MAX_HALF = 10_000_000
"""Largest number of sums of each half of a linear classifier's parameters; chosen: some 2 seconds."""

QUICK_HALF = 200_000
"""Largest number of sums of each half of a linear classifier's parameters, if solving must not take longer than a
sample of the default size; chosen."""


@dataclass(frozen=True)
class Solved:
    """Exact numbers of inputs of a domain, as counted for a model."""

    method: str
    """Kind of model that was solved: "tree", "ensemble" or "linear"."""
    hits: int
    """Number of inputs in discriminatory families."""
    by_label: dict[Any, list[int]]
    """Number of hits (discriminatory inputs) by label, then combination of sensitive values that gets the label."""
    n_queries: int = 0
    """Number of rows sent to the model to confirm that it answers by its structure."""


@dataclass(frozen=True)
class NotSolved:
    """The result of `solve` if a model or a domain cannot be counted exactly: the reason."""

    reason: str
    n_queries: int = field(default=0, compare=False)
    """Number of rows sent to the model before the reason was known."""
    contradicts: bool = False
    """True if the reason is that the model's answers contradict its own structure."""


def solve(model: Any, domain: Domain, *, quickly: bool = False) -> Solved | NotSolved:
    """Count the discriminatory inputs of a domain exactly, by the model's labels.

    Solved are scikit-learn's own trees, forests, votes of trees and gradient boosting, and linear classifiers of two
    classes; all of these also behind preprocessing that makes each of its columns out of one column. A subclass of
    these, or one whose methods were replaced, is not.

    Args:
        model: any model; one that cannot be solved gives a `NotSolved` with the reason.
        domain: the domain to count, without constraints, links, hidden and derived parameters.
        quickly: True to give up if counting may take longer than a sample of the default size.

    Raises:
        ModelError: the model itself fails on an input of the domain.
    """
    if not domain.families.is_complete or domain.derived:
        what = "derived parameters" if domain.derived else "constraints, links or hidden parameters"
        return NotSolved(f"the domain has {what}, which only sampling can follow")
    seen = None
    try:
        final = split(model)[1]
        if not is_linear(final) and not are_trees(final):
            other = f"{type(final).__name__} is not a kind of model that can be solved"
            raise UnfitError(why_unknown(final) if known_kind(final) is None else other)
        seen = Seen(model, domain, "numeric" if is_linear(final) else np.float32)
        return (_solved_linear if is_linear(final) else _solved_trees)(seen, domain, quickly)
    except UnfitError as error:
        n_queries = 0 if seen is None else seen.asker.n_queries
        return NotSolved(str(error), n_queries, contradicts=isinstance(error, MismatchError))


def _solved_linear(seen: Seen, domain: Domain, quickly: bool) -> Solved:
    max_half = QUICK_HALF if quickly else MAX_HALF
    if quickly:  # refused before the model is looked at, as far as counts tell
        balanced({column: int(domain.levels[column]) for column in domain.free_columns}, max_half)
    seen.check()
    counts = solve_linear(seen, max_half)
    by_label = dict(zip(seen.final.classes_.tolist(), counts, strict=True))
    hits = counts[0][0] + counts[1][0]  # each combination has one label or the other in all of them
    return Solved("linear", hits, by_label, n_queries=seen.asker.n_queries)


def _solved_trees(seen: Seen, domain: Domain, quickly: bool) -> Solved:
    final = seen.final
    trees = trees_of(final)
    max_boxes = QUICK_BOXES if quickly else MAX_BOXES
    if quickly:
        _check_leaves(trees, seen.sensitive_columns(), max_boxes)
    seen.check()
    walk = BoxWalk(make_plan(seen, read(seen)), seen.asker, final.classes_, max_boxes)
    by_label = dict(zip(final.classes_.tolist(), walk.run(), strict=True))
    walk.confirm(domain)
    method = "tree" if known_kind(final) == "tree" else "ensemble"
    return Solved(method, walk.hits, by_label, seen.asker.n_queries)


def _check_leaves(trees: Sequence[Any], sensitive: Collection[int], max_boxes: int) -> None:
    """Raise an UnfitError if the trees that test a sensitive column have more than `max_boxes` leaves together."""
    leaves = [tree.n_leaves for tree in trees if np.isin(tree.feature[tree.children_left >= 0], list(sensitive)).any()]
    if sum(leaves) > max_boxes:
        name = "a tree" if len(trees) == 1 else f"{len(trees):,} trees"
        raise UnfitError(
            f"{name} with {sum(leaves):,} leaves may take longer to count than to sample: {max_boxes:,} boxes "
            "are allowed"
        )
