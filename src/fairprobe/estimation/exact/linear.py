"""Exact shares of a linear classifier of two classes, which decides by the sign of a sum over the parameters.

A family is discriminatory if its score is above 0 for one combination of sensitive values and not for another. This
holds if the sum of the free parameters' terms lies between two bounds. Such sums are counted by halves: the sums of one
half of the parameters are sorted, and those of the other half are looked up in them. If rounding could decide, the
model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import shown
from fairprobe.model.known import known_kind
from fairprobe.model.tables import N_RANDOM, LevelTable, MismatchError, Seen, UnfitError, check_fits

MAX_NEAR = 100_000
"""Largest number of families with a score so close to 0 that the model itself must be asked for the label; chosen."""

MAX_LOOKUPS = 200_000_000
"""Largest number of look-ups: sums of one half of the parameters times bounds (one for each combination of sensitive
values); chosen: some 20 seconds."""

_BLOCK = 1_000_000
"""Number of sums of one half of the parameters that are looked up at a time; chosen to bound the memory."""


def is_linear(final: Any) -> bool:
    """Return True if a model is a known linear classifier of two classes; random inputs later confirm its sums."""
    return (
        known_kind(final) == "linear"
        and np.size(getattr(final, "intercept_", ())) == 1
        and len(getattr(final, "classes_", ())) == 2
    )


def solve_linear(seen: Seen, max_half: int) -> list[list[int]]:
    """Return the number of discriminatory inputs, by label, then combination of sensitive values that gets the label.

    The free parameters are divided into two halves. `max_half` is the largest number of sums (combinations of levels)
    of either half; above it, an UnfitError is raised.
    """
    sums, fixed, slack = _take_apart(seen)
    used = [column for column in seen.domain.free_columns if sums[column].any()]
    halves = balanced({column: len(sums[column]) for column in used}, max_half)
    # The larger half is sorted, and the sums of the other are looked up in it.
    first, second = (_added_up([sums[column] for column in half]) for half in halves)
    order = np.argsort(first)
    bounds, which = np.unique(-fixed, return_inverse=True)
    below, near = _count_below(first[order], second, bounds, slack)
    # Of the sums above the least bound and up to the greatest, those up to a combination's own get the first label.
    own = np.array(below, dtype=np.int64)[which.reshape(-1)]
    tally = np.stack([own - below[0], below[-1] - own])
    if near.size:
        near[0] = order[near[0]]
        codes = np.zeros((near.shape[1], len(seen.domain.levels)), dtype=np.int64)
        for half, places in zip(halves, near, strict=True):
            if half:
                codes[:, half] = np.column_stack(np.unravel_index(places, [len(sums[column]) for column in half]))
        said = seen.asker.ask_families(codes) == seen.final.classes_[1]
        counted = first[near[0]] > -fixed[:, None] - second[near[1]]
        for is_second, sign in ((said, 1), (counted, -1)):
            differ = is_second.any(axis=0) & ~is_second.all(axis=0)
            tally += sign * np.stack([(mine & differ).sum(axis=1) for mine in (~is_second, is_second)])
    each = seen.domain.size // (len(first) * len(second))
    return [[int(count) * each for count in counts] for counts in tally]


def _take_apart(seen: Seen) -> tuple[list[Floats], Floats, float]:
    """Return the terms of a linear model's score, in three parts.

    They are the terms by parameter and level; the sum of the intercept and the sensitive terms, by combination of
    sensitive values; and the largest difference that rounding may cause between the model's sum and ours, for any order
    of the terms.
    """
    domain, weights = seen.domain, np.asarray(seen.final.coef_).reshape(-1)
    used, dtype = weights != 0, np.result_type(seen.base.dtype, weights.dtype, np.float32)
    weights, intercept = weights.astype(np.float64), float(np.asarray(seen.final.intercept_).item())
    tables = [seen.table(parameter, used) for parameter in range(len(domain.parameters))]
    constant = np.setdiff1d(np.flatnonzero(used), np.concatenate([table.columns for table in tables]))
    constants = LevelTable(constant, seen.base[None, constant])
    *products, rest = (table.values * weights[table.columns] for table in (*tables, constants))
    size = abs(intercept) + float(sum(np.abs(each).sum(axis=1).max() for each in [*products, rest]))
    if not math.isfinite(size):
        raise UnfitError("a linear classifier is solved if every input has a finite score")
    error = 2 * (int(used.sum()) + len(tables) + 9) * float(np.finfo(dtype).eps) * size
    sums = [each.sum(axis=1) for each in products]
    _check_linear(seen, sums, intercept + rest.sum(), error)
    fixed = np.full(len(domain.families), intercept + rest.sum())
    for parameter, codes in zip(domain.sensitive_columns, domain.combinations.T, strict=True):
        fixed += _of(sums[parameter], codes)
    return sums, fixed, error


def _of(sums: Floats, codes: Codes) -> Floats:
    """Return the terms of one parameter at these levels; zeros for a parameter without effect."""
    return sums[codes] if sums.any() else np.zeros(len(codes))


def _check_linear(seen: Seen, sums: Sequence[Floats], constant: float, error: float) -> None:
    """Raise a MismatchError unless, in random families, the model's scores are the sums and its labels their signs."""
    # A fixed seed: whether a model is solved must not depend on chance.
    domain = seen.domain
    codes = domain.families.members(domain.sample_codes(N_RANDOM, np.random.default_rng(0)))
    scores, expected = seen.scores(codes), np.full(len(codes), constant)
    for mine, column in zip(sums, codes.T, strict=True):
        expected += _of(mine, column)
    if scores.shape != expected.shape or (np.abs(scores - expected) > error).any():
        raise MismatchError("the model's scores are not the sums that its coefficients give")
    if (seen.asker.ask(codes) != seen.final.classes_[(scores > 0).astype(np.int64)]).any():
        raise MismatchError("the model's labels are not its second class where the score is above 0, else its first")


