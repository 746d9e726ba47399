"""The steps that all commands share which ask a model: loading, a dry run or the work, and what is shown of it."""

from __future__ import annotations

import json
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import typer

from fairprobe.arguments import REQUIRED, arguments_of, filled
from fairprobe.cli.data import Source
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.flags import NONE, flag, in_flags
from fairprobe.cli.options import INPUTS, LOADING, NOT_SETTINGS, Option, declared_name
from fairprobe.cli.values import pairs
from fairprobe.cli.words import notes, say, say_parts, spinner, to_copy
from fairprobe.domain import Category, Derived, Domain, Ordinal, Parameter, Rule
from fairprobe.domain.health import health_of_domain, warn_of_health
from fairprobe.errors import InputError, RunError, SettingError
from fairprobe.estimation.favourable import Favourable, favourable_in
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import measured
from fairprobe.model.redaction import shown_source
from fairprobe.model.sources.load import SUBJECT, load_model
from fairprobe.oracle import Oracle
from fairprobe.wording import counted, duration, magnitude, percent

MOST_MEASURED = 10_000
"""Inputs judged at a time, at most, to measure how fast a model is; chosen."""


@dataclass(frozen=True)
class Request:
    """The command as it was given."""

    context: typer.Context
    given: dict[str, Any]
    """The values of the options, by name; None for an option that was not given."""
    options: Sequence[Option] = ()

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    @property
    def model_name(self) -> str:
        """The model as it was named, without the secrets of an address, to be shown and written down."""
        return shown_source(self.given["model"])

    @cached_property
    def source(self) -> Source:
        """Data and domain, as the options or the domain file say."""
        return Source(**{name: self.given.get(name) for name in Source.__dataclass_fields__}).with_remembered()

    def keywords(self, function: Callable[..., Any]) -> dict[str, Any]:
        """All keyword arguments of a function of the library: those given, the others by default."""
        optional = [name for name, argument in arguments_of(function).items() if argument.default is not REQUIRED]
        given = {name: self.given[name] for name in optional if self.given.get(name) is not None}
        return filled(function, {name: None if value == NONE else value for name, value in given.items()})

    def again(self, **changes: Any) -> str:
        """The command as it was given, with some options changed."""
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


@dataclass(frozen=True)
class Cost:
    """The most that a part of the work takes."""

    part: str
    n_queries: int | None = None
    """Rows sent to the model; None where nothing limits them."""
    seconds: float | None = None
    """None where it is not known."""

    def words(self) -> str:
        """The cost in a line."""
        queries = "no limit on queries" if self.n_queries is None else counted(self.n_queries, "query")
        if self.n_queries is None and self.seconds is not None:
            return f"{self.part}: {duration(self.seconds)}"
        seconds = "time not measured" if self.seconds is None else duration(self.seconds)
        return f"{self.part}: {queries}" + (f", {seconds}" if self.n_queries is not None else "")


