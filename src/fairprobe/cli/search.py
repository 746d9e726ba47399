"""`fairprobe search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.checks import nearest
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request, check_linked
from fairprobe.cli.destination import Destination
from fairprobe.cli.entry import FAILED
from fairprobe.cli.flags import NONE, in_flags
from fairprobe.cli.words import Line, aligned, note, progress, say, sent_words
from fairprobe.domain import Density, Domain
from fairprobe.engine import checked_engine, checked_jobs
from fairprobe.errors import DataError, RunError, SettingError
from fairprobe.oracle import checked_threshold
from fairprobe.searching import Found, StopReason, search
from fairprobe.searching.registry import load_strategy, settled_strategy, strategy_path
from fairprobe.searching.searching import MIN_PLAUSIBILITY
from fairprobe.searching.settings import Limits, settled
from fairprobe.store import Coverage
from fairprobe.wording import counted, percent

if TYPE_CHECKING:
    import pandas as pd

STARTS = ("rows", "density", "domain")

EXAMPLE = "--model subject:mlp --domain fairprobe.datasets:census_domain"

START_FROM = o.own(
    "start_from",
    "str | None",
    'where to start: "rows" (those of `data`), "density" (inputs drawn from what is fitted to them) or "domain" '
    "(uniform inputs of the domain, as the paper); by default rows if there are any.",
    o.WHAT,
)

MIN_PLAUSIBLE = o.own(
    "min_plausibility",
    "float | None",
    "the part of held-out rows that every input must be at least as likely as, by a density fitted to `data`; None to "
    f"go anywhere in the domain; by default {MIN_PLAUSIBILITY:g} where there are rows, unless --from domain or "
    "`max_changes` is given.",
    o.WHAT,
)

PANELS = {
    o.WHAT: ("max_changes",),
    o.LIMITS: Limits.__dataclass_fields__,
    o.RESULTS: ("store", "model_id"),
}

SEARCHING = [START_FROM, MIN_PLAUSIBLE, *o.options_of(search, PANELS, but=("min_plausibility",))]
"""How a search is made."""

OPTIONS = [
    *o.INPUTS,
    *SEARCHING,
    o.out("write the cases as .csv or .parquet; an older file is overwritten, and - is CSV on the standard output."),
    *o.PRINTED,
]

N_SHOWN = 3


def run(request: Request) -> int:
    """Search a model for discriminatory inputs.

    An input is discriminatory if the model's output changes when only its sensitive parameters change, and what is
    linked to them. Where rows are given it starts from them, keeps to people as likely as these, by a density fitted to
    them, and every case says which row is nearest.
    """
    return Search(request).run()


class Search(Command):
    """A search and the cases found."""

    name = "the search"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.out = self.destination()
        if request["json"] and self.is_stdout_taken():
            raise SettingError("--json and --out - both write to the standard output, got both: give --out a file")
        self.keywords = request.keywords(search)
        # Wrong arguments are refused now, before anything is loaded.
        strategy_path(self.keywords["strategy"])
        checked_engine(self.keywords["engine"], checked_jobs(self.keywords["n_jobs"]))
        checked_threshold(self.keywords["threshold"], self.keywords["output"])
        _, self.limits = settled(**self.keywords)
        start = request["start_from"]
        if start is not None and start not in STARTS:
            raise SettingError(f"--from must be one of {', '.join(STARTS)}; got {start!r}{nearest(start, STARTS)}")
        self.found: Found | None = None
        self.written: str | None = None

    def destination(self) -> Destination | None:
        """Where the result goes, made sure of."""
        return Destination.of(self.request["out"], (".csv", ".parquet"))

    def load(self) -> None:
        """The domain, the rows to start from, the model."""
        self.domain, self.rows = self.request.source.load()
        check_linked(self.request["linked"], self.domain)
        self._check_start()
        least, changes = self.request["min_plausibility"], self.keywords["max_changes"]
        self.keywords["start"] = self.rows if self.start == "rows" else None
        if self.start != "domain" and least != NONE and (changes is None or least is not None):
            is_asked_for = self.request["start_from"] == "density" or least is not None
            self.keywords["density"] = _density(self.domain, self.rows, is_asked_for=is_asked_for)
        if self.keywords["density"] is None:
            self.keywords["min_plausibility"] = MIN_PLAUSIBILITY  # of no meaning
        self.model = self.load_model()

    def _check_start(self) -> None:
        """Settle where the search starts; refuse options that do not go together."""
        start, least = self.request["start_from"], self.request["min_plausibility"]
        changes, strategy = self.keywords["max_changes"], self.keywords["strategy"]
        if self.rows is None:
            about_rows = {f"--from {start}": start in ("rows", "density"), "--max-changes": changes is not None}
            for option, is_given in {**about_rows, "--min-plausibility": least is not None}.items():
                if is_given:
                    raise SettingError(f"{option} needs --data, got none")
        if start in ("density", "domain") and changes is not None:
            raise SettingError(f"--max-changes is about the rows of --data, got --from {start}: leave one of them out")
        if (start == "domain" and least not in (None, NONE)) or (start == "density" and least == NONE):
            raise SettingError(f"--min-plausibility {least} does not go with --from {start}: leave one of them out")
        if self.rows is not None and changes is None and not load_strategy(strategy_path(strategy)).is_local:
            if start == "rows":
                raise SettingError(f"--from rows needs a strategy that walks from them, got --strategy {strategy}")
            start = start or ("domain" if least in (None, NONE) else "density")
        self.start = start or ("domain" if self.rows is None else "rows")

    def work(self) -> None:
        """Search, and write the cases; a run that was cut short and found none leaves an older file alone."""
        self.find()
        found = self.found
        if found is not None and self.out is not None and (found.n_cases or not (self.failures or self.interrupted)):
            self.written = self.out.name
            if not self.is_stdout_taken():
                self.out.write_frame(found.to_frame())

    def find(self) -> None:
        """Search; the cases that a run found before it failed or was interrupted are kept."""
        try:
            with progress() as watch:
                self.found = search(self.model, self.domain, **{**self.keywords, "progress": watch})
        except RunError as failure:
            self.found = failure.found
            self.failures.append(failure)
        self.interrupted = self.found is not None and self.found.stop_reason is StopReason.INTERRUPTED

    def is_stdout_taken(self) -> bool:
        """Whether the cases go to the standard output."""
        return self.out is not None and self.out.is_stdout

    def figures(self) -> dict[str, Any]:
        """The figures, the first cases and the file that holds all of them."""
        found = self.found
        first = None if found is None else found.to_frame().head(N_SHOWN)
        return {
            **({} if found is None else found.jsonable()),
            "from": self.start,
            "cases": [] if first is None or first.empty else json.loads(first.to_json(orient="records")),
            "out": self.written,
        }

    def show(self) -> None:
        """The figures and some cases; all cases, where they go to the standard output."""
        found, is_taken = self.found, self.is_stdout_taken()
        if found is None or (self.failures and not found.n_cases):
            return
        if is_taken and self.out is not None and self.written:
            self.out.write_frame(found.to_frame())
        lines = summary_lines(
            found, self._start_words(found), None if is_taken else self.written, self._within_words(found)
        )
        lines += parameter_lines(found) if len(found.domain.sensitive) > 1 and found.n_cases else []
        for line in [*lines, *(self._case_lines(found) if found.n_cases and not is_taken else [])]:
            say(*line, err=is_taken)

    def again(self) -> tuple[str, str] | None:
        """The same number of inputs, where a clock or a person ended the search."""
        found = self.found
        if found is None or (self.failures and not found.n_cases):
            return None
        changes: dict[str, Any] = {"seed": found.seed}
        if found.stop_reason in (StopReason.MAX_SECONDS, StopReason.INTERRUPTED) and found.n_judged:
            changes |= {"max_seconds": None, "max_judged": found.n_judged}
            # Without that limit "auto" might settle on another strategy.
            changes |= {"strategy": found.settings.strategy, "hurry": found.settings.hurry or None}
        engine, _ = checked_engine(self.keywords["engine"], self.keywords["n_jobs"])
        # Several processes that are interrupted leave several shards half done, which no limit can repeat.
        title = "Much the same again" if self.interrupted and engine != "local" else "The same again"
        return title, self.request.again(**changes)

    def _start_words(self, found: Found) -> str:
        """The inputs that the search starts from."""
        data, start, most = self.request["data"], self.keywords["start"], self.keywords["max_changes"]
        if self.start == "domain":
            return "uniform inputs of the domain"
        if start is None:
            return f"inputs drawn from a density fitted to the rows of {data}"
        n_rows = len(start) if found.start is None else len(found.start.frame)
        rows = f"{counted(n_rows, 'row')} of {data}"
        if most is not None:
            return f"{rows}, with {counted(most, 'change')} at most"
        then = "" if self.keywords["density"] is None else ", then inputs drawn from a density fitted to them"
        return f"{rows}{then} (--from domain: uniform inputs)"

    def _within_words(self, found: Found) -> list[str]:
        """How plausible inputs are at least; nothing without a density."""
        if self.keywords["density"] is None:
            return []
        least = self.keywords["min_plausibility"]
        said = f"plausibility {least:g}: every input is at least as likely as {percent(least)} of held-out rows are"
        if found.start is not None and found.start.n_implausible:
            said += f"; {counted(found.start.n_implausible, 'row')} less likely left out"
        return [f"  within    {said} (--min-plausibility)"]

    def _case_lines(self, found: Found) -> list[Line]:
        """A few cases: the first ones with their rows, or some from the first to the last found."""
        if found.origins is None:
            return case_lines(found)
        texts = self.request.source.with_lines(found.in_words(N_SHOWN), found.origins["row"])
        title = "The first of them:" if found.n_cases > N_SHOWN else "All of them:" if found.n_cases > 1 else "It is:"
        return [("", 0), (title, 0), *((f"  {place}. {text}", 5) for place, text in enumerate(texts, start=1))]

    def code_of_result(self) -> int:
        """A search that had to leave shards out has failed in part."""
        return FAILED if self.found is not None and self.found.stop_reason is StopReason.INCOMPLETE else 0

    def kept(self) -> str:
        """The number of cases, and the file that holds them."""
        if self.found is None or not self.found.n_cases:
            return "nothing, as no case was found before"
        where = {None: "--out FILE would write them", "-": "on the standard output"}
        return f"{counted(self.found.n_cases, 'case')}, {where.get(self.written, f'written to {self.written}')}"

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """The options, with the strategy that "auto" settles on."""
        settings, limits = settled(**self.keywords)
        chosen = settled_strategy(settings, limits, self.model, self.keywords["output"])
        return {**super().shown_settings(), **asdict(chosen), "start_from": self.start}

    def bounds(self) -> dict[str, int | None]:
        """The queries that the limits allow, or that all of a small domain take."""
        n_members, coverage = len(self.domain.families), Coverage.of(self.domain)
        bounds = [] if coverage is None else [coverage.left * n_members]
        if self.limits.max_judged is not None:
            bounds.append(self.limits.max_judged * n_members)
        if self.limits.max_queries is not None:
            bounds.append(self.limits.max_queries)
        return {"search": min(bounds, default=None)}


def _density(domain: Domain, rows: pd.DataFrame, *, is_asked_for: bool) -> Density | None:
    """A density fitted to the rows; where it was not asked for, none of rows that are too few."""
    try:
        return Density.fit(domain, rows)
    except DataError as error:
        if is_asked_for:
            raise
        note(f"no-density: {error}. So inputs may be anywhere in the domain")
        return None


def summary_lines(found: Found, started_from: str, written: str | None, within: Sequence[str] = ()) -> list[Line]:
    """The figures of a search."""
    lines = (
        f"{counted(found.n_cases, 'case')} found in {counted(found.n_distinct, 'distinct input')}",
        "",
        f"  from      {started_from}",
        *within,
        *(f"  linked    {link.words()}" for link in found.domain.links),
        f"  judged    {counted(found.n_judged, 'input')}, repeats included",
        f"  queries   {found.n_queries:,}{sent_words([found])}",
        f"  time      {found.seconds:.2f} s",
        f"  yield     {found.yield_:.2%} (a measure of this search, not of how common cases are)",
        f"  stopped   {in_flags(found.stop_reason.sentence)}",
        *([f"  written   {written}"] if written else []),
    )
    return [(line, 12) for line in lines]


def parameter_lines(found: Found) -> list[Line]:
    """How many cases each sensitive parameter gives, alone or with others."""
    counts = found.parameters.value_counts()
    rows = [[name, f"{n:,}", f"{n / found.n_cases:.1%}"] for name, n in counts.items()]
    words = "  (or: either of them alone is enough; x: only both together)"
    return [("", 0), ("What makes a case of them:", 0), *((line, 0) for line in aligned(rows)), (words, 2)]


def case_lines(found: Found) -> list[Line]:
    """A few cases, from the first to the last found."""
    places = np.unique(np.linspace(0, found.n_cases - 1, N_SHOWN).astype(int))
    what = {"label": "answers", "value": "predicts"}.get(found.output, "gives")
    varying = found.domain.families.varying
    lines = ["", "Some of them:" if len(places) < found.n_cases else "All of them:" if len(places) > 1 else "It is:"]
    for place in places:
        case, twin, outputs = (frame.iloc[place] for frame in (found.cases, found.twins, found.outputs))
        shared = [f"{name}={case[name]}" for name in found.domain.names if name not in varying]
        lines.append(f"  {place + 1:,}. {', '.join(shared) or 'any input'}")
        for row, output in ((case, outputs["case"]), (twin, outputs["twin"])):
            who = ", ".join(f"{name}={row[name]}" for name in varying)
            lines.append(f"     {who}: the model {what} {f'{output:.6g}' if isinstance(output, float) else output}")
    return [(line, 5) for line in lines]
