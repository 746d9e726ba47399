"""Linear: a classifier of two classes by the sign of a sum over the parameters.

A family is discriminatory if its score is above 0 for one combination of sensitive values and not for another: if what
the free parameters add up to lies between two bounds. The sums that do are counted by halves. Where rounding could
decide, the model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.estimate.exact.halves import Count, Half, count_below, make_halves
from fairprobe.estimate.exact.outcome import Solved
from fairprobe.estimate.exact.score import Score, take_apart
from fairprobe.estimate.exact.seen import Seen

Tally = NDArray[Any]
"""By label, the first class's and the second's, then combination: how many discriminatory families get it."""


def solve_linear(seen: Seen, max_half: int) -> Solved:
    """Count the discriminatory families of a linear classifier."""
    score = take_apart(seen, max_half)
    first, second = make_halves(score.terms, max_half, is_exact=score.error == 0)
    bounds, which = np.unique(-score.fixed, return_inverse=True)
    found = count_below(first, second, bounds, score.error)
    tally = _between(found.below, which.reshape(-1))
    if len(found.first):
        tally = tally + _corrections(seen, score, (first, second), found)
    by_label = [[int(count) * score.untested for count in counts] for counts in tally]
    assert seen.domain.n_families is not None  # a domain with constraints is not solved
    return Solved(
        method="linear",
        hits=by_label[0][0] + by_label[1][0],  # each combination has one label or the other in all of them
        families=seen.domain.n_families,
        by_label=dict(zip(seen.final.classes_.tolist(), by_label, strict=True)),
    )


def _between(below: Sequence[int], which: Codes) -> Tally:
    """Of the sums above the least bound and up to the greatest, those up to a combination's own get the first label."""
    own = np.array(below, dtype=object)[which]
    return np.stack([own - below[0], below[-1] - own])


def _corrections(seen: Seen, score: Score, halves: tuple[Half, Half], found: Count) -> Tally:
    """What the model says of the sums that are too near to a bound, less what was counted for them."""
    first, second = halves
    codes = np.zeros((len(found.first), len(seen.domain.levels)), dtype=np.int64)
    first.write(codes, found.first)
    second.write(codes, found.second)
    counts = first.counts[found.first].astype(object) * second.counts[found.second].astype(object)
    said = seen.asker.ask_families(codes) == seen.final.classes_[1]
    counted = first.values[found.first] > -score.fixed[:, None] - second.values[found.second]
    return _tallied(said, counts) - _tallied(counted, counts)


def _tallied(is_second: Mask, counts: NDArray[Any]) -> Tally:
    differ = is_second.any(axis=0) & ~is_second.all(axis=0)
    return np.stack([(mine & differ) @ counts for mine in (~is_second, is_second)])
