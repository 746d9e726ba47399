"""A share: the fraction of a stated population that is discriminatory, with its interval."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Floats
from fairprobe.blocks import Block, Remark, Result, Sentence, Table
from fairprobe.checks import nearest
from fairprobe.domain.values import changes_in_words
from fairprobe.errors import SettingError
from fairprobe.wording import POPULATIONS, answer, between, percent

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.estimation.counts import Record

UNSTEADY = {
    "stochastic-model": "the model answers the same row differently, so a difference may be chance",
    "batch-dependent-model": "the model's answer to a row depends on the rows that it is asked with, so a difference "
    "may come from these",
}
"""The reason, for each of these health checks, why no limit can be said to be kept or broken."""

ROLES = ("held-out", "training", "unknown")
"""Possible relations of rows to the model. Only held-out rows represent the people that they were drawn from."""

MOST_ANSWERS = 4
"""Combinations of sensitive values that are told one by one."""


NOT_IN_JSON = ("history", "outcomes", "cases", "twins", "answers", "record", "sent")
"""Fields of a share that are no figures."""


@dataclass(frozen=True, repr=False)
class Share(Result):
    """The fraction of a population that is discriminatory. Sampling, enumeration or proof make one, never a search."""

    value: float
    """Hits / n, or the exact share; NaN if nothing could be compared."""
    low: float
    high: float
    """The two-sided interval at `confidence`, which decides a verdict; NaN for training rows, which have none."""
    lower: float
    upper: float
    """The one-sided bounds, each at `confidence`."""
    n: int
    """Inputs that are comparable: judged, or for an exact share, how many there are."""
    hits: int
    """Comparable inputs that are discriminatory."""
    method: str
    """One of exact, sample, sequential (it stopped when tight), rows."""
    population: str
    """One of domain, valid, rows, density."""
    confidence: float
    sensitive: tuple[str, ...]
    threshold: float
    n_queries: int
    seconds: float = field(compare=False)
    seed: int | None
    detail: str = ""
    """The way in which an exact share was found, or the reason why there is none."""
    n_left_out: int = 0
    """Rows whose sensitive value is unknown."""
    n_not_comparable: int = 0
    """Inputs of whose family fewer than two members are compared and allowed: they count for nothing."""
    n_lost: int = 0
    """Inputs that nothing is known of, as their shards kept failing: cases for `high` and `upper`, none for `low` and
    `lower`; no part of n."""
    resolution: float = 0.0
    """A gap counts only if it exceeds the threshold by more than this: twice the rounding of the model's outputs."""
    health: tuple[Remark, ...] = ()
    """The name and the text of each health check that has something to say."""
    history: Floats | None = field(default=None, compare=False)
    """The running mean after each experiment."""
    mean_low: float | None = None
    mean_high: float | None = None
    """The paper's interval: of the mean over the experiments."""
    outcomes: pd.DataFrame | None = field(default=None, compare=False)
    """For the hits: how often each combination of sensitive values gets each outcome."""
    worse_off: str | None = None
    """The combination with the lowest rate of the favourable outcome among the hits, where one is named."""
    linked: tuple[str, ...] = ()
    """The columns that changed along with the sensitive ones; none for a plain share."""
    hidden: tuple[str, ...] = ()
    """Sensitive parameters that the model does not take."""
    plain: Share | None = None
    """Beside a linked share: that of twins which differ in the sensitive parameters alone. The error is split."""
    design: str = ""
    """The words for weights and groups of the rows; empty where all rows count alike."""
    rows_are: str = "unknown"
    """The relation of rows to the model, one of `ROLES`."""
    weight_compared: float | None = None
    """The part of the rows' weight that could be compared; None where all inputs count alike."""
    cases: pd.DataFrame | None = field(default=None, compare=False)
    """The rows that are discriminatory, with the index that they have in the frame given."""
    twins: pd.DataFrame | None = field(default=None, compare=False)
    """The twins of `cases` at the other end of the largest gap, with the index of `cases`."""
    answers: pd.DataFrame | None = field(default=None, compare=False)
    """The model's output for each of `cases` by combination of sensitive values; None where one is not compared."""
    record: Record | None = field(default=None, compare=False)
    """The inputs that the hits were counted from; None for an exact share."""
    sent: int | None = field(default=None, compare=False)
    """Rows sent to a model that counts them itself, as a service does; None for any other."""

    @property
    def compared(self) -> str:
        """The twins that are compared: "linked" if linked columns change too, else "plain"."""
        return "linked" if self.linked else "plain"

    @property
    def sides(self) -> list[Share]:
        """The share itself and, of a linked one, the plain one beside it."""
        return [self] if self.plain is None else [self, self.plain]

    @property
    def n_sent(self) -> int:
        """Rows sent to the model: those asked about, less those whose answer was remembered, and repeats on top."""
        return self.n_queries if self.sent is None else self.sent

    @property
    def width(self) -> float:
        """Width of the two-sided interval."""
        return self.high - self.low

    @property
    def comparable(self) -> float:
        """The part of the population that could be compared, by weight where the rows have weights."""
        if self.weight_compared is not None:
            return self.weight_compared
        total = self.n + self.n_not_comparable + self.n_left_out
        return self.n / total if total else 0.0

    @property
    def is_count(self) -> bool:
        """True for rows that the model was trained on: they represent nobody else, so the share is only a count."""
        return self.population == "rows" and self.rows_are == "training"

    def has(self, check: str) -> bool:
        """True if a health check of this name has something to say."""
        return check in dict(self.health)

    @property
    def unsteady(self) -> str | None:
        """Why the model's answers tell nothing: they are others with another try, or in another batch."""
        return next((UNSTEADY[name] for name, _ in self.health if name in UNSTEADY), None)

    def sentence(self, limit: float | None = None) -> str:
        """The share in words; of a linked one, the plain one too.

        Beside a limit the two-sided interval is said, even without a hit, with as many digits as tell its ends from
        the limit: a reader can then see that the verdict follows from it.
        """
        said = self._sentence(limit)
        if self.plain is not None:
            said += f". With {' or '.join(self.sensitive)} alone: {self.plain.sentence(limit)}"
        return said

    def _sentence(self, limit: float | None) -> str:
        whole, n, hits, flip = POPULATIONS[self.population], f"{self.n:,}", f"{self.hits:,}", self._flip()
        aside, design = self._aside(), f", {self.design}," if self.design else ""
        if not self.n:
            return f"nothing of {whole} could be compared{aside}"
        if self.method == "exact":
            return f"exactly {percent(self.value, limit)} of {whole}{design} ({hits} of {n} inputs{aside}) {flip}"
        unit, people = " inputs", whole
        if self.population == "rows":
            unit, people = "", "the people they are drawn from"
        if not self.hits and limit is None and not self.is_count:
            most = f"with {percent(self.confidence)} confidence fewer than {percent(self.upper)} of {people}"
            return f"none of {n}{unit or ' rows'} {flip}: {most}{aside}"
        said = f"{percent(self.value, limit)} of {whole}{design} ({hits} of {n}{unit}{aside}) {flip}"
        if self.is_count:
            return f"{said}; the model was trained on these rows, so this is a count, without an interval for others"
        return f"{said} ({percent(self.confidence)} interval {between(self.low, self.high, limit)})"

    def _flip(self) -> str:
        """The change of outcome that makes an input a hit, in words."""
        outcome = f"an output more than {self.threshold:g} away" if self.threshold else "another outcome"
        along = f" and {' and '.join(self.linked)} along with it" if self.linked else ""
        return f"get {outcome} when {' or '.join(self.sensitive)} changes{along}"

    def _aside(self) -> str:
        """The numbers of inputs that do not count, and the reasons."""
        alone = f"all their twins forbidden by the constraints{' or the links' if self.linked else ''}"
        if self.hidden:
            alone = f"as without {' and '.join(self.hidden)} their twins are the same to the model, or not allowed"
        why = [
            (self.n_left_out, f"left out, their {' or '.join(self.sensitive)} unknown"),
            (self.n_not_comparable, f"not comparable, {alone}"),
            (self.n_lost, "lost with shards that kept failing, which count both ways in the interval"),
        ]
        return "".join(f"; {n:,} {words}" for n, words in why if n)

    def rows_in_words(self, n: int = 3) -> list[str]:
        """The first rows that are discriminatory: which they are, what changes, and the outcomes."""
        if self.cases is None or self.twins is None or self.answers is None:
            return []
        lines = []
        for place, label in enumerate(self.cases.index[:n]):
            changed = changes_in_words(self.cases.iloc[place], self.twins.iloc[place], self.sensitive)
            said = _answers_in_words({who: out for who, out in self.answers.iloc[place].items() if out is not None})
            lines.append(f"row {label}: {', '.join(changed)} ({said})")
        return lines

    def to_frame(self) -> pd.DataFrame | None:
        """The rows that are discriminatory: their index, themselves, their twin's values that change, all outputs.

        None where there are none. A column that is also the name of a parameter has underscores added until it is not.
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
        """The share for people: a sentence, its figures, who gets what among the hits, and remarks."""
        figures = {
            "share": percent(self.value),
            f"{percent(self.confidence)} interval": between(self.low, self.high),
            "hits": f"{self.hits:,} of {self.n:,}",
            "method": self.method,
        }
        tables = [Table.of_facts(figures)]
        if self.outcomes is not None:
            tables.append(Table.of_frame(self.outcomes, "Outcomes of the hits", index=True))
        return [Sentence(self.sentence()), *tables, *self.health]

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values."""
        figures = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in NOT_IN_JSON}
        figures |= {name: as_number(figures[name]) for name in ("value", "low", "high", "lower", "upper")}
        figures |= {name: list(getattr(self, name)) for name in ("sensitive", "linked", "hidden")}
        figures |= {
            "n_sent": self.n_sent,
            "health": [remark.jsonable() for remark in self.health],
            "sentence": self.sentence(),
            "plain": None if self.plain is None else self.plain.jsonable(),
        }
        if self.outcomes is not None:
            figures["outcomes"] = self.outcomes.reset_index().to_dict(orient="records")
        return figures


def _answers_in_words(answers: dict[Any, Any]) -> str:
    """The output for each combination; of many combinations, how often which."""
    if len(answers) <= MOST_ANSWERS:
        return ", ".join(f"{who}: {answer(output)}" for who, output in answers.items())
    outputs = list(answers.values())
    if all(isinstance(output, float) for output in outputs):
        return f"over {len(outputs)} combinations: {answer(min(outputs))} to {answer(max(outputs))}"
    counts = Counter(map(answer, outputs)).most_common(MOST_ANSWERS)
    return f"of {len(outputs)} combinations {', '.join(f'{n} {output}' for output, n in counts)}"


def checked_role(rows_are: str | None) -> str:
    """The role of rows, made sure of; None means that it is unknown."""
    if rows_are is None:
        return "unknown"
    if rows_are not in ROLES:
        rule = f"must be {', '.join(map(repr, ROLES[:-1]))} or {ROLES[-1]!r}"
        raise SettingError.about("rows_are", f"{rule}, got {rows_are!r}{nearest(rows_are, ROLES)}")
    return rows_are


def as_number(value: float) -> float | None:
    """A figure for JSON, which has no NaN: None where there is no such figure."""
    return None if math.isnan(value) else value
