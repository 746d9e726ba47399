"""What the commands that ask a model have in common: a request, the steps from loading to finishing, the dry run."""

from __future__ import annotations

import json
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import typer

from fairprobe.arguments import REQUIRED, arguments_of, filled
from fairprobe.cli.data import Source
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.flags import NONE, in_flags
from fairprobe.cli.options import LOADING, declared_name, pairs
from fairprobe.cli.words import Line, notes, say, say_parts, spinner
from fairprobe.domain import Category, Derived, Domain, Ordinal, Parameter, Rule
from fairprobe.domain.health import health_of_domain, warn_of_health
from fairprobe.errors import InputError, RunError, SettingError
from fairprobe.estimation.favourable import Favourable, favourable_in
from fairprobe.model.redaction import shown_source
from fairprobe.model.sources.load import SUBJECT, load_model
from fairprobe.wording import counted, magnitude, percent


@dataclass(frozen=True)
class Request:
    """What the options ask for."""

    context: typer.Context
    given: dict[str, Any]
    """By name; None for what was not given."""

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    @property
    def model_name(self) -> str:
        """The model as it was named, without the secrets of an address: what is shown and written down."""
        return shown_source(self.given["model"])

    @cached_property
    def source(self) -> Source:
        """What they say of data and domain, or the domain file for them."""
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
class DryRun:
    """What would be done."""

    figures: dict[str, Any]
    """For JSON."""
    settings: list[str]
    """For people: a line for each of what is set."""
    costs: list[Line]
    """For people: what it would take."""


class Command(ABC):
    """A command that asks a model, step by step; `run` takes the steps. `__init__` refuses what options alone show."""

    name: ClassVar[str]
    """Of what is done, in a sentence."""
    keywords: dict[str, Any]
    """What the function of the library is called with."""
    domain: Domain
    model: Any

    def __init__(self, request: Request) -> None:
        self.request = request
        self.failures: list[RunError] = []
        """What went wrong under way; what was done before is shown and kept."""
        self.interrupted = False

    @abstractmethod
    def load(self) -> None:
        """Read the data, make the domain, load the model; refuse what does not fit together."""

    @abstractmethod
    def plan(self) -> DryRun:
        """What would be done."""

    @abstractmethod
    def work(self) -> None:
        """Do it, and write what is to be written."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """What came of it, for JSON."""

    @abstractmethod
    def show(self) -> None:
        """What came of it, for people."""

    @abstractmethod
    def kept(self) -> str:
        """What is there although it did not end well."""

    def code_of_result(self) -> int:
        """The exit code if all went well."""
        return 0

    def load_model(self) -> Any:
        """The model, while a terminal shows that this may take a while."""
        name = self.request["model"]
        fitted = "; the first time it is fitted, which takes a while" if name.startswith(f"{SUBJECT}:") else ""
        try:
            with spinner(f"loading {self.request.model_name}{fitted}"):
                return load_model(name, **self._loading())
        except InputError as error:
            for each in LOADING:
                error = error.calling(declared_name(each), each.name)
            raise error from None

    def good_outcome(self, domain: Domain, rows: Any) -> Favourable | None:
        """The outcome that the text of --favourable stands for."""
        asked = {name: self.keywords[name] for name in ("output", "threshold", "batch")}
        return favourable_in(self.request["favourable"], self.model, domain, rows, as_text=True, **asked)

    def _loading(self) -> dict[str, Any]:
        """What the options say of how it is loaded."""
        given = {declared_name(each): self.request[each.name] for each in LOADING}
        given["answers"] = pairs("answer", given["answers"])
        given["header_from_env"] = pairs("header_from_env", given["header_from_env"])
        return {name: value for name, value in given.items() if value is not None and name != "source"}

    def exit_code(self) -> int:
        """How it ended."""
        if self.interrupted:
            return INTERRUPTED
        return self.failures[0].exit_code if self.failures else self.code_of_result()

    def finish(self) -> None:
        """Say how it ended, if not well."""
        for failure in self.failures:
            say(f"error: {in_flags(failure)}", err=True)
        if self.interrupted or self.failures:
            say(f"{'interrupted; ' if self.interrupted else ''}kept: {self.kept()}", err=True)

    def run(self) -> int:
        """All steps; gives the exit code."""
        # Whatever a model or its module prints must not end up among the results.
        with notes(), redirect_stdout(sys.stderr):
            self.load()
            if self.request["dry_run"]:
                warn_of_health(health_of_domain(self.domain))
            planned = self.plan() if self.request["dry_run"] else self.work()
        if planned is not None:
            self._show_plan(planned)
            return 0
        if self.request["json"]:
            _print_json({**self.figures(), "error": "; ".join(map(in_flags, self.failures)) or None})
        else:
            self.show()
        self.finish()
        return self.exit_code()

    def _show_plan(self, planned: DryRun) -> None:
        model, domain, keywords = self.request.model_name, self.domain, self.keywords
        parameters = {p.name: describe_parameter(p) for p in domain.parameters}
        n_members, width = len(domain.combinations), max(map(len, parameters))
        if self.request["json"]:
            what = {"n_inputs": domain.size, "n_valid": domain.n_valid, "parameters": parameters}
            who = {"sensitive": list(domain.sensitive), "hidden": list(domain.hidden), "n_twins": n_members - 1}
            rules = {
                "constraints": [constraint_words(each) for each in domain.constraints],
                "links": [link.words() for link in domain.links],
                "health": [{"check": name, "message": message} for name, message in health_of_domain(domain)],
            }
            _print_json({"dry_run": True, "model": model, "domain": {**what, **who, **rules}, **planned.figures})
            return
        threshold = "" if keywords["threshold"] is None else f", threshold {keywords['threshold']:g}"
        costs = f"an input has {counted(n_members - 1, 'twin')} and costs {counted(n_members, 'query')}"
        title = f"A dry run: this is what {self.name} would do. Nothing is written."
        settings = [
            f"  model      {model}, output {keywords['output']}{threshold}",
            f"  sensitive  {sensitive_words(domain)}: {costs}",
            *planned.settings,
            f"  domain     {size_words(domain)}",
            *(f"    {line}" for line in rule_lines(domain)),
            *(f"    {name:{width}}  {values}" for name, values in parameters.items()),
        ]
        say_parts([[(title, 0)], [(line, 13) for line in settings], planned.costs])


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
