"""Counts: how many of the judged inputs are discriminatory, and who among their twins gets what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.estimation.favourable import in_order
from fairprobe.estimation.populations import JudgedFamilies
from fairprobe.oracle import Oracle

if TYPE_CHECKING:
    import pandas as pd


class Count:
    """The hits among the families added, when only some of the sensitive parameters may change."""

    def __init__(self, oracle: Oracle, sensitive: tuple[str, ...], n_samples: int) -> None:
        self.sensitive = sensitive
        self._oracle = oracle
        self._held = [i for i, name in enumerate(oracle.domain.sensitive) if name not in sensitive]
        self._changed = [i for i, name in enumerate(oracle.domain.sensitive) if name in sensitive]
        self._n_samples = n_samples
        self._hits_by_experiment: list[int] = []
        """Hits from the start to the end of each whole experiment."""
        self._outcomes: Counter[tuple[int, Any]] = Counter()
        self.n = 0
        """Inputs that are comparable."""
        self.n_not_comparable = 0
        self.hits = 0
        self.counted: list[Mask] = []
        self.are_hits: list[Mask] = []
        """Boolean masks over the rows of each batch of real rows: the comparable ones, and the hits."""
        self.bits: list[tuple[Any, int]] = []
        """For each batch, the bits of the hits among the comparable inputs, and the number of these; see `Record`."""

    def add(self, batch: JudgedFamilies) -> Mask:
        """Count a batch; gives a mask of the hits among its comparable inputs."""
        present = self.members(batch)
        hits = self._oracle.are_discriminatory(batch.outputs, present)
        if batch.second is not None:
            hits &= self._oracle.are_discriminatory(batch.second, present)  # a case is one each time
        counted = comparable(present, len(batch.own), batch.kinds)
        of_population = np.ones(len(counted), dtype=bool) if batch.counted is None else batch.counted
        self.n_not_comparable += int((of_population & ~counted).sum())
        counted &= of_population
        rows = np.flatnonzero(hits & counted)
        if len(rows):
            self._note_outcomes(batch, present, rows)
        if batch.rows is not None:
            self.counted.append(counted)
            self.are_hits.append(hits & counted)

        hits = hits[counted]
        self.bits.append((np.packbits(hits), len(hits)))
        # Experiments are of `n_samples` comparable inputs each, wherever batches begin and end.
        ends = np.arange(self._n_samples - self.n % self._n_samples, len(hits) + 1, self._n_samples)
        hits_so_far = self.hits + np.concatenate([[0], np.cumsum(hits)])
        self._hits_by_experiment += hits_so_far[ends].tolist()
        self.n += len(hits)
        self.hits = int(hits_so_far[-1])
        return hits

    def members(self, batch: JudgedFamilies) -> Mask | None:
        """Mask of the members that are compared: they agree with the input in the sensitive parameters that are held.

        In the others, members have a value that is compared; the input itself need not have one.
        """
        if not self._held and batch.members is None:
            return batch.present  # all of them: the usual case, without a comparison
        members = self._oracle.families.combinations if batch.members is None else batch.members
        same = np.asarray(members[:, None] == batch.own[None])
        listed = np.asarray((members[:, self._changed] >= 0).all(axis=1))[:, None]
        compared = same[:, :, self._held].all(axis=2) & listed
        return compared if batch.present is None else compared & batch.present

    def _note_outcomes(self, batch: JudgedFamilies, present: Mask | None, rows: Codes) -> None:
        """Count the outcomes of each combination of the parameters that change, over the hits."""
        members = self._oracle.families.combinations if batch.members is None else batch.members
        outputs = batch.outputs[:, rows]
        exists = np.ones(outputs.shape[:2], dtype=bool) if present is None else present[:, rows]
        listed = np.flatnonzero((members[:, self._changed] >= 0).all(axis=1))
        levels = [self._oracle.domain[name].levels for name in self.sensitive]
        places = np.ravel_multi_index(tuple(members[listed][:, self._changed].T), levels)
        for name, where in self._oracle.outcomes(outputs, exists).items():
            for place, count in zip(places.tolist(), where[listed].sum(axis=1).tolist(), strict=True):
                self._outcomes[place, name] += count

    @property
    def value(self) -> float:
        """The share; NaN if nothing could be compared."""
        return self.hits / self.n if self.n else math.nan

    @property
    def rates(self) -> Floats:
        """The fraction of hits in each whole experiment."""
        return np.diff(self._hits_by_experiment, prepend=0) / self._n_samples

    def outcomes(self) -> pd.DataFrame | None:
        """Table of the hits: a row for each combination, a column for each outcome; None without hits."""
        return outcome_table(self._oracle.domain.with_sensitive(self.sensitive), self._outcomes) if self.hits else None


def outcome_table(domain: Domain, counts: Mapping[tuple[int, Any], int]) -> pd.DataFrame:
    """Table of outcomes: a row for each combination, a column for each outcome, from counts by position and outcome."""
    import pandas as pd

    names = in_order(name for _, name in counts)
    positions = range(len(domain.combinations))
    table = [[counts.get((position, name), 0) for name in names] for position in positions]
    index = pd.Index([combination_words(domain, position) for position in positions], name="sensitive")
    return pd.DataFrame(table, index=index, columns=pd.Index(names, name="outcome"))


def combination_words(domain: Domain, position: int) -> str:
    """A combination of sensitive values in words."""
    codes = zip(domain.sensitive, domain.combinations[position], strict=True)
    return ", ".join(f"{name}={domain[name].decode(np.array([code]))[0]}" for name, code in codes)
