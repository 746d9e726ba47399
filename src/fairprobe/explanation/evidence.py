"""What an explanation stands on: the cases that still hold, and a way to ask about others like them.

Everything here is in codes. Who a case's twins are is known by `domain.families`, and whether it is one by the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.checks import nearest
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain
from fairprobe.domain.extended import Extended
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.favourable import Favourable, in_order, read_favourable
from fairprobe.explanation.budget import Budget
from fairprobe.model.asking import Asker
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching import Found

if TYPE_CHECKING:
    import pandas as pd

POPULATIONS = ("domain", "valid")
LEAST_SEEN = 100
"""Of fewer fresh inputs, that an outcome was not seen among them says little, unless one of nearly its name was."""


@dataclass(frozen=True)
class DrawnFrom:
    """Who inputs are drawn from: all that the constraints allow, or a density, above a floor of plausibility."""

    name: str
    domain: Domain
    density: Density | None = None
    min_plausibility: float = 0.0

    @classmethod
    def of(cls, found: Found | None, domain: Domain, population: str | Density | None) -> DrawnFrom:
        """The one asked for; by default the search's own, or all that is allowed."""
        if population is None:
            if found is None or found.density is None:
                return cls("valid" if domain.is_restricted else "domain", domain)
            return cls("density", domain, found.density.within(domain), found.min_plausibility or 0.0)
        if isinstance(population, Density):
            return cls("density", domain, checked_density(population, domain))
        if population not in POPULATIONS:
            raise SettingError.about(
                "population", f"must be 'domain', 'valid', a Density or None (the search's own), got {population!r}"
            )
        return cls(population, domain.without_constraints() if population == "domain" else domain)

    def sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Inputs drawn from it."""
        if self.density is None:
            return self.domain.sample_codes(n, rng)
        return self.density.sample_codes(n, rng, self.density.floor(self.min_plausibility))


@dataclass(frozen=True)
class Evidence:
    """The cases that still hold, the model that judges, and what else is known."""

    model: Any
    domain: Domain
    oracle: Oracle
    """Asks the model itself, and counts."""
    budget: Budget
    cases: Judgement
    """Of the cases that still hold, each as it was shown."""
    n_given: int
    """Cases given, those that no longer hold included."""
    population: DrawnFrom
    density: Density | None
    """Whatever says how likely inputs are: that of the search, or the population itself."""
    rows: pd.DataFrame | None
    """Real rows, as they are, whether or not they lie in the domain."""
    labels: pd.Series | None
    """Of the rows."""
    seed: int
    n_unasked: int = 0
    """Cases given that were not asked about, as the budget left no room."""
    n_off: int = 0
    """Cases given that were not asked about, as they hold values of rows that are none of the domain's."""
    favourable: Favourable | None = None
    """The good outcome, where it was told."""
    places: Codes | None = None
    """Where the cases stand among those given; None where these are all."""

    @property
    def n_queries(self) -> int:
        """Rows sent to the model so far."""
        return self.oracle.asker.n_queries

    @property
    def n_cases(self) -> int:
        """Cases that still hold."""
        return len(self.cases.codes)

    @property
    def n_gone(self) -> int:
        """Cases that the model no longer treats differently."""
        return self.n_given - self.n_cases - self.n_unasked - self.n_off

    def rng(self, name: str) -> np.random.Generator:
        """Random numbers of a part's own, so that no part's draws hang on another's."""
        return np.random.default_rng([self.seed, *name.encode()])

    def judge(self, codes: Codes) -> Judgement:
        """Inputs judged by the model, in batches that stay in a core's cache."""
        return self.oracle.judge_batches(codes)

    @property
    def batch(self) -> str:
        """The form of the model's batches: "frame" or "array"."""
        assert isinstance(self.oracle.asker, Asker)
        return self.oracle.asker.batch

    @contextmanager
    def asker(self, *, domain: Domain | None = None, output: str | None = None) -> Iterator[Asker]:
        """Ask the model about another domain or for another output; the budget counts these queries too."""
        own = self.oracle.asker
        asker = Asker(self.model, domain or self.domain, output=output or own.output, batch=self.batch)
        try:
            with asker.quiet():
                yield asker
        finally:
            own.n_queries += asker.n_queries

    @cached_property
    def row_codes(self) -> Codes:
        """The rows as inputs, numbers at the nearest step; -1 where a value is none of the domain's."""
        assert self.rows is not None
        return self.domain.encode(self.rows, nearest=True)


def base_domain(domain: Domain) -> Domain:
    """The domain without what only stands in rows that a search started from."""
    if not any(isinstance(each, Extended) for each in domain.parameters):
        return domain
    return domain._but(parameters=tuple(p.base if isinstance(p, Extended) else p for p in domain.parameters))


def checked_rows(domain: Domain, X: Any, y: Any) -> tuple[pd.DataFrame | None, pd.Series | None]:
    """Real rows and their labels, made sure of."""
    import pandas as pd

    if X is None:
        if y is not None:
            raise DataError.about("y", "goes with the rows X, got no rows")
        return None, None
    rows = domain.rows(X, y=y)
    return rows.typed, None if rows.labels is None else pd.Series(rows.labels, index=rows.index)


def favourable_among(word: Any, evidence: Evidence, sampled: Judgement) -> Favourable | None:
    """Read the word for the good outcome, by what the model said of the cases, of fresh inputs, and of rows.

    Where few fresh inputs were judged, an outcome that was not seen is taken, unless it looks like one that was.
    """
    parts = (evidence.cases, sampled)

    def seen() -> Iterator[list[Any]]:
        labels = _seen(evidence, sampled)
        are_few = len(sampled.codes) < LEAST_SEEN and not nearest(word, labels)
        yield [*labels, plain(word)] if are_few else labels

    def n_classes() -> int:
        return max((part.outputs.shape[2] for part in parts if part.outputs.ndim == 3), default=0)

    return read_favourable(word, evidence.model, evidence.oracle.asker.output, seen(), n_classes)


def _seen(evidence: Evidence, sampled: Judgement) -> list[Any]:
    """The labels of the cases, of fresh inputs and of rows."""
    import pandas as pd

    judged = [
        part.outputs if part.present is None else part.outputs[part.present] for part in (evidence.cases, sampled)
    ]
    seen = [label for part in judged if part.size for label in pd.unique(part.ravel())]
    if seen and evidence.labels is not None:
        seen += evidence.labels.dropna().unique().tolist()
    return in_order(seen)