class Command(ABC):
    """A command that asks a model, in steps that `run` takes. `__init__` refuses wrong options before any loading."""

    name: ClassVar[str]
    """The work, in a sentence."""
    keywords: dict[str, Any]
    """The arguments of the function of the library."""
    domain: Domain
    model: Any

    def __init__(self, request: Request) -> None:
        self.request = request
        self.failures: list[RunError] = []
        """Errors of the work; the results from before them are shown and kept."""
        self.interrupted = False

    @abstractmethod
    def load(self) -> None:
        """Read the data, make the domain, load the model; refuse what does not fit together."""

    @abstractmethod
    def work(self) -> None:
        """Do the work, and write its results."""

    @abstractmethod
    def bounds(self) -> dict[str, int | None]:
        """By part of the work, the rows that it sends to the model at most; None where nothing limits them."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """The results, for JSON."""

    @abstractmethod
    def show(self) -> None:
        """Show the results to people."""

    @abstractmethod
    def kept(self) -> str:
        """The results that are there although the work did not end well."""

    def code_of_result(self) -> int:
        """The exit code if all went well."""
        return 0

    def again(self) -> tuple[str, str] | None:
        """A title, and the command that gives the same result again."""
        if self.interrupted or self.failures:
            return None
        changes = {"seed": self.keywords["seed"]} if "seed" in self.request.given else {}
        return "The same again", self.request.again(**changes)

    def load_model(self) -> Any:
        """Load the model, while a terminal shows that this may take a while."""
        name = self.request["model"]
        fitted = "; the first time it is fitted, which takes a while" if name.startswith(f"{SUBJECT}:") else ""
        given: dict[str, Any] = {}
        for each in LOADING:
            is_mapping = "Mapping" in each.argument.annotation or "Headers" in each.argument.annotation
            value = self.request[each.name]
            given[declared_name(each)] = pairs(each.name, value) if is_mapping else value
        options = {key: value for key, value in given.items() if value is not None and key != "source"}
        try:
            with spinner(f"loading {self.request.model_name}{fitted}"):
                return load_model(name, **options)
        except InputError as error:
            for each in LOADING:
                error = error.calling(declared_name(each), each.name)
            raise error from None

    def good_outcome(self, domain: Domain, rows: Any) -> Favourable | None:
        """The outcome that the text of --favourable stands for."""
        asked = {name: self.keywords[name] for name in ("output", "threshold", "batch")}
        return favourable_in(self.request["favourable"], self.model, domain, rows, as_text=True, **asked)

    def run(self) -> int:
        """Take all steps; gives the exit code."""
        is_dry = self.request["dry_run"]
        # Whatever a model or its module prints must not end up among the results.
        with notes(), redirect_stdout(sys.stderr):
            self.load()
            if is_dry:
                warn_of_health(health_of_domain(self.domain))
                costs = self.costs()
            else:
                self._work()
        if is_dry:
            self._show_plan(costs)
            return 0
        if self.request["json"]:
            _print_json({**self.figures(), "error": "; ".join(map(in_flags, self.failures)) or None})
        else:
            self.show()
            again = self.again()
            if again is not None:
                to_copy(*again, err=self.is_stdout_taken())
        self.finish()
        return self.exit_code()

    def _work(self) -> None:
        try:
            self.work()
        except RunError as failure:
            self.failures.append(failure)
        except KeyboardInterrupt:
            self.interrupted = True

    def is_stdout_taken(self) -> bool:
        """Whether the standard output is for the results alone."""
        return False

    def exit_code(self) -> int:
        """The exit code."""
        if self.interrupted:
            return INTERRUPTED
        return self.failures[0].exit_code if self.failures else self.code_of_result()

    def finish(self) -> None:
        """Say how the work ended, if not well."""
        for failure in self.failures:
            say(f"error: {in_flags(failure)}", err=True)
        if self.interrupted or self.failures:
            say(f"{'interrupted; ' if self.interrupted else ''}kept: {self.kept()}", err=True)

    # The dry run

    def shown_settings(self) -> dict[str, Any]:
        """The values of all options that are about the work, by name."""
        shared = {option.name for option in INPUTS} | NOT_SETTINGS
        names = [option.name for option in self.request.options if option.name not in shared]
        given = self.request.given
        return {name: self.keywords.get(name) if given.get(name) is None else given[name] for name in names}

    def costs(self) -> list[Cost]:
        """The most that each part of the work takes, by the measured speed of the model."""
        bounds, speed = self.bounds(), self.seconds_per_query()
        return [Cost(part, n, None if n is None or speed is None else n * speed) for part, n in bounds.items()]

    def seconds_per_query(self) -> float | None:
        """The time that the model takes for a row, measured for about a second; None for a model that is not loaded."""
        if self.model is None:
            return None
        domain, rng = self.domain.without_constraints(), np.random.default_rng(0)
        asker = Asker(self.model, domain, output=self.keywords["output"], batch=self.keywords["batch"])
        oracle = Oracle(asker, self.keywords["threshold"])
        seen = measured(lambda n: int(oracle.judge(domain.sample_codes(n, rng)).hits.sum()), MOST_MEASURED)
        return seen.per_input / len(domain.families)

    def _show_plan(self, costs: Sequence[Cost]) -> None:
        model, domain, settings = self.request.model_name, self.domain, self.shown_settings()
        parameters = {p.name: describe_parameter(p) for p in domain.parameters}
        n_members, width = len(domain.combinations), max(map(len, parameters))
        if self.request["json"]:
            about = {
                "n_inputs": domain.size,
                "n_valid": domain.n_valid,
                "parameters": parameters,
                "sensitive": list(domain.sensitive),
                "hidden": list(domain.hidden),
                "n_twins": n_members - 1,
                "constraints": [constraint_words(each) for each in domain.constraints],
                "links": [link.words() for link in domain.links],
                "health": [{"check": name, "message": message} for name, message in health_of_domain(domain)],
            }
            content = {"dry_run": True, "model": model, "domain": about, "settings": settings, **settings}
            content |= {"n_queries": {cost.part: cost.n_queries for cost in costs}}
            _print_json({**content, "seconds": {cost.part: cost.seconds for cost in costs}})
            return
        shown = {name: value for name, value in settings.items() if value is not None and not isinstance(value, dict)}
        told = ", ".join(f"{flag(name)} {value}" for name, value in shown.items())
        lines = [
            f"  model      {model}",
            f"  sensitive  {sensitive_words(domain)}: an input has {counted(n_members - 1, 'twin')} and costs "
            f"{counted(n_members, 'query')}",
            f"  settings   {told}",
            f"  domain     {size_words(domain)}",
            *(f"    {line}" for line in rule_lines(domain)),
            *(f"    {name:{width}}  {values}" for name, values in parameters.items()),
        ]
        title = f"A dry run: this is what {self.name} would do. Nothing is written."
        would = [("It would take at most:", 0), *((f"  {cost.words()}", 4) for cost in costs)]
        say_parts([[(title, 0)], [(line, 13) for line in lines], would])


def _print_json(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content, default=str) + "\n")


def check_linked(linked: bool | None, domain: Domain) -> None:
    """Refuse --linked where nothing is linked."""
    if linked and not domain.links:
        raise SettingError("--linked needs a domain with links, got none: say them by --link, or in the --domain file")


# Domains in words


def sensitive_words(domain: Domain) -> str:
    """Who is compared."""
    return ", ".join(f"{name} ({domain[name].levels} values)" for name in domain.sensitive)


def size_words(domain: Domain) -> str:
    """How large it is, and how much of that is allowed."""
    size = f"{counted(len(domain.parameters), 'parameter')}, {counted(domain.size, 'input')}"
    if not domain.is_restricted:
        return size
    allowed = domain.n_valid
    if allowed is None:
        return f"{size}, of which those that are allowed are too many to count"
    return f"{size}, {magnitude(allowed)} of them allowed ({percent(allowed / domain.size)})"


def rule_lines(domain: Domain) -> list[str]:
    """What cannot be, what changes along and what is hidden, a line each."""
    return [
        *(f"constraint: {constraint_words(each)}" for each in domain.constraints),
        *(f"link: {link.words()}" for link in domain.links),
        *(f"hidden: {name}, which the model does not take" for name in domain.hidden),
    ]


def constraint_words(constraint: Any) -> str:
    """A constraint as its text, or as the name of its function."""
    return constraint.text if isinstance(constraint, Rule) else getattr(constraint, "__name__", repr(constraint))


def describe_parameter(parameter: Parameter) -> str:
    """What values a parameter may take, in a line.

    >>> from fairprobe.domain import Integer
    >>> describe_parameter(Integer("age", 17, 90))
    'integer, 17 to 90'
    """
    missing = ", or missing" if parameter.missing else ""
    if isinstance(parameter, (Category, Ordinal)):
        listed = ", ".join(map(str, parameter.values))
        shown = listed if len(listed) <= 40 else f"{len(parameter.values)} values: {listed[:32].rsplit(',', 1)[0]}, ..."
        return f"{parameter.kind}, {shown}{missing}"
    if isinstance(parameter, Derived):
        return f"follows from {parameter.source}"
    low, high, step = (getattr(parameter, name) for name in ("low", "high", "step"))
    by = f" by {step:g}" if step != 1 else ""
    return f"{parameter.kind}, {low} to {high}{by}{missing}"
