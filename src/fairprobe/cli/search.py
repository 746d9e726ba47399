"""The command `fairprobe search`: searches a model for discriminatory inputs and writes them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.arguments import WrittenFile
from fairprobe.blocks import Code
from fairprobe.checks import checked_choice
from fairprobe.cli import FAILED
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request
from fairprobe.cli.files import STDOUT, TABLES
from fairprobe.cli.words import NONE, note, progress
from fairprobe.domain import Density, Domain
from fairprobe.engine.base import checked_engine
from fairprobe.errors import DataError, RunError, SettingError
from fairprobe.searching import Found, StopReason, search
from fairprobe.searching.limits import settled
from fairprobe.searching.registry import load_strategy, settled_strategy, strategy_path
from fairprobe.searching.searching import MIN_PLAUSIBILITY
from fairprobe.store import Coverage

if TYPE_CHECKING:
    import pandas as pd

STARTS = ("rows", "density", "domain")

EXAMPLE = "--model subject:mlp --domain fairprobe.datasets:census_domain"


@dataclass
class Start:
    """Options on the inputs that a search starts from, and on how unlikely its inputs may be.

    Args:
        start_from: where to start: "rows" (those of `data`), "density" (inputs drawn from a density fitted to them) or
            "domain" (uniform inputs of the domain, as in the paper); by default rows if there are any and the strategy
            walks.
        min_plausibility: the fraction of held-out rows that every input must be at least as likely as, by a density
            fitted to `data`; None to go anywhere in the domain; by default 0.05 if there are rows, unless --from domain
            or `max_changes` is given.
    """

    start_from: str | None = None
    min_plausibility: float | None = None


SEARCHING = [*o.options_of(Start), *o.options_of(search, but=("min_plausibility",))]
"""Options of a search, which `fairprobe explain` has as well."""

N_SHOWN = 3
"""Number of cases in the output of --json; chosen."""


def run(request: Request, *, out: WrittenFile | None = None) -> int:
    """Search a model for discriminatory inputs.

    An input is discriminatory if the model's output changes when only its sensitive parameters change, and what is
    linked to them. If rows are given, the search starts from them and tries only inputs that are plausible by a density
    fitted to them. Every case then says which row is nearest.

    Args:
        request: all options of the call.
        out: write the cases as .csv or .parquet; an older file is overwritten, and - is CSV on the standard output.
    """
    return Search(request).run()


OPTIONS = [*o.INPUTS, *SEARCHING, *o.options_of(run), *o.PRINTED]


class Search(Command):
    """The command that searches a model for cases."""

    name = "the search"
    files: ClassVar = {"out": (*TABLES, STDOUT)}
    found: Found | None = None

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        if request["json"] and request["out"] == STDOUT:
            raise SettingError("--json and --out - both write to the standard output, got both: give --out a file")
        self.keywords = request.keywords(search)
        _, self.limits = settled(**self.keywords)
        if request["start_from"] is not None:
            checked_choice("start_from", request["start_from"], STARTS)

    def load(self) -> None:
        """Load the domain, the rows and the model, and fit a density to the rows if one is needed."""
        self.load_inputs()
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
        """Set `start` to "rows", "density" or "domain"; options that contradict each other raise a SettingError."""
        start, least = self.request["start_from"], self.request["min_plausibility"]
        changes, strategy = self.keywords["max_changes"], self.keywords["strategy"]
        needs = {f"--from {start}": start in ("rows", "density"), "--min-plausibility": least is not None}
        for option in [name for name, is_given in needs.items() if is_given and self.rows is None]:
            raise SettingError(f"{option} needs --data, got none")
        is_unlikely = start == "domain" and least not in (None, NONE)
        if is_unlikely or (start == "density" and least == NONE):
            raise SettingError(f"--min-plausibility {least} does not go with --from {start}: leave one of them out")
        walks = changes is not None or load_strategy(strategy_path(strategy)).is_local
        drawn = "domain" if self.rows is None or (not walks and least in (None, NONE)) else "density"
        self.start = start or ("rows" if walks and self.rows is not None else drawn)

    def work(self) -> None:
        """Search, and write the cases; a failed or interrupted run without cases leaves an older file unchanged."""
        self.find()
        found = self.found
        if found is not None and (found.n_cases or not (self.failures or self.interrupted)):
            self.write("out", lambda target: target.write_frame(found.to_frame()))

    def find(self) -> None:
        """Search, and set `found` to the result, which after a failure or an interruption has the cases until then."""
        try:
            with progress() as watch:
                self.found = search(self.model, self.domain, **{**self.keywords, "progress": watch})
        except RunError as failure:
            self.found = failure.found
            self.failures.append(failure)
        self.result = self.found
        self.interrupted = self.found is not None and self.found.stop_reason is StopReason.INTERRUPTED

    def figures(self) -> dict[str, Any]:
        """Return the figures of the search, with where it started and its first cases, as a dict for JSON."""
        first = None if self.found is None else self.found.to_frame().head(N_SHOWN)
        cases = [] if first is None or first.empty else json.loads(first.to_json(orient="records"))
        return {**super().figures(), "from": self.start, "cases": cases}

    def again(self) -> Code | None:
        """Return a block with the command line that repeats the search; None without a result.

        If a time limit or a person ended the search, the command is limited to as many inputs as were judged.
        """
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
        return Code(self.request.again(**changes), title)

    def code_of_result(self) -> int:
        """Return the exit code of a finished search: 3 if shards (parts of the search) had to be left out, else 0."""
        return FAILED if self.found is not None and self.found.stop_reason is StopReason.INCOMPLETE else 0

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """Return the values of the options for the dry run, by name, with the strategy that "auto" stands for."""
        settings, limits = settled(**self.keywords)
        chosen = settled_strategy(settings, limits, self.model, self.keywords["output"])
        return {**super().shown_settings(), **asdict(chosen), "start_from": self.start}

    def bounds(self) -> dict[str, int | None]:
        """Return the largest number of rows that the search sends to the model, under the name "search".

        It follows from the limits, or from the number of inputs of a small domain; None without either.
        """
        n_members, coverage = len(self.domain.families), Coverage.of(self.domain)
        bounds = [] if coverage is None else [coverage.left * n_members]
        if self.limits.max_judged is not None:
            bounds.append(self.limits.max_judged * n_members)
        if self.limits.max_queries is not None:
            bounds.append(self.limits.max_queries)
        return {"search": min(bounds, default=None)}


def _density(domain: Domain, rows: pd.DataFrame, *, is_asked_for: bool) -> Density | None:
    """Return a density fitted to the rows; None, with a note, if they are too few and no option asks for a density."""
    try:
        return Density.fit(domain, rows)
    except DataError as error:
        if is_asked_for:
            raise
        note(f"no-density: {error}. So inputs may be anywhere in the domain")
        return None
