"""Augmenting: recipes for the rows that a round adds to the training rows, and the cases from which they draw."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.checks import nearest
from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.retraining.labels import Labeller, Votes, chosen
from fairprobe.retraining.parts import LabelledRows
from fairprobe.searching import Found, search
from fairprobe.searching.limits import StopReason
from fairprobe.store import Keys, first_seen

if TYPE_CHECKING:
    from fairprobe.retraining.retraining import Task

_HUNTED: Final = 0.5
"""Largest fraction of the time left for rounds that one search for cases may take; chosen, as a fit must follow."""


# Recipes


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
"""Smallest amount of cases that a search adds, in per cent of the training rows; chosen."""
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

    A single augmentation follows the paper's schedule; a list of several is searched over. Linked twins need a domain
    with links; without `domain`, this is not checked.
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


def neighbours(recipe: Recipe) -> list[Recipe]:
    """Return up to four recipes with the same kinds of added rows in other amounts, the more promising first."""
    near = []
    if recipe.uses_cases:
        amounts = (recipe.percent * _FACTOR, recipe.percent / _FACTOR)
        near += [replace(recipe, percent=min(MOST, amount)) for amount in amounts if amount >= _LEAST]
    if recipe.copies < _MOST_COPIES:
        near.insert(1, replace(recipe, copies=2 * recipe.copies))
    if recipe.uses_rows and recipe.flipped > MOST / _FACTOR:
        near.append(replace(recipe, flipped=recipe.flipped / _FACTOR))
    return [other for other in near if other != recipe]


# Cases


class CasePool:
    """Pool of distinct cases: the given ones, and those of searches of a model, made when a round needs more."""

    def __init__(self, task: Task, model: Any) -> None:
        self.task = task
        self.model = model
        given = np.zeros((0, len(task.domain.names)), dtype=np.int64) if task.cases is None else task.cases
        self.codes = distinct(task.domain, given)
        """Codes of the cases so far, one row for each; no two are of one family."""
        self.may_be_more = task.case_labels is None
        """True if a search may add cases. False once all are found or time is up, and with `labels="given"`, because
        found cases have no given label."""
        limit = task.settings.search_seconds
        self.seconds = math.inf if limit is None else limit
        """Seconds left for all further searches for cases together."""

    def drawn(self, recipe: Recipe, rng: np.random.Generator) -> Codes:
        """Search the model for cases that the pool lacks, and return the codes of random cases for a recipe.

        They are as many as it asks for, or fewer if the search ends first; none if the recipe uses no cases.
        """
        if not recipe.uses_cases:
            return self.codes[:0]
        n = recipe.n_cases(len(self.task.parts.fit))
        cases = self.grow(n)
        return cases[rng.permutation(len(cases))[:n]]

    def grow(self, n: int) -> Codes:
        """Search until the pool has `n` cases, all are found or the time is over; return the codes of all cases in it.

        Without a search, the pool may have fewer or more than `n`.
        """
        while self.may_be_more and len(self.codes) < n:
            seconds, clock = min(self.seconds, _HUNTED * self.task.budget.left), Clock()
            if seconds <= 0:
                break
            found = self._searched(n, None if seconds == math.inf else seconds)
            self.seconds -= clock.seconds
            self.may_be_more = found.stop_reason == StopReason.MAX_CASES
            codes = np.concatenate([self.codes, self.task.domain.encode(found.cases)])
            self.codes = distinct(self.task.domain, codes)[:n]
        return self.codes

    def _searched(self, n: int, seconds: float | None) -> Found:
        """Search the model for `n` cases with a new seed, and return the result.

        With `n` distinct cases, it holds enough new ones to fill the pool up to `n`. An interruption ends the
        retraining.
        """
        its, seed = self.task.settings, int(self.task.next_stream("hunt").generate_state(1)[0])
        how = {name: getattr(its, name) for name in ("strategy", "threshold", "output", "batch")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HealthWarning)  # the result says if no case is found
            found = search(self.model, self.task.domain, max_cases=n, max_seconds=seconds, seed=seed, **how)
        if found.stop_reason == StopReason.INTERRUPTED:
            raise KeyboardInterrupt  # it ends the whole retraining, and not only this search
        return found


def checked_cases(domain: Domain, cases: Any) -> Codes:
    """Return the cases that a user gave (rows, or the result of `search`) as codes; refuse those outside the domain."""
    frame = domain.as_frame(cases.cases if isinstance(cases, Found) else cases)
    if not len(frame):
        rule = "must hold one case at least, got none: leave them out to have them searched for"
        raise DataError.about("cases", rule)
    codes = domain.encode(frame)
    outside = np.flatnonzero(~domain.contains(codes))
    if len(outside):
        first = int(outside[0])
        name = domain.names[int(np.argmin(codes[first]))]
        where = f"{name}={frame.iloc[first][name]}" if codes[first].min() < 0 else "a constraint"
        got = f"got {len(outside):,} of {len(codes):,} outside, the first in row {first:,} by {where}"
        raise DataError.about("cases", f"must lie in the domain, {got}")
    return codes


def distinct(domain: Domain, codes: Codes) -> Codes:
    """Return the codes without repeated families: of inputs that differ in sensitive values only, the first one."""
    return codes[first_seen(Keys(domain).of(codes))]


# Rows


def augmented(task: Task, recipe: Recipe, codes: Codes, labeller: Labeller, rng: np.random.Generator) -> LabelledRows:
    """Return the labelled rows to fit to: those of the fit part, and those that a recipe adds.

    `codes` are the inputs that the recipe takes as cases. Rows added in earlier rounds are not included.
    """
    import pandas as pd

    original, parts = task.parts.fit, [task.parts.fit]
    if recipe.uses_cases and len(codes):
        parts += _of_cases(task, recipe, codes, labeller(codes), rng)
    if recipe.uses_rows:
        n_flipped = round(recipe.flipped / 100 * len(original))
        rows = original.take(np.sort(rng.permutation(len(original))[:n_flipped]))
        for part, domain in (("flip", task.domain), ("linked", task.linked)):
            parts += _twins_of(rows, domain) if part in recipe.parts else []
    parts *= recipe.copies
    frame = pd.concat([part.frame for part in parts if len(part)], ignore_index=True)
    weights = [part.weights for part in parts if part.weights is not None]
    labels = np.concatenate([part.labels for part in parts])
    return LabelledRows(task.domain, frame, labels, np.concatenate(weights) if weights else None)


def _of_cases(
    task: Task, recipe: Recipe, codes: Codes, votes: Votes, rng: np.random.Generator
) -> Iterator[LabelledRows]:
    """Yield the labelled rows that a recipe makes of cases: one random member of each family, all twins, or both."""
    original, families, present = task.parts.fit, task.domain.families, task.domain.families.of(codes).allowed
    prior = np.asarray((original.labels[:, None] == task.classes).mean(axis=0))

    def labelled(codes: Codes, labels: NDArray[Any]) -> LabelledRows:
        frame = task.domain.decode(codes)
        columns = {name: in_dtype(frame[name], original.frame[name].dtype) for name in frame.columns}
        weights = None if original.weights is None else np.full(len(codes), original.weights.mean())
        return LabelledRows(task.domain, frame.assign(**columns), labels, weights)

    if "case" in recipe.parts:
        # One member of each, drawn at random: sensitive values that were always equal would be learnt.
        member = np.where(present, rng.random(present.shape), -1.0).argmax(axis=0)
        own = votes[member, np.arange(len(codes))]
        yield labelled(families.member(codes, member), chosen(own, task.classes, prior))
    if "twins" in recipe.parts:
        labels = chosen(np.where(present[..., None], votes, 0.0).sum(axis=0), task.classes, prior)
        members = families.members(codes).reshape(*present.shape, -1)
        yield labelled(members[present], np.broadcast_to(labels, present.shape)[present])


def _twins_of(rows: LabelledRows, domain: Domain) -> Iterator[LabelledRows]:
    """Yield the twins of rows that the domain allows, linked ones in a domain with links, else plain ones.

    Each twin has the label and the weight of its row.
    """
    for which, twins in domain.families.of_frame(rows.frame).twins():
        yield replace(rows.take(which), frame=twins)
