"""The command `fairprobe explain`: explains where discriminatory inputs are, and who is worse off."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fairprobe.arguments import ReadFile, WrittenFile, filled
from fairprobe.blocks import Block, Code, Sentence
from fairprobe.checks import checked_choice, checked_count
from fairprobe.cli import options as o
from fairprobe.cli import search as searching
from fairprobe.cli.command import Command, Request
from fairprobe.cli.search import Search
from fairprobe.cli.words import flag, note, progress
from fairprobe.domain import Density
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.favourable import classes_of
from fairprobe.explanation import explain
from fairprobe.explanation.evidence import as_inputs
from fairprobe.wording import listed

POPULATIONS = ("domain", "valid", "density")

EXAMPLE = "--model subject:random-forest --domain fairprobe.datasets:census_domain"

OF_SEARCH = ("output", "threshold", "seed", "batch", "population")
"""Arguments of `explain` whose options are those of the search, or of the command itself."""

NOT_ABOUT_SEARCH = ("linked", *OF_SEARCH)
"""Options of a search that are also allowed if --cases is given."""


def run(
    request: Request,
    *,
    cases: ReadFile | None = None,
    population: str | None = None,
    out: WrittenFile | None = None,
) -> int:
    """Explain discriminatory inputs: where they are, through what, who is worse off, what would end it.

    It searches as fairprobe search does, or takes --cases. Regions are learned from the cases and measured on fresh
    inputs. With --data and --label, it says if the data have the difference as well. Ways to end it are simulated:
    nothing is trained.

    Args:
        request: all options of the call.
        cases: a file of cases to explain, as fairprobe search --out writes it; none are then searched for.
        population: the inputs on which regions are measured: "domain", "valid" (its allowed part) or "density" (fitted
            to `data`); by default those that the search may try.
        out: write all figures as .json; an older file is overwritten.
    """
    return Explain(request).run()


OPTIONS = [
    *o.INPUTS,
    *searching.SEARCHING,
    *o.options_of(run),
    *o.options_of(explain, but=OF_SEARCH, names={"max_queries": "explain_queries"}, panel="How it is explained"),
    *o.PRINTED,
]


class Explain(Search):
    """The command that explains cases, which a search finds or --cases gives."""

    name = "the explanation"
    files: ClassVar = {"out": (".json",)}

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        for each in searching.SEARCHING:
            if request["cases"] is not None and each.name not in NOT_ABOUT_SEARCH and request[each.name] is not None:
                option = flag(each.name)
                raise SettingError(f"{option} is about a search, got --cases, which need none: leave one of them out")
        if request["population"] is not None:
            checked_choice("population", request["population"], POPULATIONS)
        # The search has a limit on queries of its own.
        asked = {name: request[name] for name in ("max_regions", "max_conditions")}
        asked["max_queries"] = request["explain_queries"]
        self.explaining = filled(explain, {name: value for name, value in asked.items() if value is not None})
        checked_count("explain_queries", self.explaining["max_queries"])
        for name in ("max_regions", "max_conditions"):
            checked_count(name, self.explaining[name])
        self.cases: Any = None
        self.labels: Any = None

    # What is explained

    def load(self) -> None:
        """Load the domain, the rows, their labels, the model and, with --cases, the cases."""
        super().load()
        self.compared = self.domain if self.keywords["linked"] else self.domain.without_links()
        source = self.request.source
        if self.rows is not None and source.label in source.table.columns:
            self.labels = np.array(source.table[source.label].tolist(), dtype=object)
        self._check_labels(classes_of(self.model))
        self.favourable = self.good_outcome(self.compared, self.rows)
        self.population = self._population()
        path = self.request["cases"]
        if path is not None:
            table = source.cases(path)
            try:
                as_inputs(self.compared, table)
            except DataError as error:
                raise DataError(f"--cases {path}: {error}") from None
            self.cases = table[list(self.compared.names)]

    def _check_labels(self, classes: Any) -> None:
        """Raise a DataError if the model gives none of the labels; `classes` are those that it can give, if known."""
        if self.labels is None or classes is None or self.keywords["output"] == "value":
            return
        import pandas as pd

        known = [label for label in pd.unique(pd.Series(self.labels)) if not pd.isna(label)]
        if not any(label in classes for label in known):
            got = f"got {listed(known)} in {self.request.source.label}"
            advice = "write them as the model does, or leave the column out by --ignore"
            raise DataError(f"--label must name a column of the model's labels, {listed(classes)}; {got}: {advice}")

    def _population(self) -> Any:
        """Return the argument `population` of `explain`; None for the inputs that the search may try."""
        asked = self.request["population"]
        if asked != "density":
            # Cases given are measured on what the search that --data ask for would have kept to.
            return self.keywords["density"] if asked is None and self.request["cases"] is not None else asked
        if self.rows is None:
            raise SettingError("--population density needs --data, got none")
        return self.keywords["density"] or Density.fit(self.domain, self.rows)

    # The work

    def work(self) -> None:
        """Search unless cases were given, explain the cases, and write figures.

        If the search fails or is interrupted, its cases are kept and are not explained.
        """
        told = {**self.explaining, "X": self.rows, "y": self.labels, "population": self.population}
        told |= {"favourable": self.favourable, "seed": self.keywords["seed"], "batch": self.keywords["batch"]}
        if self.cases is not None:
            told |= {"domain": self.compared, **{name: self.keywords[name] for name in ("output", "threshold")}}
        else:
            self.find()
            if self.interrupted or self.failures:
                return
        with progress() as watch:
            told["progress"] = watch
            why = self.result = explain(self.found if self.cases is None else self.cases, self.model, **told)
        for part in (why.directions, why.influence, why.severity):
            for check, message in part.health:
                note(f"{check}: {message}")
        text = json.dumps(self.figures(), indent=1, ensure_ascii=False, default=str)
        self.write("out", lambda target: target.write_text(f"{text}\n"))

    # What came of it

    def figures(self) -> dict[str, Any]:
        """Return the figures of the explanation, with those of the search, as a dict for JSON."""
        search = None if self.found is None else {**self.found.jsonable(), "from": self.start}
        why = {} if self.result is self.found else Command.figures(self)
        return {**why, "search": search, "cases": self.request["cases"]}

    def blocks(self) -> Sequence[Block]:
        """Return blocks with the explanation; if the work ended before it, with the result of the search."""
        blocks = super().blocks()
        if self.result is None or self.result is self.found or self.request["favourable"] is not None:
            return blocks
        return [*blocks, Sentence("--favourable OUTCOME says which outcome is worse.")]

    def again(self) -> Code | None:
        """Return a block with the command line that repeats the explanation; None if it cannot be repeated."""
        return super().again() if self.cases is None else Command.again(self)

    # The dry run

    def bounds(self) -> dict[str, int | None]:
        """Return the largest number of rows that the search and the explanation send to the model, by their names."""
        return {**(super().bounds() if self.cases is None else {}), "explain": self.explaining["max_queries"]}
