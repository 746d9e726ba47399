"""Coverage: the part of what there is to find that a search has found."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
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


def coverage_of(found: Found, references: Codes) -> tuple[int, float | None]:
    """How widely the cases of a search are spread over the parameters that are not sensitive.

    Gives the cells of a coarse grid, thirds of every parameter, that hold a case; and recall, the fraction of the
    reference cases that have a case of the search near, None without references.
    """
    domain, columns = found.domain, list(found.domain.free_columns)
    free = found._cases.case.astype(np.int64)[:, columns]
    recall = float(has_near(references[:, columns], free, domain).mean()) if len(references) else None
    return count_cells(free, domain), recall


def count_cells(free: Codes, domain: Domain) -> int:
    """How many cells of the grid hold an input."""
    parts = free * PARTS // domain.levels[list(domain.free_columns)]
    return int(first_seen(_hashed(parts)).sum())


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


def _hashed(rows: Codes) -> Codes:
    """One number for each row, in 64 bits: two rows that differ share one once in 10^17 times or so."""
    weights = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, rows.shape[1], dtype=np.int64) | 1
    return (rows * weights).sum(axis=1, keepdims=True)
