"""Counting: how many inputs of a population are discriminatory, and who among the twins gets what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.errors import SettingError
from fairprobe.estimate.populations import Judged
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
        self._per_experiment: list[int] = []
        self._in_experiment = 0
        self._outcomes: Counter[tuple[tuple[int, ...], Any]] = Counter()
        self.n = 0
        """Inputs that are comparable."""
        self.n_not_comparable = 0
        self.hits = 0

    def add(self, batch: Judged) -> Mask:
        """Count a batch; says which of the inputs that are comparable are hits."""
        present = self._members(batch)
        hits = self._oracle.are_discriminatory(batch.outputs, present)
        if batch.second is not None:
            hits &= self._oracle.are_discriminatory(batch.second, present)  # a case is one each time
        counted = comparable(present, len(batch.own), batch.kinds)
        if batch.counted is not None:
            self.n_not_comparable += int((batch.counted & ~counted).sum())
            counted &= batch.counted
        else:
            self.n_not_comparable += int((~counted).sum())
        rows = np.flatnonzero(hits & counted)
        if len(rows):
            self._note_outcomes(batch, present, rows)
        self._count(hits[counted])
        return hits[counted]

    def _members(self, batch: Judged) -> Mask | None:
        """Which members are compared: those that agree with the input in the sensitive parameters that are held.

        In the others they have a value that is compared; of the input itself, that need not be so.
        """
        if not self._held and batch.members is None:
            return batch.present
        members = self._oracle.families.combinations if batch.members is None else batch.members
        same = np.asarray(members[:, None] == batch.own[None])
        listed = np.asarray((members[:, self._changed] >= 0).all(axis=1))[:, None]
        compared = same[:, :, self._held].all(axis=2) & listed
        return compared if batch.present is None else compared & batch.present

    def _count(self, hits: Mask) -> None:
        """Whole experiments are closed as they fill up."""
        ends = np.arange(self._n_samples - self.n % self._n_samples, len(hits) + 1, self._n_samples)
        seen = np.concatenate([[0], np.cumsum(hits)])
        before = np.concatenate([[-self._in_experiment], seen[ends]])
        self._per_experiment += np.diff(before).tolist()
        self._in_experiment = int(seen[-1] - before[-1])
        self.n += len(hits)
        self.hits += int(seen[-1])

    def _note_outcomes(self, batch: Judged, present: Mask | None, rows: Codes) -> None:
        """What each combination of what changes gets, over the hits."""
        members = self._oracle.families.combinations if batch.members is None else batch.members
        outputs = batch.outputs[:, rows]
        exists = np.ones(outputs.shape[:2], dtype=bool) if present is None else present[:, rows]
        for name, where in self._oracle.outcomes(outputs, exists).items():
            for codes, count in zip(members[:, self._changed].tolist(), where.sum(axis=1).tolist(), strict=True):
                if min(codes) >= 0:
                    self._outcomes[tuple(codes), name] += count

    @property
    def rates(self) -> Floats:
        """The fraction of hits in each whole experiment."""
        return np.array(self._per_experiment, dtype=np.float64) / self._n_samples

    def outcomes(self) -> pd.DataFrame | None:
        """A row a combination, a column an outcome; None without hits."""
        if not self.hits:
            return None
        alone = self._oracle.domain.with_sensitive(self.sensitive)
        place = {tuple(codes): position for position, codes in enumerate(alone.combinations.tolist())}
        return outcome_table(alone, Counter({(place[codes], name): n for (codes, name), n in self._outcomes.items()}))


def outcome_table(domain: Domain, counts: Counter[tuple[int, Any]]) -> pd.DataFrame:
    """How often each combination gets each outcome."""
    import pandas as pd

    names = sorted({name for _, name in counts}, key=lambda name: (str(type(name)), name))
    table = [[counts[position, name] for name in names] for position in range(len(domain.combinations))]
    index = pd.Index([combination_words(domain, position) for position in range(len(table))], name="sensitive")
    return pd.DataFrame(table, index=index, columns=pd.Index(names, name="outcome"))


def combination_words(domain: Domain, position: int) -> str:
    """A combination of sensitive values in words."""
    codes = domain.combinations[position]
    values = [domain[name].decode(np.array([code]))[0] for name, code in zip(domain.sensitive, codes, strict=True)]
    return ", ".join(f"{name}={value}" for name, value in zip(domain.sensitive, values, strict=True))


def worse_off(outcomes: pd.DataFrame | None, favourable: Any) -> str | None:
    """The combination with the lowest rate of the favourable outcome; None if none was named or two are level."""
    if favourable is None or outcomes is None:
        return None
    if favourable not in outcomes.columns:
        seen = ", ".join(map(repr, outcomes.columns))
        raise SettingError.about("favourable", f"must be an outcome that was seen, one of {seen}; got {favourable!r}")
    asked = outcomes[outcomes.sum(axis=1) > 0]
    rates = (asked[favourable] / asked.sum(axis=1)).sort_values()
    return None if len(rates) < 2 or rates.iloc[0] == rates.iloc[1] else str(rates.index[0])
