"""The verdict: a comparison of a share with a limit, and the choice (gate) of the shares that the limit applies to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from fairprobe.blocks import Block, Items, Result, Sentence, Table
from fairprobe.checks import checked_fraction, nearest
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_share
from fairprobe.estimation.group_rates import GroupRates
from fairprobe.estimation.matched_result import Matched
from fairprobe.estimation.share import Share
from fairprobe.wording import POPULATIONS, capital, closed, percent

GATES = ("rows", "domain", "valid", "density")
"""Names of populations by priority: without a named one, a limit applies to the first that was measured."""

TWINS = ("linked", "plain")
"""Kinds of twins that a gate may name: "linked" ones also differ in linked columns, "plain" ones do not."""

MATCHED, IMPACT = "matched", "impact"
"""Gates of an audit that say that the limit applies to the share by matched twins, or to the ratio of observed
rates."""

UNBOUND = "none"
"""Value of `gate` that says that no limit applies to any share, so that the error of intervals is not split."""


@dataclass(frozen=True)
class Gate:
    """The choice of the shares that a limit applies to: one population's, by linked twins, plain twins or both."""

    population: str | None = None
    """Name of the population that the limit applies to; None for the first of `GATES` that was measured."""
    twins: str | None = None
    """Kind of twins, "linked" or "plain", whose share the limit applies to, or else "matched" or "impact"; None for
    linked and plain ones, if there are both."""
    is_unbound: bool = False
    """True if no limit applies to any share."""

    @classmethod
    def of(cls, text: str | None) -> Gate:
        """Return the gate (choice of shares that a limit applies to) that a text names, such as "rows plain".

        >>> Gate.of("rows plain"), Gate.of(None)
        (Gate(population='rows', twins='plain', is_unbound=False), Gate(population=None, twins=None, is_unbound=False))
        """
        words = (text or "").replace(",", " ").split()
        known = (*GATES, *TWINS, MATCHED, IMPACT, UNBOUND)
        named, twins = ([word for word in words if word in some] for some in (GATES, (*TWINS, MATCHED, IMPACT)))
        unknown = [word for word in words if word not in known]
        if unknown or len(named) > 1 or len(twins) > 1:
            raise SettingError.about(
                "gate",
                f"must be one of {', '.join(known)}, or a population and a share as in 'rows plain'; "
                f"got {text!r}{nearest(unknown[0] if unknown else text, known)}",
            )
        return cls(next(iter(named), None), next(iter(twins), None), UNBOUND in words)

    @property
    def is_of_twins(self) -> bool:
        """True if the limit applies to shares by plain or linked twins."""
        return self.twins not in (MATCHED, IMPACT)

    def __str__(self) -> str:
        return " ".join(filter(None, [self.population, self.twins]))

    def n_bound(self, sides: Sequence[Any]) -> int:
        """Return how many of a population's shares (`sides`: linked and plain) the error of intervals is split over."""
        return 1 if self.twins or self.is_unbound else len(sides)

    def named(self, populations: Sequence[str] | Mapping[str, Any]) -> str:
        """Return the name of the population to which the limit applies, among the measured ones."""
        name = self.population or next((name for name in GATES if name in populations), None)
        if name is None or name not in populations:
            known = ", ".join(populations) or "none"
            rule = f"must be one of the populations {known}; got {name!r}{nearest(name, populations)}"
            raise SettingError.about("gate", rule)
        return name

    def bound(self, share: Share) -> list[Share]:
        """Return the shares that the limit applies to: the given one, the plain one beside it, or both."""
        return {"plain": [share.sides[-1]], "linked": [share]}.get(self.twins or "", share.sides)


class Outcome(StrEnum):
    """The result of comparing a share with a limit, as a word."""

    VIOLATED = "violated"
    PASSED = "passed"
    INCONCLUSIVE = "inconclusive"


