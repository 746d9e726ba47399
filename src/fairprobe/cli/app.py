"""The commands and their help. What is heavy is imported when a command runs, so that `--help` is quick."""

from __future__ import annotations

import inspect
import shlex
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from fairprobe.cli import audit, demo, domain, estimate, explain, init, replay, retrain, search, selfcheck
from fairprobe.cli.command import Request
from fairprobe.cli.options import Option

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Command(TyperCommand):
    """A command whose help has its options under headings, in plain text: rich's boxes would cost 60 ms."""

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


def _add(command: ModuleType) -> None:
    """Make a command of a file, which has its name.

    It has `run`, whose docstring is the help, `OPTIONS`, and `SUMMARY`, a line for the list of commands; where there
    is something to try it with, `EXAMPLE` as well.
    """
    name = command.__name__.rpartition(".")[2]

    def call(context: typer.Context, **given: Any) -> int:
        return int(command.run(Request(context, given)))

    context = Option("context", Option.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    call.__signature__ = inspect.Signature([context, *command.OPTIONS])  # type: ignore[attr-defined]
    example = getattr(command, "EXAMPLE", None)
    epilog = f"To try it without a model of your own: fairprobe {name} {example}" if example else None
    app.command(name, cls=_Command, help=command.run.__doc__, short_help=command.SUMMARY, epilog=epilog)(call)


for _each in (demo, audit, init, search, estimate, explain, replay, retrain, domain, selfcheck):
    _add(_each)

command = typer.main.get_command(app)


def options_of(text: str) -> dict[str, Any]:
    """The options of a command as it was given, by name; nothing if it is none of ours.

    >>> {name: value for name, value in options_of("fairprobe audit --data a.csv --sensitive sex").items() if value}
    {'data': 'a.csv', 'sensitive': ['sex']}
    """
    words = shlex.split(text)
    known = command.commands.get(words[1]) if len(words) > 1 and isinstance(command, typer.core.TyperGroup) else None
    if known is None:
        return {}
    return dict(known.make_context(words[1], words[2:], resilient_parsing=True).params)
