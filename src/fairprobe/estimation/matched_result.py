"""The result of matched twins: the shares by pair of groups, what stays, the observed rates, and doubts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Floats
from fairprobe.blocks import Block, Column, Remark, Sentence, Table
from fairprobe.estimation.group_rates import GroupRates
from fairprobe.estimation.share import Checked, as_number, records
from fairprobe.wording import between, counted, figure, listed, magnitude, percent, value

if TYPE_CHECKING:
    import pandas as pd


def weakness_of(checks: Iterable[str]) -> str | None:
    """Return, in words, why matched twins with these health checks cannot show that a limit is kept; None if they can.

    >>> weakness_of(["no-edge"]), weakness_of(["weak-tests"])
    (None, 'too few rows to learn matched twins, so they cannot show that a limit is kept')
    """
    few = "too few rows to learn matched twins, so they cannot show that a limit is kept"
    return few if {"weak-tests", "small-group"} & set(checks) else None


LEGEND = (
    "Placebo: how many people change outcome if they are moved between two groups formed at random. So much of a share "
    "may be due to few rows. Told apart after moving: how well a classifier tells moved people from the people of the "
    "other group (AUC; 0.5 is chance)."
)
"""Sentences on two columns of the table of pairs."""

FIGURES = ("value", "low", "high", "comparable", "floor", "worse", "reproduced")
"""Names of the numbers of a pair."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The people of two groups, and what their twins in the other group get."""

    groups: tuple[str, str]
    value: float
    """Mean flip probability of the people of both groups, by weight; NaN if the question was refused."""
    low: float
    high: float
    """Upper end of the two-sided interval; `low` is the lower end, less `floor`. NaN for training rows."""
    n: int
    """Number of people who have an allowed twin; only these count."""
    comparable: float
    """Part of the people of both groups who have an allowed twin, by weight."""
    floor: float
    """Part of the people whose outcome a placebo flips: to be moved between two groups formed at random, by the same
    dependences. It tells how much of the share may be due to the small number of rows."""
    flips: Floats
    """Flip probability by row of X; NaN for a row of another group, or without an allowed twin."""
    columns: pd.DataFrame
    """One row for each column: if it is kept, what it depends on, and in which part of the twins it differs."""
    worse_off: str | None
    """The group whose members get the less favourable of two outcomes in most flips; None if this is not known."""
    worse: float
    """Part of the flips in which the group `worse_off` is worse off; NaN if this is not known."""
    reproduced: float
    """Part of the difference between the groups' rates that the twins reproduce; NaN if no difference is shown."""
    told: tuple[float, float, float]
    """How well a classifier tells the groups apart, as an area under the curve: by kept columns alone, by all columns,
    and by all columns after people were moved. Each is the lower end of its interval."""
    health: tuple[Remark, ...] = ()

    @property
    def name(self) -> str:
        """The two groups in words."""
        return " and ".join(map(value, self.groups))

    def jsonable(self) -> dict[str, Any]:
        """Return the figures as a dict for JSON."""
        numbers = {name: as_number(getattr(self, name)) for name in FIGURES}
        more = {"told": list(self.told), "columns": records(self.columns)}
        return {"groups": list(self.groups), **numbers, "n": self.n, "worse_off": self.worse_off, **more}


