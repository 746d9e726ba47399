"""Options: how one is made, and those that several commands share. A command's own stand in the command's file."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from fairprobe.cli.data import number_or_text
from fairprobe.cli.words import ARGUMENTS, flag
from fairprobe.engine import ENGINES
from fairprobe.errors import SettingError
from fairprobe.estimation.share import ROLES
from fairprobe.model import OUTPUTS
from fairprobe.model.program import FORMATS
from fairprobe.model.protocols import PROTOCOLS
from fairprobe.model.remote import connect
from fairprobe.searching.searching import search

BATCHES = ("array", "frame")

WHAT = "The model and its inputs"
HOW = "How"
RESULTS = "Results"

NONE = "none"
"""What is written for "no limit", or for "any seed"."""

Option = inspect.Parameter
"""An argument of the function that typer makes a command of."""


def whole(text: str) -> int:
    """A whole number.

    >>> whole("1_000_000"), whole("1e6")
    (1000000, 1000000)
    """
    value = number_or_text(str(text))
    if isinstance(value, str) or not math.isfinite(value) or value != int(value):
        raise typer.BadParameter(f"must be a whole number, got {text!r}")
    return int(value)


def number(text: str) -> float:
    """A number."""
    value = number_or_text(str(text))
    if isinstance(value, str):
        raise typer.BadParameter(f"must be a number, got {text!r}")
    return value


def or_none(parser: Callable[[str], Any]) -> Callable[[str], Any]:
    """What a parser makes of a text, or "none"."""
    return lambda text: NONE if str(text).lower() == NONE else parser(text)


whole_or_none, number_or_none = or_none(whole), or_none(number)

_METAVARS = {str: "NAME", whole: "N", whole_or_none: "N", number: "NUMBER", number_or_none: "NUMBER"}


def option(
    name: str,
    metavar: str | None,
    text: str,
    panel: str = WHAT,
    *flags: str,
    kind: Any = str | None,
    parser: Callable[[str], Any] | None = None,
    choices: Iterable[str] = (),
    default: Any = None,
) -> Option:
    """An option; not given, it is None. Choices complete; whoever takes the value refuses what is none of them."""
    ARGUMENTS.add(name)
    made = typer.Option(
        *(flags or [flag(name)]),
        help=text,
        metavar=metavar,
        rich_help_panel=panel,
        show_default=False,
        parser=parser,
        autocompletion=(lambda: list(choices)) if choices else None,
    )
    return Option(name, Option.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


def several(name: str, metavar: str, text: str, panel: str = WHAT, choices: Iterable[str] = ()) -> Option:
    """An option that may be given again."""
    return option(name, metavar, text, panel, kind=list[str] | None, choices=choices)


def switch(name: str, text: str, panel: str = RESULTS, *, both: bool = False) -> Option:
    """An option without a value; with `both`, one for no as well."""
    flags = f"{flag(name)}/--no-{flag(name)[2:]}" if both else flag(name)
    return option(name, None, text, panel, flags, kind=bool | None)


def setting(
    function: Callable[..., Any], name: str, parser: Any, text: str, panel: str = HOW, choices: Iterable[str] = ()
) -> Option:
    """An option for an argument of the library. The default told is the library's, which applies if none is given."""
    default = inspect.signature(function).parameters[name].default
    if default is not None:
        told = {True: "yes", False: "no"}[default] if isinstance(default, bool) else default
        text += f" Default: {told if isinstance(told, str) else f'{told:,.12g}'}."
    if parser is bool:
        return switch(name, text, panel, both=True)
    return option(name, _METAVARS[parser], text, panel, kind=Any, parser=parser, choices=choices)


def out(text: str) -> Option:
    """The option for where the result goes."""
    return option("out", "FILE", text, RESULTS, "--out", "-o")


# What several commands have

TABLE = ".csv, .csv.gz (UTF-8, commas, a header) or .parquet."
_FOUND = (
    "Modules of the current folder are found. Or a file of skops, ONNX, XGBoost or LightGBM; an address, https://...; "
    "command:PROGRAM; subject:NAME, which comes with fairprobe, as subject:decision-tree."
)

SERVICES = "Models behind an address, and programs"


def pairs(name: str, given: Sequence[str] | None) -> dict[str, str] | None:
    """What was given as NAME=VALUE, any number of times."""
    split = [each.partition("=") for each in given or ()]
    bad = next((each for each, (left, _, right) in zip(given or (), split, strict=True) if not left or not right), None)
    if bad is not None:
        raise SettingError(f"{flag(name)} must be NAME=VALUE, got {bad!r}")
    return {left.strip(): right.strip() for left, _, right in split} or None


_served = partial(setting, connect, panel=SERVICES)

