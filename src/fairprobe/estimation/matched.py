"""Matched twins: how many people would get another outcome at the same place in another group's distribution.

They answer the question for an attribute that the model does not take. See `matching` for how people are moved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Block, Remark, Result, Sentence, Table
from fairprobe.checks import checked_count, checked_seed, nearest
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.rows import Rows
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.estimation.bounds.intervals import checked_confidence, split_confidence
from fairprobe.estimation.favourable import Favourable, classes_of, in_order, read_favourable
from fairprobe.estimation.matching import Column, Transport, columns_of_rows
from fairprobe.estimation.populations import FEW
from fairprobe.estimation.proxies import auc_of, wilson
from fairprobe.estimation.share import as_number, checked_role
from fairprobe.model.adapters import columns_of
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import resolution_of, unsteadiness
from fairprobe.oracle import ROWS_A_CALL, Oracle
from fairprobe.wording import between, counted, listed, percent, value

if TYPE_CHECKING:
    import pandas as pd

N_DRAWS = 20
"""Default number of twins that are drawn for each person; from the design."""

LISTED_FROM = 0.9
"""Smallest flip probability with which a person is listed; from the design."""

FEWEST = 30
"""Smallest number of rows of a group that is compared; from the design."""

MOST_GROUPS = 10
"""Largest number of groups of which all pairs are compared; chosen, as each pair takes its own queries."""

PEOPLE = 2_000
"""Number of people whose twins are asked about together; chosen to bound the memory."""

KEPT_WORDS = frozenset(
    "age ages birth birthdate birthday born dob race ethnic ethnicity country nationality native citizenship sex gender".split()
)
"""Words in the name of a column that stays unchanged unless the user says what stays; from the design."""

CAUSE = "This is an association, not a cause."

MATCHED = 3
"""First part of the spawn keys of the random streams of matched twins."""

TOLD_APART = 0.1
"""Excess of the area under the curve, above what kept columns explain, from which groups are told apart; chosen."""

REPRODUCED = 0.8
"""Smallest part of the observed difference between groups that twins must reproduce without a remark; from the
design."""

MOST_TRIED = 4_000
"""Largest number of rows of each group from which a classifier learns to tell groups apart; chosen."""

RARELY = 0.01
"""Fraction of people from which a remark says that kept values do not occur in the other group; chosen."""

NOTICED = 0.1
"""Difference of a frequency between groups that the tests must be able to show, else a remark says so; chosen."""


@dataclass(frozen=True)
class Pair:
    """The people of two groups, and what their twins in the other group get."""

    groups: tuple[str, str]
    value: float
    """Mean flip probability of the people of both groups, by weight; NaN if the question was refused."""
    low: float
    high: float
    """Upper end of the two-sided interval; `low` is the lower end. NaN for training rows."""
    n: int
    flips: Floats
    """Flip probability by row of X; NaN for a row of another group, or without an allowed twin."""
    columns: pd.DataFrame
    """One row for each column: what it depends on, if it is kept, and in which part of the twins it differs."""
    worse_off: str | None
    """The group whose members get the less favourable of two outcomes in most flips; None if this is not known."""
    worse: float
    """Part of the flips in which the group `worse_off` is worse off; NaN if this is not known."""
    reproduced: float
    """Part of the observed difference between the groups' rates that the twins reproduce; NaN if there is none."""
    told: tuple[float, float, float]
    """How well a classifier tells the groups apart, as an area under the curve: by kept columns alone, by all columns,
    and by all columns after people were moved."""
    health: tuple[Remark, ...] = ()

    @property
    def name(self) -> str:
        """The two groups in words."""
        return " and ".join(map(value, self.groups))


