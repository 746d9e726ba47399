"""A share: the fraction of a stated population that is discriminatory, with its interval."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Floats
from fairprobe.blocks import Block, Remark, Result, Sentence, Table
from fairprobe.checks import nearest
from fairprobe.domain.values import changes_in_words, plain
from fairprobe.errors import SettingError
from fairprobe.estimation.rates import rates_table
from fairprobe.wording import POPULATIONS, answer, between, counted, percent

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.estimation.counts import Record

UNSTEADY = {
    "stochastic-model": "the model answers the same row differently, so a difference may be chance",
    "batch-dependent-model": "the model's answer to a row depends on the rows that it is asked with, so a difference "
    "may come from these",
}
"""Reason why no verdict is possible if a health check has a remark, by the name of the check."""

ROLES = ("held-out", "training", "unknown")
"""Values of `rows_are`, the relation of rows to the model. Only held-out rows represent other people."""

MOST_ANSWERS = 4
"""Largest number of combinations of sensitive values whose outputs are listed one by one; chosen. Of more, the most
frequent outputs are listed, at most as many."""


NOT_IN_JSON = ("history", "outcomes", "rates", "cases", "twins", "answers", "record", "sent")
"""Names of the fields of a `Share` that `jsonable` leaves out or converts, because they are no plain figures."""


class Checked(Result):
    """A result with remarks of health checks."""

    health: tuple[Remark, ...]

    def has(self, check: str) -> bool:
        """Return True if a health check of this name has a remark."""
        return check in dict(self.health)

    @property
    def unsteady(self) -> str | None:
        """The reason why the model's answers are unreliable, in words; None if no health check found them so.

        Answers are unreliable if they change with a second query or with the other rows of a batch.
        """
        return next((UNSTEADY[name] for name, _ in self.health if name in UNSTEADY), None)


@dataclass(frozen=True, repr=False)
class Share(Checked):
    """The discriminatory fraction of a population, found by sampling, enumeration or proof, never by a search."""

    value: float
    """The share: `hits` / `n`, by weight if the rows have weights; NaN if no input could be compared."""
    low: float
    high: float
    """Upper end of the two-sided interval at `confidence`, which decides a verdict; `low` is the lower end. Both are
    NaN for training rows."""
    lower: float
    upper: float
    """One-sided upper bound at `confidence`; `lower` is the one-sided lower bound."""
    n: int
    """Number of comparable inputs (two or more members of the family are compared and allowed) that were counted."""
    hits: int
    """Number of comparable inputs that are discriminatory."""
    method: str
    """Method: "exact", "sample" (of a fixed size), "sequential" (a sample that may stop early) or "rows"."""
    population: str
    """Population: "domain", "valid" (what the constraints allow), "rows" (real ones) or "density"."""
    confidence: float
    sensitive: tuple[str, ...]
    threshold: float
    n_queries: int
    seconds: float = field(compare=False)
    seed: int | None
    detail: str = ""
    """Method by which an exact share was found, or the reason why there is none."""
    n_left_out: int = 0
    """Number of given rows that were left out because a sensitive value is unknown."""
    n_not_comparable: int = 0
    """Number of inputs whose families have fewer than two compared and allowed members; they do not count."""
    n_lost: int = 0
    """Number of inputs without a result because their shards kept failing. They count as cases in `high` and
    `upper`, as none in `low` and `lower`, and are not part of n."""
    resolution: float = 0.0
    """Smallest excess of a gap over the threshold that counts: twice the rounding error of the model's outputs."""
    health: tuple[Remark, ...] = ()
    """Remarks of the health checks on what makes the share doubtful, each with the check's name and a text."""
    history: Floats | None = field(default=None, compare=False)
    """Mean of the experiments' shares after each experiment; None unless the share was sampled."""
    mean_low: float | None = None
    mean_high: float | None = None
    """Upper end of the paper's interval for the mean over the experiments; None unless a sample of a fixed size."""
    outcomes: pd.DataFrame | None = field(default=None, compare=False)
    """Table of the hits: rows are combinations of sensitive values, columns outcomes; an entry is the number of hits in
    whose family the combination gets the outcome. None without hits."""
    worse_off: str | None = None
    """Combination of sensitive values with the lowest rate of the favourable outcome among the hits; None in a tie, or
    if no outcome is named."""
    rates: pd.DataFrame | None = field(default=None, compare=False)
    """Rate of the favourable outcome if everybody had each combination of sensitive values; for real rows whose labels
    or probabilities are compared, else None. Columns: "combination"; "rate"; "difference" to the best one; "low" and
    "high", its paired interval; "n", the number of rows that can have both. All intervals hold together."""
    rated: str | None = None
    """Outcome whose rate `rates` states; None without rates."""
    is_last_class: bool = False
    """True if `rated` is the model's last class, because no favourable outcome was named."""
    linked: tuple[str, ...] = ()
    """Columns that changed along with the sensitive ones; empty for a plain share."""
    hidden: tuple[str, ...] = ()
    """Sensitive parameters that the model does not take."""
    plain: Share | None = None
    """The share of the same population by plain twins, beside a share by linked twins; None if there is no such
    pair."""
    design: str = ""
    """Words for the weights and groups of rows, such as "weighted in 40 groups"; empty if all rows count alike."""
    rows_are: str = "unknown"
    """Relation of rows to the model, one of `ROLES`."""
    weight_compared: float | None = None
    """Fraction of the rows' weight that could be compared; None if all inputs count alike."""
    cases: pd.DataFrame | None = field(default=None, compare=False)
    """The discriminatory rows of a population of rows, as a frame with their index; None if there are none."""
    twins: pd.DataFrame | None = field(default=None, compare=False)
    """The twins of `cases` at the other end of the largest gap, with the index of `cases`."""
    answers: pd.DataFrame | None = field(default=None, compare=False)
    """Output for each of `cases` by combination of sensitive values; None where one is not compared."""
    record: Record | None = field(default=None, compare=False)
    """Record from which the hits can be counted again: a bit for each comparable input; None for an exact share."""
    sent: int | None = field(default=None, compare=False)
    """Number of rows sent, as counted by a model that counts them itself, such as a service; None for others."""

    @property
    def compared(self) -> str:
        """The kind of twins: "linked" if linked columns change too, else "plain"."""
        return "linked" if self.linked else "plain"

    @property
    def sides(self) -> list[Share]:
        """A list of the share itself and, beside a share by linked twins, the share by plain ones if there is one."""
        return [self] if self.plain is None else [self, self.plain]

    @property
    def n_sent(self) -> int:
        """The number of rows sent to the model. A cache makes it smaller than the queries, repeated requests larger."""
        return self.n_queries if self.sent is None else self.sent

    @property
    def width(self) -> float:
        """The width of the two-sided interval, `high` - `low`."""
        return self.high - self.low

    @property
    def comparable(self) -> float:
        """The fraction of the population that could be compared, by weight if the rows have weights."""
        if self.weight_compared is not None:
            return self.weight_compared
        total = self.n + self.n_not_comparable + self.n_left_out
        return self.n / total if total else 0.0

    @property
    def is_count(self) -> bool:
        """True for rows that the model was trained on: they represent nobody else, so the share is only a count."""
        return self.population == "rows" and self.rows_are == "training"

    @property
    def has_case(self) -> bool:
        """True if there is a hit, which the model confirmed."""
        return self.hits > 0

    @property
    def whole(self) -> str:
        """Words for the population, with a hint that rows with weights are compared by weight."""
        return f"{POPULATIONS[self.population]}{'' if self.weight_compared is None else ', by weight,'}"

    @property
    def refusal(self) -> str | None:
        """The reason why the share answers nothing, in words: the model does not take the sensitive parameters.

        None if anything could be compared or a parameter is taken.
        """
        if self.n or self.linked or not {*self.hidden} >= {*self.sensitive}:
            return None
        return f"the model does not take {' and '.join(self.sensitive)}, so only matched twins can be compared"

    @property
    def weakness(self) -> str | None:
        """The reason why the rows cannot show that a limit is kept, in words; None if they can."""
        few = "the rows are in too few groups, or a few rows weigh most, to show that a limit is kept"
        return few if self.has("few-groups") else None

    def sentence(self, limit: float | None = None) -> str:
        """Return the share in words, with its interval or bound; for a linked share, the plain one beside it too.

        With a limit, the two-sided interval is stated even without a hit, with enough digits to differ from the limit.
        A reader can then see that the verdict follows from it.
        """
        return ". ".join(self.sentences(limit))

    def sentences(self, limit: float | None = None) -> list[str]:
        """Return the sentences of `sentence`, each with one fact: the share, what does not count, the plain share."""
        said = [self._with_interval(limit), *self._aside()]
        if self.plain is not None:
            said.append(f"With {' or '.join(self.sensitive)} alone: {self.plain.sentence(limit)}")
        return said

    def clauses(self, limit: float | None = None) -> list[str]:
        """Return the share in words without its interval, in several forms from the longest to the shortest.

        The first is such as "5% of the rows (1 of 20) get another outcome when sex changes".
        """
        whole = POPULATIONS[self.population]
        if not self.n:
            return [f"nothing of {whole} could be compared"]
        unit, names = "" if self.population == "rows" else " inputs", " or ".join(self.sensitive)
        value = f"{'exactly ' if self.method == 'exact' else ''}{percent(self.value, limit)}"
        design = f", {self.design}," if self.design else ""
        change = f"change by more than {self.threshold:g}" if self.threshold else "change outcome"
        return [
            f"{value} of {whole}{design} ({self.hits:,} of {self.n:,}{unit}) {self._flip()}",
            f"{value} of {whole}{design} {self._flip()}",
            f"{value} of {whole} {change} with {names}",
            f"{value} {change} with {names}",
            f"{value} {change} with a sensitive value",
        ]

    def _with_interval(self, limit: float | None) -> str:
        said = self.clauses(limit)[0]
        if not self.n or self.method == "exact":
            return said
        if self.is_count:
            return f"{said}. {self.interval_words()}"
        if not self.hits and limit is None:
            whole, unit = (POPULATIONS[self.population], "inputs")
            if self.population == "rows":
                whole, unit = "the people they are drawn from", "rows"
            most = f"with {self._level} confidence fewer than {percent(self.upper)} of {whole}"
            return f"none of {self.n:,} {unit} {self._flip()}: {most}"
        return f"{said} ({self._level} interval {between(self.low, self.high, limit)})"

    def interval_words(self, limit: float | None = None) -> str:
        """Return a sentence with the interval alone; for training rows, the reason why there is none."""
        if self.is_count:
            return "This is a count without an interval, as the model was trained on these rows"
        return f"The {self._level} interval is {between(self.low, self.high, limit)}"

    @property
    def _level(self) -> str:
        return percent(self.confidence)

    def _flip(self) -> str:
        """Return the change that makes an input a hit, in words, such as "get another outcome when sex changes"."""
        far = f"have an output that moves by more than {self.threshold:g}"
        change = far if self.threshold else "get another outcome"
        along = f" and {' and '.join(self.linked)} with it" if self.linked else ""
        return f"{change} when {' or '.join(self.sensitive)} changes{along}"

    def _aside(self) -> list[str]:
        """Return a sentence for each kind of inputs that do not count (left out, not comparable, lost)."""
        unit = "row" if self.population == "rows" else "input"
        alone = f"the constraints{' or the links' if self.linked else ''} forbid all twins"
        if self.hidden:
            alone = f"without {' and '.join(self.hidden)}, twins are the same to the model or not allowed"
        why = [
            (self.n_left_out, f"left out, because {' or '.join(self.sensitive)} is unknown"),
            (self.n_not_comparable, f"not comparable: {alone}"),
            (self.n_lost, "lost, because shards kept failing; the interval counts them both ways"),
        ]
        return [f"{counted(n, f'{unit} is', f'{unit}s are')} {words}" for n, words in why if n]

    def rows_in_words(self, n: int = 3) -> list[str]:
        """Return a line of text for each of the first `n` discriminatory rows: index, changed values and outcomes."""
        if self.cases is None or self.twins is None or self.answers is None:
            return []
        lines = []
        for place, label in enumerate(self.cases.index[:n]):
            changed = changes_in_words(self.cases.iloc[place], self.twins.iloc[place], self.sensitive)
            said = _answers_in_words({who: out for who, out in self.answers.iloc[place].items() if out is not None})
            lines.append(f"row {label}: {', '.join(changed)} ({said})")
        return lines

    def to_frame(self) -> pd.DataFrame | None:
        """Return a frame of the discriminatory rows: index, values, their twins' changed values and all outputs.

        None if no discriminatory rows are known. If a parameter has the name of an added column, underscores are added
        to the column's name.
        """
        import pandas as pd

        if self.cases is None or self.twins is None or self.answers is None:
            return None
        own = self.cases.columns

        def free(name: str) -> str:
            return free(f"{name}_") if name in own else name

        differ = [name for name in own if not self.cases[name].astype(object).equals(self.twins[name].astype(object))]
        changed = dict.fromkeys([*self.sensitive, *self.linked, *differ])
        row = pd.DataFrame({"row": self.cases.index}, index=self.cases.index)
        about = [self.twins[list(changed)].add_prefix("twin_"), self.answers.add_prefix("output_")]
        parts = [part.reset_index(drop=True) for part in (row, self.cases, *about)]
        return pd.concat([part if part is parts[1] else part.rename(columns=free) for part in parts], axis=1)

    def blocks(self) -> list[Block]:
        """Return the share as blocks of a report: a sentence, its figures, the outcomes among the hits, and remarks."""
        figures = {
            "share": percent(self.value),
            f"{percent(self.confidence)} interval": between(self.low, self.high),
            "hits": f"{self.hits:,} of {self.n:,}",
            "method": self.method,
        }
        tables = [Table.of_facts(figures)]
        if self.rates is not None:
            tables.append(rates_table(self.rates.to_dict("records"), self.rated, self.is_last_class))
        if self.outcomes is not None:
            tables.append(Table.of_frame(self.outcomes, "Outcomes of the hits", index=True))
        return [Sentence(self.sentence()), *tables, *self.health]

    def jsonable(self) -> dict[str, Any]:
        """The figures of the share as a dict for JSON."""
        figures = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in NOT_IN_JSON}
        figures |= {name: as_number(figures[name]) for name in ("value", "low", "high", "lower", "upper")}
        figures |= {name: list(getattr(self, name)) for name in ("sensitive", "linked", "hidden")}
        figures |= {
            "n_sent": self.n_sent,
            "health": [remark.jsonable() for remark in self.health],
            "sentence": self.sentence(),
            "plain": None if self.plain is None else self.plain.jsonable(),
        }
        figures["rates"] = None if self.rates is None else records(self.rates)
        if self.outcomes is not None:
            figures["outcomes"] = self.outcomes.reset_index().to_dict(orient="records")
        return figures


