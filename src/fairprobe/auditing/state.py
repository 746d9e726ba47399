"""The settings of an audit, the mask of what they hide, and the state that its phases share: the results so far."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import filled
from fairprobe.auditing.gating import Judged, id_of, judged, judged_by
from fairprobe.checks import check_names, checked_count, checked_fraction, checked_seed
from fairprobe.domain import Density, Domain
from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.estimation import Matched, Proxies, Share
from fairprobe.estimation.bounds.intervals import checked_confidence, checked_share
from fairprobe.estimation.counts import Record, RowAnswers
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.group_rates import GroupRates
from fairprobe.estimation.share import checked_role
from fairprobe.estimation.verdict import IMPACT, MATCHED, Gate
from fairprobe.explanation import Explanation
from fairprobe.model.asking import Asker
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Progress, Status, teller
from fairprobe.report.value_names import Names
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.store.digests import checked_id
from fairprobe.wording import DRAWN, POPULATIONS

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.auditing.result import RunFolder


NOT_IN_CONFIG = (
    *("model", "X", "y", "sensitive", "domain", "seed", "date", "title", "name", "data_name"),
    *("folder", "store", "model_id", "selfcheck", "command", "progress", "labels"),
)
"""Names of arguments of `audit` that are not part of the configuration in `audit.json`.

No figure depends on them, or `audit.json` has them in another place."""

COUNTS = dict.fromkeys(
    ("n_experiments", "n_samples", "search_cases", "max_judged", "max_barren", "max_queries", "explain_queries"), 1
)
COUNTS["report_cases"] = 0
"""Smallest value of each setting that is a whole number, by name."""


MIN_RATIO = 0.8
"""Default of `min_ratio` for the gate "impact": the four-fifths rule of the US guidelines on selection."""


class AuditSettings(SimpleNamespace):
    """The checked arguments of `audit` as attributes, with defaults for those that were not given."""

    def __init__(self, **given: Any) -> None:
        from fairprobe.auditing.auditing import audit

        every = filled(audit, given)
        every["rows_are"], every["seed"] = checked_role(every["rows_are"]), checked_seed(every["seed"])
        gate = Gate.of(every["gate"])
        if gate.twins == IMPACT and every["min_ratio"] is None:
            every["min_ratio"] = MIN_RATIO
        super().__init__(**every)
        self._check(gate)

    def but(self, **changes: Any) -> AuditSettings:
        """Return a copy of the settings with some of them changed."""
        return AuditSettings(**{**vars(self), **changes})

    def some(self, *names: str) -> dict[str, Any]:
        """Return the values of the named settings as a dict."""
        return {name: getattr(self, name) for name in names}

    def _check(self, gate: Gate) -> None:
        checked_id(self.model_id, self.store or self.folder or "")
        checked_confidence(self.confidence)
        checked_share("min_comparable", self.min_comparable)
        for name, value in vars(self).items():
            if name in COUNTS:
                checked_count(name, value, at_least=COUNTS[name])
            elif name in ("retrain", "show_rows") and not isinstance(value, bool):
                raise SettingError.about(name, f"must be True or False, got {value!r}")
            elif name in ("keep", "mask", "populations") and isinstance(value, str):
                raise SettingError.about(name, f"must be a list of names, got the string {value!r}")
        if self.width is not None:
            checked_fraction("width", self.width)
        check_names("populations", self.populations or (), POPULATIONS, "must be some")
        for limit in self.directions.values() if self.limit is None else [self.limit]:
            checked_fraction("max_share", limit, from_zero=True)
        if self.directions and self.favourable is None:
            rule = "by who is worse off needs the good outcome: say favourable= as well, got none"
            raise SettingError.about("max_share", rule)
        if self.directions and gate.population not in (None, "rows"):
            raise SettingError.about("gate", f"must be about rows where limits are by direction, got {self.gate!r}")
        self._check_impact(gate)
        if gate.twins == MATCHED and (self.keep is None or self.directions or gate.population not in (None, "rows")):
            rule = "'matched' binds one limit on rows, and needs keep: the columns that stay decide the answer"
            raise SettingError.about("gate", f"{rule}; got gate={self.gate!r} and keep={self.keep!r}")
        checked_threshold(self.threshold, self.output)

    def _check_impact(self, gate: Gate) -> None:
        if gate.twins != IMPACT:
            if self.min_ratio is not None:
                raise SettingError.about("min_ratio", f"goes with gate='impact', got gate={self.gate!r}")
            return
        checked_share("min_ratio", self.min_ratio)
        if self.max_share is not None:
            rule = "limits shares, where gate='impact' limits the ratio of rates by min_ratio: leave it out"
            raise SettingError.about("max_share", f"{rule}; got {self.max_share!r}")
        if self.favourable is None or gate.population not in (None, "rows"):
            rule = "'impact' is about rows, and needs the good outcome: say favourable="
            raise SettingError.about("gate", f"{rule}; got gate={self.gate!r} and favourable={self.favourable!r}")

    @property
    def directions(self) -> dict[str, float]:
        """Largest share allowed, by the combination of sensitive values that is worse off; empty if there are none."""
        return dict(self.max_share) if isinstance(self.max_share, Mapping) else {}

    @property
    def limit(self) -> float | None:
        """Largest share allowed, whoever is worse off; None if no such limit was given."""
        return None if isinstance(self.max_share, Mapping) else self.max_share


@contextmanager
def heard(remark: Callable[[str, str], object]) -> Iterator[None]:
    """Context in which `remark` gets the name and the message of each health check that warns.

    All other warnings are issued again when the context ends.
    """
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HealthWarning)
            yield
    finally:
        for warning in caught:
            if issubclass(warning.category, HealthWarning):
                check, _, message = str(warning.message).partition(": ")
                remark(check, message)
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


# What the user asked to hide

MASKED = "masked"

SHORTEST = 4
"""Smallest number of letters of a masked value that is searched for in texts; chosen.

