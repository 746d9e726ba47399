"""The input of all parts of an explanation: the cases that still hold, the model, the population and real rows."""

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
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.favourable import Favourable
from fairprobe.explanation.given_cases import GivenCases, given_cases, labels_of, read_good
from fairprobe.model.asking import Asker
from fairprobe.oracle import Judgement
from fairprobe.searching import Found

if TYPE_CHECKING:
    import pandas as pd

POPULATIONS = ("domain", "valid")
MAX_QUERIES = 1_000_000
"""Largest number of rows that an explanation sends to a model by default. Chosen."""

LEAST_SEEN = 100
"""Smallest number of fresh inputs after which an outcome that none of them got is refused. Chosen."""


@dataclass(frozen=True)
class DrawnFrom:
    """The population that inputs are drawn from: all allowed inputs, or a density above a floor of plausibility."""

    name: str
    domain: Domain
    density: Density | None = None
    min_plausibility: float = 0.0

    @classmethod
    def of(cls, found: Found | None, domain: Domain, population: str | Density | None) -> DrawnFrom:
        """The population asked for; by default that of the search, or all allowed inputs."""
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
        """Draw inputs."""
        if self.density is None:
            return self.domain.sample_codes(n, rng)
        return self.density.sample_codes(n, rng, self.density.floor(self.min_plausibility))


@dataclass(frozen=True, kw_only=True)
class Evidence(GivenCases):
    """The cases that still hold, the model that judges, and everything given with them."""

    model: Any
    population: DrawnFrom
    density: Density | None = None
    """The density of the population, or of the search."""
    rows: pd.DataFrame | None = None
    """Real rows, whether or not they lie in the domain."""
    labels: pd.Series | None = None
    """The labels of the rows."""
    seed: int = 0
    favourable: Favourable | None = None

    def rng(self, name: str) -> np.random.Generator:
        """A generator of a part's own, so that the draws of one part do not change those of another."""
        return np.random.default_rng([self.seed, *name.encode()])

    def judge(self, codes: Codes) -> Judgement:
        """Judge inputs by the model."""
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


def checked_rows(domain: Domain, X: Any, y: Any) -> tuple[pd.DataFrame | None, pd.Series | None]:
    """Check real rows and their labels."""
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
    more = [] if evidence.labels is None else evidence.labels.dropna().unique().tolist()
    judged = [evidence.cases, sampled]
    are_few = len(sampled.codes) < LEAST_SEEN and word is not None
    if are_few and not nearest(word, [*more, *labels_of(judged)]):
        more = [*more, plain(word)]
    return read_good(word, evidence.model, evidence.oracle, judged, more)


def evidence_of(
    found: Found | pd.DataFrame,
    model: Any,
    X: Any = None,
    y: Any = None,
    population: str | Density | None = None,
    *,
    domain: Domain | None = None,
    output: str | None = None,
    threshold: float | None = None,
    max_queries: int = MAX_QUERIES,
    seed: int = 0,
    batch: str | None = None,
) -> Evidence:
    """Ask about the cases given and collect what belongs to them; the arguments are those of `explain`."""
    own, kept = found if isinstance(found, Found) else None, None
    if own is not None and any(each.own is not each for each in own.domain.parameters):
        # A search from rows keeps values that are none of the domain's; regions are about the domain's own.
        base = own.domain.without_held()
        codes = base.encode(own.cases, nearest=True)
        kept = (codes >= 0).all(axis=1)
        found = base.decode(codes[kept])
        domain, output, threshold = base, own.output, own.threshold
    asked: dict[str, Any] = {"output": output, "threshold": threshold, "max_queries": max_queries, "batch": batch}
    given = given_cases(found, model, domain, **asked)
    who = DrawnFrom.of(own, given.domain, population)
    if X is None and own is not None and own.start is not None:
        X = own.start.frame
    rows, labels = checked_rows(given.domain, X, y)
    density = who.density
    if density is None and own is not None and own.density is not None:
        density = own.density.within(given.domain)
    told = vars(given)
    if kept is not None:
        told = told | {"n_off": int((~kept).sum()), "numbers": np.flatnonzero(kept)[given.numbers]}
    return Evidence(**told, model=model, population=who, density=density, rows=rows, labels=labels, seed=seed)