@dataclass(frozen=True, kw_only=True, repr=False)
class Matched(Checked):
    """The share of people whose matched twin gets another outcome: the largest share of all pairs of groups."""

    attribute: str
    value: float
    """Mean flip probability of the people in the first pair; NaN if the question was refused."""
    low: float
    high: float
    """Upper end of the interval of the largest share; `low` is the lower end. The intervals of all pairs hold together,
    so that a limit above `high` holds for every pair. Both are NaN for training rows."""
    n: int
    """Number of people in the first pair."""
    worse_off: str | None
    """The group that is worse off in most flips of the first pair; None if this is not known."""
    pairs: tuple[Pair, ...]
    """The pairs of groups, the one with the largest share first."""
    keep: tuple[str, ...]
    """Columns that stay unchanged in twins."""
    keep_given: bool
    """True if the user said which columns stay."""
    observed: GroupRates | None
    """Observed rates by group, of the favourable outcome or else of the last class; None for numeric outputs."""
    people: pd.DataFrame
    """The rows of people with a flip probability of at least 90% in the first pair, with their index."""
    flips: pd.Series
    """The flip probability of each row for the first pair, by the index of X; NaN for a row that is not compared."""
    confidence: float
    threshold: float
    n_draws: int
    n_queries: int
    n_left_out: int
    """Number of rows that were left out: their value of the attribute is unknown or not compared, or they have no
    weight."""
    rows_are: str
    seed: int
    health: tuple[Remark, ...] = ()

    @property
    def is_count(self) -> bool:
        """True for rows that the model was trained on: they represent nobody else, so the share is only a count."""
        return self.rows_are == "training"

    @property
    def comparable(self) -> float:
        """The smallest part of the people of a pair who have an allowed twin."""
        return min(pair.comparable for pair in self.pairs)

    has_case = False
    """False: what happens to a drawn twin is no confirmed case."""
    whole = "the people"

    @property
    def refusal(self) -> str | None:
        """The reason why the question was refused, in words; None if it was answered."""
        said = f"matched twins of the other {self.attribute} say nothing here: see the remark no-edge"
        return said if math.isnan(self.value) else None

    @property
    def weakness(self) -> str | None:
        """The reason why the share cannot show that a limit is kept, in words; None if it can."""
        return weakness_of(name for name, _ in self.health)

    @property
    def hits(self) -> int:
        """The number of people with a flip probability of at least 90% in the first pair."""
        return len(self.people)

    @property
    def rates(self) -> pd.DataFrame | None:
        """The table of the observed rates by group; None for numeric outputs."""
        return None if self.observed is None else self.observed.table

    @property
    def ratio(self) -> tuple[float, float, float]:
        """The lowest observed rate of a compared group divided by the highest, and the ends of its interval."""
        return (math.nan,) * 3 if self.observed is None else self.observed.ratio

    @property
    def keep_words(self) -> str:
        """The columns that stay unchanged, as a sentence."""
        kept = f"These columns stay unchanged: {listed(map(value, self.keep))}" if self.keep else "All columns may move"
        return f"{kept}{'' if self.keep_given else ' (by default)'}."

    def sentence(self, limit: float | None = None) -> str:
        """Return the share in words, with its interval; `limit` gives it enough digits to differ from a limit."""
        if math.isnan(self.value):
            return f"Matched twins of the other {self.attribute} say nothing here: {dict(self.health)['no-edge']}."
        level = percent(self.confidence)
        interval = "a count of training rows"
        if not self.is_count:
            interval = f"{level} interval {between(self.low, self.high, limit)}"
        pair = f" ({self.pairs[0].name})" if len(self.pairs) > 1 else ""
        said = f"{percent(self.value, limit)} of {self.n:,} people{pair} get another outcome as their matched twin of "
        said += f"the other {self.attribute} ({interval})."
        if self.worse_off is not None:
            said += f" {value(self.worse_off)} is worse off in {percent(self.pairs[0].worse)} of these cases."
        if not any(pair.columns["changed"].gt(0).any() for pair in self.pairs):
            alike = "these twins equal the people, so no outcome can differ"
            return f"{said} No column was found to depend on {self.attribute}: {alike}."
        return f"{said} This is an association, not a cause."

    def clause(self, limit: float | None = None) -> str:
        """Return the share in words, without its interval; `limit` gives it enough digits to differ from a limit."""
        return (
            f"{percent(self.value, limit)} of the people change outcome as matched twins of the other {self.attribute}"
        )

    def sentences(self, limit: float | None = None) -> list[str]:
        """Return the share with its interval, and the columns that stay, as sentences."""
        return [self.sentence(limit), self.keep_words]

    def blocks(self) -> list[Block]:
        """Return the result as blocks: the share, what stays, the pairs, the observed rates, the columns, remarks."""
        return [*matched_blocks(self.jsonable()), *self.health]

    def jsonable(self) -> dict[str, Any]:
        """Return the figures as a dict for JSON."""
        return {
            **{name: each for name, each in vars(self).items() if name not in ("people", "flips", "observed")},
            **{name: as_number(getattr(self, name)) for name in ("value", "low", "high")},
            "keep": list(self.keep),
            "pairs": [pair.jsonable() for pair in self.pairs],
            "rates": [] if self.rates is None else records(self.rates),
            "ratio": [as_number(each) for each in self.ratio],
            "outcome": None if self.observed is None else self.observed.outcome,
            "n_people": self.hits,
            "sentence": self.sentence(),
            "keep_words": self.keep_words,
            "health": [remark.jsonable() for remark in self.health],
        }


def matched_blocks(told: Mapping[str, Any]) -> Iterator[Block]:
    """Yield blocks on matched twins from the dict of `Matched.jsonable`, with which reports work too."""
    yield Sentence(told["sentence"])
    yield Sentence(told["keep_words"])
    if told["value"] is not None:  # else the question was refused, and nobody was counted
        people = counted(told["n_people"], "person", "people")
        yield Sentence(f"{people} would get another outcome in 90% of the draws or more.")
    pairs: dict[str, Column] = {
        "Groups": lambda pair: " and ".join(map(value, pair["groups"])),
        "#Share": ("value", percent),
        "Interval": lambda pair: between(pair["low"], pair["high"]),
        "#People": ("n", magnitude),
        "#Placebo": ("floor", percent),
        "#Difference reproduced": ("reproduced", percent),
        "#Told apart after moving": lambda pair: figure(pair["told"][2]),
    }
    yield Table.of_records(told["pairs"], pairs, "Matched twins")
    yield Sentence(LEGEND)
    if told["outcome"] is not None:
        rates: dict[str, Column] = {
            "Group": ("group", value),
            "#Rows": ("n", magnitude),
            "#Rate": ("rate", percent),
            "Interval": lambda rate: between(rate["low"], rate["high"]),
        }
        yield Table.of_records(told["rates"], rates, f"Observed rates of {value(told['outcome'])}")
        lowest, low, high = map(figure, told["ratio"])
        yield Sentence(f"Lowest rate divided by the highest: {lowest} (interval {low} to {high}).")
    moves: dict[str, Column] = {
        "Column": ("column", value),
        "Depends on": lambda row: "stays" if row["kept"] else value(row["depends on"]),
        "#Differs in twins": ("changed", percent),
    }
    yield Table.of_records(told["pairs"][0]["columns"], moves, "How columns move")
