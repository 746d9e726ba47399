"""Cases on demand: those given, or searched for as they are needed, with their labels."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, HealthWarning
from fairprobe.frames import as_pandas, is_array
from fairprobe.retraining.labels import Labeller, Votes
from fairprobe.searching import Found, search
from fairprobe.searching.settings import StopReason
from fairprobe.store import Keys, first_seen


class Supply:
    """A pool of distinct cases that grows when a round needs more, within limits."""

    def __init__(self, labeller: Labeller, given: Codes, hunt: Hunt | None) -> None:
        self._labeller = labeller
        self._hunt = hunt
        self.codes = given
        """The cases at hand."""
        self._votes: list[Votes] = []

    def has_cases(self, n: int) -> bool:
        """Whether there is one at least, after looking for so many."""
        return len(self._grown(n)) > 0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Codes, Votes]:
        """So many cases at random, fewer if there are no more, and what speaks for each label of their members."""
        codes = self._grown(n)
        if not n or not len(codes):
            return codes[:0], np.zeros((1, 0, 1))
        known = sum(votes.shape[1] for votes in self._votes)
        if known < len(codes):
            self._votes.append(self._labeller(codes[known:]))
        places = rng.permutation(len(codes))[:n]
        return codes[places], np.concatenate(self._votes, axis=1)[:, places]

    def _grown(self, n: int) -> Codes:
        if self._hunt is not None:
            self.codes = self._hunt.more(self.codes, n)
        return self.codes


@dataclass
class Hunt:
    """Searches a model for cases, again and again with other seeds, until the time for it is used up."""

    model: Any
    domain: Domain
    seeds: np.random.SeedSequence
    left: float
    """Seconds for searching, in all; infinite for no limit."""
    settings: dict[str, Any]
    """Of `search`."""
    may_take: Callable[[], float] = lambda: math.inf
    """How long a search may take now, whatever is left in all."""

    def more(self, codes: Codes, n: int) -> Codes:
        """These cases and as many new ones as make n, or fewer."""
        while len(codes) < n:
            seconds = min(self.left, self.may_take())
            if seconds <= 0:
                break
            begun = time.monotonic()
            seed = int(self.seeds.spawn(1)[0].generate_state(1)[0])
            limit = None if seconds == math.inf else seconds
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HealthWarning)  # that nothing is found is said by the result
                # Of n cases, at least as many as are missing are new.
                found = search(self.model, self.domain, max_cases=n, max_seconds=limit, seed=seed, **self.settings)
            if found.stop_reason == StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # a search keeps what it found, but it is all of this that is to end
            # A search that ended for another reason has found all that it can, or all that there was time for.
            is_full = found.stop_reason == StopReason.MAX_CASES
            self.left = self.left - (time.monotonic() - begun) if is_full else 0.0
            codes = distinct(self.domain, np.concatenate([codes, self.domain.encode(found.cases)]))[:n]
        return codes


def checked_cases(domain: Domain, cases: Any) -> Codes:
    """Cases given by the caller, as codes."""
    frame = domain.as_frame(cases.cases if isinstance(cases, Found) else cases)
    if not len(frame):
        raise DataError.about(
            "cases", "must hold one case at least, got none: leave them out to have them searched for"
        )
    codes = domain.encode(frame)
    outside = np.flatnonzero(~domain.contains(codes))
    if len(outside):
        row = frame.iloc[int(outside[0])]
        column = int(np.argmin(codes[outside[0]]))
        where = (
            f"{domain.names[column]}={row[domain.names[column]]}" if codes[outside[0], column] < 0 else "a constraint"
        )
        raise DataError.about(
            "cases",
            f"must lie in the domain, got {len(outside):,} of {len(codes):,} outside, the first in row "
            f"{int(outside[0]):,} by {where}",
        )
    return codes


def distinct(domain: Domain, codes: Codes) -> Codes:
    """One member of each family, the first."""
    return codes[first_seen(Keys(domain).of(codes))]


def given_labels(domain: Domain, cases: Any, codes: Codes, y: Any) -> NDArray[Any]:
    """The labels that stand beside the cases, in a column named as y or "label"; one for a family, which goes in so."""
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