@dataclass(frozen=True, repr=False)
class Matched(Result):
    """The share of people whose matched twin gets another outcome.

    With several pairs of groups, the figures are those of the pair with the largest share, and the intervals of all
    pairs hold together.
    """

    attribute: str
    pairs: tuple[Pair, ...]
    """The pairs of groups, the one with the largest share first."""
    keep: tuple[str, ...]
    """Columns that stay unchanged in twins."""
    keep_given: bool
    """True if the user said which columns stay."""
    rates: pd.DataFrame
    """One row for each group: number of rows, and rate of the outcome that the model gives, with its interval."""
    ratio: tuple[float, float, float]
    """Lowest rate of a group divided by the highest, and the two ends of its interval; NaN if it is not known."""
    outcome: Any
    """The outcome whose rates are shown; None if the model's outputs are not labels."""
    people: pd.DataFrame
    """The rows of people with a flip probability of at least 90% in the first pair, with their index."""
    flips: pd.Series
    """The flip probability of each row for the first pair, by the index of X; NaN for a row that is not compared."""
    confidence: float
    threshold: float
    n_draws: int
    n_queries: int
    n_left_out: int
    """Number of rows that were left out because their value of the attribute is unknown or not compared."""
    rows_are: str
    seed: int
    health: tuple[Remark, ...] = ()
    sensitive: tuple[str, ...] = field(init=False)
    population: str = field(default="rows", init=False)
    compared: str = field(default="matched", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", (self.attribute,))

    @property
    def value(self) -> float:
        """The mean flip probability of people in the first pair of groups; NaN if the question was refused."""
        return self.pairs[0].value

    @property
    def low(self) -> float:
        """The lower end of the interval of `value`."""
        return self.pairs[0].low

    @property
    def high(self) -> float:
        """The upper end of the interval of `value`."""
        return self.pairs[0].high

    @property
    def n(self) -> int:
        """The number of people in the first pair of groups."""
        return self.pairs[0].n

    @property
    def worse_off(self) -> str | None:
        """The group that is worse off in most flips of the first pair; None if this is not known."""
        return self.pairs[0].worse_off

    def has(self, check: str) -> bool:
        """Return True if a health check of this name has a remark."""
        return check in dict(self.health)

    @property
    def keep_words(self) -> str:
        """The columns that stay unchanged, as a sentence."""
        kept = f"These columns stay unchanged: {listed(map(value, self.keep))}" if self.keep else "All columns move"
        return f"{kept}{'' if self.keep_given else ' (by default)'}."

    def sentence(self, limit: float | None = None) -> str:
        """Return the share in words, with its interval; `limit` gives it enough digits to differ from a limit."""
        if math.isnan(self.value):
            return f"Matched twins for {self.attribute} were refused: {dict(self.health)['no-edge']}."
        first = self.pairs[0]
        interval = "a count of training rows" if math.isnan(self.low) else between(self.low, self.high, limit)
        said = f"{percent(self.value, limit)} of the people ({self.n:,} rows, {interval}) get another outcome as their "
        said += f"matched twin of the other {self.attribute}"
        said += f" ({first.name})" if len(self.pairs) > 1 else ""
        worse = f" {value(first.worse_off)} is worse off in {percent(first.worse)} of these." if first.worse_off else ""
        return f"{said}.{worse} {CAUSE}"

    def blocks(self) -> list[Block]:
        """Return the result as blocks: the share, what stays, the pairs, the observed rates, the columns, remarks."""
        pairs = [
            (p.name, percent(p.value), between(p.low, p.high), f"{p.n:,}", _told(p.reproduced), f"{p.told[2]:.2f}")
            for p in self.pairs
        ]
        header = ["groups", "#share", "interval", "#people", "#difference reproduced", "#told apart"]
        rates = [(value(r.group), f"{r.n:,}", percent(r.rate), between(r.low, r.high)) for r in self.rates.itertuples()]
        blocks: list[Block] = [Sentence(self.sentence()), Sentence(self.keep_words)]
        blocks.append(Table.of(header, pairs, "Matched twins by pair of groups"))
        if self.outcome is not None:
            blocks.append(Table.of(["group", "#rows", "#rate", "interval"], rates, f"Rate of {value(self.outcome)}"))
            blocks.append(Sentence(f"Lowest rate divided by the highest: {_ratio_words(self.ratio)}."))
        n = len(self.people)
        blocks.append(Sentence(f"{counted(n, 'person', 'people')} would get another outcome in 90% of draws or more."))
        blocks.append(Table.of_frame(self.pairs[0].columns, "How columns move", most_rows=100))
        return [*blocks, *self.health]

    def jsonable(self) -> dict[str, Any]:
        """Return the figures as a dict for JSON."""
        names = ("attribute", "keep_given", "n_draws", "n_queries", "n_left_out", "rows_are", "seed", "confidence")
        pairs = [
            {
                "groups": list(p.groups),
                **{name: as_number(getattr(p, name)) for name in ("value", "low", "high", "worse", "reproduced")},
                "n": p.n,
                "worse_off": p.worse_off,
                "told": [as_number(auc) for auc in p.told],
                "columns": _records(p.columns),
            }
            for p in self.pairs
        ]
        return {
            **{name: getattr(self, name) for name in names},
            **{name: as_number(getattr(self, name)) for name in ("value", "low", "high", "threshold")},
            "n": self.n,
            "worse_off": self.worse_off,
            "keep": list(self.keep),
            "pairs": pairs,
            "rates": _records(self.rates),
            "ratio": [as_number(each) for each in self.ratio],
            "outcome": self.outcome,
            "n_people": len(self.people),
            "sentence": self.sentence(),
            "health": [remark.jsonable() for remark in self.health],
        }


def matched_share(
    model: Any,
    domain: Domain,
    X: Any,
    *,
    keep: Sequence[str] | None = None,
    attribute: str | None = None,
    favourable: Any = None,
    confidence: float = 0.95,
    seed: int | None = 0,
    output: str = "label",
    threshold: float | None = None,
    batch: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    rows_are: str | None = None,
    n_draws: int = N_DRAWS,
) -> Matched:
    """Estimate how many people get another outcome as a matched twin: at the same place in the other group.

    The twins are learned from the rows, without their weights. The interval is for the people that the rows were drawn
    from. It takes as given which columns were found to depend on which.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be. Its sensitive parameters that the model does not take are `hidden`.
        X: real rows, with the sensitive columns.
        keep: columns that stay unchanged. By default the other sensitive ones and those named like age or race.
        attribute: the sensitive column to compare; by default the only hidden one.
        favourable: the favourable outcome, as for `estimate`, to say who is worse off.
        confidence: confidence of all intervals of shares together, and of each observed rate.
        seed: the same seed and settings give the same result. None draws one, which the result records.
        output: the outputs that are compared: "label", "score", "proba" or "value".
        threshold: two outputs differ if their gap is above it. Labels have 0 by default.
        batch: "array" or "frame", the form of the model's batches.
        sample_weight: the weight of each row.
        groups: the person that each row belongs to.
        rows_are: "held-out", "training" or "unknown", as for `estimate`.
        n_draws: number of twins drawn for each person.
    """
    domain, attribute = _attribute_of(model, checked_domain(domain), attribute)
    rows = domain.rows(X, sample_weight=sample_weight, groups=groups)
    kept, remarks = _kept(domain, attribute, keep)
    asker = Asker(model, domain, output=output, batch=batch)
    question = _Question(rows, attribute, kept, asker, threshold, checked_count("n_draws", n_draws, at_least=2))
    return question.answer(
        favourable,
        checked_confidence(confidence),
        checked_seed(seed),
        checked_role(rows_are),
        keep is not None,
        remarks,
    )


class _Question:
    """The rows, the groups to compare, and the model that is asked about people and their twins."""

    def __init__(
        self, rows: Rows, attribute: str, kept: Sequence[str], asker: Asker, threshold: float | None, n_draws: int
    ) -> None:
        self.rows, self.attribute, self.kept, self.asker, self.n_draws = rows, attribute, kept, asker, n_draws
        self.frame = rows.typed
        self.parameter = rows.domain[attribute]
        self.own = self.parameter.encode(rows.frame[attribute])
        self.counts = np.bincount(self.own[self.own >= 0], minlength=self.parameter.levels)
        self.codes = np.flatnonzero(self.counts >= FEWEST)
        self._check_groups()
        some = self.frame.iloc[np.unique(np.linspace(0, len(rows) - 1, FEW).round().astype(np.int64))]
        self.some = some
        self.oracle = Oracle(asker, threshold, resolution_of(asker, rows=some))
        names = [name for name in rows.domain.names if name != attribute]
        self.columns = columns_of_rows(rows.domain, self.frame, names)
        self.outputs = self.ask(self.frame)

    def _check_groups(self) -> None:
        if len(self.codes) < 2:
            got = ", ".join(f"{self.named(code)}: {n:,}" for code, n in enumerate(self.counts)) or "none"
            rule = f"must have two values of {self.attribute!r} that {FEWEST} rows have each to compare them"
            raise DataError.about("X", f"{rule}, got {got}")
        if len(self.codes) > MOST_GROUPS:
            advice = f"list those to compare, as in sensitive={{{self.attribute!r}: [...]}}"
            rule = f"must have at most {MOST_GROUPS} values to compare, got {len(self.codes)} for {self.attribute!r}"
            raise SettingError.about("sensitive", f"{rule}: {advice}")

    def named(self, code: int) -> str:
        """Return a value of the attribute as text, by its code."""
        return str(plain(self.parameter.decode(np.array([code]))[0]))

    def ask(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the model's outputs for rows, asked in batches."""
        parts = [self.asker.ask_frame(frame.iloc[i : i + ROWS_A_CALL]) for i in range(0, len(frame), ROWS_A_CALL)]
        return np.concatenate(parts)

    def answer(
        self, favourable: Any, confidence: float, seed: int, role: str, keep_given: bool, remarks: list[Remark]
    ) -> Matched:
        """Return the result for all pairs of groups."""
        import pandas as pd

        good = self.favourable(favourable)
        outcome, is_outcome = self.outcome(good)
        codes = list(combinations(self.codes.tolist(), 2))
        each = split_confidence(confidence, len(codes))
        pairs = [self.pair(pair, place, len(codes), good, is_outcome, each, seed) for place, pair in enumerate(codes)]
        if role == "training":
            pairs = [replace(pair, low=math.nan, high=math.nan) for pair in pairs]
        pairs.sort(key=lambda pair: -pair.value if not math.isnan(pair.value) else -math.inf)
        rates, ratio = self.rates(is_outcome, confidence)
        flips = pairs[0].flips
        health = dict.fromkeys([*remarks, *self.remarks(), *(remark for pair in pairs for remark in pair.health)])
        return Matched(
            attribute=self.attribute,
            pairs=tuple(pairs),
            keep=tuple(self.kept),
            keep_given=keep_given,
            rates=rates,
            ratio=ratio,
            outcome=outcome,
            people=self.rows.frame[flips >= LISTED_FROM],
            flips=pd.Series(flips, index=self.rows.index, name="flip_probability"),
            confidence=confidence,
            threshold=self.oracle.threshold,
            n_draws=self.n_draws,
            n_queries=self.asker.n_queries,
            n_left_out=int((self.own < 0).sum()),
            rows_are=role,
            seed=seed,
            health=tuple(health),
        )

    def favourable(self, word: Any) -> Favourable | None:
        """Return the favourable outcome that a word names, among those that the rows get."""
        seen = [in_order(self.outputs.tolist())] if self.outputs.dtype.kind != "f" and self.outputs.ndim == 1 else []
        n_classes = self.outputs.shape[1] if self.outputs.ndim == 2 else 0
        return read_favourable(word, self.asker.model, self.asker.output, seen, lambda: n_classes)

    def outcome(self, good: Favourable | None) -> tuple[Any, Any]:
        """Return the outcome whose rates are shown, and a function from outputs to a mask of it; None for numbers."""
        if not self.oracle.is_label:
            return None, None
        last = (classes_of(self.asker.model) or in_order(self.outputs.tolist()))[-1]
        label = last if good is None else good.label
        return label, lambda outputs: (outputs == label).astype(np.float64)

    def weights(self, which: Mask | Codes) -> Floats:
        """Return the weights of some rows; 1 for each without weights."""
        given = self.rows.weights
        return np.ones(len(self.rows))[which] if given is None else given[which]

    def pair(
        self,
        codes: tuple[int, int],
        place: int,
        n_pairs: int,
        good: Favourable | None,
        is_outcome: Any,
        confidence: float,
        seed: int,
    ) -> Pair:
        """Return the comparison of two groups, by the codes of their values."""
        which = np.flatnonzero(np.isin(self.own, codes))
        group = (self.own[which] == codes[1]).astype(np.int64)
        some = [_taken(column, which) for column in self.columns]
        numbers = self.rows.group_numbers
        first = None if numbers is None else np.unique(numbers[which], return_index=True)[1]
        transport = Transport.learn(some, group, self.kept, tested=first, n_pairs=n_pairs)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(MATCHED, place)))
        twins = _Twins(self, which, group, transport, rng)
        names = (self.named(codes[0]), self.named(codes[1]))
        own = self.outputs[which]
        both = np.stack([np.broadcast_to(own, twins.outputs.shape), twins.outputs])
        flat = both.reshape(2, -1, *own.shape[1:])
        hits = self.oracle.are_discriminatory(flat).reshape(twins.allowed.shape) & twins.allowed
        n_allowed = twins.allowed.sum(axis=0)
        comparable = n_allowed > 0
        flips = np.where(comparable, hits.sum(axis=0) / np.maximum(n_allowed, 1), np.nan)
        weights = self.weights(which)
        told = _told_apart(some, group, self.kept, twins.first, seed)
        health = [*_doubts(transport, group, told, names, self.kept, n_pairs)]
        refused = "no-edge" in dict(health)
        share, low, high = math.nan, 0.0, 1.0
        if not refused and comparable.any():
            units = np.arange(len(which)) if numbers is None else numbers[which]
            share, low, high = _interval(hits, twins.allowed, weights, units, confidence)
        worse, part = _direction(good, self.oracle, flat, hits, weights, group, names)
        reproduced, remark = math.nan, ()
        if is_outcome is not None:
            reproduced = _reproduced(is_outcome, own, twins, weights, group)
            shown = abs(reproduced) < math.inf and reproduced < REPRODUCED
            remark = (Remark("difference-not-reproduced", _not_reproduced(names, reproduced)),) if shown else ()
        by_row = np.full(len(self.own), np.nan)
        by_row[which] = np.nan if refused else flips
        return Pair(
            names, share, low, high, int(comparable.sum()), by_row, self.described(transport, twins), worse, part,
            reproduced, told, (*health, *remark),
        )  # fmt: skip

    def described(self, transport: Transport, twins: _Twins) -> pd.DataFrame:
        """Return a table of the columns: what each depends on, and in which part of the twins it differs."""
        import pandas as pd

        steps = {edges.column: edges for edges in transport.edges}
        rows = []
        for place, column in enumerate(transport.columns):
            step = steps.get(place)
            depends = [] if step is None else [transport.columns[parent].name for parent in step.parents]
            depends = [self.attribute, *depends] if step is not None and step.is_open else depends
            rows.append((column.name, step is None, ", ".join(depends), float(twins.changed[place])))
        return pd.DataFrame(rows, columns=["column", "kept", "depends on", "changed"])

    def rates(self, is_outcome: Any, confidence: float) -> tuple[pd.DataFrame, tuple[float, float, float]]:
        """Return the table of observed rates by group, and the ratio of the lowest to the highest, with its ends."""
        import pandas as pd

        numbers, rows, both = self.rows.group_numbers, [], []
        for code in np.flatnonzero(self.counts):
            which = self.own == code
            figures = (math.nan, math.nan, math.nan)
            if is_outcome is not None:
                gets = is_outcome(self.outputs[which]).astype(bool)
                units = None if numbers is None else numbers[which]
                given = None if self.rows.weights is None else self.rows.weights[which]
                one = clustered(gets, given, units, confidence)
                figures = (one.share, *one.two_sided)
                if code in self.codes:
                    both.append((one.share, clustered(gets, given, units, split_confidence(confidence, 2)).two_sided))
            rows.append((self.named(int(code)), int(which.sum()), *figures, code in self.codes))
        table = pd.DataFrame(rows, columns=["group", "n", "rate", "low", "high", "compared"])
        if not both:
            return table, (math.nan, math.nan, math.nan)
        least, most = min(both), max(both)
        ratio = least[0] / most[0] if most[0] else math.nan
        return table, (ratio, least[1][0] / most[1][1], min(1.0, least[1][1] / max(most[1][0], 1e-300)))

    def remarks(self) -> Iterator[Remark]:
        """Yield remarks on the rows and on the model."""
        small = [f"{self.named(code)} ({n:,} rows)" for code, n in enumerate(self.counts) if 0 < n < FEWEST]
        if small:
            text = f"a group with fewer than {FEWEST} rows is not compared: {listed(small)}"
            yield Remark("small-group", text)
        if self.rows.weights is not None:
            yield Remark("learned-unweighted", "the twins are learned from the rows as they are, without their weights")
        if not is_repeatable(self.asker.model):
            yield from unsteadiness(self.asker, rows=self.some)


