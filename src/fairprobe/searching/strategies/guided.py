"""`guided`: with the twins' scores, a walker compensates one parameter's jump by a step of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategies.anchored import Anchored, Jumps

NEAR = 0.2
"""Distance of the twins' centre from the boundary that needs no correction, in gaps between their scores. Chosen."""

CHANCE = 0.3
"""Largest random distance from the boundary added to each candidate step when steps are compared, in gaps. Chosen: the
learned slopes are only estimates."""

PACE = 0.02
"""Fraction of its distance from the cases' centre by which the estimated boundary moves after each batch. Chosen."""

TINY = 1e-12


class Guided(Anchored):
    """Walkers that keep the centre of the twins' scores at the decision boundary.

    Twins get different labels if the boundary lies between their scores. By finite differences, a walker learns the
    effect of each parameter on the centre. From the cases it learns where the boundary lies, because labels need not
    follow scores. Without scores it uses labels: after a jump without a case, the twins' label shows the side of the
    boundary.
    """

    wants_scores = True

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.boundary: float | None = None
        self._side: Any = None
        self.centre, self.gap = np.empty(0), np.empty(0)
        """`centre`: middle between the lowest and the highest score of each walker's family. `gap`: their distance."""
        self.slope = np.empty((len(self.columns), 0))
        """Learned change of the centre of the twins' scores by one step up, by parameter, then walker."""

    def take(self, walkers: Codes) -> None:
        """Replace the walkers by those at the positions `walkers`; one whose position is listed twice is copied."""
        super().take(walkers)
        self.centre, self.gap = self.centre[walkers], self.gap[walkers]
        self.slope = self.slope.take(walkers, axis=1)

    def admit(self, seeds: Codes, reach: Floats) -> None:
        """Add walkers at these start cases, as if the boundary were in the middle of their twins."""
        super().admit(seeds, reach)
        n = len(seeds)
        slope = self.slope.mean(axis=1, keepdims=True) if self.slope.size else np.zeros((len(self.columns), 1))
        self.centre = np.concatenate([self.centre, np.full(n, self.boundary or 0.0)])
        self.gap = np.concatenate([self.gap, np.full(n, np.median(self.gap) if len(self.gap) else 0.0)])
        self.slope = np.concatenate([self.slope, np.repeat(slope, n, axis=1)], axis=1)

    # Aiming

    def draw(self, walkers: Codes) -> Jumps:
        """Return two changes for each walker: a jump, and a step of another parameter that makes up for its effect.

        The step keeps the decision boundary between the twins' scores. It is 0 if the centre is near the boundary
        anyway. Before a first case, or with one parameter, there is only the jump.
        """
        jumps = super().draw(walkers)
        if self.boundary is None or len(self.columns) == 1:
            return jumps
        first, cells, _, before, after = jumps[:, 0]
        off = self.centre[walkers] - self.boundary + (after - before) * self.slope.take(cells)
        second, back = (first + 1) % len(self.columns), np.zeros_like(first)
        astray = np.flatnonzero(np.abs(off) > NEAR * self.gap[walkers])
        second[astray], back[astray] = self._make_up(walkers[astray], off[astray], first[astray])
        places = self.places(second, walkers)
        before = self.position.take(places)
        also = np.stack([second, self.cells(second, walkers), places, before, before + back])
        return np.stack([jumps[:, 0], also], axis=1)

    def _make_up(self, walkers: Codes, off: Floats, first: Codes) -> tuple[Codes, Codes]:
        """Return for each walker the parameter and the step of it that bring the centre back near the boundary.

        `off` is the distance of the centre from the boundary after the jump of the parameter `first`.
        """
        slope = self.slope.take(walkers, axis=1)
        wanted = np.rint(-(off / np.where(np.abs(slope) < TINY, TINY, slope)))
        # As many steps back as the reach and the bounds allow, by parameter, then walker.
        value = self.position.take(walkers, axis=0).take(self.columns, axis=1).T
        reach, span = 1 + self.reach.take(walkers, axis=1) * self.spans[:, None], self.spans[:, None]
        least, most = np.maximum(-reach, -value), np.minimum(reach, span - value)
        steps = np.minimum(np.maximum(wanted, least), most).astype(np.int64)
        left = np.abs(off + slope * steps) / (self.gap[walkers] + TINY)
        left = np.maximum(left, NEAR) + CHANCE * self.rng.random(left.shape)
        left[self.wraps] = np.inf  # values without order have no slope
        each = np.arange(len(walkers))
        left[first, each] = np.inf
        second = left.argmin(axis=0)
        return second, np.where(self.wraps[second], 0, steps[second, each])

    # Learning

    def learn(self, judgement: Judgement, jumps: Jumps) -> None:
        """Learn from judged jumps: the boundary, and the slope (effect on the twins' centre) of moved parameters."""
        super().learn(judgement, jumps)
        scores = self._sides(judgement) if self.scores is None else self.scores
        if scores is None:
            return
        low, high = np.fmin.reduce(scores), np.fmax.reduce(scores)  # NaN, of a twin that does not exist, is ignored
        centre, gap, hits = (low + high) / 2, high - low, judgement.hits
        if hits.any():
            # The boundary is at the centre of the cases; it is followed slowly.
            here = np.median(centre[hits])
            if self.boundary is None:
                self.boundary = here
                self.centre, self.gap = np.full_like(self.centre, here), np.full_like(self.gap, np.median(gap[hits]))
            self.boundary += (here - self.boundary) * PACE
        asked = self._asked
        self._correct(centre - self.centre[asked], jumps)
        self.centre[asked] = np.where(hits, centre, self.centre[asked])
        self.gap[asked] = np.where(hits, gap, self.gap[asked])

    def _sides(self, judgement: Judgement) -> Floats | None:
        """Return 0 or 1 by member, then input, in place of scores: the side of the boundary, by the member's label.

        The centre of a case is then 0.5. A member that is absent gets NaN. None for outputs that are no labels.
        """
        outputs, present = judgement.outputs, judgement.present
        if outputs.ndim != 2:
            return None
        if self._side is None:
            self._side = outputs[0, 0]
        sides = (outputs != self._side).astype(np.float64)
        return sides if present is None else np.where(present, sides, np.nan)

    def _correct(self, change: Floats, jumps: Jumps) -> None:
        """Correct the slopes of the moved parameters so that they explain the observed change of the centre.

        Of all such corrections it is the smallest one, relative to the parameters' ranges.
        """
        chosen, cells, _, before, after = jumps
        ordered = ~self.wraps.take(chosen).any(axis=0)
        steps = np.where(ordered, after - before, 0)
        slope = self.slope.take(cells)
        weight = steps / self.levels.take(chosen) ** 2
        error = change - (slope * steps).sum(axis=0)
        self.slope.put(cells, slope + error * weight / ((weight * steps).sum(axis=0) + TINY))
