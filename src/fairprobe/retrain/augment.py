"""Augmenting: the training rows of a round, by its recipe. Always from the original rows, nothing is cumulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.dtypes import in_dtype
from fairprobe.retrain.labels import Votes, chosen
from fairprobe.retrain.parts import Rows
from fairprobe.retrain.recipe import Recipe

if TYPE_CHECKING:
    pass

Draw = Callable[[int, np.random.Generator], tuple[Codes, Votes]]
"""So many inputs to add, and what speaks for each label of their members."""


class Augmenter:
    """Makes the rows to fit on."""

    def __init__(self, domain: Domain, rows: Rows, classes: NDArray[Any] | None = None) -> None:
        self._domain = domain
        self._rows = rows
        self._classes = np.unique(rows.labels) if classes is None else classes
        self._prior = (rows.labels[:, None] == self._classes).mean(axis=0)

    def rows(self, recipe: Recipe, draw: Draw, rng: np.random.Generator) -> Rows:
        """The original rows and what the recipe adds."""
        parts = [self._rows]
        if recipe.uses_cases:
            codes, votes = draw(max(1, round(recipe.percent / 100 * len(self._rows))), rng)
            if "case" in recipe.parts and len(codes):
                parts.append(self._cases(codes, votes, rng))
            if "twins" in recipe.parts and len(codes):
                parts.append(self._twins(codes, votes))
        if "flip" in recipe.parts:
            parts += self._flipped(recipe.flipped, rng)
        return _joined(parts * recipe.copies)

    def rows_of_each(self, recipe: Recipe, codes: Codes) -> Codes:
        """How many rows the recipe makes of each of these inputs, but for copies."""
        members = self._present(codes).sum(axis=0)
        return np.asarray(("case" in recipe.parts) + ("twins" in recipe.parts) * members, dtype=np.int64)

    def _cases(self, codes: Codes, votes: Votes, rng: np.random.Generator) -> Rows:
        """Each case by one member, drawn at random: if its sensitive value were always the same, it would be learnt."""
        present = self._present(codes)
        member = np.where(present, rng.random(present.shape), -1.0).argmax(axis=0)
        own = votes[member, np.arange(len(codes))]
        return self._new(self._domain.families.member(codes, member), chosen(own, self._classes, self._prior))

    def _twins(self, codes: Codes, votes: Votes) -> Rows:
        """Each case with all its twins, all with one label."""
        present = self._present(codes)
        labels = chosen(np.where(present[..., None], votes, 0.0).sum(axis=0), self._classes, self._prior)
        members = self._domain.families.members(codes).reshape(*present.shape, -1)
        return self._new(members[present], np.broadcast_to(labels, present.shape)[present])

    def _present(self, codes: Codes) -> Mask:
        """Which members a constraint does not forbid."""
        present = self._domain.families.of(codes).present
        return np.ones((len(self._domain.families), len(codes)), dtype=bool) if present is None else present

    def _flipped(self, percent: float, rng: np.random.Generator) -> list[Rows]:
        """Training rows in all other combinations of sensitive values, each with its own label."""
        n = round(percent / 100 * len(self._rows))
        places = np.sort(rng.permutation(len(self._rows))[:n])
        rows, flipped = self._rows.take(places), []
        for which, twins in self._domain.families.of_frame(rows.frame).twins():
            weights = None if rows.weights is None else rows.weights[which]
            flipped.append(Rows(twins, rows.labels[which], weights))
        return flipped

    def _new(self, codes: Codes, labels: NDArray[Any]) -> Rows:
        frame = self._domain.decode(codes)
        columns = {name: in_dtype(frame[name], self._rows.frame[name].dtype) for name in frame.columns}
        weights = None if self._rows.weights is None else np.full(len(codes), self._rows.weights.mean())
        return Rows(frame.assign(**columns), labels, weights)


def _joined(parts: list[Rows]) -> Rows:
    import pandas as pd

    weights = [part.weights for part in parts if part.weights is not None]
    return Rows(
        pd.concat([part.frame for part in parts if len(part)], ignore_index=True),
        np.concatenate([part.labels for part in parts]),
        np.concatenate(weights) if weights else None,
    )
