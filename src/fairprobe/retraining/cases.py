"""The pool of cases: those given by the caller, and more that are searched for when a round needs them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, HealthWarning
from fairprobe.frames import as_pandas, is_array
from fairprobe.retraining.labels import Labeller, Votes
from fairprobe.searching import Found
from fairprobe.searching.settings import StopReason
from fairprobe.store import Keys, first_seen

Hunt = Callable[[int, float | None], Found]
"""Searches for a number of cases within some seconds, each time with another seed."""


@dataclass
class CasePool:
    """A pool of distinct cases with the votes for their labels. It grows when a round needs more."""

    labeller: Labeller
    domain: Domain
    codes: Codes
    """The cases so far."""
    hunt: Hunt | None = None
    seconds: float = math.inf
    """Seconds left for all searches."""
    may_take: Callable[[], float] = lambda: math.inf
    """Gives the seconds that the next search may take at most."""
    votes: list[Votes] = field(default_factory=list)

    def has_cases(self, n: int) -> bool:
        """True if there is a case, after a search for `n` of them."""
        self._grow(n)
        return len(self.codes) > 0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Codes, Votes]:
        """`n` cases at random, or fewer if there are no more, and the votes for the labels of their members."""
        if not self.has_cases(n):
            return self.codes, np.zeros((1, 0, 1))
        known = sum(votes.shape[1] for votes in self.votes)
        if known < len(self.codes):
            self.votes.append(self.labeller(self.codes[known:]))
        places = rng.permutation(len(self.codes))[:n]
        return self.codes[places], np.concatenate(self.votes, axis=1)[:, places]

    def _grow(self, n: int) -> None:
        """Search until there are `n` cases, all cases are found, or the time for searches is used up."""
        while self.hunt is not None and len(self.codes) < n:
            seconds, clock = min(self.seconds, self.may_take()), Clock()
            if seconds <= 0:
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HealthWarning)  # the result says if no case is found
                # Of n cases, at least as many as are missing are new.
                found = self.hunt(n, None if seconds == math.inf else seconds)
            if found.stop_reason == StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # it ends the whole retraining, and not only this search
            self.seconds -= clock.seconds
            if found.stop_reason != StopReason.MAX_CASES:
                self.hunt = None  # it found all cases, or all that there was time for
            self.codes = distinct(self.domain, np.concatenate([self.codes, self.domain.encode(found.cases)]))[:n]


def checked_cases(domain: Domain, cases: Any) -> Codes:
    """Cases given by the caller, as codes."""
    frame = domain.as_frame(cases.cases if isinstance(cases, Found) else cases)
    if not len(frame):
        rule = "must hold one case at least, got none: leave them out to have them searched for"
        raise DataError.about("cases", rule)
    codes = domain.encode(frame)
    outside = np.flatnonzero(~domain.contains(codes))
    if len(outside):
        first = int(outside[0])
        name = domain.names[int(np.argmin(codes[first]))]
        where = f"{name}={frame.iloc[first][name]}" if codes[first].min() < 0 else "a constraint"
        got = f"got {len(outside):,} of {len(codes):,} outside, the first in row {first:,} by {where}"
        raise DataError.about("cases", f"must lie in the domain, {got}")
    return codes


def distinct(domain: Domain, codes: Codes) -> Codes:
    """The first member of each family."""
    return codes[first_seen(Keys(domain).of(codes))]


def given_labels(domain: Domain, cases: Any, codes: Codes, y: Any) -> dict[tuple[int, ...], Any]:
    """The label of each family, by the codes of its free columns; their column is named as y, or "label"."""
    names = [name for name in (getattr(y, "name", None), "label") if name is not None]
    table: Any = {} if is_array(cases) else as_pandas(cases)
    column = next((name for name in names if name in table), None)
    if column is None:
        raise DataError(f"labels='given' needs cases with a column {' or '.join(map(repr, names))}, got none")
    labels: dict[tuple[int, ...], Any] = {}
    families = map(tuple, codes[:, list(domain.free_columns)].tolist())
    for row, (family, label) in enumerate(zip(families, np.asarray(table[column]).tolist(), strict=True)):
        if labels.setdefault(family, label) != label:
            raise DataError(
                f"labels='given' must name one label for a family, as cases that are equal in all but "
                f"{', '.join(domain.sensitive)}; got {label!r} in row {row:,} and {labels[family]!r} in another row"
            )
    return labels
