"""Recipes: kinds and amounts of the rows that a round adds, the paper's schedule, and the steps of a search for one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import numpy as np

from fairprobe.checks import nearest
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError

PARTS: Final = ("case", "twins", "flip", "linked")
"""The kinds of added rows: single cases, cases with their twins, twins of rows, and linked twins of rows."""

AUTO: Final = ("twins+flip", "twins", "flip", "case")
"""Augmentations (kinds of added rows, joined by +) that `augment="auto"` tries first, in this order."""

AUTO_LINKED: Final = ("flip+linked", "twins+flip+linked", "linked", *AUTO)
"""Augmentations that `augment="auto"` tries first in a domain with links, in this order."""

MOST: Final = 100.0
"""Largest amount of cases, or of flipped rows, in per cent of the training rows; the paper adds no more."""

LONGEST: Final = math.floor(math.log2(MOST)) + 1
"""Largest number of rounds of the paper's schedule: its amounts double, starting at one per cent."""

_FIRST: Final = 10.0
"""Amount of cases that a search adds first, in per cent of the training rows; chosen."""
_FACTOR: Final = 3.0
"""Factor between the amounts of added rows of two neighbouring recipes in a search; chosen."""
_LEAST: Final = 1.0
_LEAST_FLIPPED: Final = 10.0
"""Smallest amount of flipped rows that a search tries, in per cent of the training rows; chosen. `_LEAST` is that of
cases."""
_MOST_COPIES: Final = 4
"""Largest number of times that a search gives every row to a fit; chosen."""


@dataclass(frozen=True)
class Recipe:
    """Kinds and amounts of the rows that a round adds to the training rows."""

    parts: tuple[str, ...]
    """Kinds of added rows, some of `PARTS`: "case", "twins", "flip", "linked"."""
    percent: float
    """Number of cases to add, in per cent of the number of training rows. With "twins", each adds its whole family."""
    flipped: float = MOST
    """Per cent of the training rows whose twins are added; used by "flip" and "linked"."""
    copies: int = 1
    """Number of times that every row is given, original or added. A forest, which draws from its rows, then seldom
    separates twins."""

    @property
    def augment(self) -> str:
        """The kinds of added rows as one name, such as "twins+flip"."""
        return "+".join(self.parts)

    @property
    def uses_cases(self) -> bool:
        """True if the recipe adds cases, alone or with their twins."""
        return bool({"case", "twins"} & set(self.parts))

    @property
    def uses_rows(self) -> bool:
        """True if the recipe adds twins of training rows."""
        return bool({"flip", "linked"} & set(self.parts))

    def n_cases(self, n_rows: int) -> int:
        """Return the number of cases that the recipe asks for: `percent` of `n_rows` training rows, at least 1."""
        return max(1, round(self.percent / 100 * n_rows))

    def words(self) -> str:
        """Return the recipe in words: kinds and amounts of added rows, in per cent of the training rows.

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
        """Return the ratio of rows to fit to, with those added, to training rows, for families of `n_members`."""
        of_cases = self.percent * (("case" in self.parts) + n_members * ("twins" in self.parts))
        of_rows = self.flipped * (n_members - 1) * (("flip" in self.parts) + ("linked" in self.parts))
        return self.copies * (1 + (of_cases + of_rows) / 100)


def checked_parts(name: str) -> tuple[str, ...]:
    """Return the kinds of added rows in a name such as "flip+twins", in the order of `PARTS`; refuse unknown ones.

    >>> checked_parts("flip+twins")
    ('twins', 'flip')
    """
    parts = name.split("+") if isinstance(name, str) else []
    if not parts or any(part not in PARTS for part in parts) or len(set(parts)) < len(parts):
        near = nearest(next((part for part in parts if part not in PARTS), ""), ("auto", *PARTS))
        rule = f"must be auto, or {', '.join(PARTS)} or several joined by +, got {name!r}{near}"
        raise SettingError.about("augment", rule)
    return tuple(part for part in PARTS if part in parts)


def checked_augment(augment: str | Sequence[str], domain: Domain | None = None) -> list[tuple[str, ...]]:
    """Return the argument `augment` of `retrain` as a checked list of augmentations, each a tuple of `PARTS`.

    A single one follows the paper's schedule, several are searched over. Linked twins need a domain with links. Without
    a domain, this is not checked.
    """
    if not isinstance(augment, (str, Sequence)):
        raise SettingError.about("augment", f"must be a name or a list of names, got {augment!r:.80}")
    names = [augment] if isinstance(augment, str) else augment
    if augment == "auto":
        names = AUTO if domain is None or not domain.links else AUTO_LINKED
    if not names:
        raise SettingError.about("augment", "must name an augmentation at least, got none")
    parts = list(dict.fromkeys(map(checked_parts, names)))
    linked = next(("+".join(each) for each in parts if "linked" in each), None)
    if linked is not None and domain is not None and not domain.links:
        advice = "give it some, by Domain.with_links or [[link]] in its TOML"
        rule = f"must not hold linked where the domain has no links, got {linked!r}: {advice}"
        raise SettingError.about("augment", rule)
    return parts


# Amounts


def schedule(parts: tuple[str, ...], rng: np.random.Generator) -> Iterator[Recipe]:
    """Yield the recipes of the paper's schedule: round i = 2, 3, ... adds a random 2^(i-2) to 2^(i-1) per cent.

    An amount above 100 per cent ends the schedule.
    """
    for i in count(2):
        percent = float(rng.uniform(2 ** (i - 2), 2 ** (i - 1)))
        if percent > MOST:
            return
        yield Recipe(parts, percent, flipped=percent)


def first_tries(augmentations: Sequence[tuple[str, ...]]) -> list[Recipe]:
    """Return the recipes that a search tries first: one for each augmentation, with 10% of cases."""
    return [Recipe(parts, _FIRST) for parts in augmentations]


def less_flipped(recipe: Recipe) -> list[Recipe]:
    """Return a list with a quicker recipe, which flips a third of the rows; empty if it would flip too few."""
    fewer = recipe.flipped / _FACTOR
    return [replace(recipe, flipped=fewer)] if recipe.uses_rows and fewer >= _LEAST_FLIPPED else []


def neighbours(recipe: Recipe) -> list[Recipe]:
    """Return recipes with the same kinds of added rows in other amounts, the more promising first."""
    near = []
    if recipe.uses_cases:
        amounts = (recipe.percent * _FACTOR, recipe.percent / _FACTOR)
        near += [replace(recipe, percent=min(MOST, amount)) for amount in amounts if amount >= _LEAST]
    if recipe.copies < _MOST_COPIES:
        near.insert(1, replace(recipe, copies=2 * recipe.copies))
    if recipe.uses_rows and recipe.flipped > MOST / _FACTOR:
        near.append(replace(recipe, flipped=recipe.flipped / _FACTOR))
    return [other for other in near if other != recipe]
