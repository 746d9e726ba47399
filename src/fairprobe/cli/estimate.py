"""`fairprobe estimate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.blocks import Block, Sentence
from fairprobe.checks import checked_seed, nearest
from fairprobe.cli import options as o
from fairprobe.cli.command import Command, Request, check_linked
from fairprobe.cli.destination import Destination
from fairprobe.cli.flags import flag
from fairprobe.cli.values import names
from fairprobe.cli.words import note, progress, say, say_blocks, sent_words
from fairprobe.domain import Density
from fairprobe.errors import DomainError, SettingError
from fairprobe.estimation import Share, Verdict, breakdown, estimate, verdict
from fairprobe.estimation.drawing import convergence, has_history
from fairprobe.estimation.estimation import plan, settings_of
from fairprobe.estimation.populations import sides_of
from fairprobe.estimation.settings import EstimatePlan
from fairprobe.estimation.verdict import UNBOUND, Gate
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Status
from fairprobe.report.shares import blocks_of, side_by_side, verdict_blocks
from fairprobe.wording import POPULATIONS, between, counted, percent

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = "--model subject:mlp --domain fairprobe.datasets:census_domain"

PANELS = {o.VERDICT: ("max_share", "gate"), o.RESULTS: ("store", "model_id", "favourable")}

OPTIONS = [
    *o.INPUTS,
    o.own(
        "population",
        "Sequence[Column] | None",
        'whose share: some of "rows", "domain", "valid" (the part of the domain that its constraints allow) and '
        '"density" (what is fitted to the rows of `data`); by default all there are but the density.',
        o.HOW,
    ),
    *o.options_of(estimate, PANELS, but=("population",)),
    o.own("by_parameter", "bool | None", "also the share by sensitive parameter, alone and combined.", o.HOW),
    o.out(
        "write the rows that are discriminatory as .csv or .parquet, with all outcomes; an older file is overwritten."
    ),
    o.own("plot", "WrittenFile | None", "draw how the sample converges, as .svg; an older file is overwritten."),
    *o.PRINTED,
]

BESIDE = ("sample_weight", "groups")
"""Arguments of `estimate` that hold a value for each row; their options name columns."""

N_SHOWN = 3
"""Rows shown in words."""

N_TRIED = 100
"""Inputs drawn to see whether constraints leave enough to sample from."""


def run(request: Request) -> int:
    """Estimate how common discriminatory inputs are, with an interval.

    An input is discriminatory if the model's output changes when only its sensitive parameters change. The shares of
    the rows given and of the whole domain stand side by side: they can be far apart. So do, where there are links, the
    plain share and the linked one, with what changes along.
    """
    return Estimate(request).run()


class Estimate(Command):
    """The shares of the populations there are, one after the other."""

    name = "the estimate"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.plot = Destination.of(request["plot"], (".svg",), "--plot", may_be_stdout=False)
        self.out = Destination.of(request["out"], (".csv", ".parquet"), may_be_stdout=False)
        self.keywords = {**request.keywords(estimate), "favourable": None}
        del self.keywords["population"], self.keywords["progress"]
        self._check_options()
        self.keywords["seed"] = checked_seed(self.keywords["seed"])
        self.shares: dict[str, Share] = {}
        """By population."""
        self.breakdowns: dict[str, dict[str, Share]] = {}
        """By population, then set of sensitive parameters; empty if none was asked for."""
        self.verdict: Verdict | None = None
        self.unfinished: dict[str, Any] | None = None
        """The figures of the population that was under way when it ended."""
        self.drawn: str | None = None
        self.written: str | None = None

    def _check_options(self) -> None:
        """Refuse a wrong one before anything is loaded."""
        asked, gate, keywords = self.request["population"], self.request["gate"], self.keywords
        self.asked = list(dict.fromkeys(names(asked or ())))
        unknown = [name for name in self.asked if name not in POPULATIONS]
        if unknown or (asked and not self.asked):
            got = f"{', '.join(unknown)}{nearest(unknown[0], POPULATIONS)}" if unknown else "none"
            raise SettingError(f"--population must be one of {', '.join(POPULATIONS)}; got {got}")
        settings_of(**keywords)
        checked_threshold(keywords["threshold"], keywords["output"])
        self.gate, self.which = Gate.of(gate).population, Gate.of(gate).twins
        if gate is not None and keywords["max_share"] is None:
            raise SettingError(f"--gate says what --max-share is about, got --gate {gate} without --max-share")
        for name in ("width", "max_seconds"):
            if self.request["by_parameter"] and keywords[name] is not None:
                rule = "--by-parameter judges a fixed number of inputs"
                raise SettingError(f"{rule}, got {flag(name)} as well: leave one of them out")

    # What is estimated

    def load(self) -> None:
        """The domain, the rows, the populations, the model."""
        self.domain, self.rows = self.request.source.load()
        self.by_parameter = bool(self.request["by_parameter"]) and len(self.domain.sensitive) > 1
        if self.request["by_parameter"] and not self.by_parameter:
            note(f"one-parameter: {self.domain.sensitive[0]} is the only sensitive parameter, so there is one share")
        check_linked(self.request["linked"], self.domain)
        self.sides = ["linked" if side.links else "plain" for side in sides_of(self.domain, self.request["linked"])]
        self.populations = self._populations()
        for option in (*BESIDE, "out"):
            if self.request[option] is not None and "rows" not in self.populations:
                raise SettingError.about(option, f"is about rows, got {self._no_rows()}")
        self.beside = {name: self.request.source.column(name) for name in BESIDE}
        if self.keywords["max_share"] is not None:
            self.gate = Gate(self.gate).named(self.populations)
            if self.which is not None and self.which not in self.sides:
                got = "a domain without links" if not self.domain.links else f"only the {self.sides[0]} share"
                raise SettingError(f"--gate {self.which} needs that share, got {got}")
        self._check_populations()
        self.model = self.load_model()
        self.keywords["favourable"] = self.good_outcome(self.domain, self.rows)

    def _populations(self) -> dict[str, Any]:
        """What `estimate` takes for each, by name."""
        valid = "valid" if self.domain.constraints else None
        every: dict[str, Any] = {"rows": self.rows, "valid": valid, "domain": "domain"}
        for name in ("rows", "density"):
            if name in self.asked and self.rows is None:
                raise SettingError(f"--population {name} needs --data, got none")
        if "density" in self.asked:
            every["density"] = Density.fit(self.domain, self.rows)
        if "valid" in self.asked and valid is None:
            raise SettingError(
                "--population valid is the part of the domain that constraints allow, got a domain without any: "
                "use --population domain"
            )
        there = [name for name, population in every.items() if population is not None]
        return {name: every[name] for name in self.asked or there}

    def _no_rows(self) -> str:
        return "no --data" if self.rows is None else f"--population {','.join(self.populations)}"

    def _arguments(self, name: str) -> dict[str, Any]:
        """What `estimate` takes for a population, or `breakdown` if the shares are wanted by parameter.

        Only the population that the limit is about is sampled until that is settled.
        """
        keywords = {**self.keywords, **(self.beside if name == "rows" else dict.fromkeys(self.beside))}
        is_bound = name == self.gate or keywords["max_share"] is None  # without a limit, as `estimate` does by itself
        keywords["gate"] = self.which if is_bound else UNBOUND
        if keywords["store"] is not None:  # each population is a run of its own
            keywords["store"] = Path(keywords["store"]) / name
        if self.by_parameter:
            left_out = ("width", "max_seconds", "max_share")
            return {key: value for key, value in keywords.items() if key not in left_out}
        return {**keywords, "max_share": self.keywords["max_share"] if name == self.gate else None}

    def _check_populations(self) -> None:
        """Refuse what cannot work, before the model is loaded."""
        hows = {name: each.how for name, each in self._plans().items()}
        if self.plot is not None and set(hows.values()) <= {"rows", "enumerate"}:
            got, instead = "only rows, all of which are judged", "give no --plot"
            if list(hows) != ["rows"]:
                got = f"a domain of {self.domain.size:,} inputs, all of which are judged"
                instead = "add --method sample, or give no --plot"
            raise SettingError(f"--plot shows how a sample converges, got {got}: {instead}")
        if hows.get("valid", "enumerate") != "enumerate":
            self.domain.sample_codes(N_TRIED, np.random.default_rng(0))  # which raises if too little is allowed
        elif "valid" in hows and self.domain.n_families == 0:
            raise DomainError(
                f"the constraints must allow an input at least, got 0 allowed of {self.domain.size:,}: loosen them"
            )

    def _plans(self) -> dict[str, EstimatePlan]:
        """By population, the way it is judged and the number of queries, without asking the model."""
        return {
            name: plan(self.domain, population, **self._arguments(name))
            for name, population in self.populations.items()
        }

    # The work

    def work(self) -> None:
        """One population after the other; the shares from before a failure or an interruption are kept."""
        for name in self.populations:
            self.unfinished = {"population": name, "n": 0, "hits": 0, "low": 0.0, "high": 1.0}
            sets = self._estimate(name)
            self.unfinished = None
            self.shares[name] = list(sets.values())[-1]  # that of all sensitive parameters together
            if self.by_parameter:
                self.breakdowns[name] = sets
        if self.keywords["max_share"] is not None:
            self.verdict = verdict(self.shares, self.keywords["max_share"], gate=f"{self.gate} {self.which or ''}")
        if self.out is not None:
            self.out.write_frame(self._rows_that_flip())
            self.written = self.out.name
        sampled = [share for share in self.shares.values() if has_history(share)]
        if self.plot is not None and sampled:
            self.plot.write_by(lambda part: convergence(sampled, part))
            self.drawn = self.plot.name
        elif self.plot is not None:
            note("nothing-to-plot: no population was sampled in whole experiments, so nothing converges; no plot")

    def _estimate(self, name: str) -> dict[str, Share]:
        """The shares of a population by set of sensitive parameters, all of them last."""
        with progress(f"{name}: ") as show:

            def watch(status: Status) -> None:
                assert self.unfinished is not None
                self.unfinished.update(status.figures)
                show(replace(status, text=so_far(self.unfinished)))

            arguments = {**self._arguments(name), "progress": watch}
            if self.by_parameter:
                return breakdown(self.model, self.domain, self.populations[name], **arguments)
            share = estimate(self.model, self.domain, self.populations[name], **arguments)
        width = self.keywords["width"]
        if width is not None and share.width > width and "wide-interval" not in dict(share.health):
            said = f"the interval of {POPULATIONS[name]} is wider than asked for, with no more inputs to judge"
            note(f"wide-interval: {said}")
        return {"": share}

    def _rows_that_flip(self) -> pd.DataFrame:
        """Which rows are discriminatory, by their index and their line in the file; with links, by which twins."""
        import pandas as pd

        share, lines = self.shares["rows"], self.request.source.lines
        sides = [share] if share.plain is None else [share, share.plain]
        frames = []
        for side in sides:
            frame = side.to_frame()
            if frame is None:
                continue
            about = {"row": frame.pop("row" if "row" not in self.domain.names else "row_")}
            about |= {} if lines is None else {"line": about["row"].map(lambda row: lines[row])}
            about |= {} if len(sides) == 1 else {"compared": "linked" if side is share else "plain"}
            # A parameter may have the name of one of these.
            free = {name: name if name not in frame else f"{name}_" for name in about}
            frames.append(pd.concat([pd.DataFrame(about, index=frame.index).rename(columns=free), frame], axis=1))
        if not frames:
            return pd.DataFrame(columns=["row", *(["line"] if lines is not None else []), *self.domain.names])
        return pd.concat(frames, ignore_index=True)

    # What came of it

    def figures(self) -> dict[str, Any]:
        """All of it."""
        fields = ("outcome", "condition", "sentence", "population", "max_share", "exit_code")
        by_parameter = {
            population: {name: share.jsonable() for name, share in sets.items()}
            for population, sets in self.breakdowns.items()
        }
        return {
            "shares": {name: share.jsonable() for name, share in self.shares.items()},
            "breakdown": by_parameter or None,
            "verdict": None if self.verdict is None else {name: getattr(self.verdict, name) for name in fields},
            "rows": self._first_rows(),
            "out": self.written,
            "plot": self.drawn,
            "unfinished": self.unfinished,
            "interrupted": self.interrupted,
        }

    def show(self) -> None:
        """Tables and sentences."""
        if not self.shares:
            return
        seed, shares = self.keywords["seed"], side_by_side(self.shares).values()
        limit, good = self.keywords["max_share"], self.keywords["favourable"]
        blocks = [*blocks_of(self.shares, self.breakdowns, self._row_blocks(), good, limit)]
        blocks += [] if self.verdict is None else verdict_blocks(self.verdict, self.which)
        n_queries, seconds = sum(share.n_queries for share in shares), sum(share.seconds for share in shares)
        say(f"How often {self.request.model_name} changes its output with {self._title()}:")
        say()
        say_blocks(blocks)
        say()
        say(f"{counted(n_queries, 'query')}{sent_words(shares)}, {seconds:.2f} s, seed {seed}")
        if self.written is not None:
            say(f"The rows that are discriminatory are in {self.written}.")
        if self.drawn is not None:
            say(f"The convergence plot is in {self.drawn}.")

    def _title(self) -> str:
        names = " or ".join(self.domain.sensitive)
        if "linked" not in self.sides:
            return f"{names} alone"
        along = " and ".join(link.column for link in self.domain.links)
        linked = f"{names}, {along} changed along"
        return linked if len(self.sides) == 1 else f"{linked} (linked), and with {names} alone (plain)"

    def _first_rows(self) -> list[str]:
        """Some rows that are discriminatory, in words; if none is by linked twins, by plain ones."""
        share = self.shares.get("rows")
        if share is None:
            return []
        shown = share if share.cases is not None or share.plain is None else share.plain
        texts = shown.rows_in_words(N_SHOWN)
        return self.request.source.with_lines(texts, shown.cases.index) if shown.cases is not None else []

    def _row_blocks(self) -> list[Block]:
        """Some rows that are discriminatory, in words."""
        texts = self._first_rows()
        if not texts:
            return []
        n = max(share.hits for share in self.shares["rows"].sides)
        more = "" if self.written is not None or n <= N_SHOWN else " (--out FILE writes all of them)"
        title = f"Some of these rows{more}:" if n > N_SHOWN else "These rows:" if n > 1 else "This row:"
        return [Sentence(title), *(Sentence(f"  {text}") for text in texts)]

    def kept(self) -> str:
        """The populations that are done, and the figures of the one under way."""
        parts = list(self.shares)
        if self.unfinished is not None and self.unfinished["n"]:
            parts.append(f"{self.unfinished['population']}: {so_far(self.unfinished)}")
        return "; ".join(parts) or "nothing"

    def code_of_result(self) -> int:
        """That of the verdict."""
        return 0 if self.verdict is None else self.verdict.exit_code

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """The options, with the populations and the twins that they come to."""
        settled = {"population": list(self.populations), "compared": self.sides, "gate": self.gate}
        return {**super().shown_settings(), **settled}

    def bounds(self) -> dict[str, int | None]:
        """The queries of each population."""
        return {name: each.n_queries for name, each in self._plans().items()}


def so_far(figures: Mapping[str, Any]) -> str:
    """The figures of a population that is under way, in words."""
    share = percent(figures["hits"] / figures["n"]) if figures["n"] else "0%"
    return f"{share} so far, {between(figures['low'], figures['high'])}, {counted(figures['n'], 'input')}"
