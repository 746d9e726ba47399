"""Constraints: callables over a batch that say which inputs are allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain import radix
from fairprobe.errors import DomainError

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Constraint, Domain

PATIENCE = 1_000_000
"""How many candidates are drawn before a thin domain is given up."""

THINNEST = 1e-4
"""The smallest fraction of allowed candidates that sampling by rejection is good for."""


def checked(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The constraints; what cannot be called is refused."""
    if not isinstance(constraints, Iterable):
        raise DomainError.about("constraints", f"must be a list of callables, got {constraints!r}")
    kept = tuple(constraints)
    for constraint in kept:
        if not callable(constraint):
            raise DomainError(f"a constraint must be a callable that takes a frame of inputs, got {constraint!r}")
    return kept


def allowed(constraints: Iterable[Constraint], frame: pd.DataFrame) -> Mask:
    """Which rows all constraints allow."""
    mask = np.ones(len(frame), dtype=bool)
    if len(frame):
        for constraint in constraints:
            mask &= _answer(constraint, frame)
    return mask


def _answer(constraint: Constraint, frame: pd.DataFrame) -> Mask:
    name = getattr(constraint, "__name__", repr(constraint))
    try:
        answer: NDArray[Any] = np.asarray(constraint(frame))
    except Exception as error:
        raise DomainError(f"constraint {name} raised {type(error).__name__}: {error}") from error
    if answer.shape != (len(frame),) or answer.dtype != bool:
        raise DomainError(
            f"constraint {name} must return one truth value a row, got the shape {answer.shape} of {answer.dtype} "
            f"for {len(frame)} rows"
        )
    return answer


def sample(domain: Domain, n: int, rng: np.random.Generator) -> Codes:
    """`n` allowed inputs drawn uniformly, by rejection."""
    kept: list[Codes] = []
    n_kept = n_drawn = 0
    while n_kept < n:
        if not n_kept and n_drawn >= domain.size and domain.n_families == 0:
            raise DomainError(f"the constraints must allow an input, got none of {domain.size:,}: loosen them")
        if n_drawn >= PATIENCE and n_kept < THINNEST * n_drawn:
            raise DomainError(
                f"the constraints must allow 1 in {round(1 / THINNEST):,} inputs at least, "
                f"got {n_kept:,} allowed of {n_drawn:,} drawn: loosen them or narrow the parameters"
            )
        candidates = radix.sample(max(n, 1024), domain.levels, rng)
        kept.append(candidates[domain.allows(candidates)])
        n_kept += len(kept[-1])
        n_drawn += len(candidates)
    return np.concatenate(kept)[:n] if kept else np.empty((0, len(domain.levels)), dtype=np.int64)