class _Twins:
    """The drawn twins of the people of two groups, and the model's outputs for them."""

    def __init__(
        self, question: _Question, which: Codes, group: Codes, transport: Transport, rng: np.random.Generator
    ) -> None:
        self._question, self._which, self._group, self._transport = question, which, group, transport
        numbers = question.rows.group_numbers
        units = None if numbers is None else np.unique(numbers[which], return_inverse=True)[1].reshape(-1)
        everybody = np.arange(len(which))
        learned = (transport.resampled(rng, units) for _ in range(question.n_draws))
        draws = np.stack([each.draw(everybody, rng).astype(np.int32) for each in learned])
        own = np.stack([column.codes for column in transport.columns], axis=1)
        blocks = [everybody[start : start + PEOPLE] for start in range(0, len(which), PEOPLE)]
        outputs, allowed = zip(*(self._asked(block, draws[:, block]) for block in blocks), strict=True)
        self.outputs = np.concatenate(outputs, axis=1)
        """The model's outputs by draw, then person."""
        self.allowed = np.concatenate(allowed, axis=1)
        """Boolean mask by draw, then person: True if the constraints allow the twin."""
        self.first = draws[0].astype(np.int64)
        """Values of everybody's first twin, as numbers by person, then column."""
        self.changed = (draws != own).mean(axis=(0, 1))
        """Part of the twins in which each column differs from the person's own value."""

    def _asked(self, people: Codes, draws: Codes) -> tuple[NDArray[Any], Mask]:
        """Return the outputs for the twins of some people, and which are allowed; equal twins are asked about once."""
        import pandas as pd

        values = draws.reshape(-1, draws.shape[2]).astype(np.int64)
        key = np.tile(self._group[people], len(draws)).astype(np.int64)
        for column in values.T:
            key = pd.factorize(key * (int(column.max()) + 1) + column)[0].astype(np.int64)
        firsts = np.unique(key, return_index=True)[1]
        frame = self._frame(values[firsts], np.tile(self._group[people], len(draws))[firsts])
        outputs, allowed = self._question.ask(frame)[key], self._may(frame)[key]
        return outputs.reshape(*draws.shape[:2], *outputs.shape[1:]), allowed.reshape(draws.shape[:2])

    def _frame(self, values: Codes, group: Codes) -> pd.DataFrame:
        """Return twins as a frame with the values of the rows; their attribute is that of the other group."""
        import pandas as pd

        question, columns = self._question, {}
        for column, numbers in zip(self._transport.columns, values.T, strict=True):
            series = question.frame[column.name]
            columns[column.name] = series.array.take(self._which[column.firsts[numbers]])
        others = np.array([self._which[(self._group == 1).argmax()], self._which[(self._group == 0).argmax()]])
        columns[question.attribute] = question.frame[question.attribute].array.take(others[group])
        return pd.DataFrame(columns)[list(question.frame.columns)]

    def _may(self, frame: pd.DataFrame) -> Mask:
        """Return a mask of the twins that the constraints allow; a twin with values outside the domain is allowed."""
        domain = self._question.rows.domain
        if not domain.is_restricted:
            return np.ones(len(frame), dtype=bool)
        codes = domain.encode(frame, nearest=True)
        inside = (codes >= 0).all(axis=1)
        allowed = np.ones(len(frame), dtype=bool)
        allowed[inside] = domain.allows(codes[inside])
        return allowed


