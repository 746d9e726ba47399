"""A pool of judged inputs, dense where cases are, that still speaks for its population.

Uniform inputs say next to nothing about a region of one in ten thousand. So some inputs are drawn from the population
and others from parts of it, boxes of known mass; each then counts for as much of the population as the chance to be
drawn at all says (the balance heuristic of multiple importance sampling). Sums of weights estimate the population,
whichever boxes were looked into.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.explanation.boxes import Axes, Box
from fairprobe.explanation.evidence import Evidence

N_UNJUDGED = 200_000
"""Inputs drawn from a density to tell the mass of boxes in it: they cost no query."""

LEAST_DRAWN = 20
"""A box that fewer of these are in is too thin to say anything about."""


class Pool:
    """Judged inputs and what each stands for."""

    def __init__(self, evidence: Evidence, axes: Axes, name: str) -> None:
        self._evidence = evidence
        self.axes = axes
        self._rng = evidence.rng(name)
        self._parts: list[tuple[Box, float, int]] = []
        """Boxes, their mass, and how many inputs were drawn from each."""
        self._unjudged: tuple[Codes, Codes] | None = None
        small = np.int32 if max((axis.n for axis in axes.each), default=0) < 2**31 else np.int64
        self.coordinates: Codes = np.empty((0, len(axes)), dtype=small)
        self.hits: Mask = np.empty(0, dtype=bool)
        self.weights: Floats = np.empty(0)

    def add(self, boxes: Sequence[Box], n: int, part: float = 1.0) -> None:
        """Draw inputs from each box, or as many as a part of the budget left allows, and judge them."""
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
        """Inputs of a box and its mass; none where it is too thin."""
        population = self._evidence.population
        if not box.conditions:
            return population.sample(n, self._rng), 1.0
        if population.density is not None:
            return self._draw_from_before(box, n)
        domain = population.domain
        part = domain.part(self.axes.rules(box))
        if domain.n_valid is None or part.n_valid is None:  # of callables nothing is known but what they say
            return self._draw_from_before(box, n)
        if not part.n_valid:
            return np.empty((0, len(domain.levels)), dtype=np.int64), 0.0
        return part.sample_codes(n, self._rng), part.n_valid / domain.n_valid

    def _draw_from_before(self, box: Box, n: int) -> tuple[Codes, float]:
        """From inputs that were drawn before: those that are in the box."""
        if self._unjudged is None:
            codes = self._evidence.population.sample(N_UNJUDGED, self._rng)
            self._unjudged = codes, self.axes.coordinates(codes)
        codes, coordinates = self._unjudged
        inside = np.flatnonzero(self.axes.inside(box, coordinates))
        if len(inside) < LEAST_DRAWN:
            return codes[:0], 0.0
        return codes[self._rng.choice(inside, min(n, len(inside)), replace=False)], len(inside) / len(codes)
