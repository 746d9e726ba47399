"""The pool of cases: those given by the caller, and more that are searched for when a round needs them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, HealthWarning
from fairprobe.frames import as_pandas, is_array
from fairprobe.retraining.labels import Labeller, Votes
from fairprobe.searching import Found, search
from fairprobe.searching.settings import StopReason
from fairprobe.store import Keys, first_seen


class CasePool:
    """A pool of distinct cases with the votes for their labels. It grows when a round needs more."""

    def __init__(self, labeller: Labeller, given: Codes, hunt: CaseHunt | None) -> None:
        self.labeller = labeller
        self.codes = given
        """The cases so far."""
        self._hunt = hunt
        self._votes: list[Votes] = []

    def has_cases(self, n: int) -> bool:
        """Whether there is a case, after looking for `n` of them."""
        return len(self._grown(n)) > 0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Codes, Votes]:
        """`n` cases at random, or fewer if there are no more, and the votes for the labels of their members."""
        codes = self._grown(n)
        if not n or not len(codes):
            return codes[:0], np.zeros((1, 0, 1))
        known = sum(votes.shape[1] for votes in self._votes)
        if known < len(codes):
            self._votes.append(self.labeller(codes[known:]))
        places = rng.permutation(len(codes))[:n]
        return codes[places], np.concatenate(self._votes, axis=1)[:, places]

    def _grown(self, n: int) -> Codes:
        if self._hunt is not None:
            self.codes = self._hunt.more(self.codes, n)
        return self.codes


@dataclass
class CaseHunt:
    """Searches a model for cases, each time with another seed, until its time is used up."""

    model: Any
    domain: Domain
    seeds: np.random.SeedSequence
    seconds: float
    """Seconds left for all searches; infinite for no limit."""
    settings: dict[str, Any]
    """Arguments of `search`."""
    may_take: Callable[[], float] = lambda: math.inf
    """Gives the seconds that the next search may take at most."""

    def more(self, codes: Codes, n: int) -> Codes:
        """Add new cases to these, up to `n` in all."""
        while len(codes) < n:
            seconds = min(self.seconds, self.may_take())
            if seconds <= 0:
                break
            clock = Clock()
            seed = int(self.seeds.spawn(1)[0].generate_state(1)[0])
            limit = None if seconds == math.inf else seconds
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HealthWarning)  # the result says if no case is found
                # Of n cases, at least as many as are missing are new.
                found = search(self.model, self.domain, max_cases=n, max_seconds=limit, seed=seed, **self.settings)
            if found.stop_reason == StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # it ends the whole retraining, and not only this search
            # A search that ended for another reason found all cases, or all that there was time for.
            is_full = found.stop_reason == StopReason.MAX_CASES
            self.seconds = self.seconds - clock.seconds if is_full else 0.0
            codes = distinct(self.domain, np.concatenate([codes, self.domain.encode(found.cases)]))[:n]
        return codes


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


def given_labels(domain: Domain, cases: Any, codes: Codes, y: Any) -> NDArray[Any]:
    """The labels in the cases' column that is named as y, or "label". A family must have one label."""
    names = [name for name in (getattr(y, "name", None), "label") if name is not None]
    table = None if is_array(cases) else as_pandas(cases)
    column = next((name for name in names if table is not None and name in table.columns), None)
    if table is None or column is None:
        raise DataError(f"labels='given' needs cases with a column {' or '.join(map(repr, names))}, got none")
    labels = np.asarray(table[column])
    families: dict[tuple[int, ...], dict[Any, int]] = {}
    keys = map(tuple, Keys(domain).of(codes).tolist())
    for place, (key, label) in enumerate(zip(keys, labels.tolist(), strict=True)):
        families.setdefault(key, {}).setdefault(label, place)
    several = [own for own in families.values() if len(own) > 1]
    if several:
        (first, row), (second, other) = list(several[0].items())[:2]
        raise DataError(
            f"labels='given' must name one label for a family: cases that are equal in all but "
            f"{', '.join(domain.sensitive)}; got several for {len(several):,} of {len(families):,} families, as "
            f"{first!r} in row {row:,} and {second!r} in row {other:,}: keep one row of such a family, or give all of "
            "its rows one label"
        )
    return labels
