"""`genetic`: cases are crossed and mutated, and children that are cases become parents too (as in ExpGA)."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, distinct_rows
from fairprobe.domain.domain import Domain
from fairprobe.domain.moves import Moves
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategy import Strategy

FROM_MATE = 0.1
"""Probability that a parameter comes from the second parent. Chosen."""


class Genetic(Strategy):
    """A population of at most `n_walkers` cases; each child has two parents and one move of its own."""

    is_eager = True

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.moves = Moves(domain)
        self.population: Codes = np.empty((0, len(domain.levels)), dtype=np.int64)

    def _start(self, seeds: Codes) -> None:
        self._join(distinct_rows(seeds))

    def _join(self, cases: Codes) -> None:
        """Add cases to the population; of more than `n_walkers`, a random selection stays."""
        everyone = np.concatenate([self.population, cases])
        self.population = self.rng.permutation(everyone)[: self.settings.n_walkers]

    def _ask(self) -> Codes:
        children = self._breed()
        asked = self.redrawn(children, lambda stuck: self._breed()[stuck])
        if not len(asked):  # no child may be: their parents are asked about again
            return self.rng.choice(self.population, len(children))
        return children[asked]

    def _breed(self) -> Codes:
        """Return `n_walkers` children as codes: two random cases are crossed, then one parameter is moved."""
        n, columns = self.settings.n_walkers, self.columns
        first, second = self.population[self.rng.integers(0, len(self.population), (2, n))]
        crossed = self.rng.random((n, len(columns))) < FROM_MATE
        first[:, columns] = np.where(crossed, second[:, columns], first[:, columns])
        draws = self.rng.random((3, n))
        chosen = (draws[0] * len(columns)).astype(np.int64)
        steps = self.moves.steps(chosen, draws[1] < 0.5, draws[2] if self.moves.sizes_vary else None)
        return self.moves.apply(first, chosen, steps)[0]

    def _tell(self, judgement: Judgement) -> None:
        self._join(judgement.codes[judgement.hits])
