"""Augmenting: the rows that a recipe makes. They always start with the original rows; rounds do not accumulate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.retraining.labels import Votes, chosen, present_members
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Recipe

Draw = Callable[[int, np.random.Generator], tuple[Codes, Votes]]
"""Draws a number of inputs to add. Gives their codes and the votes for the labels of their members."""


@dataclass(frozen=True)
class Augmenter:
    """Makes the rows to fit to."""

    domain: Domain
    """Gives plain twins."""
    original: LabelledRows
    classes: NDArray[Any]
    linked: Domain
    """Gives linked twins."""

    @cached_property
    def prior(self) -> Floats:
        """The fraction of the original rows in each class."""
        return np.asarray((self.original.labels[:, None] == self.classes).mean(axis=0))

    def rows(self, recipe: Recipe, draw: Draw, rng: np.random.Generator) -> LabelledRows:
        """The original rows and the rows that the recipe adds."""
        import pandas as pd

        parts, n = [self.original], len(self.original)
        if recipe.uses_cases:
            codes, votes = draw(max(1, round(recipe.percent / 100 * n)), rng)
            if "case" in recipe.parts and len(codes):
                parts.append(self._cases(codes, votes, rng))
            if "twins" in recipe.parts and len(codes):
                parts.append(self._families(codes, votes))
        if recipe.uses_rows:
            rows = self.original.take(np.sort(rng.permutation(n)[: round(recipe.flipped / 100 * n)]))
            for part, domain in (("flip", self.domain), ("linked", self.linked)):
                parts += _twins_of(rows, domain) if part in recipe.parts else []
        parts *= recipe.copies
        weights = [part.weights for part in parts if part.weights is not None]
        return LabelledRows(
            pd.concat([part.frame for part in parts if len(part)], ignore_index=True),
            np.concatenate([part.labels for part in parts]),
            np.concatenate(weights) if weights else None,
        )

    def rows_of_each(self, recipe: Recipe, codes: Codes) -> Codes:
        """The number of rows that the recipe makes of each of these inputs, before copies."""
        members = present_members(self.domain, codes).sum(axis=0)
        return np.asarray(("case" in recipe.parts) + ("twins" in recipe.parts) * members, dtype=np.int64)

    def _cases(self, codes: Codes, votes: Votes, rng: np.random.Generator) -> LabelledRows:
        """One member of each case, drawn at random: sensitive values that were always equal would be learnt."""
        present = present_members(self.domain, codes)
        member = np.where(present, rng.random(present.shape), -1.0).argmax(axis=0)
        own = votes[member, np.arange(len(codes))]
        return self._new(self.domain.families.member(codes, member), chosen(own, self.classes, self.prior))

    def _families(self, codes: Codes, votes: Votes) -> LabelledRows:
        """All members of each case, with one label."""
        present = present_members(self.domain, codes)
        labels = chosen(np.where(present[..., None], votes, 0.0).sum(axis=0), self.classes, self.prior)
        members = self.domain.families.members(codes).reshape(*present.shape, -1)
        return self._new(members[present], np.broadcast_to(labels, present.shape)[present])

    def _new(self, codes: Codes, labels: NDArray[Any]) -> LabelledRows:
        frame, original = self.domain.decode(codes), self.original
        columns = {name: in_dtype(frame[name], original.frame[name].dtype) for name in frame.columns}
        weights = None if original.weights is None else np.full(len(codes), original.weights.mean())
        return LabelledRows(frame.assign(**columns), labels, weights)


def _twins_of(rows: LabelledRows, domain: Domain) -> list[LabelledRows]:
    """The rows in all other combinations of sensitive values, each with the label of its row."""
    added = []
    for which, twins in domain.families.of_frame(rows.frame).twins():
        weights = None if rows.weights is None else rows.weights[which]
        added.append(LabelledRows(twins, rows.labels[which], weights))
    return added