EXIT_CODES = {Outcome.PASSED: 0, Outcome.VIOLATED: 1, Outcome.INCONCLUSIVE: 4}


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """The result of comparing a share with a limit: the outcome, and the sentence that explains it."""

    outcome: Outcome
    sentence: str
    """The outcome and its reason, in at most `MOST_WORDS` words."""
    population: str
    max_share: float
    share: Share
    details: tuple[str, ...] = ()
    """Sentences on the shares that the limit binds: their intervals, and the inputs that do not count."""

    @property
    def condition(self) -> str | None:
        """The condition under which the outcome holds, in words; None for no condition.

        Rows of unknown role pass only if the model was not trained on them.
        """
        return condition_of(self.outcome, self.share)

    @property
    def exit_code(self) -> int:
        """The exit code of the command line: 0 for passed, 1 for violated, 4 for inconclusive."""
        return EXIT_CODES[self.outcome]

    def blocks(self) -> list[Block]:
        """The verdict as blocks of a report: the sentence, the facts and the remarks on the share."""
        figures = {"about": POPULATIONS[self.population], "allowed": percent(self.max_share)}
        details = Items(tuple(closed(capital(each)) for each in self.details))
        return [Sentence(self.sentence), details, Table.of_facts(figures), *self.share.health]

    def jsonable(self) -> dict[str, Any]:
        """The verdict as a dict for JSON."""
        share, outcome = self.share.jsonable(), str(self.outcome)
        more = {"outcome": outcome, "condition": self.condition, "details": list(self.details), "share": share}
        return {**vars(self), **more}


Measured = Share | Matched | GroupRates
"""Figure that a limit may be about: a share by twins or by matched twins, or the shortfall of a ratio of rates."""

SEVERITY = (Outcome.PASSED, Outcome.INCONCLUSIVE, Outcome.VIOLATED)

TRAINED = "the model was trained on these rows, so they cannot show that a limit is kept"
"""Reason why rows that the model was trained on never pass."""

UNTRAINED = "if the model was not trained on these rows"
"""Condition of a pass on rows of unknown role."""

MOST_WORDS = 25
"""Largest number of words in the sentence of a verdict; chosen, to be read once. Long names may exceed it."""

WITHIN = "lies within the interval"
"""End of a sentence on a limit that the interval of a share does not tell from the share."""

PROXIES = "another column may stand in for it: look at linked columns and proxies"
"""Advice about a model that may not use a sensitive parameter."""

MIN_COMPARABLE = 0.9
"""Smallest fraction of the population that must be comparable for a passed verdict; chosen."""


def verdict(
    shares: Share | Mapping[str, Share],
    max_share: float,
    *,
    gate: str | None = None,
    min_comparable: float = MIN_COMPARABLE,
) -> Verdict:
    """Compare a share with a limit, and return the outcome: passed, violated or inconclusive.

    Args:
        shares: one share, or several by population.
        max_share: the limit, as 0.01 for 1%.
        gate: the population that the limit applies to; by default the rows if there are any, else the domain. In a
            domain with links, the limit applies to the linked and the plain share; "linked" or "plain" in the gate, as
            in "rows plain", means that one alone.
        min_comparable: the fraction of the population that must be comparable for a passed verdict.
    """
    checked_fraction("max_share", max_share, from_zero=True)
    checked_share("min_comparable", min_comparable)
    by_population = {shares.population: shares} if isinstance(shares, Share) else dict(shares)
    binding = Gate.of(gate)
    name = binding.named(by_population)
    bound = binding.bound(by_population[name])
    worst, outcomes = worst_of(bound, max_share, min_comparable)
    outcome, why = outcomes[worst]
    prefix, allowed = f"{qualified(outcome, bound[0])}: ", percent(max_share)
    unused = unused_words(by_population, bound[0])
    if why == WITHIN:
        sentence = fitted(prefix, bound[worst], max_share, f"; the limit of {allowed} {WITHIN}")
    elif why:
        sentence = f"{prefix}{why}"
    else:
        ends = [f"; the limit is {allowed}; {unused}"] if unused else []
        sentence = fitted(prefix, bound[worst], max_share, *ends, f"; the limit is {allowed}")
    share = bound[0] if len(bound) > 1 else replace(bound[0], plain=None)
    first, *more = share.sentences(max_share)
    if share.n and share.clauses(max_share)[0] in sentence and share.method != "exact":
        first = share.interval_words(max_share)  # the sentence of the verdict has the rest
    details = (*([] if first in sentence else [first]), *more, *([f"{unused}; {PROXIES}"] if unused else []))
    return Verdict(outcome, sentence, name, max_share, bound[0], details)