def _attribute_of(model: Any, domain: Domain, attribute: str | None) -> tuple[Domain, str]:
    """Return the domain with all sensitive columns hidden that the model does not take, and the attribute to compare."""
    taken = columns_of(model, domain)
    lacking = [name for name in domain.sensitive if taken is not None and name not in taken]
    hidden = [name for name in domain.sensitive if name in (*domain.hidden, *lacking)]
    domain = domain.hiding(hidden) if set(hidden) - set(domain.hidden) else domain
    if attribute is None and len(hidden) != 1:
        rule = "must name one sensitive column that the model does not take"
        known = ", ".join(hidden) or "none: the model takes them all, so compare its twins by estimate"
        raise SettingError.about("attribute", f"{rule}; got None, known are {known}")
    name = hidden[0] if attribute is None else attribute
    if name not in hidden:
        what = f"{name!r}, which the model takes" if name in domain.sensitive else f"{name!r}{nearest(name, hidden)}"
        raise SettingError.about("attribute", f"must be a sensitive column that the model does not take, got {what}")
    return domain, name


def _kept(domain: Domain, attribute: str, keep: Sequence[str] | None) -> tuple[list[str], list[Remark]]:
    """Return the columns that stay unchanged, in domain order, and a remark if nothing says which they are."""
    names = [name for name in domain.names if name != attribute]
    if keep is None:
        kept = [name for name in names if name in domain.sensitive or _words(name) & KEPT_WORDS]
        text = (
            "no column stays unchanged, because none is named like age, race or country: what stays decides the answer, "
            "so say which do (keep=[...], or keep=[] for none)"
        )
        return kept, [] if kept else [Remark("keep-not-said", text)]
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise SettingError.about("keep", f"must be a list of columns, got {keep!r}")
    given = list(keep)
    for name in given:
        if name not in names:
            raise SettingError.about(
                "keep", f"must name columns other than {attribute!r}, got {name!r}{nearest(name, names)}"
            )
    if set(names) <= set(given):
        raise SettingError.about("keep", "must leave a column that may change, got all columns")
    return [name for name in names if name in given], []


