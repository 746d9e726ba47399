"""A pool of judged inputs that is dense where cases are and still represents its population.

Uniform inputs say next to nothing about a region of one in ten thousand. Some inputs are therefore drawn from the
population and others from boxes of known mass. The weight of an input is the inverse of its probability to be drawn at
all (the balance heuristic of multiple importance sampling). Sums of weights estimate the population, whichever boxes
inputs were drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.explanation.boxes import Axes, Box
from fairprobe.explanation.evidence import Evidence

N_UNJUDGED = 200_000
"""Number of inputs drawn from a density to measure the mass of boxes; they cost no query. Chosen."""

LEAST_DRAWN = 20
"""Smallest number of these in a box that inputs are drawn from: a thinner box is left out. Chosen."""


class Pool:
    """Judged inputs and their weights."""

    def __init__(self, evidence: Evidence, axes: Axes, name: str) -> None:
        self._evidence = evidence
        self.axes = axes
        self._rng = evidence.rng(name)
        self._parts: list[tuple[Box, float, int]] = []
        """Boxes, their mass, and the number of inputs drawn from each."""
        self._unjudged: tuple[Codes, Codes] | None = None
        small = np.int32 if max((axis.n for axis in axes.each), default=0) < 2**31 else np.int64
        self.coordinates: Codes = np.empty((0, len(axes)), dtype=small)
        self.hits: Mask = np.empty(0, dtype=bool)
        self.weights: Floats = np.empty(0)

    def add(self, boxes: Sequence[Box], n: int, part: float = 1.0) -> None:
        """Draw `n` inputs from each box, or fewer if a part of the budget left is too small, and judge them."""
        n = self._evidence.budget.inputs(n * len(boxes), part) // max(1, len(boxes))
        drawn = list[Codes]()
        for box in boxes if n else ():
            codes, mass = self._draw(box, n)
            if len(codes):
                self._parts.append((box, mass, len(codes)))
                drawn.append(codes)
        if not drawn:
            return
        codes = np.concatenate(drawn)
        judgement = self._evidence.judge(codes)
        known = judgement.comparable
        # By column and in few bytes: all that follows looks at one column after the other.
        more = self.axes.coordinates(codes[known]).astype(self.coordinates.dtype)
        self.coordinates = np.asfortranarray(np.concatenate([self.coordinates, more]))
        self.hits = np.concatenate([self.hits, judgement.hits[known]])
        self._weigh()

    def _weigh(self) -> None:
        chances = np.zeros(len(self.coordinates))
        for box, mass, n in self._parts:
            chances += self.axes.inside(box, self.coordinates) * (n / mass)
        self.weights = 1 / chances

    def _draw(self, box: Box, n: int) -> tuple[Codes, float]:
        """Draw inputs of a box and return its mass too; no inputs if it is too thin."""
        population = self._evidence.population
        if not box.conditions:
            return population.sample(n, self._rng), 1.0
        if population.density is not None:
            return self._draw_from_before(box, n)
        domain = population.domain
        part = domain.part(self.axes.rules(box))
        if domain.n_valid is None or part.n_valid is None:  # callables cannot be counted
            return self._draw_from_before(box, n)
        if not part.n_valid:
            return np.empty((0, len(domain.levels)), dtype=np.int64), 0.0
        return part.sample_codes(n, self._rng), part.n_valid / domain.n_valid

    def _draw_from_before(self, box: Box, n: int) -> tuple[Codes, float]:
        """Take inputs of a box from those that were drawn from the population before."""
        if self._unjudged is None:
            codes = self._evidence.population.sample(N_UNJUDGED, self._rng)
            self._unjudged = codes, self.axes.coordinates(codes)
        codes, coordinates = self._unjudged
        inside = np.flatnonzero(self.axes.inside(box, coordinates))
        if len(inside) < LEAST_DRAWN:
            return codes[:0], 0.0
        return codes[self._rng.choice(inside, min(n, len(inside)), replace=False)], len(inside) / len(codes)
