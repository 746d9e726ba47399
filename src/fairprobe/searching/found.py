"""The result of a search: its cases, its figures, and remarks (health) on what may be misunderstood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arguments import old_name
from fairprobe.arrays import Codes, Floats
from fairprobe.blocks import Block, Items, Remark, Result, Sentence, Table
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import nearest_rows
from fairprobe.domain.values import are_same, changes_in_words
from fairprobe.model.measuring import SAFETY
from fairprobe.oracle import sets_of
from fairprobe.searching.job import Cases, Job
from fairprobe.searching.limits import Limits, SearchSettings, StopReason
from fairprobe.searching.recorder import Tally
from fairprobe.searching.start_rows import StartRows, count_changes, fewest_changes
from fairprobe.wording import answer

if TYPE_CHECKING:
    import pandas as pd


SHOWN = 5
"""Number of cases, or of failed shards, that a result lists. Chosen."""

MIN_COMPARABLE = 0.9
"""Smallest fraction of the judged inputs that must be comparable; below it there is a remark. Chosen, as for
verdicts."""


@dataclass(frozen=True, repr=False, eq=False)
class CaseTables:
    """Base class of results that hold cases (discriminatory inputs with a twin): it gives tables of the cases."""

    domain: Domain
    _cases: Cases

    @property
    def n_cases(self) -> int:
        """The number of distinct cases: cases that differ only in sensitive parameters count once."""
        return len(self._cases)

    @cached_property
    def cases(self) -> pd.DataFrame:
        """The distinct cases as a frame: one case in each row, one column for each parameter, in domain order."""
        return self.domain.decode(self._cases.case)

    @cached_property
    def twins(self) -> pd.DataFrame:
        """The twin of each case at the other end of its largest gap, as a frame with the index of `cases`."""
        return self.domain.decode(self._cases.twin)

    @cached_property
    def parameters(self) -> pd.Series:
        """The smallest sets of sensitive parameters whose change alone gives each case, from the case shown, in words.

        It is "sex" or "race" for that parameter alone, "sex or race" where either is enough, and "sex x race" where
        only a change of both is.
        """
        import pandas as pd

        names = [" x ".join(self.domain.sensitive[i] for i in chosen) for chosen in sets_of(len(self.domain.sensitive))]
        bits, which = np.unique(self._cases.sets, return_inverse=True)
        words = [" or ".join(name for place, name in enumerate(names) if each >> place & 1) for each in bits.tolist()]
        return pd.Series([words[place] for place in which.reshape(-1).tolist()], name="parameters", dtype=object)

    @cached_property
    def gaps(self) -> pd.Series:
        """The largest gap between outputs of each case's family, with the index of `cases`."""
        import pandas as pd

        return pd.Series(self._cases.gaps, name="gap")

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """The model's outputs by case: columns "case" and "twin"; for probabilities also the position of the class."""
        import pandas as pd

        case, twin = self._cases.outputs.T
        classes = {} if self._cases.classes is None else {"class": self._cases.classes}
        return pd.DataFrame({"case": case, "twin": twin, **classes})

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with a row for each case: its values, the twin's changed values, both outputs, and the gap.

        Further columns follow if they apply: the sensitive parameters that give the case, the plausibility of both
        ends, and the row that the case comes from with the number of changes. If a parameter has the name of such a
        column, underscores are added to the column's name.
        """
        import pandas as pd

        twins = self.twins[list(self.domain.families.varying)].add_prefix("twin_")
        parts = [twins, self.outputs.add_prefix("output_"), self.gaps]
        parts += [self.parameters] if len(self.domain.sensitive) > 1 else []
        about = pd.concat([*parts, *self._more()], axis=1)

        def free(name: str) -> str:
            return free(f"{name}_") if name in self.domain.names else name

        return pd.concat([self.cases, about.rename(columns=free)], axis=1)

    def _more(self) -> list[pd.DataFrame]:
        """Return the further tables of `to_frame`, with a row for each case; a subclass may add some."""
        return []


@dataclass(frozen=True, repr=False, eq=False)
class Found(CaseTables, Result):
    """The cases of one search, with the settings and the cost of the search."""

    settings: SearchSettings
    limits: Limits
    output: str
    threshold: float
    seed: int
    n_distinct: int
    """Number of distinct judged inputs within each shard, summed over the shards."""
    n_judged: int
    """Number of judged inputs; repeats count again."""
    n_queries: int
    """Number of rows that the model was asked about. A batch is counted whole, even if max_cases cuts off its last
    inputs."""
    seconds: float
    stop_reason: StopReason
    health: tuple[Remark, ...]
    """Remarks of the health checks on what may be misunderstood, each with the check's name and a text."""
    n_not_comparable: int = 0
    """Number of judged inputs that are not comparable: fewer than two members of the family are allowed and differ."""
    resolution: float = 0.0
    """Smallest excess of a gap over the threshold that counts: twice the rounding error of the model's outputs."""
    start: StartRows | None = None
    """The rows from which the search started, if any were given."""
    density: Density | None = None
    """The density from which inputs were drawn, if any was given."""
    min_plausibility: float | None = None
    """Smallest plausibility that an input had to have to be judged; None without a density."""
    sent: int | None = None
    """Number of rows sent, as counted by a model that counts them itself, such as a service; None for others."""

    @classmethod
    def of(
        cls,
        job: Job,
        limits: Limits,
        tally: Tally,
        seconds: float,
        remarks: Sequence[Remark] = (),
        start: StartRows | None = None,
    ) -> Found:
        """Return the result of a search, from its job, its limits and the totals of its shards."""
        of_job = ("domain", "settings", "output", "threshold", "seed", "resolution", "density")
        of_tally = ("n_distinct", "n_judged", "n_queries", "n_not_comparable", "stop_reason")
        return cls(
            **{name: getattr(job, name) for name in of_job},
            **{name: getattr(tally, name) for name in of_tally},
            _cases=tally.cases(),
            limits=limits,
            seconds=seconds,
            health=(*remarks, *health_of_result(job, tally)),
            start=start,
            min_plausibility=None if job.density is None else job.min_plausibility,
        )

    n_inputs = old_name("n_distinct")

    @property
    def n_sent(self) -> int:
        """The number of rows sent to the model. A cache makes it smaller than the queries, repeated requests larger."""
        return self.n_queries if self.sent is None else self.sent

    @property
    def yield_(self) -> float:
        """Distinct cases divided by distinct judged inputs. It measures the search, never the model."""
        return self.n_cases / self.n_distinct if self.n_distinct else 0.0

    @cached_property
    def origins(self) -> pd.DataFrame | None:
        """The start row of each case, by its index among the given rows, and the number of changed values.

        With `max_changes`, it is the row that was changed into the case. Otherwise it is the row with the smallest
        Gower `distance`, which is the mean of the distances in the columns. None if no rows were given.
        """
        import pandas as pd

        if self.start is None:
            return None
        places, changes, distances = self._nearest
        columns: dict[str, Any] = {"row": self.start.frame.index[places], "n_changes": changes}
        return pd.DataFrame(columns if distances is None else {**columns, "distance": distances})

    @cached_property
    def _nearest(self) -> tuple[Codes, Codes, Floats | None]:
        assert self.start is not None
        cases, rows = self._cases.case.astype(np.int64), self.start.codes
        if self.settings.max_changes is not None:
            return *fewest_changes(self.domain, cases, rows), None
        places, distances = nearest_rows(self.domain, cases, rows)
        return places, count_changes(self.domain, cases, rows[places]), distances

    @cached_property
    def plausibility(self) -> pd.DataFrame | None:
        """The plausibility of each case and of its twin, with the index of `cases`; None without a density.

        The plausibility is the fraction of held-out rows that are at most as likely. A twin may be less plausible than
        cases must be.
        """
        import pandas as pd

        if self.density is None:
            return None
        density = self.density.within(self.domain)
        pair = (self._cases.case, self._cases.twin)
        case, twin = (density.plausibility_of(codes.astype(np.int64)) for codes in pair)
        return pd.DataFrame({"case": case, "twin": twin})

    def in_words(self, n: int = 3) -> list[str]:
        """Return the first cases as sentences: the row, the changes, and the outputs for both ends."""
        return [self.case_in_words(place) for place in range(min(n, self.n_cases))]

    def case_in_words(self, place: int) -> str:
        """Return one case as a sentence, with the row that it comes from or, without rows, its values."""
        case, twin, outputs = self.cases.iloc[place], self.twins.iloc[place], self.outputs.iloc[place]
        changed = ", ".join(changes_in_words(case, twin, self.domain.sensitive))
        said = f"{changed} changes {answer(outputs['case'])} to {answer(outputs['twin'])}"
        if self.plausibility is not None:
            said += " (plausibility {:.2g}, twin {:.2g})".format(*self.plausibility.iloc[place])
        if self.start is None or self.origins is None:
            same = [name for name in self.domain.names if are_same(case[name], twin[name])]
            return f"{', '.join(f'{name}={case[name]}' for name in same) or 'any input'}: {said}"
        row, sensitive = self.start.frame.iloc[self._nearest[0][place]], list(self.domain.sensitive)
        own = [f"as if {name} {case[name]}" for name in sensitive if not are_same(case[name], row[name])]
        others = changes_in_words(row.drop(sensitive), case.drop(sensitive))
        whose = [f"row {self.origins['row'].iloc[place]}", *own, *([f"with {', '.join(others)}"] if others else [])]
        return f"{', '.join(whose)}: {said}"

    def _more(self) -> list[pd.DataFrame]:
        plausibility = None if self.plausibility is None else self.plausibility.add_prefix("plausibility_")
        return [each for each in (plausibility, self.origins) if each is not None]

    def jsonable(self) -> dict[str, Any]:
        """The figures, settings and limits of the search as a dict for JSON."""
        counts = ("n_cases", "n_distinct", "n_judged", "n_not_comparable", "n_queries", "n_sent", "seconds", "seed")
        return {
            **{
                name: getattr(self, name) for name in (*counts, "output", "threshold", "resolution", "min_plausibility")
            },
            "yield": self.yield_,
            "stop_reason": str(self.stop_reason),
            "sensitive": list(self.domain.sensitive),
            "parameters": {str(name): int(n) for name, n in self.parameters.value_counts().items()},
            "linked": [link.column for link in self.domain.links],
            "n_start_rows": None if self.start is None else len(self.start.frame),
            "n_start_rows_implausible": None if self.start is None else self.start.n_implausible,
            "settings": asdict(self.settings),
            "limits": asdict(self.limits),
            "health": [remark.jsonable() for remark in self.health],
        }

    def blocks(self) -> list[Block]:
        """Return the result of the search as blocks of a report.

        They are its yield and cost, its settings, the inputs that it started from, the first cases and the remarks.
        """
        figures = {
            "sensitive": ", ".join(self.domain.sensitive),
            "strategy": self.settings.strategy,
            "seed": self.seed,
            "started from": self._start_in_words(),
            "judged": f"{self.n_judged:,} inputs, repeats included",
        }
        sent = "" if self.sent is None else f" ({self.sent:,} rows sent)"
        said = (
            f"{self.n_cases:,} cases in {self.n_distinct:,} distinct inputs, yield {self.yield_:.2%}, "
            f"{self.n_queries:,} queries{sent}, {self.seconds:.2f} s, stopped: {self.stop_reason}."
        )
        if self.min_plausibility is not None:
            figures["plausibility"] = f"at least {self.min_plausibility:g}, that of its twins aside"
        counts = self.parameters.value_counts().items() if len(self.domain.sensitive) > 1 else ()
        did = [(name, f"{n:,}", f"{n / self.n_cases:.1%}") for name, n in counts]
        more = [Table.of(["changed parameters", "#cases", "#of all"], did)] if did else []
        first = [Items(tuple(self.in_words(SHOWN)))] if self.n_cases else []
        return [
            Sentence(said),
            Sentence("The yield measures this search, not how common cases are."),
            Sentence(f"It stopped because {self.stop_reason.sentence}."),
            Table.of_facts(figures),
            *more,
            *first,
            *self.health,
        ]

    def _start_in_words(self) -> str:
        drawn = "uniform inputs of the domain" if self.density is None else "inputs drawn from the density"
        if self.start is None:
            return drawn
        left_out = f" ({self.start.n_implausible:,} less plausible rows left out)" if self.start.n_implausible else ""
        most = self.settings.max_changes
        then = f", then {drawn}" if most is None else f", with at most {most} changes"
        return f"{len(self.start.frame):,} rows{left_out}{then}"


