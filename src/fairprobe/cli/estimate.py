"""The command `fairprobe estimate`: estimates the share of discriminatory inputs in one or more populations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from fairprobe.arguments import Column, WrittenFile
from fairprobe.blocks import Block, Items, Sentence
from fairprobe.checks import checked_choice
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request
from fairprobe.cli.data import names
from fairprobe.cli.files import TABLES, Destination
from fairprobe.cli.words import progress
from fairprobe.domain import Density
from fairprobe.errors import SettingError
from fairprobe.estimation import Matched, Share, Verdict, breakdown, estimate, verdict
from fairprobe.estimation.estimation import EstimatePlan, EstimateSettings, plan
from fairprobe.estimation.matched import MOST_GROUPS, N_DRAWS, N_PLACEBOS
from fairprobe.estimation.populations import as_taken, sides_of
from fairprobe.estimation.verdict import UNBOUND, Gate
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Status
from fairprobe.report.shares import blocks_of, side_by_side, verdict_blocks
from fairprobe.wording import POPULATIONS, counted

EXAMPLE = "--model subject:mlp --domain fairprobe.datasets:census_domain"


BESIDE = ("sample_weight", "groups")
"""Arguments of `estimate` that hold one value per row; their options name columns of --data."""

N_SHOWN = 3
"""Number of discriminatory rows that the output shows; chosen."""


def run(
    request: Request,
    *,
    population: Sequence[Column] | None = None,
    by_parameter: bool | None = None,
    out: WrittenFile | None = None,
) -> int:
    """Estimate how common discriminatory inputs are, with an interval.

    An input is discriminatory if the model's output changes when only its sensitive parameters change. The shares of
    the given rows and of the whole domain are shown side by side, because they can be far apart. If the domain has
    links, there are two shares: a plain one, where only sensitive values change, and a linked one, where the linked
    columns change as well.

    Args:
        request: all options of the call.
        population: the inputs whose share is estimated: some of "rows", "domain", "valid" (the part of the domain that
            its constraints allow) and "density" (fitted to the rows of `data`); by default all there are but the
            density.
        by_parameter: also estimate the share for each sensitive parameter and each combination of them.
        out: write the rows that are discriminatory as .csv or .parquet, with all outcomes; an older file is
            overwritten.
    """
    return Estimate(request).run()


OPTIONS = [*o.INPUTS, *o.options_of(run), *o.options_of(estimate, but=("population",)), *o.PRINTED]


class Estimate(Command):
    """The command that estimates the shares of all chosen populations, one after the other."""

    name = "the estimate"
    files: ClassVar = {"out": TABLES}
    result: Verdict | None = None

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.keywords = {**request.keywords(estimate), "favourable": None}
        del self.keywords["population"], self.keywords["progress"]
        EstimateSettings(**self.keywords)
        checked_threshold(self.keywords["threshold"], self.keywords["output"])
        asked = None if request["population"] is None else names(request["population"]) or [""]
        self.asked = [checked_choice("population", name, POPULATIONS) for name in dict.fromkeys(asked or ())]
        self.gate = Gate.of(request["gate"])
        if request["gate"] is not None and self.keywords["max_share"] is None:
            raise SettingError(f"--gate says what --max-share is about, got --gate {request['gate']} alone")
        self.matched: Matched | None = None
        """Share of the rows by matched twins, if --matched asks for them."""
        self.shares: dict[str, Share] = {}
        """Finished shares, by population."""
        self.breakdowns: dict[str, dict[str, Share]] = {}
        """Shares by population, then by set of sensitive parameters; empty unless --by-parameter is given."""
        self.unfinished: dict[str, Any] | None = None
        """Latest figures of the population that is being estimated or was cut short; None if there is none."""

    # What is estimated

    def load(self) -> None:
        """Load the domain, the rows and the model, and choose the populations."""
        self.load_inputs()
        is_matched = self.keywords["matched"]
        if is_matched:
            self._choose_rows()
        else:
            self._choose()
        self.beside = {name: self.request.source.column(name) for name in BESIDE}
        self.model = self.load_model()
        if is_matched:
            self.domain = as_taken(self.model, self.domain)
        self.keywords["favourable"] = self.good_outcome(self.domain, self.rows)

    def _choose(self) -> None:
        """Choose the populations and the kinds of twins; refuse options that do not fit them."""
        self.sides = ["linked" if side.links else "plain" for side in sides_of(self.domain, self.request["linked"])]
        self.populations = self._populations()
        for option in (*BESIDE, "out"):
            if self.request[option] is not None and "rows" not in self.populations:
                raise SettingError.about(option, f"is about rows, got the populations {', '.join(self.populations)}")
        if self.keywords["max_share"] is not None:
            self.gate = replace(self.gate, population=self.gate.named(self.populations))
            if self.gate.twins is not None and self.gate.twins not in self.sides:
                raise SettingError(f"--gate {self.gate.twins} needs that share, got only the {self.sides[0]} share")

    def _choose_rows(self) -> None:
        """Choose the rows, of which alone there are matched twins; refuse options about other populations."""
        self.populations, self.sides = {"rows": self.rows}, ["matched"]
        for option in ("population", "by_parameter"):
            if self.request[option]:
                raise SettingError.about(option, "means nothing to matched twins: leave it out")
        if self.rows is None:
            raise SettingError("--matched needs --data, got none")

    def _populations(self) -> dict[str, Any]:
        """Return the `population` argument of `estimate` for each population, by name."""
        valid = "valid" if self.domain.constraints else None
        every: dict[str, Any] = {"rows": self.rows, "valid": valid, "domain": "domain"}
        for name in ("rows", "density"):
            if name in self.asked and self.rows is None:
                raise SettingError(f"--population {name} needs --data, got none")
        if "density" in self.asked:
            every["density"] = Density.fit(self.domain, self.rows)
        if "valid" in self.asked and valid is None:
            raise SettingError("--population valid needs constraints, got none: use --population domain")
        there = [name for name, population in every.items() if population is not None]
        return {name: every[name] for name in self.asked or there}

    def _arguments(self, name: str) -> dict[str, Any]:
        """Return the keyword arguments of `estimate` for the population `name`, with the limit only if it binds it."""
        keywords = {**self.keywords, **(self.beside if name == "rows" else dict.fromkeys(self.beside))}
        is_limited = name == self.gate.population
        is_bound = is_limited or keywords["max_share"] is None  # without a limit, as `estimate` does by itself
        keywords["gate"] = self.gate.twins if is_bound else UNBOUND
        if keywords["store"] is not None:  # each population is a run of its own
            keywords["store"] = Path(keywords["store"]) / name
        return {**keywords, "max_share": self.keywords["max_share"] if is_limited else None}

    def _plans(self) -> list[EstimatePlan]:
        """Return the plan of `estimate` for each population, in order, without asking the model."""
        return [plan(self.domain, each, **self._arguments(name)) for name, each in self.populations.items()]

    # The work

    def work(self) -> None:
        """Estimate the share of discriminatory inputs in each population, then write the discriminatory rows.

        The shares are judged by `max_share` if it is given. If an estimate fails or is interrupted, no file is written,
        but finished shares stay in the output.
        """
        if self.keywords["matched"]:
            arguments = {name: given for name, given in {**self.keywords, **self.beside}.items() if given is not None}
            found: Any = estimate(self.model, self.domain, self.rows, **arguments)
            self.matched = found
            self.write("out", lambda target: target.write_frame(found.people.reset_index(names="row_")))
            return
        for name in self.populations:
            self.unfinished = {"population": name, "n": 0, "hits": 0, "low": 0.0, "high": 1.0}
            sets = self._estimate(name)
            self.unfinished = None
            *_, self.shares[name] = sets.values()  # the last is that of all sensitive parameters together
            if self.request["by_parameter"]:
                self.breakdowns[name] = sets
        if self.keywords["max_share"] is not None:
            self.result = verdict(self.shares, self.keywords["max_share"], gate=str(self.gate))
        self.write("out", self._write_rows)

    def _estimate(self, name: str) -> dict[str, Share]:
        """Return the shares of a population by set of sensitive parameters; the set of all parameters comes last."""
        with progress(f"{name}: ") as show:

            def watch(status: Status) -> None:
                self.unfinished = {**(self.unfinished or {}), **status.figures, "so_far": status.text}
                show(status)

            sets = None if self.request["by_parameter"] else [self.domain.sensitive]
            arguments = {**self._arguments(name), "progress": watch}
            return breakdown(self.model, self.domain, self.populations[name], sets=sets, **arguments)

    def _write_rows(self, target: Destination) -> None:
        """Write the discriminatory rows as a table, with their index and their line in the file of --data.

        If the share has linked and plain twins, a column says by which of them a row is discriminatory.
        """
        import pandas as pd

        share, lines = self.shares["rows"], self.request.source.lines
        frames = [pd.DataFrame(columns=["row", *(["line"] if lines is not None else []), *self.domain.names])]
        for side in share.sides:
            frame = side.to_frame()
            if frame is not None:
                about = {} if lines is None else {"line": [lines[row] for row in frame.iloc[:, 0]]}
                about |= {} if share.plain is None else {"compared": [side.compared] * len(frame)}
                for place, (name, values) in enumerate(about.items(), start=1):
                    frame.insert(place, f"{name}_" if name in frame else name, values)
                frames.append(frame)
        target.write_frame(pd.concat(frames[1:] or frames, ignore_index=True))

    # What came of it

    def figures(self) -> dict[str, Any]:
        """Return the shares, the verdict, some discriminatory rows and unfinished figures as a dict for JSON."""
        fields = ("outcome", "condition", "sentence", "population", "max_share", "exit_code")
        return {
            "shares": _jsonable(self.shares),
            "breakdown": {name: _jsonable(sets) for name, sets in self.breakdowns.items()} or None,
            "verdict": None if self.result is None else {name: getattr(self.result, name) for name in fields},
            "matched": None if self.matched is None else self.matched.jsonable(),
            "rows": self._first_rows(),
            "unfinished": self.unfinished,
        }

    def blocks(self) -> Sequence[Block]:
        """Return blocks with the shares, some discriminatory rows, the verdict and the cost; none without a share."""
        if self.matched is not None:
            queries = counted(self.matched.n_queries, "query")
            return [*self.matched.blocks(), Sentence(f"{queries}, seed {self.matched.seed}.")]
        if not self.shares:
            return []
        rows, shares = self._first_rows(), side_by_side(self.shares).values()
        some: list[Block] = [Sentence("Some of these rows (--out FILE writes all of them):"), Items(tuple(rows))]
        limit, good = self.keywords["max_share"], self.keywords["favourable"]
        n_queries, seconds = (sum(getattr(share, name) for share in shares) for name in ("n_queries", "seconds"))
        cost = Sentence(f"{counted(n_queries, 'query')}, {seconds:.2f} s, seed {self.keywords['seed']}.")
        said = [] if self.result is None else verdict_blocks(self.result, self.gate.twins)
        return [*blocks_of(self.shares, self.breakdowns, some if rows else [], good, limit), *said, cost]

    def _first_rows(self) -> list[str]:
        """Return up to `N_SHOWN` discriminatory rows in words, by linked twins or else by plain twins."""
        sides = self.shares["rows"].sides if "rows" in self.shares else []
        return next((side.rows_in_words(N_SHOWN) for side in sides if side.cases is not None), [])

    def kept(self) -> str:
        """Return the names of the finished populations, and the figures of the unfinished one, as text."""
        parts = list(self.shares)
        if self.unfinished is not None and self.unfinished["n"]:
            parts.append(f"{self.unfinished['population']}: so far {self.unfinished['so_far']}")
        return "; ".join(parts) or "nothing"

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """Return the values of the options for the dry run, with the selected populations and kinds of twins."""
        settled = {"population": list(self.populations), "compared": self.sides, "gate": self.gate.population}
        return {**super().shown_settings(), **settled}

    def bounds(self) -> dict[str, int | None]:
        """Return the number of rows that each population may send to the model, by name of the population."""
        if self.keywords["matched"]:
            n_pairs = math.comb(min(MOST_GROUPS, max(len(self.domain.families), 2)), 2)
            return {"rows": len(self.rows) * (1 + n_pairs * (N_DRAWS + N_PLACEBOS))}
        return {name: each.n_queries for name, each in zip(self.populations, self._plans(), strict=True)}


def _jsonable(shares: Mapping[str, Share]) -> dict[str, Any]:
    return {name: share.jsonable() for name, share in shares.items()}
