"""Distinctness: inputs that differ only in sensitive parameters are one. Counted exactly, in domains of any size.

An input's key is its mixed-radix number over the free parameters, in as many 63-bit words as that takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain import radix
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes

if TYPE_CHECKING:
    import pandas as pd

Words = NDArray[np.int64]
"""Keys: one row an input, one column a word."""

HALF_WORD = 2**31
"""Two numbers below it fit one word: enough for the ids of anything that fits in memory."""

SMALL = 50_000
"""Up to that many keys an index is not worth its while."""

COVERABLE = 4_000_000
"""Up to that many families it is watched whether all were judged."""


class Keys:
    """Gives inputs of a domain their keys."""

    def __init__(self, domain: Domain) -> None:
        groups = radix.words(domain.free_columns, domain.levels)
        self.n_words = len(groups)
        self._radix = np.zeros((len(domain.levels), len(groups)), dtype=np.int64)
        for word, columns in enumerate(groups):
            place = 1
            for column in reversed(columns):
                self._radix[column, word] = place
                place *= int(domain.levels[column])

    def of(self, codes: Codes) -> Words:
        """The keys of a batch of inputs."""
        return codes @ self._radix


def first_seen(words: Words) -> NDArray[np.bool_]:
    """Which keys are the first of their kind in the batch."""
    import pandas as pd

    ids = words[:, 0]
    for word in range(1, words.shape[1]):
        ids = pd.factorize(ids)[0] * HALF_WORD + pd.factorize(words[:, word])[0]
    return ~pd.Series(ids).duplicated().to_numpy()


class Distinct:
    """A growing set of keys. A copy costs nothing: what is held is never changed in place.

    Most keys of one word stand in an index, whose hash table is built once; what came since is compared key by key.
    """

    def __init__(self, n_words: int) -> None:
        self._index: pd.Index | None = None
        self._recent: Words = np.empty((0, n_words), dtype=np.int64)

    def copy(self) -> Distinct:
        """An independent set with the same keys."""
        twin = Distinct(0)
        twin._index, twin._recent = self._index, self._recent
        return twin

    def __len__(self) -> int:
        return len(self._recent) + (0 if self._index is None else len(self._index))

    def add(self, words: Words) -> NDArray[np.bool_]:
        """Add a batch of keys; says which are new, the first of its kind where one comes more than once."""
        new = first_seen(np.concatenate([self._recent, words]))[len(self._recent) :]
        if self._index is not None:
            new[new] = self._index.get_indexer(words[new, 0]) < 0
        self._recent = np.concatenate([self._recent, words[new]])
        if words.shape[1] == 1 and len(self._recent) > max(SMALL, len(self) // 4):
            self._rebuild()
        return new

    def _rebuild(self) -> None:
        import pandas as pd

        recent = pd.Index(self._recent[:, 0])
        self._index = recent if self._index is None else self._index.append(recent)
        self._recent = self._recent[:0]


class Coverage:
    """Which families of a small domain were judged."""

    def __init__(self, domain: Domain) -> None:
        self._seen = np.zeros(math.prod(int(domain.levels[c]) for c in domain.free_columns), dtype=bool)
        self.left = domain.n_families or 0

    @classmethod
    def of(cls, domain: Domain) -> Coverage | None:
        """A coverage to watch, or None where the domain is too large for that."""
        n = domain.n_families
        key_space = math.prod(int(domain.levels[c]) for c in domain.free_columns)
        return cls(domain) if n is not None and key_space <= COVERABLE else None

    def copy(self) -> Coverage:
        """An independent coverage with the same families judged."""
        twin = object.__new__(Coverage)
        twin._seen, twin.left = self._seen.copy(), self.left
        return twin

    def add(self, words: Words) -> NDArray[np.int64]:
        """Mark a batch of keys; gives the positions of those that are new, the first of its kind."""
        new = np.flatnonzero(~self._seen[words[:, 0]])
        new = new[first_seen(words[new])]
        self._seen[words[new, 0]] = True
        self.left -= len(new)
        return new
