"""Counts of the discriminatory inputs among the judged ones, of the outcomes in their families, and their record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable, compared
from fairprobe.domain.values import plain
from fairprobe.estimation.favourable import in_order
from fairprobe.estimation.populations import JudgedFamilies
from fairprobe.oracle import Oracle

if TYPE_CHECKING:
    import pandas as pd


class Count:
    """Running count of the discriminatory inputs (hits), where twins differ in one set of sensitive parameters only."""

    def __init__(self, oracle: Oracle, sensitive: tuple[str, ...], n_samples: int) -> None:
        self.sensitive = sensitive
        self._oracle = oracle
        self._changed = [name in sensitive for name in oracle.domain.sensitive]
        self._n_samples = n_samples
        self.by_outcome: Counter[tuple[int, Any]] = Counter()
        """Number of hits in whose family a combination of the changed parameters gets an outcome; the key is the pair
        of the combination's position and the outcome."""
        self.n = 0
        """Number of counted inputs that are comparable: two or more members of the family are compared and allowed."""
        self.n_not_comparable = 0
        self.hits = 0
        self.counted: list[Mask] = []
        self.are_hits: list[Mask] = []
        """Boolean masks over the rows of each batch of real rows: `counted` is True for the comparable ones, `are_hits`
        for the discriminatory ones among them."""
        self.bits: list[tuple[Any, int]] = []
        """For each batch, a bit for each comparable input (1 if it is a hit), and the number of bits; see `Record`."""

    def add(self, batch: JudgedFamilies) -> Mask:
        """Count a judged batch, and return a mask over its comparable inputs alone: True for hits."""
        present = self.compared(batch)
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
        self.n += len(hits)
        self.hits += int(hits.sum())
        return hits

    def compared(self, batch: JudgedFamilies) -> Mask | None:
        """Return a mask by member, then input: True for those present that equal the input in the unchanged parameters.

        None if all members of all families are compared.
        """
        if batch.rows is None and all(self._changed):
            return batch.present  # all of them: the usual case, without a comparison
        mask = compared(batch.members, batch.own, self._changed)
        return mask if batch.present is None else mask & batch.present

    def _note_outcomes(self, batch: JudgedFamilies, present: Mask | None, rows: Codes) -> None:
        """Add the outcomes in the families of the hits (positions `rows` in the batch) to `by_outcome`."""
        outputs, changed = batch.outputs[:, rows], batch.members[:, self._changed]
        exists = np.ones(outputs.shape[:2], dtype=bool) if present is None else present[:, rows]
        listed = np.flatnonzero((changed >= 0).all(axis=1))
        levels = [self._oracle.domain[name].levels for name in self.sensitive]
        places = np.ravel_multi_index(tuple(changed[listed].T), levels)
        for name, where in self._oracle.outcomes(outputs, exists).items():
            for place, count in zip(places.tolist(), where[listed].sum(axis=1).tolist(), strict=True):
                self.by_outcome[place, name] += count

    @property
    def value(self) -> float:
        """The share: hits divided by comparable inputs; NaN if no input could be compared."""
        return self.hits / self.n if self.n else math.nan

    @property
    def rates(self) -> Floats:
        """Return the fraction of hits in each complete experiment, a run of `n_samples` comparable inputs."""
        n = self._n_samples
        hits = Record(tuple(self.bits)).hits
        return np.asarray(hits[: len(hits) // n * n].reshape(-1, n).sum(axis=1) / n)

    def outcomes(self) -> pd.DataFrame | None:
        """Return a table of the hits: rows are combinations of sensitive values, columns outcomes; None without hits.

        An entry is the number of hits in whose family the combination gets the outcome.
        """
        import pandas as pd

        if not self.hits:
            return None
        domain = self._oracle.domain.with_sensitive(self.sensitive)
        names = in_order(name for _, name in self.by_outcome)
        words = [combination_words(domain, place) for place in range(len(domain.combinations))]
        table = [[self.by_outcome[place, name] for name in names] for place in range(len(words))]
        return pd.DataFrame(table, pd.Index(words, name="sensitive"), pd.Index(names, name="outcome"))


def combination_words(domain: Domain, position: int) -> str:
    """Return a combination of sensitive values, given by its position, in words such as "sex=Male, race=White"."""
    codes = zip(domain.sensitive, domain.combinations[position], strict=True)
    return ", ".join(f"{name}={domain[name].decode(np.array([code]))[0]}" for name, code in codes)


# The record that a share was counted from: with it anybody can count again, without the model and without this library


@dataclass(frozen=True)
class RowAnswers:
    """Comparable rows of a population, in order, with the model's output for every member of their families."""

    index: pd.Index
    places: Codes
    """Position of each row in the given frame, from 0 on, because an index may repeat labels."""
    members: tuple[str, ...]
    """Combination of sensitive values of each member, in words."""
    outputs: NDArray[Any]
    """Outputs of the model by member, then row (then class)."""
    present: Mask
    """Boolean mask of the compared members, by member, then row. Outputs of other members have no meaning."""
    second: NDArray[Any] | None = None
    """Outputs of the second query, by member, then row; None if no hit was asked about again. A hit must be one each
    time."""

    def of_row(self, place: int, outputs: NDArray[Any] | None = None) -> list[Any]:
        """Return the outputs for the row at position `place` as a list by member; None for a member not compared.

        Probabilities are a tuple. `outputs` replaces the first outputs, for example by `second`.
        """
        said = (self.outputs if outputs is None else outputs)[:, place]
        values = [tuple(output.tolist()) if said.ndim > 1 else plain(output) for output in said]
        return [value if exists else None for value, exists in zip(values, self.present[:, place], strict=True)]

    @property
    def told_otherwise(self) -> list[int]:
        """Return the positions here of the rows with an output that differed in the second query, even by rounding."""
        if self.second is None:
            return []
        other = np.asarray(self.second != self.outputs).reshape(*self.present.shape, -1).any(axis=2)
        return np.flatnonzero((other & self.present).any(axis=0)).tolist()

    @classmethod
    def joined(cls, parts: Sequence[RowAnswers]) -> RowAnswers:
        """Return the rows of several batches as one record, in order."""
        index = parts[0].index
        seconds = [part.outputs if part.second is None else part.second for part in parts]
        return cls(
            index.append([part.index for part in parts[1:]]) if len(parts) > 1 else index,
            np.concatenate([part.places for part in parts]),
            parts[0].members,
            np.concatenate([part.outputs for part in parts], axis=1),
            np.concatenate([part.present for part in parts], axis=1),
            None if all(part.second is None for part in parts) else np.concatenate(seconds, axis=1),
        )


@dataclass(frozen=True)
class Record:
    """Record of the judged inputs from which a share was counted: a bit for each, and the answers about real rows."""

    parts: tuple[tuple[NDArray[np.uint8], int], ...]
    """For each batch, a bit for each comparable input in order (1 if it is a hit), and the number of these inputs."""
    rows: RowAnswers | None = None
    """Answers about real rows; None for drawn inputs, and for a share in which only some sensitive parameters
    change."""

    @property
    def hits(self) -> Mask:
        """Boolean mask over the comparable inputs, in the order of judging: True for discriminatory ones."""
        masks = [np.unpackbits(bits, count=n).astype(bool) for bits, n in self.parts]
        return np.concatenate(masks) if masks else np.zeros(0, dtype=bool)
