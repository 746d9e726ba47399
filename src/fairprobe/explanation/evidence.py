"""What an explanation stands on: the cases that still hold, and a way to ask about others like them.

Everything here is in codes. Who a case's twins are is known by `domain.families`, and whether it is one by the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import nearest
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain
from fairprobe.domain.extended import Extended
from fairprobe.domain.families import Members
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.favourable import meant
from fairprobe.estimation.populations import chunk
from fairprobe.frames import as_values
from fairprobe.model.adapters import abilities_of
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching import Found

if TYPE_CHECKING:
    import pandas as pd

POPULATIONS = ("domain", "valid")
MOST_TOLD = 10
"""Outcomes that a message lists."""

LEAST_SEEN = 100
"""Of fewer fresh inputs, that an outcome was not seen among them says little, unless one of nearly its name was."""


class TwiceOracle(Oracle):
    """Asks about every hit again: it is one only if it is one each time. For models not known to repeat themselves."""

    n_contradicted = 0
    """Inputs that got other outputs the second time."""

    def judge(self, inputs: Codes | Members) -> Judgement:
        """Compute the gap of each input, and again that of hits."""
        first = super().judge(inputs)
        rows = np.flatnonzero(first.hits)
        if not len(rows):
            return first
        some = first.take(rows, first.codes.dtype)
        second = self.again(some)
        assert second.contradicted is not None
        self.n_contradicted += int(second.contradicted.any(axis=0).sum())
        first.hits[rows] = second.hits
        return first

    @property
    def health(self) -> tuple[Remark, ...]:
        """Whether the model contradicted itself."""
        if not self.n_contradicted:
            return ()
        text = (
            f"the model answered {self.n_contradicted:,} inputs otherwise when asked again: what is a case only now "
            "and then is none here, nothing tells if cases hold or ended, and all figures are less sure than they say"
        )
        return (Remark("stochastic-model", text),)


def careful_oracle(asker: Asker, threshold: float | None, resolution: float = 0.0) -> Oracle:
    """One that takes the model at its word only where it is known to repeat itself."""
    kind = Oracle if is_repeatable(asker.model) else TwiceOracle
    return kind(asker, threshold, resolution)


class Budget:
    """Rows that may still be sent to a model; without a limit, as many as one likes."""

    def __init__(self, oracle: Oracle, max_queries: int | None) -> None:
        self._oracle = oracle
        self.max_queries = max_queries
        self.cost = len(oracle.families) * (2 if isinstance(oracle, TwiceOracle) else 1)
        """Of an input, in rows, at most."""

    @property
    def n_left(self) -> int | None:
        """None without a limit."""
        return None if self.max_queries is None else max(0, self.max_queries - self._oracle.asker.n_queries)

    def part(self, part: float) -> Budget:
        """A part of what is left, as a budget of its own."""
        left = self.n_left
        return Budget(self._oracle, None if left is None else self._oracle.asker.n_queries + int(left * part))

    def inputs(self, n_wanted: int, part: float = 1.0) -> int:
        """How many inputs may be judged, if only a part of what is left is to be spent."""
        left = self.n_left
        return n_wanted if left is None else min(n_wanted, int(left * part) // self.cost)


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
    favourable: Any
    """The good outcome, where it was told."""
    seed: int
    n_unasked: int = 0
    """Cases given that were not asked about, as the budget left no room."""
    n_off: int = 0
    """Cases given that were not asked about, as they hold values of rows that are none of the domain's."""
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
        return judged_in_batches(self.oracle, codes)

    @cached_property
    def row_codes(self) -> Codes:
        """The rows as inputs, numbers at the nearest step; -1 where a value is none of the domain's."""
        assert self.rows is not None
        return self.domain.encode(self.rows, nearest=True)


def judged_in_batches(oracle: Oracle, codes: Codes) -> Judgement:
    """Inputs judged by one model call a batch; of none, nothing is asked, as many models refuse an empty batch."""
    if not len(codes):
        shape = (len(oracle.families), 0)
        present = None if oracle.families.is_complete else np.zeros(shape, dtype=bool)
        return Judgement(codes, np.zeros(shape), present, np.zeros(0), np.zeros(0, dtype=bool))
    size = chunk(oracle, max(1, len(codes)))
    with oracle.asker.quiet():
        return Judgement.join([oracle.judge(codes[i : i + size]) for i in range(0, len(codes), size)])


