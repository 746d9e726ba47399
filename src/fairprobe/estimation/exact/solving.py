"""Exact solving: the choice of a method that counts a model's discriminatory inputs exactly and in few steps.

The steps are boxes, leaves and sums. They are limited by number, never by the clock, so that the chosen method is the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairprobe.domain.allowed import TooManyError
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError
from fairprobe.estimation.exact.linear import balanced, is_linear, solve_linear
from fairprobe.estimation.exact.plan import make_plan, make_regions, too_many
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
    """Number of comparable inputs in discriminatory families."""
    n: int
    """Number of inputs that are comparable: two or more members of their family are allowed."""
    by_label: dict[Any, list[int]]
    """Number of hits (discriminatory inputs) by label, then combination of sensitive values that gets the label."""
    n_not_comparable: int = 0
    """Number of allowed inputs without an allowed twin."""
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
        domain: the domain to count. With constraints, these must be texts, and the model must be made of trees.
        quickly: True to give up if counting may take longer than a sample of the default size.

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
        return (_solved_linear if is_linear(final) else _solved_trees)(seen, domain, quickly)
    except UnfitError as error:
        n_queries = 0 if seen is None else seen.asker.n_queries
        return NotSolved(str(error), n_queries, contradicts=isinstance(error, MismatchError))
    except ModelError as error:
        if seen is None or not domain.constraints:
            raise
        # It may be one that is not allowed: whether the model takes the others, sampling will tell.
        return NotSolved(f"the model does not take every input, constraints aside: {error}", seen.asker.n_queries)


def _solved_linear(seen: Seen, domain: Domain, quickly: bool) -> Solved:
    if domain.constraints:
        raise UnfitError("a linear classifier is solved where the domain has no constraints")
    max_half = QUICK_HALF if quickly else MAX_HALF
    if quickly:  # refused before the model is looked at, as far as counts tell
        balanced({column: int(domain.levels[column]) for column in domain.free_columns}, max_half)
    seen.check()
    counts = solve_linear(seen, max_half)
    by_label = dict(zip(seen.final.classes_.tolist(), counts, strict=True))
    hits = counts[0][0] + counts[1][0]  # each combination has one label or the other in all of them
    return Solved("linear", hits, domain.size, by_label, n_queries=seen.asker.n_queries)


def _solved_trees(seen: Seen, domain: Domain, quickly: bool) -> Solved:
    final = seen.final
    trees = trees_of(final)
    max_boxes = QUICK_BOXES if quickly else MAX_BOXES
    if quickly:
        _check_leaves(trees, seen.sensitive_columns(), max_boxes)
    try:
        parts = [] if domain.families.is_complete else domain.families.parts(max_boxes)
    except TooManyError:
        raise too_many(max_boxes) from None
    seen.check()
    plan = make_plan(seen, read(seen), parts)
    walk = BoxWalk(plan, make_regions(plan, parts, max_boxes), seen.asker, final.classes_, max_boxes)
    by_label = dict(zip(final.classes_.tolist(), walk.run(), strict=True))
    walk.confirm(domain)
    n, n_not_comparable = walk.n_inputs()
    method = "tree" if known_kind(final) == "tree" else "ensemble"
    return Solved(method, walk.hits, n, by_label, n_not_comparable, seen.asker.n_queries)


def _check_leaves(trees: Sequence[Any], sensitive: Collection[int], max_boxes: int) -> None:
    """Raise an UnfitError if the trees that test a sensitive column have more than `max_boxes` leaves together."""
    leaves = [tree.n_leaves for tree in trees if np.isin(tree.feature[tree.children_left >= 0], list(sensitive)).any()]
    if sum(leaves) > max_boxes:
        name = "a tree" if len(trees) == 1 else f"{len(trees):,} trees"
        raise UnfitError(
            f"{name} with {sum(leaves):,} leaves may take longer to count than to sample: {max_boxes:,} boxes "
            "are allowed"
        )
