"""Evidence for explanations: the cases that still hold, the model, its remaining queries, and the population."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count, nearest
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.nearest import coordinates
from fairprobe.domain.rows import Rows
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.favourable import Favourable, classes_of, in_order, read_favourable
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import resolution_of
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching import Found

if TYPE_CHECKING:
    import pandas as pd

MAX_QUERIES = 1_000_000
"""Default of `max_queries`, the largest number of rows sent to a model for an explanation; chosen."""

CASES_PART = 0.5
"""Largest fraction of `max_queries` for asking about all given cases; chosen. If they need more, half of this fraction
is spent on some of them."""

LEAST_SEEN = 100
"""Number of judged fresh inputs from which on a favourable outcome that nobody got is refused; chosen."""


@dataclass(frozen=True)
class Budget:
    """The queries (rows sent to a model) that remain up to a limit."""

    oracle: Oracle
    max_queries: int
    reserved: int = 0
    """Number of queries that this budget must leave for other findings."""

    @property
    def cost(self) -> int:
        """Largest number of rows sent to the model for one input and its twins."""
        return len(self.oracle.families) * (2 if self.oracle.asks_twice else 1)

    @property
    def n_left(self) -> int:
        """Number of rows that may still be sent to the model."""
        return max(0, self.max_queries - self.reserved - self.oracle.asker.n_queries)

    def of(self, n_queries: int) -> Budget:
        """Return a budget that has at most `n_queries` of the remaining queries; the rest stays reserved."""
        return replace(self, reserved=self.reserved + max(0, self.n_left - n_queries))

    def inputs(self, n_wanted: int, part: float = 1.0, cost: int | None = None) -> int:
        """Return the number of inputs, at most `n_wanted`, that the fraction `part` of the remaining queries pays for.

        `cost` is the number of rows sent to the model for one input; by default the attribute `cost`.
        """
        return min(n_wanted, int(self.n_left * part) // (cost or self.cost))


@dataclass(frozen=True)
class Plan:
    """The split of a budget over findings: each gets queries in proportion to what it and the later findings need.

    One finding comes first: what it needs, at most half of what remains, is kept for it.
    """

    budget: Budget
    needs: Mapping[str, int]
    """Number of inputs that each finding asks about if the budget allows it, by the finding's name, in their order."""
    first: str
    """Name of the finding whose queries are kept for it."""

    def of(self, name: str) -> Budget:
        """Return the budget of a finding. What earlier findings did not use is split over it and the later ones."""
        later = list(self.needs)[list(self.needs).index(name) :]
        kept = min(self.needs[self.first] * self.budget.cost, self.budget.n_left // 2) if self.first in later else 0
        if name == self.first:
            return self.budget.of(kept)
        needed = sum(self.needs[each] for each in later if each != self.first)
        return self.budget.of((self.budget.n_left - kept) * self.needs[name] // max(1, needed))


@dataclass(frozen=True)
class DrawnFrom:
    """The population that inputs are drawn from: all inputs, the allowed ones, or a density.

    Inputs drawn from a density have at least `min_plausibility`.
    """

    name: str
    domain: Domain
    density: Density | None = None
    min_plausibility: float = 0.0

    @classmethod
    def of(cls, found: Found | None, domain: Domain, population: str | Density | None) -> DrawnFrom:
        """Return the population that the user asks for: "domain", "valid", or a density.

        By default it is the population of the search, or all allowed inputs.
        """
        if population is None:
            if found is None or found.density is None:
                return cls("valid" if domain.is_restricted else "domain", domain)
            return cls("density", domain, found.density.within(domain), found.min_plausibility or 0.0)
        if isinstance(population, Density):
            return cls("density", domain, checked_density(population, domain))
        if population not in ("domain", "valid"):
            raise SettingError.about(
                "population", f"must be 'domain', 'valid', a Density or None (the search's own), got {population!r}"
            )
        return cls(population, domain.without_constraints() if population == "domain" else domain)

    def sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Draw `n` inputs of the population, as codes."""
        if self.density is None:
            return self.domain.sample_codes(n, rng)
        return self.density.sample_codes(n, rng, self.density.floor(self.min_plausibility))


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The data that all findings of an explanation share.

    They are the cases that still hold, the model that judges, its budget of queries, the population and the rows.
    """

    model: Any
    domain: Domain
    oracle: Oracle
    budget: Budget
    """Remaining queries, without those reserved for asking about the cases again."""
    cases: Judgement
    numbers: Codes
    """For each case that still holds, its position among the given cases."""
    population: DrawnFrom
    index: pd.Index
    """Index labels of the cases that still hold: those of the given frame, or their positions in the search."""
    n_gone: int = 0
    """Number of given cases that no longer hold."""
    n_unasked: int = 0
    """Number of given cases that were not asked about because the budget was too small."""
    n_off: int = 0
    """Number of given cases that were not asked about because they hold row values outside the domain."""
    density: Density | None = None
    """The density of the population, or else of the search; None if neither has one."""
    rows: Rows | None = None
    """Real rows in the domain's dtypes with their labels, whether or not they lie in the domain."""
    seed: int = 0
    favourable: Favourable | None = None

    @property
    def n_cases(self) -> int:
        """The number of given cases that still hold when the model is asked again."""
        return len(self.cases.codes)

    @property
    def n_given(self) -> int:
        """The number of cases that the user gave, whether or not they still hold."""
        return self.n_cases + self.n_gone + self.n_unasked + self.n_off

    @property
    def n_queries(self) -> int:
        """The number of rows sent to the model so far."""
        return self.oracle.asker.n_queries

    @property
    def output(self) -> str:
        """The output that is compared: "label", "score", "proba" or "value"."""
        return self.oracle.asker.output

    @property
    def batch(self) -> str:
        """The form in which the model gets its batches of rows: "frame" or "array"."""
        assert isinstance(self.oracle.asker, Asker)
        return self.oracle.asker.batch

    @cached_property
    def classes(self) -> list[Any] | None:
        """The classes of the model, in its order; None if the model does not state them."""
        return classes_of(self.model)

    @cached_property
    def places(self) -> Codes:
        """For each case, the position of its own sensitive values among all combinations of them."""
        return self.domain.families.place(self.cases.codes)

    @cached_property
    def coordinates(self) -> Codes:
        """The codes of each case in the columns that can be moved; roles replace the values of linked columns."""
        return coordinates(self.domain, self.cases.codes)

    def within(self, budget: Budget) -> Evidence:
        """Return this evidence with another budget of queries."""
        return replace(self, budget=budget)

    def rng(self, name: str) -> np.random.Generator:
        """Return a random generator for the finding `name`; its draws do not depend on those of other findings."""
        return np.random.default_rng([self.seed, *name.encode()])

    def judge(self, codes: Codes) -> Judgement:
        """Judge inputs, given as codes, with the model, in batches; equal inputs once, unless answers may change."""
        if self.oracle.asks_twice or not len(codes):
            return self.oracle.judge_batches(codes)
        unique, back = np.unique(codes, axis=0, return_inverse=True)
        return self.oracle.judge_batches(unique).take(back.reshape(-1))

    @contextmanager
    def asker(self, *, domain: Domain | None = None, output: str | None = None) -> Iterator[Asker]:
        """Yield an object that asks the model about another domain or output; the budget counts these queries too."""
        own = self.oracle.asker
        asker = Asker(self.model, domain or self.domain, output=output or own.output, batch=self.batch)
        try:
            with asker.quiet():
                yield asker
        finally:
            own.n_queries += asker.n_queries

    def health(self, n_lost: int = 0) -> list[Remark]:
        """Return remarks on an unstable model and on cases that were left out.

        `n_lost` is the number of cases that were lost after the first check.
        """
        remarks = list(self.oracle.health)
        of = f"of {self.n_given:,} cases"
        if self.n_unasked:
            text = (
                f"{self.n_unasked:,} {of} were not asked about, as the limit of {self.budget.max_queries:,} "
                f"queries leaves no room: a case and its twins take {self.budget.cost:,}. The others are evenly taken"
            )
            remarks.append(Remark("fewer-cases", text))
        if self.n_off:
            text = f"{self.n_off:,} {of} hold values of rows that are none of the domain's: they were not asked about"
            remarks.append(Remark("cases-outside", text))
        n_gone = self.n_gone + n_lost
        if n_gone and not self.oracle.health:
            text = f"{n_gone:,} {of} were left out, as the model now treats them and their twins alike"
            remarks.append(Remark("cases-gone", f"{text}: is it the model that was searched?"))
        return remarks


# The cases given


def asked_cases(
    cases: Any,
    model: Any,
    domain: Domain | None,
    *,
    output: str | None,
    threshold: float | None,
    max_queries: int,
    batch: str | None,
    n_times: int = 1,
) -> Evidence:
    """Ask the model about the cases of a search or of a frame, and return the cases that still hold as evidence.

    If all cases need more than the part `CASES_PART` of the budget, an even selection is asked about. Queries are
    reserved so that the cases that hold can be asked about `n_times` in all.
    """
    import pandas as pd

    checked_count("max_queries", max_queries)
    resolution = 0.0
    if isinstance(cases, Found):
        _check_none_given(cases, domain, output=output, threshold=threshold)
        domain, output, threshold, resolution = cases.domain, cases.output, cases.threshold, cases.resolution
        codes, index = cases._cases.case.astype(np.int64), pd.RangeIndex(cases.n_cases)
    else:
        domain = checked_domain(domain)
        frame = domain.as_frame(cases)
        codes, index = as_inputs(domain, frame), frame.index
    asker = Asker(model, domain, output=output or "label", batch=batch)
    asker.limit = max_queries
    budget = Budget(Oracle.careful(asker, threshold, resolution), max_queries)
    oracle, cost, n_given = budget.oracle, budget.cost, len(codes)
    n_asked = n_given
    if n_given * cost > max_queries * CASES_PART:
        n_asked = max(int(max_queries * CASES_PART / 2) // cost, min(1, max_queries // (n_times * cost)))
    numbers = np.linspace(0, n_given - 1, n_asked).astype(np.int64)
    if n_asked:
        oracle.resolution = max(resolution, resolution_of(asker, max(0, max_queries - 2 * n_asked * cost)))
    judgement = oracle.judge_anew(codes[numbers])
    numbers = numbers[judgement.hits]
    return Evidence(
        model=model,
        domain=domain,
        oracle=oracle,
        budget=replace(budget, reserved=(n_times - 1) * len(numbers) * cost),
        cases=judgement.take(np.flatnonzero(judgement.hits)),
        numbers=numbers,
        population=DrawnFrom("domain", domain),
        index=index[numbers],
        n_gone=n_asked - len(numbers),
        n_unasked=n_given - n_asked,
    )


def explained_cases(
    found: Found | pd.DataFrame,
    model: Any,
    X: Any,
    y: Any,
    population: str | Density | None,
    *,
    domain: Domain | None,
    seed: int,
    **asked: Any,
) -> Evidence:
    """Ask the model about given cases, and return those that still hold with the rows and the population as evidence.

    `explain` describes the arguments; the other ones are those of `asked_cases`.
    """
    own, kept = found if isinstance(found, Found) else None, None
    if own is not None and any(each.own is not each for each in own.domain.parameters):
        # A search from rows keeps values that are none of the domain's; regions are about the domain's own.
        domain, asked = own.domain.without_held(), asked | {"output": own.output, "threshold": own.threshold}
        codes = domain.encode(own.cases, nearest=True)
        kept = (codes >= 0).all(axis=1)
        found = domain.decode(codes[kept])
    evidence = asked_cases(found, model, domain, **asked)
    if kept is not None:
        evidence = replace(evidence, n_off=int((~kept).sum()), numbers=np.flatnonzero(kept)[evidence.numbers])
    who = DrawnFrom.of(own, evidence.domain, population)
    if X is None and own is not None and own.start is not None:
        X = own.start.frame
    density = who.density
    if density is None and own is not None and own.density is not None:
        density = own.density.within(evidence.domain)
    return replace(evidence, population=who, density=density, rows=given_rows(evidence.domain, X, y), seed=seed)


def _check_none_given(found: Found, domain: Domain | None, **settings: Any) -> None:
    """Refuse a domain or settings that differ from those of the search that found the cases."""
    if domain is not None and domain != found.domain:
        raise SettingError.about("domain", "must be the one searched, got another: leave it out, or give found.cases")
    for name, value in settings.items():
        own = getattr(found, name)
        if value is not None and value != own:
            raise SettingError.about(
                name, f"is the search's own, {own!r}, got {value!r}: leave it out, or give found.cases"
            )


def are_ordered(domain: Domain) -> Mask:
    """Return a boolean mask over the columns that can be moved: True for numbers and ordinals, which have an order.

    The roles of a linked column have none, but numbers that a link shifts keep theirs.
    """
    tables = {link.column for link in domain.links if link.roles is not None}
    parameters = [domain.parameters[column] for column in domain.free_columns]
    return np.array([p.kind in ("integer", "real", "ordinal") and p.name not in tables for p in parameters], dtype=bool)


def as_inputs(domain: Domain, frame: pd.DataFrame) -> Codes:
    """Return a frame of cases as codes; a value outside the domain is refused."""
    codes = domain.rows(frame, called={"X": "cases"}, may_be_empty=True).codes
    outside = codes < 0
    if outside.any():
        column = int(outside.any(axis=0).argmax())
        name, rows = domain.names[column], outside[:, column]
        value = frame[name].iloc[int(rows.argmax())]
        raise DataError(
            f"the cases must be inputs of the domain, got {name}={value} and the like in {int(rows.sum()):,} of "
            f"{len(frame):,}: give the domain that they were found in"
        )
    return codes


def given_rows(domain: Domain, X: Any, y: Any) -> Rows | None:
    """Return real rows in the domain's dtypes with their labels, after checking both; None without rows."""
    if X is None and y is not None:
        raise DataError.about("y", "goes with the rows X, got no rows")
    rows = None if X is None else domain.rows(X, y=y)
    return None if rows is None else replace(rows, frame=rows.typed)


# The good outcome


def labels_of(judgements: Iterable[Judgement]) -> list[Any]:
    """Return the distinct labels in the outputs of judgements, in order; empty if outputs are numbers by class."""
    import pandas as pd

    seen = [part.outputs[part.exist] for part in judgements if part.outputs.ndim == 2]
    return in_order(label for labels in seen for label in pd.unique(labels))


def n_classes_of(judgements: Iterable[Judgement]) -> int:
    """Return the number of classes in the outputs of judgements; 0 if outputs are plain numbers or labels."""
    return max((part.outputs.shape[2] for part in judgements if part.outputs.ndim == 3), default=0)


def favourable_among(word: Any, evidence: Evidence, sampled: Judgement | None = None) -> Favourable | None:
    """Return the user's favourable outcome `word`, checked against the outcomes of cases, fresh inputs and rows.

    None if `word` is None. If fewer than `LEAST_SEEN` fresh inputs were judged, an outcome that none of them got is
    accepted, unless its name resembles a seen one.
    """
    import pandas as pd

    judged = [evidence.cases, *([] if sampled is None else [sampled])]
    outputs = np.zeros((0, n_classes_of(judged)))
    if word is not None and evidence.oracle.is_label:
        given: Any = () if evidence.rows is None or evidence.rows.labels is None else evidence.rows.labels
        labels = in_order([*labels_of(judged), *pd.Series(given, dtype=object).dropna().unique()])
        if sampled is not None and len(sampled.codes) < LEAST_SEEN and not nearest(word, labels):
            labels = [*labels, plain(word)]
        outputs = np.array(labels, dtype=object)
    return read_favourable(word, evidence.model, evidence.output, [outputs])