# Counting sums


def balanced(sizes: dict[int, int], max_half: int) -> list[list[int]]:
    """Return two lists of parameters with about equally many combinations of levels, the larger first.

    `sizes` is the number of levels by parameter. Raise an UnfitError if a list has more than `max_half` combinations.
    """
    halves: list[list[int]] = [[], []]
    n_combinations = [1, 1]
    for parameter, size in sorted(sizes.items(), key=lambda item: -item[1]):
        smaller = n_combinations.index(min(n_combinations))
        halves[smaller].append(parameter)
        n_combinations[smaller] *= size
    most = max(n_combinations)
    check_fits(most, max_half, f"the halves would have {shown(most)} combinations")
    return [half for _, half in sorted(zip(n_combinations, halves, strict=True), reverse=True)]


def _added_up(terms: list[Floats]) -> Floats:
    """Return the sums of all combinations that take one term of each list; the last list varies fastest."""
    values = np.zeros(1)
    for term in terms:
        values = (values[:, None] + term).reshape(-1)
    return values


def _count_below(first: Floats, second: Floats, bounds: Floats, slack: float) -> tuple[list[int], Codes]:
    """Count the pairs whose sum, `first[i] + second[j]`, is at most each bound, and find those near a bound.

    Returns the number of pairs by bound, and an array with a column (i, j) for each pair within `slack` of a bound: at
    most `MAX_NEAR`, because only the model can decide these. `first` must be sorted. More than `MAX_LOOKUPS` look-ups
    raise an UnfitError.
    """
    n_lookups = len(second) * len(bounds)
    check_fits(n_lookups, MAX_LOOKUPS, f"{shown(n_lookups)} look-ups of sums")
    below = [0] * len(bounds)
    near = [np.zeros((2, 0), dtype=np.int64)]
    for start in range(0, len(second), _BLOCK):
        for i, bound in enumerate(bounds):
            keys = bound - second[start : start + _BLOCK]
            below[i] += int(np.searchsorted(first, keys, side="right").sum())
            place = np.searchsorted(first, keys - slack, side="left")
            widths = np.searchsorted(first, keys + slack, side="right") - place
            n_near = int(widths.sum()) + sum(pairs.shape[1] for pairs in near)
            if n_near > MAX_NEAR:
                raise UnfitError(
                    f"{n_near:,} sums or more are within a rounding error of a score of 0, over the {MAX_NEAR:,} that "
                    "the model can be asked about"
                )
            offsets = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
            near.append(np.stack([np.repeat(place, widths) + offsets, start + np.repeat(np.arange(len(keys)), widths)]))
    return below, np.unique(np.concatenate(near, axis=1), axis=1)