def fitted(prefix: str, share: Share, limit: float | None, *ends: str) -> str:
    """Return a sentence on a share with a prefix and an end, in its first form of at most `MOST_WORDS` words.

    The ends are tried in order, and for each end the forms of the share from the longest to the shortest.
    """
    sentences = [f"{prefix}{form}{end}" for end in ends for form in share.clauses(limit)]
    return next((each for each in sentences if len(each.split()) <= MOST_WORDS), sentences[-1])


def condition_of(outcome: str, share: Share) -> str | None:
    """Return the condition under which an outcome holds, in words; None for no condition.

    Rows of unknown role pass only if the model was not trained on them.
    """
    is_open = outcome == Outcome.PASSED and share.population == "rows" and share.rows_are == "unknown"
    return UNTRAINED if is_open else None


def qualified(outcome: str, share: Share) -> str:
    """Return the outcome in words, with the condition under which it holds, if there is one."""
    return ", ".join(filter(None, [str(outcome), condition_of(outcome, share)]))


def held_against(found: Measured, limit: float, min_comparable: float) -> tuple[Outcome, str]:
    """Compare one measured figure with a limit by its two-sided interval; return the outcome and the reason in words.

    Rows that the model was trained on have no interval: the figure of these rows can exceed the limit, but never
    passes it.
    """
    low, high = (found.value, math.inf) if found.is_count else (found.low, found.high)
    if found.refusal:
        return Outcome.INCONCLUSIVE, found.refusal
    if found.comparable < min_comparable and not low > limit:
        compared = f"only {percent(found.comparable)} of {found.whole} could be compared"
        return Outcome.INCONCLUSIVE, f"{compared}, less than the {percent(min_comparable)} that it takes"
    if found.unsteady:
        return Outcome.INCONCLUSIVE, found.unsteady
    if low > limit or (limit == 0 and found.has_case):
        return Outcome.VIOLATED, ""
    if found.is_count:
        return Outcome.INCONCLUSIVE, TRAINED
    if high <= limit and found.weakness:
        return Outcome.INCONCLUSIVE, found.weakness
    return (Outcome.PASSED, "") if high <= limit else (Outcome.INCONCLUSIVE, WITHIN)


def worst_of(found: Sequence[Measured], limit: float, min_comparable: float) -> tuple[int, list[tuple[Outcome, str]]]:
    """Compare figures with one limit; return the position of the worst, and the outcome and reason of each."""
    outcomes = [held_against(each, limit, min_comparable) for each in found]
    return max(range(len(outcomes)), key=lambda place: SEVERITY.index(outcomes[place][0])), outcomes


def unused_words(shares: Mapping[str, Share], share: Share) -> str:
    """Return words on a model that does not seem to use the sensitive parameters, for shares without a single hit.

    Empty if there is a hit, or if the output is compared with a threshold.
    """
    is_used = any(side.hits for one in shares.values() for side in one.sides)
    if is_used or share.threshold or not share.n or share.unsteady:
        return ""
    use = "does not use" if share.method == "exact" and share.population != "rows" else "may not use"
    return f"the model {use} {' or '.join(share.sensitive)}"