def health_of_result(job: Job, tally: Tally) -> list[Remark]:
    """Return the remarks on a whole search, such as shards left out or an output that never changed."""
    n_judged, n_compared = tally.n_judged, tally.n_judged - tally.n_not_comparable
    remarks: dict[str, str] = {}
    if tally.skipped:
        remarks["incomplete"] = (
            f"{len(tally.skipped):,} of {tally.n_shards:,} shards were left out, as they kept failing; "
            + "; ".join(skipped.words() for skipped in tally.skipped[:SHOWN])
        )
    if tally.n_unconfirmed:
        remarks["unconfirmed"] = (
            f"{tally.n_unconfirmed:,} hits are not among the cases: the search ended before the model confirmed them"
        )
    if tally.n_asked_once:
        remarks["asked-once"] = (
            f"the model was asked about {tally.n_asked_once:,} of the cases only once, as the search ended before"
        )
    if job.resolution > job.threshold / 1000:
        remarks["rounding"] = (
            f"the model's outputs for one row differ by up to {job.resolution / SAFETY:.2g} with the size of the "
            f"batch, so a gap counts above {job.threshold + job.resolution:.3g}"
        )
    if n_judged and tally.n_not_comparable > (1 - MIN_COMPARABLE) * n_judged:
        remarks["not-comparable"] = (
            f"{tally.n_not_comparable:,} of {n_judged:,} inputs could not be compared: {_why_alone(job.domain)}"
        )
    if n_compared and not tally.n_cases and not tally.n_unconfirmed:
        names = ", ".join(job.domain.sensitive)
        if not tally.output_varies:
            remarks["constant-output"] = f"the model gave the same output to all {tally.n_queries:,} rows"
        elif job.output == "label" and not tally.n_contradicted:
            remarks["unused-sensitive"] = (
                f"the model's output never changed with {names} in {n_compared:,} inputs: it may not use {names} at "
                f"all. Another parameter may still stand in for {names}; this search cannot see that"
            )
    return [*tally.remarks, *map(Remark._make, remarks.items())]


def _why_alone(domain: Domain) -> str:
    if domain.hidden:
        return f"without {' and '.join(domain.hidden)} their twins are the same to the model, or they are not allowed"
    return "the constraints forbid all their twins. A rule that names a sensitive parameter does that"
