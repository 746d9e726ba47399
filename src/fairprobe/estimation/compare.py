"""Comparison of two models on the same inputs: the difference of their shares, its interval, and a test of equality."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.blocks import Block, Result, Sentence, Table
from fairprobe.checks import checked_count, checked_seed
from fairprobe.domain.domain import Domain
from fairprobe.estimation.bounds.differences import mcnemar_p, paired_difference
from fairprobe.estimation.bounds.intervals import split_confidence
from fairprobe.estimation.favourable import favourable_of
from fairprobe.estimation.populations import Population, bound, sides_of
from fairprobe.estimation.share import Share
from fairprobe.estimation.survey import Survey, warn_of
from fairprobe.model import Model
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """The shares of two models on the same inputs, and their difference with its interval."""

    a: Share
    b: Share
    difference: float
    """Share of model a minus share of model b, as a fraction."""
    low: float
    high: float
    """Upper end of the interval of the difference, at the confidence of the shares' own intervals."""
    p_value: float
    """P-value of McNemar's exact test of equal shares."""
    only_a: int
    only_b: int
    """Number of inputs that are discriminatory for model b only; `only_a` is that for model a only."""
    n: int
    plain: Comparison | None = None
    """Comparison of plain twins, beside a comparison of linked twins; None without links."""

    def sentence(self) -> str:
        """Return the comparison in words: both shares, the difference in points with its interval, and the p-value."""
        return (
            f"{percent(self.a.value)} against {percent(self.b.value)} of {self.n:,} inputs: "
            f"{100 * self.difference:+.3g} points, with {percent(self.a.confidence)} confidence between "
            f"{100 * self.low:+.3g} and {100 * self.high:+.3g} (p = {self.p_value:.2g})"
            + ("" if self.plain is None else f"; {' or '.join(self.a.sensitive)} alone: {self.plain.sentence()}")
        )

    def blocks(self) -> list[Block]:
        """Return the comparison as blocks of a report: the sentence, the figures, and the remarks on both shares."""
        figures = {
            "a": percent(self.a.value),
            "b": percent(self.b.value),
            "discriminatory for a alone": f"{self.only_a:,}",
            "discriminatory for b alone": f"{self.only_b:,}",
            "p": f"{self.p_value:.2g}",
        }
        remarks = dict.fromkeys((*self.a.health, *self.b.health))
        return [Sentence(self.sentence()), Table.of_facts(figures), *remarks]

    def jsonable(self) -> dict[str, Any]:
        """The figures of the comparison as a dict for JSON."""
        plain = None if self.plain is None else self.plain.jsonable()
        parts = {"a": self.a.jsonable(), "b": self.b.jsonable(), "plain": plain}
        return {**vars(self), **parts, "sentence": self.sentence()}


def compare(
    model_a: Model,
    model_b: Model,
    domain: Domain,
    population: str | pd.DataFrame | Any = "domain",
    *,
    n_experiments: int = 400,
    n_samples: int = 1000,
    confidence: float = 0.95,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
    linked: bool | None = None,
) -> Comparison:
    """Judge both models on the same inputs and compare their shares.

    Args:
        model_a: anything with `predict`, or a callable that takes a batch and returns one output a row.
        model_b: another model; it may lack sensitive columns that the first takes, or take some that the first lacks.
        domain: what an input may be, and which parameters are sensitive.
        population: "domain", "valid", real rows or a `Density`.
        n_experiments: number of experiments of a sample.
        n_samples: number of inputs of an experiment.
        confidence: confidence of the intervals.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        favourable: the favourable outcome, to say who is worse off.
        seed: the same seed and settings give the same result; None draws one.
        batch: "array" or "frame", the form of the models' batches; by default the form on which each was fitted.
        linked: in a domain with links, True or False for linked or plain twins alone; None for both.

    Returns:
        Both shares, and the share of the first less that of the second, with its interval.

    >>> from fairprobe import Domain, Integer
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> compare(lambda X: X[:, 0] + 10 * X[:, 1] > 50, lambda X: X[:, 0] > 50, domain).b.hits
    0
    """
    sides, population = sides_of(domain, linked), bound(population, domain)
    confidence = split_confidence(confidence, len(sides))
    n = checked_count("n_experiments", n_experiments) * checked_count("n_samples", n_samples)
    seed = checked_seed(seed)
    found = []
    for side in sides:
        targets = [
            Population(model, side, population, threshold, output, batch, may_lack=True) for model in (model_a, model_b)
        ]
        good = favourable_of(favourable, targets)
        surveys = [
            Survey(target, [side.sensitive], confidence, seed, n_samples=n_samples, favourable=good)
            for target in targets
        ]
        # By turns, so that a second model that fails is found out at once.
        batches = zip(*(target.families(n, seed) for target in targets), strict=True)
        hits = [[survey.add(part)[0] for survey, part in zip(surveys, pair, strict=True)] for pair in batches]
        (a,), (b,) = (survey.shares() for survey in surveys)
        warn_of([a, b])
        hits_a, hits_b = map(np.concatenate, zip(*hits, strict=True))
        found.append(paired(a, b, hits_a, hits_b, confidence))
    return replace(found[0], plain=found[1]) if len(found) > 1 else found[0]


def paired(a: Share, b: Share, hits_a: Mask, hits_b: Mask, confidence: float) -> Comparison:
    """Return the comparison of two models' shares of the same inputs, from the masks of each model's hits."""
    n = len(hits_a)
    only_a, only_b = int((hits_a & ~hits_b).sum()), int((hits_b & ~hits_a).sum())
    low, high = paired_difference(only_a, only_b, n, confidence)
    return Comparison(
        a, b, (only_a - only_b) / n if n else math.nan, low, high, mcnemar_p(only_a, only_b), only_a, only_b, n
    )