def _answers_in_words(answers: dict[Any, Any]) -> str:
    """Return in words the output for each combination of sensitive values, for up to `MOST_ANSWERS` combinations.

    For more, it is the range of numbers, or how often the `MOST_ANSWERS` most frequent outputs occur.
    """
    if len(answers) <= MOST_ANSWERS:
        return ", ".join(f"{who}: {answer(output)}" for who, output in answers.items())
    outputs = list(answers.values())
    if all(isinstance(output, float) for output in outputs):
        return f"over {len(outputs)} combinations: {answer(min(outputs))} to {answer(max(outputs))}"
    counts = Counter(map(answer, outputs)).most_common(MOST_ANSWERS)
    return f"of {len(outputs)} combinations {', '.join(f'{n} {output}' for output, n in counts)}"


def checked_role(rows_are: str | None) -> str:
    """Return the argument `rows_are`, the relation of rows to the model, after a check; "unknown" for None."""
    if rows_are is None:
        return "unknown"
    if rows_are not in ROLES:
        rule = f"must be {', '.join(map(repr, ROLES[:-1]))} or {ROLES[-1]!r}"
        raise SettingError.about("rows_are", f"{rule}, got {rows_are!r}{nearest(rows_are, ROLES)}")
    return rows_are


def as_number(value: float) -> float | None:
    """Return a number for JSON: the value, or None in place of NaN, which JSON lacks."""
    return None if math.isnan(value) else value


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts for JSON, with None in place of NaN."""
    return [
        {key: as_number(cell) if isinstance(cell, float) else plain(cell) for key, cell in row.items()}
        for row in table.to_dict("records")
    ]