def _words(name: str) -> set[str]:
    """Return the words in a column's name, in small letters.

    >>> sorted(_words("native-country")), sorted(_words("ageAtFirstClaim"))
    (['country', 'native'], ['age', 'at', 'claim', 'first'])
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def _taken(column: Column, which: Codes) -> Column:
    """Return a column of some of the rows; the rows in `firsts` are numbered among these."""
    known, codes = np.unique(column.codes[which], return_inverse=True)
    firsts = np.unique(codes.reshape(-1), return_index=True)[1]
    is_last_missing = column.has_missing and known[-1] == len(column.firsts) - 1
    fine, coarse = (np.unique(bins[which], return_inverse=True)[1].reshape(-1) for bins in (column.fine, column.coarse))
    return replace(
        column, codes=codes.reshape(-1), firsts=firsts, has_missing=bool(is_last_missing), fine=fine, coarse=coarse
    )


def _interval(
    hits: Mask, allowed: Mask, weights: Floats, units: Codes, confidence: float
) -> tuple[float, float, float]:
    """Return the mean flip probability and its interval, by draw, then person.

    Two sources of error add up as squares. The one is which people were drawn: a person's draws are one group, and so
    are a unit's people. The other is that the distributions are learned: each draw has learned them from other rows, so
    that the spread of the draws' shares tells it.
    """
    from scipy.special import stdtrit

    each = np.where(allowed, weights / np.maximum(allowed.sum(axis=0), 1), 0.0)
    kept = allowed.ravel()
    found = clustered(hits.ravel()[kept], each.ravel()[kept], np.tile(units, len(hits))[kept], confidence)
    shares = (hits * weights).sum(axis=1) / np.maximum((allowed * weights).sum(axis=1), 1e-300)
    learned = -float(stdtrit(len(hits) - 1, (1 - confidence) / 2)) * float(shares.std(ddof=1))
    low, high = (math.hypot(end - found.share, learned) for end in found.two_sided)
    return found.share, max(0.0, found.share - low), min(1.0, found.share + high)


def _direction(
    good: Favourable | None,
    oracle: Oracle,
    outputs: NDArray[Any],
    hits: Mask,
    weights: Floats,
    group: Codes,
    names: tuple[str, str],
) -> tuple[str | None, float]:
    """Return the group that is worse off in most flips, and the part of the flips; (None, NaN) if it is not known."""
    if good is None or not hits.any():
        return None, math.nan
    present = np.ones(outputs.shape[:2], dtype=bool)
    above = oracle.threshold + oracle.resolution
    own_denied, twin_denied = (
        good.denied(outputs, present, place, above).reshape(hits.shape) & hits for place in (0, 1)
    )
    by_group = [
        float((weights * (own_denied & (group == g))).sum() + (weights * (twin_denied & (group != g))).sum())
        for g in (0, 1)
    ]
    if by_group[0] == by_group[1]:
        return None, math.nan
    worst = int(by_group[1] > by_group[0])
    return names[worst], by_group[worst] / float((weights * hits).sum())


def _reproduced(is_outcome: Any, own: NDArray[Any], twins: _Twins, weights: Floats, group: Codes) -> float:
    """Return the part of the difference between the groups' rates that moving people from one to the other makes.

    It is NaN if the observed difference is not larger than chance explains.
    """
    gets, as_twin = is_outcome(own), is_outcome(twins.outputs).mean(axis=0)
    parts = [group == 0, group == 1]
    rates = [np.average(gets[part], weights=weights[part]) for part in parts]
    moved = [np.average(as_twin[part], weights=weights[part]) for part in parts]
    error = math.sqrt(sum(rate * (1 - rate) / part.sum() for rate, part in zip(rates, parts, strict=True)))
    difference = rates[1] - rates[0]
    if abs(difference) <= 3 * error:
        return math.nan
    return float(((moved[0] - rates[0]) + (rates[1] - moved[1])) / (2 * difference))


def _not_reproduced(names: tuple[str, str], part: float) -> str:
    return (
        f"twins reproduce {percent(max(0.0, part))} of the difference between the rates of {' and '.join(names)}: the "
        "rest is due to columns that stay, or to dependences that were not found"
    )


def _told_apart(
    columns: Sequence[Column], group: Codes, kept: Sequence[str], moved: Codes, seed: int
) -> tuple[float, float, float]:
    """Return the area under the curve of a classifier of the groups: by kept columns, by all, and by all after moving.

    Each is the lower end of its interval but for the last, so that chance tells no groups apart.
    """
    values = np.stack([column.codes for column in columns], axis=1)
    is_kept = np.array([column.name in kept for column in columns])
    by_kept = _auc(values[:, is_kept], group, seed) if is_kept.any() else 0.5
    after = []
    for target in (0, 1):
        real, twins = values[group == target], moved[group != target]
        labels = np.repeat([0, 1], [len(real), len(twins)])
        after.append(_auc(np.concatenate([real, twins]), labels, seed))
    return by_kept, _auc(values, group, seed), float(np.mean(after))


def _auc(values: Codes, labels: Codes, seed: int) -> float:
    """Return the lower end of the interval of the area under the curve of a classifier, tested on half of the rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(MATCHED,)))
    rows = np.concatenate([rng.permutation(np.flatnonzero(labels == each))[:MOST_TRIED] for each in (0, 1)])
    half = np.arange(len(rows)) % 2 == 0
    learn, test = rows[half], rows[~half]
    model = HistGradientBoostingClassifier(max_iter=40, early_stopping=False, random_state=0)
    model.fit(values[learn], labels[learn])
    auc, n = auc_of(model.predict_proba(values[test])[:, 1], labels[test] == 1)
    return max(0.5, wilson(auc, n, 2.0)[0])