For shorter values, such as "no", which occur in any text, only the column's name is searched for."""


class Mask:
    """Replaces the values of masked columns, which the user asked to hide, by "masked" in rows, texts and content.

    `rows` are the audited rows, whose values in these columns are searched for in texts.
    """

    def __init__(self, columns: Iterable[str], rows: pd.DataFrame) -> None:
        self.columns = tuple(columns)
        others = {str(value) for name in rows.columns if name not in self.columns for value in rows[name].unique()}
        known = others | set(map(str, rows.columns))
        values = {str(value) for name in self.columns for value in rows[name].unique()} - known
        words = sorted({*self.columns, *(value for value in values if len(value) >= SHORTEST)}, key=len, reverse=True)
        self._mentions = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)) if words else None

    def row(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row, a dict from column to value, with "masked" in place of the values of masked columns."""
        return {name: MASKED if name in self.columns else value for name, value in values.items()}

    def text(self, text: str) -> str:
        """Return a text, or "masked" in its place if it mentions a masked column or one of its values.

        A text that is only the name of a masked column stays. A replacement names the columns that the text mentioned.
        """
        if self._mentions is None or text in self.columns or not self._mentions.search(text):
            return text
        named = [name for name in self.columns if name in text]
        return f"{MASKED} (about {', '.join(named)})" if named else MASKED

    def command(self, command: str | None) -> str | None:
        """Return a command line, or "masked" in its place if it mentions a masked column or one of its values.

        Mentions in the option --mask do not count.
        """
        if command is None:
            return None
        told = re.sub(r"--mask \S+", "", command)
        return command if self.text(told) == told else MASKED

    def everywhere(self, content: Any) -> Any:
        """Return nested plain values of JSON with "masked" in place of all that could reveal masked values.

        These are texts that mention masked columns or values, and values under the key of a masked column.
        """
        if not self.columns:
            return content
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, list):
            return [self.everywhere(each) for each in content]
        if not isinstance(content, dict):
            return content
        masked = dict.fromkeys(self.columns, MASKED)
        return {self.text(name): masked.get(name) or self.everywhere(each) for name, each in content.items()}


# The state

Sampled = tuple[str, str, str, int, int]
"""Row of the table of sampled inputs: phase, purpose, distribution, number of inputs, and number of queries."""


@dataclass
class AuditState:
    """The state of an audit in progress: its model, domain, rows and settings, and the results of its phases so far."""

    model: Any
    domain: Domain
    rows: pd.DataFrame
    labels: Any
    settings: AuditSettings
    favourable: Favourable | None = None
    """The favourable outcome, after a check that the model can give it; None if none was named."""
    value_names: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Names of values as in `audit.json`: "columns" by column and value, and "outcome" by outcome."""
    populations: list[str] = field(default_factory=list)
    """Names of the chosen populations; the one that the limit binds comes first, because it gives the verdict."""
    selfcheck: Mapping[str, Any] | None = None
    """Result of the selfcheck, run here or passed in, with "ok" and "line"; None if it was not run."""
    asker: Asker | None = None
    """Object that asks the model, created before the first row is sent, so that it can count the rows sent."""
    identity: dict[str, Any] = field(default_factory=dict)
    """Names and digests of model, data and settings, and the versions of packages, as in `audit.json`."""
    folder: RunFolder | None = None
    attempts: list[dict[str, Any]] = field(default_factory=list)
    n_stored: int = 0
    phase: str = ""
    density: Density | None = None
    sets: dict[str, list[Share]] = field(default_factory=dict)
    """Shares by population, one for each set of sensitive parameters; the last is for all of them together."""
    n_relabelled: int | None = None
    """Number of rows whose label changes, if scores or probabilities are compared; None if not known."""
    impact: list[GroupRates] = field(default_factory=list)
    """Observed rates of the favourable label by group, for each sensitive parameter."""
    matched: list[Matched] = field(default_factory=list)
    """Shares by matched twins, one for each sensitive parameter that the model does not take."""
    found: Found | None = None
    why: Explanation | None = None
    proxies: Proxies | None = None
    sensitivity: list[dict[str, Any]] = field(default_factory=list)
    retrained: Retrained | None = None
    sampling: list[Sampled] = field(default_factory=list)
    """Inputs sampled for other purposes than the shares, the search and the explanation."""
    health: list[dict[str, str]] = field(default_factory=list)
    interrupted: str | None = None
    """Name of the phase that was interrupted or that ended the audit by failing; None if there is none."""

    @cached_property
    def progress(self) -> Progress | None:
        """The callable that receives the audit's progress; None if progress is not reported."""
        return teller(self.settings.progress)

    @cached_property
    def mask(self) -> Mask:
        """The object that replaces values of masked columns, which the user asked to hide."""
        return Mask(self.settings.mask, self.rows)

    @property
    def main(self) -> dict[str, Share]:
        """The share of all sensitive parameters together, by population."""
        return {name: shares[-1] for name, shares in self.sets.items()}

    @property
    def row_sides(self) -> list[tuple[Share, Record, RowAnswers]]:
        """The share of the rows by each kind of twins, with the record of its hits and the model's answers.

        The list is empty if the rows are no population or if there is no such record.
        """
        sides = self.main["rows"].sides if "rows" in self.main else []
        return [(side, kept, kept.rows) for side in sides if (kept := side.record) and kept.rows]

    def sampled(self) -> Iterator[Sampled]:
        """Yield what was asked so far: the inputs and queries of the shares, the search, the explanation and others."""
        for name, share in self.main.items():
            for side in share.sides:
                drawn = f"{DRAWN[name]}: {side.detail}" if side.method == "exact" else DRAWN[name]
                yield "shares", id_of(side), drawn, side.n + side.n_not_comparable, side.n_queries
        found, why = self.found, self.why
        if found is not None:
            within = "" if found.density is None else f", plausibility at least {found.min_plausibility:g}"
            what = f"a search, {found.settings.strategy}, from {'rows' if found.start is not None else 'inputs drawn'}"
            yield "search", what, f"directed, no sample{within}", found.n_judged, found.n_queries
        if why is not None:
            yield "why", "fresh inputs for regions and directions", why.population, why.n_sampled, why.n_queries
        yield from self.sampling

    @property
    def n_left(self) -> int:
        """The number of queries that are left of the budget."""
        return max(0, self.settings.max_queries - sum(n_queries for *_, n_queries in self.sampled()))

    @property
    def name(self) -> str:
        """The name of the model in the report, by default that of its class."""
        return self.settings.name or type(self.model).__name__

    @property
    def judged(self) -> Judged:
        """The verdict on the shares that are measured so far."""
        twins = Gate.of(self.settings.gate).twins
        if twins in (MATCHED, IMPACT):
            return judged_by(self.matched if twins == MATCHED else self.impact, self.settings)
        return judged(self.main, self.settings, self.favourable)

    @property
    def attempt(self) -> dict[str, Any]:
        """The entry of the audit in the list of attempts: digests, seed, date and outcome."""
        return {
            "model": self.identity["model"]["hash"],
            "data": self.identity["data"]["hash"],
            "config_hash": self.identity["config_hash"],
            "seed": self.settings.seed,
            "date": self.settings.date,
            "outcome": "interrupted" if self.interrupted else str(self.judged.outcome),
        }

    def population(self, name: str) -> Any:
        """Return the argument `population` of `estimate` for a name; None for a density that cannot be fitted."""
        return {"rows": lambda: self.rows, "density": self.fit_density}.get(name, lambda: name)()

    def fit_density(self) -> Density | None:
        """Return the density of the rows, fitted at the first call; None if there are too few rows."""
        if self.density is None and not any(each["check"] == "no-density" for each in self.health):
            try:
                self.density = Density.fit(self.domain, self.rows, seed=self.settings.seed)
            except DataError as error:
                if "density" in (self.settings.populations or ()):
                    raise
                self.remark("no-density", f"{error}", "shares")
        return self.density

    def next_store(self, name: str) -> dict[str, Any]:
        """Return the arguments `store` and `model_id` for the next stored part of the audit, such as a search.

        Its folder has the part's number and `name`. The dict is empty if the audit stores nothing.
        """
        self.n_stored += 1
        if self.settings.store is None:
            return {}
        return {"store": Path(self.settings.store, f"{self.n_stored:02d}-{name}"), "model_id": self.settings.model_id}

    # Remarks and progress

    def remark(self, check: str, message: str, phase: str) -> None:
        """Add the message of a health check to the remarks of the report, unless it is there already."""
        told = {"check": check, "message": message, "phase": phase}
        if told not in self.health:
            self.health.append(told)

    def tell(self, text: str, *, is_over: bool = False) -> None:
        """Pass a status with a text and the present phase to the callable that receives progress, if there is one."""
        if self.progress is not None:
            said = Names(**self.value_names).text(text) if self.value_names else text
            self.progress(Status(said, {"phase": self.phase}, is_over=is_over))

    def tell_each(self, texts: Iterable[str]) -> None:
        """Pass each text as a result to the callable that receives progress, if there is one."""
        for text in texts:
            self.tell(text, is_over=True)

    def under_way(self, title: str) -> Progress | bool:
        """Return the argument `progress` for a part of the audit: a callable that puts a title before each status.

        It is False if progress is not reported.
        """
        tell = self.progress
        if tell is None:
            return False
        return lambda status: tell(replace(status, text=f"{title}: {status.text}", is_over=False))
