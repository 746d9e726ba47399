"""The base classes of search strategies, and the part of a domain that they search within a density.

A strategy proposes inputs and is told the judgements; it never asks the model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import Families
from fairprobe.domain.moves import Moves
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings

MOST_RETRIES = 5
"""Largest number of times that a forbidden input is drawn again. Chosen."""


class Region(Domain):
    """The inputs of a domain that are plausible by a density (a distribution fitted to data).

    To a strategy it is a domain with one more constraint, so strategies need not handle densities. Families are those
    of the whole domain: twins must be allowed, not plausible.
    """

    density: Density
    floor: float
    whole: Domain

    @classmethod
    def of(cls, domain: Domain, density: Density, floor: float) -> Region:
        """Return the part of a domain whose inputs have a log probability of at least `floor` by the density."""
        region = object.__new__(cls)
        region.__dict__.update(domain.__dict__)
        region.density, region.floor, region.whole = density, floor, domain
        return region

    @property
    def is_restricted(self) -> bool:
        """True, because a part of a domain does not allow all inputs."""
        return True

    @property
    def families(self) -> Families:
        """The families of the whole domain, because twins need not be plausible."""
        return self.whole.families

    def allows(self, codes: Codes) -> Mask:
        """Return a mask of the inputs that are allowed by the constraints and plausible enough."""
        return self.whole.allows(codes) & self.reaches(codes)

    def reaches(self, codes: Codes) -> Mask:
        """Return a mask of the inputs whose log probability by the density is at least `floor`."""
        return np.asarray(self.density.log_chances(codes) >= self.floor)

    def takes(self, before: Floats, after: Floats, codes: Codes, rng: np.random.Generator) -> Mask:
        """Return a mask of the moves to make, by Metropolis' rule.

        `before` and `after` are the log probabilities of the inputs before and after each move, and `codes` the inputs
        after it. A move to a less likely input is made with the ratio of the two as its probability. Otherwise most
        walkers would end at unlikely inputs, because there are more of them. No move leads to a forbidden input, or to
        one below `floor`.
        """
        may = (after >= self.floor) & (after - before >= np.log(rng.random(len(after))))
        may[may] = self.whole.allows(codes[may])
        return may

    def sample_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """Return `n` inputs as rows of codes, drawn from the density above its `floor` of log probability."""
        return self.density.sample_codes(n, rng, self.floor)


class Strategy(ABC):
    """Base class of strategies, which propose inputs near start cases.

    The shard samples, judges, counts and stops. One object lives as long as a shard, so it keeps what it has learned
    from earlier start cases.
    """

    is_local = True
    """True if the strategy searches around start cases; False if it only judges sampled inputs."""

    starts_anywhere = False
    """True if the strategy starts from all given rows instead of only the discriminatory ones."""

    wants_scores = False
    """True if the strategy learns from the scores of twins, which may cost queries."""

    is_eager = False
    """True if the strategy starts early, with the first few start cases, instead of those of a whole global round."""

    is_dry = False
    """True if a strategy's walkers now only return to inputs that they have already visited."""

    is_spent = False
    """True if the strategy finds so little that new start cases would help more."""

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        self.domain = domain
        self.settings = settings
        self.rng = rng
        self.columns = np.array([c for c in domain.free_columns if domain.levels[c] > 1], dtype=np.int64)
        """Positions of the columns that a strategy may change: neither sensitive nor derived, with several values."""

    def start(self, seeds: Codes) -> None:
        """Begin a local search at these inputs (rows of codes, mostly discriminatory), one for each walker."""
        self._start(seeds.copy())  # a walker may write where it stands

    def ask(self) -> Codes:
        """Return the next inputs to judge, as rows of codes."""
        return self._ask()

    def tell(self, judgement: Judgement, scores: Floats | None = None) -> None:
        """Learn from the judgement of the inputs that `ask` returned last, and from their scores, by member, if any."""
        self.scores = scores
        self._tell(judgement)

    def allows(self, codes: Codes) -> Mask:
        """Return a mask of the inputs that the constraints allow, so that they may be judged."""
        return self.domain.allows(codes)

    def redrawn(self, proposal: Codes, redraw: Callable[[Codes], Codes]) -> Codes:
        """Replace forbidden inputs of a proposal in place by new draws, and return the positions of the allowed inputs.

        `redraw` takes positions in the proposal and returns new inputs for them. It is called at most `MOST_RETRIES`
        times.
        """
        every = np.arange(len(proposal))
        if not self.domain.is_restricted:
            return every
        stuck = np.flatnonzero(~self.allows(proposal))
        for _ in range(MOST_RETRIES):
            if not len(stuck):
                break
            proposal[stuck] = redraw(stuck)
            stuck = stuck[~self.allows(proposal[stuck])]
        return np.delete(every, stuck)

    @abstractmethod
    def _start(self, seeds: Codes) -> None: ...

    @abstractmethod
    def _ask(self) -> Codes: ...

    @abstractmethod
    def _tell(self, judgement: Judgement) -> None: ...


class Walk(Strategy):
    """Base class of the paper's strategies: walkers move one parameter in each trial and continue from there.

    All walkers draw from the same probabilities. `choose[p]` is the probability that parameter p is moved, and
    `down[p]` that it is moved down (the paper's sigma_pr and sigma_v). With one walker this is the paper's local
    search, trial by trial.
    """

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.moves = Moves(domain)
        n = len(self.moves.columns)
        self.choose = np.full(n, 1 / n) if n else np.empty(0)
        self.down = np.full(n, 0.5)

    def learn(self, chosen: Codes, down: Mask, hits: Mask) -> None:
        """Update `choose` and `down` after a trial, from each walker's moved parameter, its direction and its hit."""

    def _start(self, seeds: Codes) -> None:
        self._position = seeds

    def _ask(self) -> Codes:
        proposal, self._chosen, self._down = self._propose(self._position)

        def redraw(stuck: Codes) -> Codes:
            moved, self._chosen[stuck], self._down[stuck] = self._propose(self._position[stuck])
            return moved

        self._moved = self.redrawn(proposal, redraw)  # one that finds no way out stays and is not asked about
        if not len(self._moved):  # where nobody can move, all are asked about again, so that the search goes on
            return self._position.copy()
        return proposal[self._moved] if len(self._moved) < len(proposal) else proposal

    def _propose(self, position: Codes) -> tuple[Codes, Codes, Mask]:
        n_draws = 3 if self.moves.sizes_vary else 2
        draws = self.rng.random((n_draws, len(position)))
        bounds = self.choose.cumsum()[:-1]  # without the last: rounding must not leave a draw above them all
        chosen = bounds.searchsorted(draws[0], side="right")
        steps = self.moves.steps(chosen, draws[1] < self.down.take(chosen), draws[2] if n_draws == 3 else None)
        proposal, down = self.moves.apply(position, chosen, steps)
        return proposal, chosen, down

    def _tell(self, judgement: Judgement) -> None:
        if len(self._moved):
            moved = self._moved if len(self._moved) < len(self._position) else slice(None)
            self._position[moved] = judgement.codes
            self.learn(self._chosen[moved], self._down[moved], judgement.hits)