def _doubts(
    transport: Transport,
    group: Codes,
    told: tuple[float, float, float],
    names: tuple[str, str],
    kept: Sequence[str],
    n_pairs: int,
) -> Iterator[Remark]:
    """Yield remarks on what could be wrong with the twins of two groups although it looks right."""
    is_open = any(edges.is_open for edges in transport.edges)
    both = " and ".join(names)
    before, after = told[1] - told[0], told[2] - told[0]
    if not is_open and before > TOLD_APART:
        yield Remark(
            "no-edge",
            f"a classifier tells {both} apart (area under the curve at least {told[1]:.2f}), but no column is shown to "
            "depend on them, so a share of 0% would say nothing",
        )
    elif after > TOLD_APART:
        yield Remark(
            "twins-told-apart",
            f"a classifier still tells twins of {both} from real people (area under the curve at least {told[2]:.2f}): "
            "the twins lack some dependences between columns",
        )
    n = np.bincount(group, minlength=2)
    smallest = _least_shown(n, transport.error * n_pairs)
    if smallest > NOTICED:
        yield Remark(
            "weak-tests",
            f"with {n.min():,} rows in the smaller group of {both}, a column whose frequencies differ by less than "
            f"{percent(smallest)} may not have been moved",
        )
    yield from _strange(transport, group, kept, names)