def base_domain(domain: Domain) -> Domain:
    """The domain without what only stands in rows that a search started from."""
    if not any(isinstance(each, Extended) for each in domain.parameters):
        return domain
    return domain._but(parameters=tuple(p.base if isinstance(p, Extended) else p for p in domain.parameters))


def judged_anew(oracle: Oracle, codes: Codes) -> Judgement:
    """Inputs judged past whatever was remembered: twice, hits or not, by a model not known to repeat itself.

    Members that it answers otherwise the second time are `contradicted`, and so are inputs that are hits only once.
    """
    plainly = oracle.by(oracle.asker)
    with oracle.asker.afresh():
        first = judged_in_batches(plainly, codes)
        if not isinstance(oracle, TwiceOracle):
            return first
        second = judged_in_batches(plainly, codes)
    is_there = True if first.present is None else first.present
    contradicted = oracle.differ(first.outputs, second.outputs, first.present) | (
        (first.hits != second.hits) & is_there
    )
    oracle.n_contradicted += int(contradicted.any(axis=0).sum())
    return replace(first, hits=first.hits & second.hits, contradicted=contradicted)


def holding(oracle: Oracle, codes: Codes) -> tuple[Judgement, Mask]:
    """The cases among these inputs, which are judged anew, and which they are."""
    judgement = judged_anew(oracle, codes)
    return judgement.take(np.flatnonzero(judgement.hits), codes.dtype), judgement.hits


def checked_rows(domain: Domain, X: Any, y: Any) -> tuple[pd.DataFrame | None, pd.Series | None]:
    """Real rows and their labels, made sure of."""
    import pandas as pd

    if X is None:
        if y is not None:
            raise DataError.about("y", "goes with the rows X, got no rows")
        return None, None
    rows = domain.as_frame(X)
    absent = [name for name in domain.names if name not in rows.columns]
    if absent:
        raise DataError(f"the rows must have a column for every parameter, got none for {', '.join(absent)}")
    if not len(rows):
        raise DataError("the rows X must be one at least, got an empty frame")
    rows = domain.typed(rows)
    if y is None:
        return rows, None
    y = as_values(y)
    if len(y) != len(rows):
        raise DataError.about("y", f"must have a label for each row of X, got {len(y):,} for {len(rows):,} rows")
    if isinstance(y, pd.Series) and not y.index.equals(rows.index) and set(y.index) == set(rows.index):
        raise DataError.about(
            "y", "must be in the order of X, got the same index in another: give y.loc[X.index], or y.to_numpy()"
        )
    # Any other index was made anew since: labels go with rows by their place.
    return rows, pd.Series(np.asarray(y), index=rows.index)


def checked_favourable(evidence: Evidence, sampled: Judgement) -> None:
    """Refuse a good outcome that the model is not known to give and that was never seen."""
    favourable, output, parts = evidence.favourable, evidence.oracle.asker.output, (evidence.cases, sampled)
    classes = abilities_of(evidence.model).classes
    known = [] if classes is None else np.asarray(classes).tolist()
    if output != "label":
        n_classes = max((part.outputs.shape[2] for part in parts if part.outputs.ndim == 3), default=0)
        known = [*known, *range(n_classes)] if n_classes else []  # a class by its name or its position
        known += ["highest", "lowest"] if n_classes in (0, 2) else []
    elif not known:
        seen = _seen(evidence, sampled)
        known = seen if len(sampled.codes) >= LEAST_SEEN or nearest(favourable, seen) else []
    if favourable is None or not known or meant(favourable, known) or not any(len(part.codes) for part in parts):
        return
    told = ", ".join(map(repr, known[:MOST_TOLD])) + (" ..." if len(known) > MOST_TOLD else "")
    raise SettingError.about(
        "favourable", f"must be an outcome of the model, one of {told}; got {favourable!r}{nearest(favourable, known)}"
    )


def _seen(evidence: Evidence, sampled: Judgement) -> list[Any]:
    """The labels of the cases, of fresh inputs and of rows."""
    import pandas as pd

    judged = [
        part.outputs if part.present is None else part.outputs[part.present] for part in (evidence.cases, sampled)
    ]
    seen = {plain(label) for part in judged if part.size for label in pd.unique(part.ravel())}
    if seen and evidence.labels is not None:
        seen |= {plain(label) for label in evidence.labels.dropna().unique()}
    return sorted(seen, key=lambda label: (str(type(label)), label))
