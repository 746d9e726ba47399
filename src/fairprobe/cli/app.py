"""The typer application: its list of commands and their help. A command's file is imported when it is requested.

Heavy packages are therefore imported only if a command needs them, and `--help` is quick.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fairprobe.cli.words import flag

COMMANDS = {
    "demo": "See it at work on the US census: some seconds.",
    "audit": "Audit a model: shares, cases, why, a verdict and a report.",
    "init": "Write a commented config of an audit, from a data file.",
    "search": "Search a model for discriminatory inputs.",
    "estimate": "Estimate how common discriminatory inputs are.",
    "explain": "Explain why: where, through what, who pays.",
    "replay": "Ask about cases found before: which still hold, which were fixed.",
    "retrain": "Retrain a classifier until they are rarer.",
    "domain": "Infer a domain from data, as a file to edit.",
    "runs": "List, show, merge and export runs that were kept by --store.",
    "selfcheck": "Try it on models whose cases are known: some seconds.",
}
"""Line of help in the list of commands, by name of the command, which is also the name of its file."""


class _Group(TyperGroup):
    """Group of all commands of `COMMANDS`; each is made when it is requested."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _made(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=_Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _CommandHelp(TyperCommand):
    """A command whose help lists its options under headings, in plain text.

    The boxes of the package rich would cost 60 ms, measured.
    """

    old_flags: Mapping[str, str] = {}
    """Present flag for each flag of an earlier version, which is still accepted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        parts = [argument.partition("=") for argument in args]
        return super().parse_args(
            ctx, [f"{self.old_flags.get(name, name)}{rest}{value}" for name, rest, value in parts]
        )

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            sections.setdefault(getattr(parameter, "rich_help_panel", None) or "Other", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records, col_max=24)


def _print_version(wanted: bool) -> None:
    from fairprobe import __version__

    if wanted:
        typer.echo(f"fairprobe {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> int | None:
    """Find inputs that a model treats differently only because of a sensitive attribute.

    To see it at work: fairprobe demo
    """
    if context.invoked_subcommand is not None:
        return None
    typer.echo(context.get_help())
    return 2


@cache
def _made(name: str) -> Any:
    """Import the file of a command and return the command that typer can run.

    The file has `OPTIONS` and `run`, whose docstring is the help. `run` takes the `request` and options by name.
    If the command can be tried on shipped data, the file also has `EXAMPLE`, the options for that.
    """
    from fairprobe.cli.command import Request

    file = import_module(f"fairprobe.cli.{name}")

    def call(context: typer.Context, **given: Any) -> int:
        there = {"request": Request(context, given, file.OPTIONS)}
        there |= {option: value for option, value in given.items() if value is not None}
        return int(file.run(**{name: there[name] for name in inspect.signature(file.run).parameters if name in there}))

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *(option.parameter() for option in file.OPTIONS)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    example = getattr(file, "EXAMPLE", None)
    epilog = f"To try it without a model of your own: fairprobe {name} {example}" if example else None
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, cls=_CommandHelp, help=str(inspect.getdoc(file.run)).partition("\n\nArgs:")[0], epilog=epilog)(
        call
    )
    made: Any = typer.main.get_command(alone)
    names = {option.name for option in file.OPTIONS}
    made.old_flags = {
        flag(before): flag(option.name)
        for option in file.OPTIONS
        for before in option.argument.old_names
        if before not in names
    }
    return made


command = typer.main.get_command(app)


def options_of(text: str) -> dict[str, Any]:
    """Return the values of the options in a command line, by name; an empty dict if fairprobe has no such command.

    >>> {name: value for name, value in options_of("fairprobe audit --data a.csv --title A").items() if value}
    {'data': 'a.csv', 'title': 'A'}
    """
    words = shlex.split(text)
    if len(words) < 2 or words[1] not in COMMANDS:
        return {}
    return dict(_made(words[1]).make_context(words[1], words[2:], resilient_parsing=True).params)
