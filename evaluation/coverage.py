"""Coverage: the part of what there is to find that a search has found."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import checked_count
from fairprobe.domain.domain import Domain
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.searching import Found
from fairprobe.standins import DisagreementError, Screen, compile_stand_in, may_screen
from fairprobe.store import first_seen

PARTS = 3
"""The grid has so many parts a parameter."""

NEAR = 0.1
"""Two inputs are near if their parameters differ by a tenth of the range on average (of a Category: 0 or 1)."""

ROUNDING = 1e-4
"""Of sums of distances in single precision."""

MOST_REFERENCES = 500
"""Cases of uniform sampling that recall is measured on: its standard error is two percentage points."""

ROWS = 20_000
"""Inputs in one batch."""


@dataclass(frozen=True)
class CaseCoverage:
    """How widely the cases of a search are spread over the parameters that are not sensitive."""

    cells: int
    """Cells of a coarse grid, thirds of every parameter, that hold a case."""
    hamming: float | None
    """In how many parameters two different cases differ, on average; None for fewer than two cases."""
    recall: float | None = None
    """Of the cases that independent uniform sampling finds, the fraction that have a case of the search near."""
    n_references: int = 0
    """How many cases of uniform sampling that is about."""
    leaves: int | None = None
    """For trees and forests: the combinations of leaves, over all trees and twins, that the cases fall into."""


def coverage_of(
    found: Found, model: Any = None, *, n: int = 100_000, seed: int = 0, batch: str | None = None
) -> CaseCoverage:
    """The spread of the cases; with the model also how much of what uniform sampling finds is near one.

    Args:
        found: the result of a search.
        model: the model that was searched; without it `recall` and `leaves` are None.
        n: uniform inputs to judge for `recall`, until 500 cases are among them.
        seed: of these inputs, whose draws are none of the search's.
        batch: as for `search`.

    >>> from fairprobe import Domain, Integer, search
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: X[:, 0] + 10 * X[:, 1] > 50
    >>> coverage_of(search(model, domain, max_cases=5), model, n=1000)
    CaseCoverage(cells=1, hamming=1.0, recall=1.0, n_references=120, leaves=None)
    """
    n, seed = checked_count("n", n), checked_count("seed", seed, at_least=0)
    asker = None if model is None else Asker(model, found.domain, output=found.output, batch=batch)
    domain, columns = found.domain, list(found.domain.free_columns)
    cases = found._cases.case.astype(np.int64)
    free = cases[:, columns]
    cells, hamming = count_cells(free, domain), mean_hamming(free)
    if asker is None:
        return CaseCoverage(cells, hamming)
    references = uniform_cases(Oracle(asker, found.threshold, found.resolution), asker.model, n, seed)
    recall = float(has_near(references[:, columns], free, domain).mean()) if len(references) else None
    return CaseCoverage(cells, hamming, recall, len(references), count_leaves(cases, asker))


def count_cells(free: Codes, domain: Domain) -> int:
    """How many cells of the grid hold an input."""
    parts = free * PARTS // domain.levels[list(domain.free_columns)]
    return int(first_seen(_hashed(parts)).sum())


def mean_hamming(free: Codes) -> float | None:
    """In how many parameters two of the inputs differ on average, over all pairs: by counting who shares a value."""
    n = len(free)
    if n < 2:
        return None
    same = sum(float((counts * (counts - 1.0)).sum()) for counts in map(np.bincount, free.T))
    return free.shape[1] - same / (n * (n - 1.0))


def uniform_cases(oracle: Oracle, model: Any, n: int, seed: int) -> Codes:
    """The first cases among n uniform inputs; a stand-in proposes them where that is quicker."""
    if may_screen(model):
        stand_in = compile_stand_in(model, oracle.domain, oracle.asker.output)
        if stand_in is not None:
            with suppress(DisagreementError):
                return _uniform_cases(oracle, Screen(oracle.asker, stand_in), n, seed)
    return _uniform_cases(oracle, None, n, seed)


def _uniform_cases(oracle: Oracle, screen: Screen | None, n: int, seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    judging = oracle if screen is None else oracle.by(screen)
    found = [np.empty((0, len(oracle.domain.levels)), dtype=np.int64)]
    with oracle.asker.quiet():
        for first in range(0, n, ROWS):
            members = oracle.families.of(oracle.domain.sample_codes(min(ROWS, n - first), rng))
            judged = judging.judge(members)
            hits = judged.take(np.flatnonzero(judged.hits), judged.codes.dtype)
            if screen is not None and len(hits.codes):
                truth = oracle.judge(hits.members(oracle.families))
                screen.check(hits.outputs, truth.outputs)
                hits = truth
            found.append(hits.codes[hits.hits])
            if sum(map(len, found)) >= MOST_REFERENCES:
                break
    return np.concatenate(found)[:MOST_REFERENCES]


def has_near(references: Codes, free: Codes, domain: Domain) -> Mask:
    """Mask of the references that have one of the inputs near."""
    columns = list(domain.free_columns)
    spans = np.maximum(domain.levels[columns] - 1, 1)
    unordered = [domain.parameters[column].wraps for column in columns]
    ours, theirs = (free / spans).astype(np.float32), (references / spans).astype(np.float32)
    near = np.zeros(len(references), dtype=bool)
    for first in range(0, len(free), ROWS):
        left = np.flatnonzero(~near)  # most are settled by the first inputs
        distance = np.zeros((len(left), len(ours[first : first + ROWS])), dtype=np.float32)
        for p, is_unordered in enumerate(unordered):
            apart = np.abs(theirs[left, p, None] - ours[None, first : first + ROWS, p])
            distance += (apart > 0) if is_unordered else apart
        near[left] = (distance <= NEAR * len(columns) + ROUNDING).any(axis=1)
    return near


def count_leaves(cases: Codes, asker: Asker) -> int | None:
    """The distinct combinations of leaves that the cases and their twins fall into; None without leaves."""
    if asker.adapter.leaves is None:
        return None
    n_members = len(asker.domain.families)
    hashes = [np.empty((0, 1), dtype=np.int64)]
    for first in range(0, len(cases), ROWS):
        batch = asker.form.families(cases[first : first + ROWS])
        try:
            leaves = asker.adapter.leaves(batch).astype(np.int64)
        except Exception:  # members of some committees see other columns than the model
            return None
        hashes.append(_hashed(np.concatenate(np.split(leaves, n_members), axis=1)))
    return int(first_seen(np.concatenate(hashes)).sum())


def _hashed(rows: Codes) -> Codes:
    """One number for each row, in 64 bits: two rows that differ share one once in 10^17 times or so."""
    weights = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, rows.shape[1], dtype=np.int64) | 1
    return (rows * weights).sum(axis=1, keepdims=True)
