"""The steps of all commands that ask a model: loading, the work or its dry run, and showing the results."""

from __future__ import annotations

import json
import re
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import typer

from fairprobe.arguments import filled
from fairprobe.blocks import Block, Code, Items, Remark, Result, Section, Sentence, Table
from fairprobe.checks import checked_seed
from fairprobe.cli import INTERRUPTED
from fairprobe.cli.data import Source, as_given
from fairprobe.cli.files import Destination
from fairprobe.cli.options import INPUTS, LOADING, NOT_SETTINGS, Option, declared_name
from fairprobe.cli.words import NONE, flag, in_flags, notes, say, say_blocks, spinner
from fairprobe.domain import Domain
from fairprobe.errors import InputError, RunError, SettingError
from fairprobe.estimation.favourable import Favourable, favourable_in
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import seconds_per_input
from fairprobe.model.redaction import shown_source
from fairprobe.model.sources.load import SUBJECT, load_model
from fairprobe.oracle import Oracle
from fairprobe.wording import NOT_MEASURED, duration, magnitude, percent

MOST_MEASURED = 10_000
"""Largest number of inputs that one call judges to measure a model's speed; chosen."""


@dataclass(frozen=True)
class Request:
    """One call of a command: the values of its options, with the data and the domain that they name."""

    context: typer.Context
    given: dict[str, Any]
    """The values of the options, by name; None for an option that was not given."""
    options: Sequence[Option] = ()
    """All options that the command has."""

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    @property
    def model_name(self) -> str:
        """The model as the option `--model` names it, without secrets that an address may hold."""
        return shown_source(self.given["model"])

    @cached_property
    def source(self) -> Source:
        """The source of the rows and the domain that the options name, completed by settings of the domain file."""
        return Source(**{name: self.given.get(name) for name in Source.__dataclass_fields__}).with_remembered()

    def keywords(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Return all arguments of a library function that have a default, by name.

        The value is that of the option of the same name if it was given ("none" becomes None), else the default. A
        seed of None becomes a random one, so that the call can be repeated.
        """
        defaults = filled(function, {})
        given = {name: self.given[name] for name in defaults if self.given.get(name) is not None}
        asked = defaults | {name: None if value == NONE else value for name, value in given.items()}
        return asked | ({"seed": checked_seed(asked["seed"])} if "seed" in asked else {})

    def again(self, **changes: Any) -> str:
        """Return the command line that repeats the call with the options in `changes`; None leaves an option out."""
        words = self.context.command_path.split()
        changes |= {} if self.given.get("model") is None else {"model": self.model_name}
        for parameter in self.context.command.params:
            name = str(parameter.name)
            value = changes.get(name, self.given.get(name))
            for single in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(single, bool):
                    words += parameter.opts[:1] if single else parameter.secondary_opts[:1]
                elif single is not None:
                    is_argument = parameter.param_type_name == "argument"
                    words += [str(single)] if is_argument else [parameter.opts[0], str(single)]
        return shlex.join(words)


class Command(ABC):
    """Base class of commands that ask a model, whose steps `run` takes in order.

    `__init__` refuses wrong options before anything is loaded.
    """

    name: ClassVar[str]
    """Name of the work with its article, such as "the search"."""
    files: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Allowed endings of the file that an option names, by name of the option."""
    keywords: dict[str, Any]
    """Keyword arguments of the library function that does the work, by name."""
    domain: Domain
    rows: Any
    """The inputs in the rows of --data, as a frame; None without --data."""
    model: Any
    result: Result | None = None

    def __init__(self, request: Request) -> None:
        self.request = request
        self.failures: list[RunError] = []
        """Errors that the work raised; results from before an error are still shown and written."""
        self.interrupted = False
        # The files of an option --out are the only ones that a command may refuse to overwrite.
        may_replace = {"out": bool(request.given.get("overwrite", True))}
        self.targets = {
            name: Destination.of(request[name], endings, flag(name), overwrite=may_replace.get(name, True))
            for name, endings in self.files.items()
            if request[name] is not None
        }
        self.written: dict[str, str] = {}
        """Name of the file or folder that was written for an option, by name of the option."""

    @abstractmethod
    def load(self) -> None:
        """Read the data, make the domain and load the model into attributes; refuse parts that do not fit together."""

    @abstractmethod
    def work(self) -> None:
        """Run the command (for example the search), and write the files that the user asked for."""

    @abstractmethod
    def bounds(self) -> dict[str, int | None]:
        """Return the largest number of rows that a part of the work sends to the model, by name of the part.

        None means that the part has no limit.
        """

    def figures(self) -> dict[str, Any]:
        """Return the results of the work as a dict for JSON."""
        return {} if self.result is None else self.result.jsonable()

    def blocks(self) -> Sequence[Block]:
        """Return the results of the work as blocks for people.

        Remarks are left out, because they are shown as soon as they occur.
        """
        return [] if self.result is None else [each for each in self.result.blocks() if not isinstance(each, Remark)]

    def kept(self) -> str:
        """Return in words the results that exist after a failure or an interruption: the first sentence of `blocks`."""
        first = next((block.text for block in self.blocks() if isinstance(block, Sentence)), "nothing")
        return in_flags(first.rstrip("."))

    def code_of_result(self) -> int:
        """Return the exit code of work that ended without error: that of the result, or 0 if it has none."""
        return int(getattr(self.result, "exit_code", 0))

    def again(self) -> Code | None:
        """Return a block with the command line that reproduces the result; None after an interruption or a failure."""
        if self.interrupted or self.failures:
            return None
        changes = {"seed": self.keywords["seed"]} if "seed" in self.request.given else {}
        return Code(self.request.again(**changes), "The same again")

    # What the steps use

    def write(self, option: str, write: Callable[[Destination], object]) -> None:
        """Call `write` with the destination that an option names, and note the file as written.

        Do nothing if the option was not given.
        """
        target = self.targets.get(option)
        if target is not None:
            write(target)
            self.written |= {} if target.stream is not None else {option: target.name}

    def load_model(self) -> Any:
        """Load and return the model that the options name; a terminal shows a spinner meanwhile."""
        name = self.request["model"]
        fitted = "; the first time it is fitted, which takes a while" if name.startswith(f"{SUBJECT}:") else ""
        given = {declared_name(each): as_given(each.argument, self.request[each.name]) for each in LOADING[1:]}
        try:
            with spinner(f"loading {self.request.model_name}{fitted}"):
                return load_model(name, **{name: value for name, value in given.items() if value is not None})
        except InputError as error:
            for each in LOADING:
                error = error.calling(declared_name(each), each.name)
            raise error from None

    def good_outcome(self, domain: Domain, rows: Any) -> Favourable | None:
        """Return the favourable outcome that the text of --favourable stands for; None if it was not given."""
        asked = {name: self.keywords[name] for name in ("output", "threshold", "batch")}
        return favourable_in(self.request["favourable"], self.model, domain, rows, as_text=True, **asked)

    def load_inputs(self) -> None:
        """Load the domain and the rows; raise a SettingError if --linked is given and the domain has no links."""
        self.domain, self.rows = self.request.source.load()
        if self.request["linked"] and not self.domain.links:
            rule = "--linked needs a domain with links"
            raise SettingError(f"{rule}, got none: say them by --link, or in the --domain file")

    # The steps

    def run(self) -> int:
        """Load, work (or plan the work, for --dry-run), show the results, and return the exit code."""
        is_dry = self.request["dry_run"]
        # Whatever a model or its module prints must not end up among the results.
        with notes(), redirect_stdout(sys.stderr):
            self.load()
            if is_dry:
                plan = self._plan()
            else:
                self._work()
        if self.request["json"]:
            content = plan if is_dry else self._content()
            sys.stdout.write(json.dumps(content, default=str) + "\n")
        else:
            target = self.targets.get("out")
            is_taken = target is not None and target.stream is not None
            say_blocks(self._plan_blocks(plan) if is_dry else self._shown(), err=is_taken)
        return 0 if is_dry else self._finish()

    def _work(self) -> None:
        try:
            self.work()
        except RunError as failure:
            self.failures.append(failure)
        except KeyboardInterrupt:
            self.interrupted = True

    def _content(self) -> dict[str, Any]:
        files = {name: self.written.get(name) for name in self.files}
        ended = {"interrupted": self.interrupted, "error": "; ".join(map(in_flags, self.failures)) or None}
        return {"model": self.request.model_name, **self.figures(), **files, **ended}

    def _shown(self) -> list[Block]:
        """Return blocks for the terminal: results, names of written files, and the command to repeat the call."""
        blocks = [self._told(block) for block in self.blocks()]
        again = self.again() if blocks else None
        if self.written:
            blocks.append(Sentence(f"Written: {', '.join(self.written.values())}"))
        return blocks if again is None else [*blocks, again]

    def _told(self, block: Block) -> Block:
        """Return a block with flags in place of argument names, and the file's line number after a row number."""
        match block:
            case Sentence():
                return replace(block, text=in_flags(block.text))
            case Items():
                texts = (re.sub(r"\Arow (\d+)(?=[:,])", self._with_line, text) for text in block.texts)
                return Items(tuple(map(in_flags, texts)))
            case Section():
                return replace(block, blocks=tuple(map(self._told, block.blocks)))
        return block

    def _with_line(self, row: re.Match[str]) -> str:
        """Return the matched text "row N" with the line where the row begins in the file of --data, if it is known."""
        lines, place = self.request.source.lines or [], int(row[1])
        return f"{row[0]} (line {lines[place]})" if place < len(lines) else row[0]

    def _finish(self) -> int:
        """Print failures or the interruption with the results that were kept, and return the exit code."""
        for failure in self.failures:
            say(f"error: {in_flags(failure)}", err=True)
        if self.interrupted or self.failures:
            files = f"; written: {', '.join(self.written.values())}" if self.written else ""
            say(f"{'interrupted; ' if self.interrupted else ''}kept: {self.kept()}{files}", err=True)
        return self.exit_code()

    def exit_code(self) -> int:
        """Return the exit code of the call: 130 if interrupted, that of the first error, or that of the result."""
        if self.interrupted:
            return INTERRUPTED
        return self.failures[0].exit_code if self.failures else self.code_of_result()

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """Return the values of the command's own options for the dry run, by name.

        Options for the model and the data, and options that do not affect the work, are left out.
        """
        shared = {option.name for option in INPUTS} | NOT_SETTINGS
        every = {**self.keywords, **{name: each for name, each in self.request.given.items() if each is not None}}
        return {each.name: every.get(each.name) for each in self.request.options if each.name not in shared}

    def seconds(self, bounds: Mapping[str, int | None]) -> dict[str, float | None]:
        """Return the largest duration in seconds of each part of the work, by name of the part.

        It is the part's largest number of rows times the measured time per row; None without a limit or a model.
        """
        speed = None if self.model is None else self._seconds_per_query()
        return {part: None if n is None or speed is None else n * speed for part, n in bounds.items()}

    def _seconds_per_query(self) -> float:
        """Return the seconds that the model takes per row, measured for about a second on uniform inputs."""
        domain, rng = self.domain.without_constraints(), np.random.default_rng(0)
        asker = Asker(self.model, domain, output=self.keywords["output"], batch=self.keywords["batch"])
        oracle = Oracle(asker, self.keywords["threshold"])
        seconds = seconds_per_input(lambda n: oracle.judge(domain.sample_codes(n, rng)), MOST_MEASURED)
        return seconds / len(domain.families)

    def _plan(self) -> dict[str, Any]:
        """Return the planned work, its settings and its largest numbers of rows and seconds as a dict for JSON."""
        bounds, domain = self.bounds(), self.domain
        about = {"sensitive": list(domain.sensitive), "n_twins": len(domain.combinations) - 1}
        return {
            "dry_run": True,
            "model": self.request.model_name,
            "domain": {**domain.described(), **about},
            "settings": self.shown_settings(),
            "n_queries": bounds,
            "seconds": self.seconds(bounds),
        }

    def _plan_blocks(self, plan: Mapping[str, Any]) -> list[Block]:
        settings = {"model": plan["model"], **plan["settings"]}
        shown = {flag(name): value for name, value in settings.items() if not isinstance(value, dict | None)}
        queries = {part: "no limit" if n is None else magnitude(n) for part, n in plan["n_queries"].items()}
        times = {part: NOT_MEASURED if each is None else duration(each) for part, each in plan["seconds"].items()}
        costs = [(part, queries.get(part, ""), time) for part, time in times.items()]
        return [
            Sentence(f"A dry run: this is what {self.name} would do. Nothing is written."),
            *domain_blocks(self.domain),
            Table.of_facts(shown, "Settings:"),
            Table.of(["part", "#queries", "time"], costs, "It would take at most:"),
        ]


def domain_blocks(domain: Domain) -> list[Block]:
    """Return blocks that describe a domain: its size, sensitive parameters, number of twins, rules and parameters."""
    told = domain.described()
    n = told["n_valid"]
    size = f"{len(domain.parameters)} parameters, {magnitude(domain.size)} inputs"
    if domain.is_restricted and n is None:
        size += ", too many of them allowed to count"
    elif domain.is_restricted:
        size += f", {magnitude(n)} of them allowed ({percent(n / domain.size)})"
    n_twins = len(domain.combinations) - 1
    rules = [f"{kind}: {words}" for kind in ("constraint", "link") for words in told[f"{kind}s"]]
    rules += [f"hidden: {name}, which the model does not take" for name in domain.hidden]
    parameters = [f"{each['name']}: {each['kind']}, {each['words']}" for each in told["parameters"]]
    return [
        Sentence(f"{size}; sensitive: {', '.join(domain.sensitive)}; twins of an input: {n_twins}.", "Domain"),
        Items((*rules, *parameters)),
    ]
