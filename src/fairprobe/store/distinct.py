"""Distinct inputs: inputs of one family count as one, exactly, in domains of any size.

The key of an input is the mixed-radix number of what the members of its family share, in as many words of 63 bits as it
takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain import radix
from fairprobe.domain.domain import Domain

if TYPE_CHECKING:
    import pandas as pd

Words = Codes
"""Keys: a row for each input, a column for each word."""

FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Two odd numbers, from splitmix64. A product with them carries a word's low bits to its high ones."""

FEW = 2_000
"""Up to this many keys are sorted; more are put into a hash table. Measured: this is quicker."""

SMALL = 10_000
"""Up to this many recent keys are kept without an index. Measured: to build one would take longer."""

COVERABLE = 4_000_000
"""The most families of a domain for which a search notices that all were judged. Chosen: a byte is kept for each."""


class Keys:
    """Computes the keys of inputs of a domain."""

    def __init__(self, domain: Domain) -> None:
        self._families = domain.families
        levels = domain.families.key_levels
        groups = radix.words(domain.free_columns, levels)
        self.n_words = len(groups)
        self._radix = np.zeros((len(levels), len(groups)), dtype=np.int64)
        for word, columns in enumerate(groups):
            place = 1
            for column in reversed(columns):
                self._radix[column, word] = place
                place *= int(levels[column])

    def of(self, codes: Codes) -> Words:
        """The keys of a batch of inputs."""
        return self._families.canonical(codes) @ self._radix


def mixed(words: Words) -> Codes:
    """One word for each key: the key itself if it has one word, otherwise a mix, which two keys may share by chance."""
    if words.shape[1] == 1:
        return words[:, 0]
    mix = words[:, 0].astype(np.uint64)
    for word in range(1, words.shape[1]):
        for factor in FACTORS:
            mix ^= mix >> np.uint64(29)
            mix *= np.uint64(factor)
        mix += words[:, word].astype(np.uint64)
    return mix.view(np.int64)


def first_seen(words: Words) -> Mask:
    """Which keys are the first of their kind in the batch."""
    if len(words) <= FEW and words.shape[1] == 1:
        first: Mask = np.zeros(len(words), dtype=bool)
        first[np.unique(words[:, 0], return_index=True)[1]] = True
        return first
    import pandas as pd

    mixes = pd.Series(mixed(words))
    first = ~mixes.duplicated().to_numpy()
    if words.shape[1] > 1 and not first.all():
        rows = np.flatnonzero(mixes.isin(mixes[~first]))  # only where mixes are the same can keys be
        first[rows] = ~pd.DataFrame(words.take(rows, axis=0)).duplicated().to_numpy()
    return first


class Distinct:
    """A growing set of keys. To copy it costs nothing, as what it holds is never changed in place.

    Most keys are in blocks whose hash tables are built once, each less than half as large as the one before. The
    recent keys are compared one by one.
    """

    def __init__(self, n_words: int) -> None:
        self._blocks: tuple[_Block, ...] = ()
        self._recent: Words = np.empty((0, n_words), dtype=np.int64)

    def copy(self) -> Distinct:
        """An independent set with the same keys."""
        twin = Distinct(0)
        twin._blocks, twin._recent = self._blocks, self._recent
        return twin

    def __len__(self) -> int:
        return len(self._recent) + sum(map(len, self._blocks))

    def add(self, words: Words) -> Mask:
        """Add a batch of keys; gives which are new. Of equal keys in the batch, only the first is."""
        new = first_seen(np.concatenate([self._recent, words]))[len(self._recent) :]
        for block in self._blocks:
            new[new] = ~block.holds(words[new])
        self._recent = np.concatenate([self._recent, words[new]])
        if len(self._recent) > SMALL:
            self._take_in()
        return new

    def _take_in(self) -> None:
        """Make a block of the recent keys."""
        *larger, last = *self._blocks, _Block.of(self._recent)
        while larger and len(larger[-1]) <= 2 * len(last):
            last = larger.pop().joined(last)
        self._blocks, self._recent = (*larger, last), self._recent[:0]


@dataclass(frozen=True)
class _Block:
    """Many keys with one index of their mixes. A mix only gives the place of a key, which is compared word by word."""

    index: pd.Index
    held: Words
    """The keys in the order of the index."""
    apart: frozenset[tuple[int, ...]] = frozenset()
    """Keys whose mix belongs to another key."""

    @classmethod
    def of(cls, words: Words) -> _Block:
        """A block of keys that are distinct."""
        import pandas as pd

        mixes = mixed(words)
        return cls._of(pd.Index(mixes), words, first_seen(mixes[:, None]), frozenset())

    def joined(self, other: _Block) -> _Block:
        """The keys of both, which share none."""
        free = np.ones(len(other.held), dtype=bool) if self._is_exact else self.index.get_indexer(other.index) < 0
        rest = self._of(other.index, other.held, free, self.apart | other.apart)
        return _Block(self.index.append(rest.index), np.concatenate([self.held, rest.held]), rest.apart)

    @classmethod
    def _of(cls, index: pd.Index, words: Words, free: Mask, apart: frozenset[tuple[int, ...]]) -> _Block:
        if free.all():
            return cls(index, words, apart)
        return cls(index[free], words[free], apart.union(map(tuple, words[~free].tolist())))

    @property
    def _is_exact(self) -> bool:
        """Whether a mix is the key itself."""
        return self.held.shape[1] == 1

    def __len__(self) -> int:
        return len(self.held) + len(self.apart)

    def holds(self, words: Words) -> Mask:
        """Which keys are among these."""
        places = self.index.get_indexer(mixed(words))
        held = places >= 0
        if not self._is_exact:
            met = np.flatnonzero(held)
            differs = (self.held.take(places[met], axis=0) != words.take(met, axis=0)).any(axis=1)
            held[met[differs]] = [tuple(key) in self.apart for key in words[met[differs]].tolist()]
        return held


@dataclass
class Coverage:
    """The families of a small domain that were judged."""

    _seen: Mask
    """By key."""
    left: int

    @classmethod
    def of(cls, domain: Domain) -> Coverage | None:
        """A coverage to watch, or None where the domain is too large for that."""
        if domain.families.n_keys > COVERABLE or domain.n_families is None:
            return None
        return cls(np.zeros(domain.families.n_keys, dtype=bool), domain.n_families)

    def copy(self) -> Coverage:
        """An independent coverage with the same families judged."""
        return Coverage(self._seen.copy(), self.left)

    def add(self, words: Words) -> Codes:
        """Mark a batch of keys; gives the positions of those that are new, the first of its kind."""
        new = np.flatnonzero(~self._seen[words[:, 0]])
        new = new[first_seen(words[new])]
        self._seen[words[new, 0]] = True
        self.left -= len(new)
        return new
