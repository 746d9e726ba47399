"""Augmenting: the rows that a recipe adds to the training rows, and the pool of cases from which it draws."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import DataError, HealthWarning
from fairprobe.retraining.labels import Labeller, Votes, chosen
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Recipe
from fairprobe.searching import Found, search
from fairprobe.searching.limits import StopReason
from fairprobe.store import Keys, first_seen

if TYPE_CHECKING:
    from fairprobe.retraining.task import Task

_HUNTED: Final = 0.5
"""Largest fraction of the time left for rounds that one search for cases may take; chosen, as a fit must follow."""


# Cases


class CasePool:
    """Pool of distinct cases: those given, and more from searches of a model when a round needs them."""

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
        """Return the codes of as many random cases as a recipe asks for, or of all if there are no more."""
        if not recipe.uses_cases:
            return self.codes[:0]
        n = recipe.n_cases(len(self.task.parts.fit))
        cases = self.grow(n)
        return cases[rng.permutation(len(cases))[:n]]

    def grow(self, n: int) -> Codes:
        """Search until the pool has `n` cases, all are found or the time is over; return the codes of all cases."""
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

        As it finds `n` distinct cases, enough of them are new to the pool to fill it up to `n`.
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

    The recipe's cases are the inputs `codes`. Added rows do not accumulate over rounds.
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
    """Yield the labelled rows that a recipe makes of these cases: single members, or all twins, or both."""
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
