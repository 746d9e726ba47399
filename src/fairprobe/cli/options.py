"""Derives command-line options from the arguments of public functions, and defines options that commands share."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fairprobe.arguments import NUMBER, REQUIRED, WHOLE, Argument, Flag, Kind, arguments_of
from fairprobe.cli.data import Source, number_or_text
from fairprobe.cli.words import ARGUMENTS, NONE, flag, help_of
from fairprobe.model.remote import connect
from fairprobe.model.sources.load import load_model

WHAT = "The model and its inputs"
SERVICES = "Models behind an address, and programs"
HOW = "How"
RESULTS = "Results"

PANELS = {
    WHAT: "cases held_out max_changes min_plausibility start_from trust_config",
    "Limits (the first met ends the work; none for no limit)": (
        "max_barren max_cases max_judged max_queries max_rounds max_seconds search_cases search_seconds"
    ),
    "How it is measured": (
        "accept confidence controls exact_limit max_accuracy_loss method n_experiments n_report n_samples n_select "
        "width"
    ),
    "Verdict (exit code 0 passed, 1 violated, 4 inconclusive)": "gate max_share min_comparable min_ratio",
    "What is told": "date mask name report_cases selfcheck show_rows title",
    RESULTS: "dry_run favourable html json model_id out overwrite store",
}
"""Names of the options under each heading of a command's help, separated by spaces."""


@dataclass(frozen=True)
class Option:
    """An argument of a function as an option, or a positional argument, of the command line.

    `panel` is the heading under which the help lists it.
    """

    argument: Argument
    panel: str = WHAT
    is_positional: bool = False

    def __post_init__(self) -> None:
        ARGUMENTS.update({self.argument.name, *self.argument.old_names})

    @property
    def name(self) -> str:
        """The name of the argument."""
        return self.argument.name

    @property
    def kind(self) -> Kind:
        """The kind of the argument's value, which a text can express."""
        assert self.argument.kind is not None
        return self.argument.kind

    def parameter(self) -> inspect.Parameter:
        """Return the option as a parameter of the function that typer turns into a command.

        Unless it is required, its value is None if the option is not given.
        """
        argument, kind, own = self.argument, self.kind, flag(self.name)
        is_number = kind.rule in (WHOLE, NUMBER)
        value: Any = Any if is_number else str
        if kind.metavar is None or kind.is_list:
            value = list[str] if kind.is_list else bool
        choices = argument.choices if kind.metavar == "NAME" else []
        shared: dict[str, Any] = {
            "help": help_of(argument),
            "metavar": self.name.upper() if self.is_positional else kind.metavar,
            "show_default": False,
            "rich_help_panel": None if self.is_positional else self.panel,
            "parser": self._number if is_number else None,
            "autocompletion": (lambda: choices) if choices else None,
        }
        flags = [f"{own}/--no-{own[2:]}" if "bool" in argument.annotation else own]
        if self.name == "out":
            flags.append("-o")
        made = typer.Argument(**shared) if self.is_positional else typer.Option(*flags, **shared)
        is_needed = argument.default is REQUIRED
        annotation: Any = Annotated[value if is_needed else value | None, made]
        default = REQUIRED if is_needed else None
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

    def _number(self, text: str) -> Any:
        """Return the number or the whole number that a text of the command line stands for.

        It may also be "none" if the argument may be None. Another text raises typer's BadParameter.
        """
        if self.argument.may_be_none and str(text).lower() == NONE:
            return NONE
        value, is_whole = number_or_text(str(text)), self.kind.rule == WHOLE
        if isinstance(value, str) or (is_whole and not (math.isfinite(value) and value == int(value))):
            raise typer.BadParameter(f"must be {self.kind.rule}, got {text!r}")
        return int(value) if is_whole else value


def options_of(
    function: Callable[..., Any],
    *,
    but: Collection[str] = (),
    names: Mapping[str, str] | None = None,
    panel: str = HOW,
    positional: Collection[str] = (),
) -> list[Option]:
    """Return an option for each argument of a function that a text can express, except those in `but`.

    Options that `PANELS` does not list get the heading `panel`. `names` maps names of arguments to other names of their
    options. Arguments in `positional` are given on the command line without a flag.
    """
    panel_of = {name: title for title, listed in PANELS.items() for name in listed.split()}
    options = []
    for each in arguments_of(function).values():
        if each.name not in but and each.kind is not None:
            argument = each.named((names or {}).get(each.name, each.name))
            options.append(Option(argument, panel_of.get(argument.name, panel), each.name in positional))
    return options


# Options that several commands share

LOADING = [
    *options_of(load_model, names={"source": "model", "weights": "model_weights"}, panel=WHAT),
    *options_of(connect, but=("url",), names={"answers": "answer"}, panel=SERVICES),
]
"""Options that name the model and say how it is loaded or asked."""

_SOURCE = options_of(Source, but=("sample_weight", "groups", "remembered"), panel=WHAT)

COLUMNS = _SOURCE[2:]
"""Options about columns, sensitive parameters, constraints and links. A domain file can store their values."""

INPUTS = [*LOADING, *_SOURCE]
"""Options for the model, the data and the domain."""


def declared_name(option: Option) -> str:
    """Return the name of an option's argument in the function that declares it, which may differ from the option's."""
    return option.argument.old_names[-1] if option.argument.old_names else option.name


NOT_SETTINGS = frozenset({"json", "dry_run", "config", "trust_config"})
"""Names of the options that do not affect the work, and that no configuration file can set."""


@dataclass
class Printed:
    """Options of all commands that ask a model, on what they print.

    Args:
        json: print the figures as one JSON object.
        dry_run: only print what would be done, and how long it would take at most.
    """

    json: Flag = False
    dry_run: Flag = False


PRINTED = options_of(Printed)
