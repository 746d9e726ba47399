"""Sets of distinct inputs, for domains of any size. Inputs of one family (an input and its twins) count once.

The key of an input identifies its family: the coordinates that the family shares, packed into integers of 63 bits by
mixed radix.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairprobe.arrays import Codes, Mask, words
from fairprobe.domain.domain import Domain

if TYPE_CHECKING:
    import pandas as pd

Words = Codes
"""Keys of inputs: an integer array with one row per input and one column per word (integer of 63 bits)."""

FEW = 2_000
"""Largest number of keys in which duplicates are found by sorting; with more, by a hash table. Measured: whichever is
quicker."""

SMALL = 10_000
"""Largest number of recently added keys that are kept without a hash table. Measured: building one would take
longer."""

FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Factors of the hash of keys. Taken from splitmix64: multiplication by them spreads the low bits to the high bits."""

COVERABLE = 4_000_000
"""Largest number of families in a domain for which a search notices that all were judged. Chosen: each takes a byte."""


class Keys:
    """Computes the keys of inputs of a domain; equal keys mean the same family."""

    def __init__(self, domain: Domain) -> None:
        self._families = domain.families
        levels = domain.families.key_levels
        groups = words(domain.free_columns, levels)
        self.n_words = len(groups)
        self._radix = np.zeros((len(levels), len(groups)), dtype=np.int64)
        for word, columns in enumerate(groups):
            place = 1
            for column in reversed(columns):
                self._radix[column, word] = place
                place *= int(levels[column])

    def of(self, codes: Codes) -> Words:
        """Return the keys of a batch of inputs, one row per input."""
        return self._families.canonical(codes) @ self._radix


def mixed(words: Words) -> Codes:
    """Return one integer for each key: its only word, or a hash of its words. Different keys may have equal hashes."""
    mix = words[:, 0].astype(np.uint64)
    for word in range(1, words.shape[1]):
        for factor in FACTORS:
            mix ^= mix >> np.uint64(29)
            mix *= np.uint64(factor)
        mix += words[:, word].astype(np.uint64)
    return mix.view(np.int64)


def first_seen(words: Words) -> Mask:
    """Return a mask of keys: True where a key occurs for the first time in the array."""
    if len(words) <= FEW and words.shape[1] == 1:
        first: Mask = np.zeros(len(words), dtype=bool)
        first[np.unique(words[:, 0], return_index=True)[1]] = True
        return first
    import pandas as pd

    mixes = pd.Series(mixed(words))
    first = ~mixes.duplicated().to_numpy()
    if words.shape[1] > 1 and not first.all():
        rows = np.flatnonzero(mixes.isin(mixes[~first]))  # keys can only be equal where their mixes are
        first[rows] = ~pd.DataFrame(words[rows]).duplicated().to_numpy()
    return first


class Distinct:
    """A growing set of keys (see `Keys`). Copies cost nothing, because stored arrays are never changed in place.

    Most keys are in blocks. The hash table of a block is built once, and each block is less than half as large as the
    previous one. The recent keys are compared one by one. A hash only locates a key; the stored key is compared too.
    """

    def __init__(self, n_words: int) -> None:
        self._blocks: tuple[tuple[pd.Index, Words], ...] = ()
        self._recent: Words = np.empty((0, n_words), dtype=np.int64)

    def copy(self) -> Distinct:
        """Return an independent copy of this set of keys."""
        return copy(self)

    def __len__(self) -> int:
        return len(self._recent) + sum(len(held) for _, held in self._blocks)

    def add(self, words: Words) -> Mask:
        """Add an array of keys to the set, and return a mask of the keys that were not in it.

        Of equal keys in the array, only the first counts as new.
        """
        new = first_seen(np.concatenate([self._recent, words]))[len(self._recent) :]
        for index, held in self._blocks:
            places = index.get_indexer(mixed(words[new]))
            met = np.flatnonzero(places >= 0)
            met = met[(held[places[met]] == words[new][met]).all(axis=1)]
            new[np.flatnonzero(new)[met]] = False
        self._recent = np.concatenate([self._recent, words[new]])
        if len(self._recent) > SMALL:
            self._take_in()
        return new

    def _take_in(self) -> None:
        """Move the recent keys into a block with a hash table, and merge blocks of similar size.

        Keys whose hash collides with another key's stay among the recent ones.
        """
        import pandas as pd

        mixes, blocks = mixed(self._recent), list(self._blocks)
        is_first = first_seen(mixes[:, None])
        last = pd.Index(mixes[is_first]), self._recent[is_first]
        while blocks and len(blocks[-1][1]) <= 2 * len(last[1]):
            joined = blocks[-1][0].append(last[0])
            if not joined.is_unique:
                break
            last = joined, np.concatenate([blocks.pop()[1], last[1]])
        self._blocks, self._recent = (*blocks, last), self._recent[~is_first]


@dataclass
class Coverage:
    """The families of a small domain that a search has judged."""

    _seen: Mask
    """Boolean mask indexed by key: True where the family was judged."""
    left: int

    @classmethod
    def of(cls, domain: Domain) -> Coverage | None:
        """Return a record of a domain's judged families, with none judged yet; None if the domain is too large."""
        if domain.families.n_keys > COVERABLE or domain.n_families is None:
            return None
        return cls(np.zeros(domain.families.n_keys, dtype=bool), domain.n_families)

    def copy(self) -> Coverage:
        """Return an independent copy of this record of judged families."""
        return Coverage(self._seen.copy(), self.left)

    def add(self, words: Words) -> Codes:
        """Mark the families with these keys as judged; return the positions of keys that are new, each once."""
        new = np.flatnonzero(~self._seen[words[:, 0]])
        new = new[first_seen(words[new])]
        self._seen[words[new, 0]] = True
        self.left -= len(new)
        return new
