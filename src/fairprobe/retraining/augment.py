"""Augmenting: recipes say what a round adds to the training rows, and how much of it; an augmenter adds it.

Always to the original rows: nothing is cumulated from round to round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.checks import nearest
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import SettingError
from fairprobe.retraining.labels import Votes, chosen, present_members
from fairprobe.retraining.parts import LabelledRows

PARTS: Final = ("case", "twins", "flip", "linked")
"""Single inputs, families of twins, training rows with their twins, and with their linked ones."""

AUTO: Final = ("twins+flip", "twins", "flip", "case")
"""What `augment="auto"` tries, in this order."""

AUTO_LINKED: Final = ("flip+linked", "twins+flip+linked", "linked", *AUTO)
"""What it tries in a domain with links."""

MOST: Final = 100.0
"""Per cent of the training rows: the paper adds no more."""

LONGEST: Final = math.floor(math.log2(MOST)) + 1
"""Rounds of the paper's schedule at most: its amounts double, from one per cent on."""

_FIRST: Final = 10.0
_FACTOR: Final = 3.0
_LEAST: Final = 1.0
_MOST_COPIES: Final = 4
_LEAST_FLIPPED: Final = 10.0


@dataclass(frozen=True)
class Recipe:
    """What is added to the training rows."""

    parts: tuple[str, ...]
    """Some of case, twins, flip and linked."""
    percent: float
    """Cases added, in per cent of the training rows; with twins, so many families."""
    flipped: float = MOST
    """Training rows whose twins are added, in per cent; only with flip and linked."""
    copies: int = 1
    """How often all rows go in: a learner that draws from its rows, as a forest does, then seldom parts twins."""

    @property
    def augment(self) -> str:
        """The parts as one name."""
        return "+".join(self.parts)

    @property
    def uses_cases(self) -> bool:
        """Whether cases are added, and not only training rows with their twins."""
        return bool({"case", "twins"} & set(self.parts))

    @property
    def uses_rows(self) -> bool:
        """Whether twins of training rows are added."""
        return bool({"flip", "linked"} & set(self.parts))

    def words(self) -> str:
        """The recipe in words.

        >>> Recipe(("twins", "flip"), 30.0, copies=2).words()
        'twins of 30% cases + all rows flipped, 2 copies'
        """
        rows = "all rows" if self.flipped == MOST else f"{self.flipped:.3g}% rows"
        amounts = {
            "case": f"{self.percent:.3g}% cases",
            "twins": f"twins of {self.percent:.3g}% cases",
            "flip": f"{rows} flipped",
            "linked": f"{rows} as linked twins",
        }
        words = " + ".join(amounts[part] for part in self.parts)
        return f"{words}, {self.copies} copies" if self.copies > 1 else words

    def growth(self, n_members: int) -> float:
        """How many times the training rows there are to fit to, with families of so many members."""
        added = {
            "case": self.percent,
            "twins": self.percent * n_members,
            "flip": self.flipped * (n_members - 1),
            "linked": self.flipped * (n_members - 1),
        }
        return self.copies * (1 + sum(added[part] for part in self.parts) / 100)


def checked_parts(name: str) -> tuple[str, ...]:
    """The parts of an augmentation's name, in the order of PARTS.

    >>> checked_parts("flip+twins")
    ('twins', 'flip')
    """
    parts = name.split("+") if isinstance(name, str) else []
    if not parts or any(part not in PARTS for part in parts) or len(set(parts)) < len(parts):
        near = nearest(next((part for part in parts if part not in PARTS), ""), ("auto", *PARTS))
        raise SettingError.about(
            "augment", f"must be auto, or {', '.join(PARTS)} or several joined by +, got {name!r}{near}"
        )
    return tuple(part for part in PARTS if part in parts)


def checked_augment(augment: str | Sequence[str], *, has_links: bool = False) -> list[tuple[str, ...]]:
    """The augmentations to try: one follows the paper's schedule, several are searched over."""
    if not isinstance(augment, (str, Sequence)):
        raise SettingError.about("augment", f"must be a name or a list of names, got {augment!r:.80}")
    every = AUTO_LINKED if has_links else AUTO
    names = list(every) if augment == "auto" else [augment] if isinstance(augment, str) else list(augment)
    parts = [checked_parts(name) for name in names]
    if not parts:
        raise SettingError.about("augment", "must name an augmentation at least, got none")
    return list(dict.fromkeys(parts))


def augmentations_for(domain: Domain, augment: str | Sequence[str]) -> list[tuple[str, ...]]:
    """The augmentations to try in this domain: linked twins need links."""
    augmentations = checked_augment(augment, has_links=bool(domain.links))
    without = next(("+".join(parts) for parts in augmentations if "linked" in parts), None)
    if without is not None and not domain.links:
        raise SettingError.about(
            "augment",
            f"must not hold linked where the domain has no links, got {without!r}: give it some, by Domain.with_links "
            "or [[link]] in its TOML",
        )
    return augmentations


def schedule(parts: tuple[str, ...], rng: np.random.Generator) -> Iterator[Recipe]:
    """The paper's: round i = 2, 3, ... adds between 2^(i-2) and 2^(i-1) per cent, drawn at random, up to 100."""
    for i in count(2):
        percent = float(rng.uniform(2 ** (i - 2), 2 ** (i - 1)))
        if percent > MOST:
            return
        yield Recipe(parts, percent, flipped=percent)


