"""What the commands that ask a model have in common: a request, the steps from loading to finishing, the dry run."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import typer

from fairprobe.cli import live
from fairprobe.cli.data import Source
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.loading import SUBJECT, load_model
from fairprobe.cli.options import NONE
from fairprobe.cli.words import Line, counted, in_flags, notes, say
from fairprobe.domain import Category, Domain, Ordinal, Parameter
from fairprobe.errors import RunError


@dataclass(frozen=True)
class Request:
    """What the options ask for."""

    context: typer.Context
    given: dict[str, Any]
    """By name; None for what was not given."""

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    @property
    def source(self) -> Source:
        """What they say of data and domain."""
        return Source(**{name: self.given.get(name) for name in Source.__dataclass_fields__})

    def keywords(self, function: Callable[..., Any]) -> dict[str, Any]:
        """All keyword arguments of a function of the library: those given, the others as its signature says."""
        parameters = inspect.signature(function).parameters.values()
        keywords = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        given = {name: self.given[name] for name in keywords if self.given.get(name) is not None}
        return {**keywords, **{name: None if value == NONE else value for name, value in given.items()}}

    def again(self, **changes: Any) -> str:
        """The command as it was given, with some options changed."""
        words = self.context.command_path.split()
        for parameter in self.context.command.params:
            name = str(parameter.name)
            value = changes.get(name, self.given.get(name))
            for single in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(single, bool):
                    words += parameter.opts[:1] if single else parameter.secondary_opts[:1]
                elif single is not None:
                    words += [parameter.opts[0], str(single)]
        return shlex.join(words)


class Command(ABC):
    """A command, step by step; `run` takes the steps. What options alone show to be wrong, `__init__` refuses."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.failures: list[RunError] = []
        """What went wrong under way; what was done before is shown and kept."""
        self.interrupted = False

    @abstractmethod
    def load(self) -> None:
        """Read the data, make the domain, load the model; refuse what does not fit together."""

    @abstractmethod
    def plan(self) -> tuple[dict[str, Any], list[Line]]:
        """What would be done, for JSON and for people."""

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
        with live.spinner(f"loading {name}{fitted}"):
            return load_model(name)

    def error(self) -> str | None:
        """What went wrong, in words, for JSON."""
        return "; ".join(map(in_flags, self.failures)) or None

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
                content, lines = self.plan()
            else:
                self.work()
        if not self.request["dry_run"]:
            if self.request["json"]:
                sys.stdout.write(json.dumps(self.figures(), default=str) + "\n")
            else:
                self.show()
            self.finish()
            return self.exit_code()
        if self.request["json"]:
            content = {"dry_run": True, "model": self.request["model"], **content}
            sys.stdout.write(json.dumps(content, default=str) + "\n")
        else:
            for line in lines:
                say(*line)
        return 0


# The dry run


def plan_lines(what: str, request: Request, domain: Domain, keywords: dict[str, Any], more: list[str]) -> list[Line]:
    """How a dry run begins: what is asked, what an input costs, what else is set, and the domain."""
    n_members, width = len(domain.combinations), max(len(name) for name in domain.names)
    named = ", ".join(f"{name} ({domain[name].levels} values)" for name in domain.sensitive)
    threshold = "" if keywords["threshold"] is None else f", threshold {keywords['threshold']:g}"
    forbidden = f", less what {counted(len(domain.constraints), 'constraint')} forbid" if domain.constraints else ""
    lines = [
        f"  model      {request['model']}, output {keywords['output']}{threshold}",
        f"  sensitive  {named}: an input has {counted(n_members - 1, 'twin')} and costs {counted(n_members, 'query')}",
        *more,
        f"  domain     {counted(len(domain.parameters), 'parameter')}, {counted(domain.size, 'input')}{forbidden}",
        *(f"    {p.name:{width}}  {describe_parameter(p)}" for p in domain.parameters),
    ]
    title = f"A dry run: this is what {what} would do. Nothing is written."
    return [(title, 0), ("", 0), *((line, 13) for line in lines), ("", 0)]


def domain_as_dict(domain: Domain) -> dict[str, Any]:
    """The domain, for JSON."""
    return {
        "n_inputs": domain.size,
        "parameters": {p.name: describe_parameter(p) for p in domain.parameters},
        "sensitive": list(domain.sensitive),
        "n_twins": len(domain.combinations) - 1,
    }


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
    low, high, step = (getattr(parameter, name) for name in ("low", "high", "step"))
    by = f" by {step:g}" if step != 1 else ""
    return f"{parameter.kind}, {low} to {high}{by}{missing}"