def _least_shown(n: Codes, error: float) -> float:
    """Return the difference of two frequencies near 1/2 that a test at this error shows with a chance of 80%."""
    from scipy.special import ndtri

    return float((ndtri(1 - error / 2) + ndtri(0.8)) * math.sqrt(0.25 * (1 / n[0] + 1 / n[1])))


def _strange(transport: Transport, group: Codes, kept: Sequence[str], names: tuple[str, str]) -> Iterator[Remark]:
    """Yield a remark for each kept column with values that people of the other group do not have."""
    for column in transport.columns:
        if column.name in kept:
            counts = np.bincount(column.codes * 2 + group, minlength=2 * len(column.firsts)).reshape(-1, 2)
            part = float((counts.sum(axis=1) * (counts.min(axis=1) == 0) * (counts.max(axis=1) >= FEWEST)).sum()) / len(
                group
            )
            if part > RARELY:
                yield Remark(
                    "kept-not-shared",
                    f"{percent(part)} of {' and '.join(names)} have a value of {column.name} that nobody of the other "
                    "group has, and their twins keep it: no such people were seen",
                )


def _told(number: float) -> str:
    return "n/a" if math.isnan(number) else percent(number)


def _ratio_words(ratio: tuple[float, float, float]) -> str:
    if math.isnan(ratio[0]):
        return "not known"
    return f"{ratio[0]:.2f} (interval {ratio[1]:.2f} to {ratio[2]:.2f})"


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {key: as_number(cell) if isinstance(cell, float) else plain(cell) for key, cell in row.items()}
        for row in table.to_dict("records")
    ]