def first_tries(augmentations: Sequence[tuple[str, ...]]) -> list[Recipe]:
    """One try of each augmentation, to begin a search with."""
    return [Recipe(parts, _FIRST) for parts in augmentations]


def less_flipped(recipe: Recipe) -> list[Recipe]:
    """The same with fewer rows flipped, if there are any to spare: for recipes that take too long."""
    fewer = recipe.flipped / _FACTOR
    return [replace(recipe, flipped=fewer)] if recipe.uses_rows and fewer >= _LEAST_FLIPPED else []


def neighbours(recipe: Recipe) -> list[Recipe]:
    """More and less of the same, the more promising first."""
    near = []
    if recipe.uses_cases:
        amounts = (recipe.percent * _FACTOR, recipe.percent / _FACTOR)
        near += [replace(recipe, percent=min(MOST, amount)) for amount in amounts if amount >= _LEAST]
    if recipe.copies < _MOST_COPIES:
        near.insert(1, replace(recipe, copies=2 * recipe.copies))
    if recipe.uses_rows and recipe.flipped > MOST / _FACTOR:
        near.append(replace(recipe, flipped=recipe.flipped / _FACTOR))
    return [other for other in near if other != recipe]


Draw = Callable[[int, np.random.Generator], tuple[Codes, Votes]]
"""So many inputs to add, and what speaks for each label of their members."""


class Augmenter:
    """Makes the rows to fit on. Twins are those of `domain`, linked ones those of `linked`."""

    def __init__(
        self, domain: Domain, rows: LabelledRows, classes: NDArray[Any] | None = None, linked: Domain | None = None
    ) -> None:
        self._domain = domain
        self._linked = domain if linked is None else linked
        self._rows = rows
        self._classes = np.unique(rows.labels) if classes is None else classes
        self._prior = (rows.labels[:, None] == self._classes).mean(axis=0)

    def rows(self, recipe: Recipe, draw: Draw, rng: np.random.Generator) -> LabelledRows:
        """The original rows and what the recipe adds."""
        import pandas as pd

        parts = [self._rows]
        if recipe.uses_cases:
            codes, votes = draw(max(1, round(recipe.percent / 100 * len(self._rows))), rng)
            if "case" in recipe.parts and len(codes):
                parts.append(self._cases(codes, votes, rng))
            if "twins" in recipe.parts and len(codes):
                parts.append(self._twins(codes, votes))
        if recipe.uses_rows:
            rows = self._some_rows(recipe.flipped, rng)
            if "flip" in recipe.parts:
                parts += _twins_of(rows, self._domain)
            if "linked" in recipe.parts:
                parts += _twins_of(rows, self._linked)
        parts *= recipe.copies
        weights = [part.weights for part in parts if part.weights is not None]
        return LabelledRows(
            pd.concat([part.frame for part in parts if len(part)], ignore_index=True),
            np.concatenate([part.labels for part in parts]),
            np.concatenate(weights) if weights else None,
        )

    def rows_of_each(self, recipe: Recipe, codes: Codes) -> Codes:
        """How many rows the recipe makes of each of these inputs, but for copies."""
        members = present_members(self._domain, codes).sum(axis=0)
        return np.asarray(("case" in recipe.parts) + ("twins" in recipe.parts) * members, dtype=np.int64)

    def _cases(self, codes: Codes, votes: Votes, rng: np.random.Generator) -> LabelledRows:
        """Each case by one member, drawn at random: if its sensitive value were always the same, it would be learnt."""
        present = present_members(self._domain, codes)
        member = np.where(present, rng.random(present.shape), -1.0).argmax(axis=0)
        own = votes[member, np.arange(len(codes))]
        return self._new(self._domain.families.member(codes, member), chosen(own, self._classes, self._prior))

    def _twins(self, codes: Codes, votes: Votes) -> LabelledRows:
        """Each case with all its twins, all with one label."""
        present = present_members(self._domain, codes)
        labels = chosen(np.where(present[..., None], votes, 0.0).sum(axis=0), self._classes, self._prior)
        members = self._domain.families.members(codes).reshape(*present.shape, -1)
        return self._new(members[present], np.broadcast_to(labels, present.shape)[present])

    def _some_rows(self, percent: float, rng: np.random.Generator) -> LabelledRows:
        """The training rows whose twins are added."""
        n = round(percent / 100 * len(self._rows))
        return self._rows.take(np.sort(rng.permutation(len(self._rows))[:n]))

    def _new(self, codes: Codes, labels: NDArray[Any]) -> LabelledRows:
        frame = self._domain.decode(codes)
        columns = {name: in_dtype(frame[name], self._rows.frame[name].dtype) for name in frame.columns}
        weights = None if self._rows.weights is None else np.full(len(codes), self._rows.weights.mean())
        return LabelledRows(frame.assign(**columns), labels, weights)


def _twins_of(rows: LabelledRows, domain: Domain) -> list[LabelledRows]:
    """Rows in all other combinations of sensitive values, each with its own label."""
    added = []
    for which, twins in domain.families.of_frame(rows.frame).twins():
        weights = None if rows.weights is None else rows.weights[which]
        added.append(LabelledRows(twins, rows.labels[which], weights))
    return added