SERVED = [
    option(
        "protocol",
        "NAME",
        f"What a service speaks: {', '.join(PROTOCOLS)}; by default as the address tells. Of a program: "
        f"{' or '.join(FORMATS)} on its standard input, one line of answer a row. Default: {FORMATS[0]}.",
        SERVICES,
        choices=(*PROTOCOLS, *FORMATS),
    ),
    several(
        "answer",
        "OUTPUT=NAME",
        "Where a service gives several answers a row, which is meant: label=predict; give it again for others, as "
        "proba=predict_proba.",
        SERVICES,
    ),
    several(
        "header_from_env",
        "HEADER=VARIABLE",
        "A header whose value is in a variable of the environment, so that it is never shown; "
        "FAIRPROBE_HEADER_X_API_KEY is sent as X-API-KEY without this.",
        SERVICES,
    ),
    _served("connections", whole, "Requests at a time."),
    _served("batch_rows", whole, "Rows of a request. By default doubled until throughput stops rising."),
    _served("rate_limit", number, "Requests a second at most."),
    _served("timeout", number, "Seconds for a request, or for a program's next line."),
    option(
        "retries",
        "N",
        "How often what failed is sent again. Default: 8, of a program 3.",
        SERVICES,
        parser=whole,
        kind=Any,
    ),
    _served("cache_rows", whole, "Answered rows to remember, so that they are not sent again."),
    option("ca_file", "FILE", "Certificates to trust in place of the usual ones.", SERVICES),
]

WEIGHTS = ("--model-weights", "--weights")


def loading(weights: Iterable[str] = WEIGHTS) -> list[Option]:
    """How a model is loaded: the arguments of `load_model`; a command may have another use for --weights."""
    text = "A type in a skops file that may be made, as package.module.Type; give it again for more."
    runs = "Load a pickle, a joblib file or an MLflow folder, which runs the code in it."
    return [
        several("trust", "TYPE", text),
        option("model_weights", "FILE", "The weights of a torch module, a safetensors file.", WHAT, *weights),
        switch("allow_unsafe_load", runs, WHAT),
        switch("isolate", "Keep the model in a process of its own, with limits and without a network.", WHAT),
        *SERVED,
    ]


LINKED = "Compare linked twins (--linked) or those that differ in the sensitive parameters alone (--no-linked)."


def inputs(model: str, data: str, weights: Iterable[str] = WEIGHTS) -> list[Option]:
    """The model and what it is asked about; the texts say what the one is and what the other is for."""
    return [
        option("model", "MODEL", f"{model} {_FOUND}", kind=str, default=Option.empty),
        *loading(weights),
        option("data", "FILE", f"{data}: {TABLE}"),
        option("domain", "FILE", "The domain: a TOML file (see fairprobe domain), or module:attribute in Python."),
        *COLUMNS,
    ]


COLUMNS = [
    option("label", "COLUMN", "The column to predict: it is left out of the inputs."),
    several("ignore", "COLUMN", "Columns to leave out of the inputs; give it again or put commas between them."),
    several(
        "sensitive",
        "NAME",
        "Parameters that must not change the outcome: sex,race. To compare only some values: age=25,45,65, in a "
        "--sensitive of its own.",
    ),
    several("missing", "TEXT", 'What a CSV has in place of a missing value, as "?"; give it again for others.'),
    several(
        "constraint",
        "TEXT",
        'What must hold of an input, or it cannot be: "`capital-gain` == 0 or `capital-loss` == 0" (names that are no '
        "plain words in backticks; and, or, not, in, is missing, + - * /); give it again for others.",
    ),
    several(
        "link",
        "TEXT",
        'What changes along with a sensitive value: "relationship~sex: Male=Husband, Female=Wife", with a semicolon '
        'before another role; for numbers "height~sex: Male+13, Female+0" or "tenure~age: 0.5 per unit"; give it again '
        "for other columns.",
    ),
    several("hidden", "NAME", "Sensitive parameters that the model does not take: only links can carry them."),
]
"""Of data and domain. A domain file remembers all of them, and says them where the command line does not."""

ASKED = [
    setting(search, "output", str, f"What is compared: {', '.join(OUTPUTS)}.", choices=OUTPUTS),
    setting(search, "threshold", number, "A gap above it makes an input discriminatory. Needed but for labels."),
    setting(
        search,
        "batch",
        str,
        f"{' or '.join(BATCHES)}: what the model takes. By default as it was fitted.",
        choices=BATCHES,
    ),
    setting(search, "seed", whole_or_none, "The same seed gives the same result; none draws one."),
]
"""How the model is asked."""

ROWS_ARE = option(
    "rows_are",
    "ROLE",
    f"What the rows are to the model: {', '.join(ROLES)}. Training rows give a count without an interval.",
    HOW,
    choices=ROLES,
)

STORE = option(
    "store",
    "RUN",
    "Keep what is done in a run folder: the same command takes it up where it ended, and with a higher limit goes on.",
    RESULTS,
)

MODEL_ID = option(
    "model_id",
    "NAME",
    "A name for this very model, by which a run that is kept knows it in place of what it is made of.",
    RESULTS,
)

ENGINE = setting(
    search,
    "engine",
    str,
    "Who runs the shards: local, processes, dask (a local cluster of --jobs workers) or dask://host:port. Default: "
    "processes if --jobs asks for several. The result is the same.",
    choices=ENGINES,
)
"""Where the work is done."""

PRINTED = [
    switch("json", "Print the figures as one JSON object."),
    switch("dry_run", "Only say what would be done, and guess how long it takes."),
]
