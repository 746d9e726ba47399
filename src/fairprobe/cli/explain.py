"""`fairprobe explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fairprobe.blocks import Remark
from fairprobe.checks import checked_count, checked_seed
from fairprobe.cli import options as o
from fairprobe.cli import search as searching
from fairprobe.cli.command import Command, Request
from fairprobe.cli.destination import Destination, checked_folder
from fairprobe.cli.flags import NONE, flag, in_flags
from fairprobe.cli.search import Search
from fairprobe.cli.words import note, progress, say, say_blocks
from fairprobe.domain import Density
from fairprobe.errors import DataError, RunError, SettingError
from fairprobe.estimation.favourable import classes_of
from fairprobe.explanation import Explanation, explain
from fairprobe.explanation.evidence import MAX_QUERIES
from fairprobe.explanation.given_cases import Budget, as_inputs
from fairprobe.explanation.region_learning import MAX_REGIONS
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.searching.settings import settled
from fairprobe.wording import counted, listed

POPULATIONS = ("domain", "valid", "density")
EXPLAINING = "How it is explained"

EXAMPLE = "--model subject:random-forest --domain fairprobe.datasets:census_domain"

_ALSO_OF_SEARCH = ("output", "threshold", "seed", "batch")

OPTIONS = [
    *o.INPUTS,
    o.own(
        "cases", "ReadFile | None", "explain these, as fairprobe search --out writes them, and search for none.", o.WHAT
    ),
    *searching.SEARCHING,
    o.own(
        "population",
        "str | None",
        'whose inputs regions are measured on: "domain", "valid" (its allowed part) or "density" (fitted to `data`); '
        "by default what the search keeps to.",
        EXPLAINING,
    ),
    *o.options_of(
        explain, but=("population", *_ALSO_OF_SEARCH), names={"max_queries": "explain_queries"}, panel=EXPLAINING
    ),
    o.out("write all figures as .json; an older file is overwritten."),
    o.own(
        "plots", "WrittenFolder | None", "draw influence, curves and directions as .svg files in it, over older ones."
    ),
    *o.PRINTED,
]

NOT_ABOUT_SEARCH = ("linked", *_ALSO_OF_SEARCH)
"""Of the options of a search, those that cases given need as well."""


def run(request: Request) -> int:
    """Explain discriminatory inputs: where they are, through what, who is worse off, what would end it.

    It searches as fairprobe search does, or takes --cases. Regions are learned from the cases and measured on fresh
    inputs; with --data and --label it says whether the difference was in the data. What would end it is simulated:
    nothing is trained.
    """
    return Explain(request).run()


class Explain(Search):
    """A search, or cases given, and the explanation of what was found."""

    name = "the explanation"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.plots = checked_folder(request["plots"], "--plots")
        for each in searching.SEARCHING:
            if request["cases"] is not None and each.name not in NOT_ABOUT_SEARCH and request[each.name] is not None:
                option = "--from" if each.name == "start_from" else flag(each.name)
                raise SettingError(f"{option} is about a search, got --cases, which need none: leave one of them out")
        asked = request["population"]
        if asked is not None and asked not in POPULATIONS:
            raise SettingError(f"--population must be one of {', '.join(POPULATIONS)}; got {asked!r}")
        self.keywords["seed"] = checked_seed(self.keywords["seed"])
        # By another name than in the library, as the search has a limit of this name.
        self.max_queries = MAX_QUERIES if request["explain_queries"] is None else request["explain_queries"]
        checked_count("explain_queries", self.max_queries)
        self.max_regions = MAX_REGIONS if request["max_regions"] is None else request["max_regions"]
        checked_count("max_regions", self.max_regions)
        self.cases: Any = None
        self.labels: Any = None
        self.why: Explanation | None = None
        self.drawn: list[Path] = []

    def destination(self) -> Destination | None:
        """A file of figures; on the standard output, --json writes them."""
        return Destination.of(self.request["out"], (".json",), may_be_stdout=False)

    # What is explained

    def load(self) -> None:
        """The domain, rows and labels, the cases or what a search needs, the model."""
        super().load()
        if self.domain.links and not self.keywords["linked"]:
            self.compared = self.domain.without_links()
        else:
            self.compared = self.domain
        source = self.request.source
        if self.rows is not None and source.label is not None and source.label in source.table().columns:
            self.labels = np.array(source.table()[source.label].tolist(), dtype=object)
        self._check_labels(classes_of(self.model))
        self.favourable = self.good_outcome(self.compared, self.rows)
        self.population = self._population()
        if self.request["cases"] is None:
            self._limit_cases()
        else:
            self._load_cases()

    def _load_cases(self) -> None:
        path = self.request["cases"]
        table = self.request.source.table(path, is_ours=True)
        try:
            as_inputs(self.compared, table)
        except DataError as error:
            raise DataError(f"--cases {path}: {error}") from None
        self.cases = table[list(self.compared.names)]

    def _limit_cases(self) -> None:
        """The search needs to find no more cases than can be asked about again, unless it was told to."""
        fits = max(1, self.max_queries // (4 * self._cost()))
        most = self.keywords["max_cases"]
        if (most is not None and most <= fits) or self.request["max_cases"] not in (None, NONE):
            return
        self.keywords["max_cases"] = fits
        _, self.limits = settled(**self.keywords)
        why = f"as --explain-queries {self.max_queries:,} must do to ask about each and its twins again"
        note(f"fewer-cases: the search ends at {counted(fits, 'case')}, {why}")

    def _oracle(self) -> Oracle:
        asker = Asker(self.model, self.compared, output=self.keywords["output"], batch=self.keywords["batch"])
        return Oracle.careful(asker, self.keywords["threshold"])

    def _cost(self) -> int:
        """Queries that a case and its twins take; of a model that may not repeat itself, twice as many."""
        return Budget(self._oracle(), None).cost

    def _check_labels(self, classes: Any) -> None:
        """Labels that the model never gives can't say whether it learned from them."""
        if self.labels is None or classes is None or self.keywords["output"] == "value":
            return
        import pandas as pd

        known = [label for label in pd.unique(pd.Series(self.labels)) if not pd.isna(label)]
        if not any(label in classes for label in known):
            label = self.request.source.label
            raise DataError(
                f"--label must name a column of the model's labels, {listed(classes)}; got {listed(known)} in {label}: "
                "write them as the model does, or leave the column out by --ignore"
            )

    def _population(self) -> Any:
        """What the library takes for it; None for the search's own."""
        asked = self.request["population"]
        if asked != "density":
            # Cases given are measured on what the search that --data ask for would have kept to.
            return self.keywords["density"] if asked is None and self.request["cases"] is not None else asked
        if self.rows is None:
            raise SettingError("--population density needs --data, got none")
        return self.keywords["density"] or Density.fit(self.domain, self.rows)

    # The work

    def work(self) -> None:
        """Search, explain and write; the results from before a failure or an interruption are kept."""
        if self.cases is None:
            self.find()
            if self.interrupted or self.failures or self.found is None:
                return
        self._explain()
        self._write()

    def _explain(self) -> None:
        told: dict[str, Any] = {}
        if self.cases is not None:
            told = {"domain": self.compared, **{name: self.keywords[name] for name in ("output", "threshold")}}
        with progress() as watch:
            why = explain(
                self.found if self.cases is None else self.cases,
                self.model,
                self.rows,
                self.labels,
                self.population,
                **told,
                favourable=self.favourable,
                max_regions=self.max_regions,
                max_queries=self.max_queries,
                seed=self.keywords["seed"],
                batch=self.keywords["batch"],
                progress=watch,
            )
        self.why = why
        for part in (why.directions, why.influence, why.severity):
            for check, message in part.health:
                note(f"{check}: {message}")

    def _write(self) -> None:
        """The figures, then the plots."""
        assert self.why is not None
        if self.out is not None:
            text = json.dumps(self.figures(), indent=1, ensure_ascii=False, default=str)
            self.out.write_text(f"{text}\n")
            self.written = self.out.name
        if self.plots is not None:
            try:
                self.drawn = self.why.plot(self.plots)
            except OSError as error:
                raise RunError(f"the plots must be written, got {error.strerror}: {self.plots}") from None

    # What came of it

    def figures(self) -> dict[str, Any]:
        """Those of the explanation, and in short those of the search."""
        search = None if self.found is None else {**self.found.jsonable(), "from": self.start}
        return {
            "model": self.request.model_name,
            **({} if self.why is None else self.why.jsonable()),
            "search": search,
            "cases": self.request["cases"],
            "out": self.request["out"] if self.why is not None else None,
            "plots": [str(path) for path in self.drawn],
            "interrupted": self.interrupted,
        }

    def show(self) -> None:
        """A sentence, the regions, what else is known, and how to do it again."""
        why = self.why
        if why is None:
            if self.cases is None:
                super().show()
            return
        say_blocks(block for block in why.blocks() if not isinstance(block, Remark))
        if why.n_cases and self.request["favourable"] is None:
            say("--favourable OUTCOME says which outcome is worse.")
        say()
        say(self._effort(why))
        if self.written is not None:
            say(f"All figures are in {self.written}.")
        if self.drawn:
            say(f"Drawn: {', '.join(map(str, self.drawn))}.")

    def _effort(self, why: Explanation) -> str:
        took = f"{counted(why.n_queries, 'query')} and {why.seconds:.1f} s to explain, seed {why.seed}"
        if self.found is None:
            return took
        reason = in_flags(self.found.stop_reason.sentence)
        searched = f"{counted(self.found.n_queries, 'query')} and {self.found.seconds:.1f} s to search"
        return f"{searched} {counted(self.found.n_distinct, 'distinct input')} ({reason}), {took}"

    def again(self) -> tuple[str, str] | None:
        """As after a search, unless cases were given."""
        if self.why is not None and (self.interrupted or self.failures):
            return None
        return super().again() if self.cases is None else Command.again(self)

    def kept(self) -> str:
        """What was found or written."""
        if self.why is not None:
            files = [*([self.written] if self.written else []), *map(str, self.drawn)]
            return f"the explanation{f', written to {listed(files)}' if files else ', shown above'}"
        if self.found is None or not self.found.n_cases:
            return "nothing, as no case was explained" if self.cases is not None else super().kept()
        return f"{counted(self.found.n_cases, 'case')} found, none explained"

    # The dry run

    def bounds(self) -> dict[str, int | None]:
        """The queries of the search and of the explanation."""
        return {**(super().bounds() if self.cases is None else {}), "explain": self.max_queries}
