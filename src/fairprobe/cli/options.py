"""The options of the commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from fairprobe.cli import values
from fairprobe.cli.words import FLAGS
from fairprobe.estimate.run import MOST_EXPERIMENTS, N_EXPERIMENTS, estimate
from fairprobe.estimate.share import POPULATIONS
from fairprobe.model import OUTPUTS
from fairprobe.search import STRATEGIES
from fairprobe.search.run import search

WHAT = "The model and its inputs"
HOW = "How"
LIMITS = "Limits (the first met ends the search; none for no limit)"
VERDICT = "Verdict (exit code 0 passed, 1 violated, 4 inconclusive)"
RESULTS = "Results"


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of a function's arguments."""
    return {parameter.name: parameter.default for parameter in inspect.signature(function).parameters.values()}


_DEFAULTS = {**defaults_of(estimate), **defaults_of(search)}
"""What `search` and `estimate` both take has the same default in both."""

_METAVARS = {
    str: "NAME",
    values.whole: "N",
    values.whole_or_none: "N",
    values.truth: "yes|no",
    values.number: "NUMBER",
    values.number_or_none: "NUMBER",
}


def setting(keyword: str, parser: Any, text: str, panel: str = HOW, *, defaults: Mapping[str, Any] = _DEFAULTS) -> Any:
    """An option for an argument of the library. The default told is its own, which applies if none is given."""
    default = defaults[keyword]
    if isinstance(default, bool):
        text += f" Default: {'yes' if default else 'no'}."
    elif default is not None:
        text += f" Default: {default if isinstance(default, str) else f'{default:,.12g}'}."
    return typer.Option(
        FLAGS[keyword],
        help=text,
        parser=parser,
        metavar=_METAVARS[parser],
        rich_help_panel=panel,
        show_default=False,
    )


def about(panel: str, metavar: str | None, text: str, *flags: str) -> Any:
    """An option for anything else."""
    return typer.Option(*flags, help=text, metavar=metavar, rich_help_panel=panel)


def _print_version(wanted: bool) -> None:
    from fairprobe import __version__

    if wanted:
        typer.echo(f"fairprobe {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
]
DemoSeed = Annotated[Any, typer.Option(parser=values.whole, help="Another seed finds other cases.", metavar="N")]

# What is searched

Model = Annotated[
    str,
    about(
        WHAT,
        "OBJECT",
        "The model, as module:attribute: an object with predict, or a function from a batch to one output a row. "
        "Modules of the current folder are found. subject:NAME is one that comes with fairprobe, as "
        "subject:decision-tree.",
    ),
]
Rows = Annotated[str, about(WHAT, "FILE", "Rows: .csv, .csv.gz (UTF-8, commas, a header) or .parquet.")]
Data = Annotated[
    str | None,
    about(WHAT, "FILE", "Rows to infer the domain from: .csv, .csv.gz (UTF-8, commas, a header) or .parquet."),
]
Domain = Annotated[
    str | None,
    about(WHAT, "FILE", "The domain as a TOML file (see fairprobe domain), or module:attribute for one in Python."),
]
Label = Annotated[str | None, about(WHAT, "COLUMN", "A column that is no input: what is predicted.")]
Ignore = Annotated[
    list[str] | None,
    about(WHAT, "COLUMN", "Columns that are no inputs; give it again or put commas between them."),
]
Sensitive = Annotated[
    list[str] | None,
    about(
        WHAT,
        "NAME",
        "Parameters that must not change the outcome: sex,race. To compare only some values: age=25,45,65, in a "
        "--sensitive of its own.",
    ),
]
Missing = Annotated[
    list[str] | None, about(WHAT, "TEXT", 'A CSV\'s mark of a missing value, as "?"; give it again for others.')
]
StartFromData = Annotated[bool, about(WHAT, None, "Start from the rows of --data.", "--start-from-data")]

# How

Strategy = Annotated[Any, setting("strategy", str, f"One of {', '.join(STRATEGIES)}, gradient (torch), or auto.")]
Output = Annotated[Any, setting("output", str, f"What is compared: {', '.join(OUTPUTS)}.")]
Threshold = Annotated[
    Any,
    setting(
        "threshold", values.number, "A gap above it makes an input discriminatory. Needed for all outputs but label."
    ),
]
Seed = Annotated[Any, setting("seed", values.whole_or_none, "The same seed gives the same result; none draws one.")]
Jobs = Annotated[Any, setting("n_jobs", values.whole, "Processes, -1 for all cores; the result is the same.")]
Batch = Annotated[Any, setting("batch", str, "What the model eats: array or frame. By default as it was fitted.")]
Walkers = Annotated[Any, setting("n_walkers", values.whole, "Walkers in lockstep; 1 is the paper's algorithm.")]
Global = Annotated[Any, setting("n_global", values.whole, "Inputs of a global round.")]
Local = Annotated[Any, setting("n_local", values.whole, "Trials of a walker.")]
DeltaV = Annotated[Any, setting("delta_v", values.number, "How fast directions are learnt.")]
DeltaPr = Annotated[Any, setting("delta_pr", values.number, "How fast parameters are learnt.")]
ShardInputs = Annotated[Any, setting("shard_inputs", values.whole, "Judged inputs of a shard.")]

Diversify = Annotated[
    Any, setting("diversify", values.truth, "Whether walkers leave what is exhausted or over-represented.")
]
Accelerate = Annotated[
    Any,
    setting(
        "accelerate", str, "auto: a compiled stand-in, where there is one, proposes and the model confirms; or off."
    ),
]

# Limits

MaxCases = Annotated[Any, setting("max_cases", values.whole_or_none, "Distinct cases.", LIMITS)]
MaxSeconds = Annotated[Any, setting("max_seconds", values.number_or_none, "Seconds.", LIMITS)]
MaxQueries = Annotated[Any, setting("max_queries", values.whole_or_none, "Rows sent to the model.", LIMITS)]
MaxInputs = Annotated[Any, setting("max_inputs", values.whole_or_none, "Inputs judged.", LIMITS)]
MaxBarren = Annotated[Any, setting("max_barren", values.whole_or_none, "Inputs in a row without a new case.", LIMITS)]

# Shares

DataOfRows = Annotated[
    str | None,
    about(
        WHAT,
        "FILE",
        "Rows, a population of their own; the domain is inferred from them unless --domain is given: .csv, .csv.gz "
        "(UTF-8, commas, a header) or .parquet.",
    ),
]
Population = Annotated[
    list[str] | None,
    about(
        HOW,
        "NAME",
        f"Whose share: {', '.join(POPULATIONS)} (the part of the domain that its constraints allow is valid); give it "
        "again or put commas between them. Default: all there are.",
    ),
]
Experiments = Annotated[
    Any,
    setting(
        "n_experiments",
        values.whole,
        f"Experiments of a sample. Default: {N_EXPERIMENTS:,}; with --width or --max-share at most "
        f"{MOST_EXPERIMENTS:,}.",
    ),
]
Samples = Annotated[Any, setting("n_samples", values.whole, "Inputs of an experiment.")]
Confidence = Annotated[Any, setting("confidence", values.number, "Of the intervals, between 0 and 1.")]
Method = Annotated[
    Any, setting("method", str, "sample, exact, or auto: exact where it can be had. Rows are always all judged.")
]
ExactLimit = Annotated[Any, setting("exact_limit", values.whole, "A domain of no more inputs is looked at one by one.")]
Width = Annotated[
    Any, setting("width", values.number, "Sample until the interval is no wider, as 0.01 for one percentage point.")
]
ByParameter = Annotated[
    bool,
    about(HOW, None, "Also the share of each sensitive parameter alone and of their combinations.", "--by-parameter"),
]
MaxShare = Annotated[
    Any,
    setting(
        "max_share",
        values.number,
        "The share allowed, as 0.01 for 1%. A sample goes on until it is settled which side of it the share is on.",
        VERDICT,
    ),
]
Gate = Annotated[
    str | None,
    about(VERDICT, "NAME", "The population that --max-share is about. Default: rows where there are any, else domain."),
]
Favourable = Annotated[
    str | None,
    about(
        RESULTS,
        "OUTCOME",
        "The good outcome, to say who is worse off: a label; for scores highest or lowest.",
    ),
]
Plot = Annotated[
    str | None,
    about(RESULTS, "FILE", "Draw how the sample converges, as .svg, over a file that is there."),
]

# Results

Out = Annotated[
    str | None,
    about(
        RESULTS,
        "FILE",
        "Write the cases as .csv or .parquet, over a file that is there; - for CSV on the standard output.",
    ),
]
DomainOut = Annotated[
    str, about(RESULTS, "FILE", "Write it as .toml, over a file that is there; - for the standard output.")
]
Json = Annotated[bool, about(RESULTS, None, "Print the figures as one JSON object.", "--json")]
DryRun = Annotated[bool, about(RESULTS, None, "Only say what would be done, and guess how long it takes.", "--dry-run")]

# The paper's evaluation

Part = Annotated[
    str,
    typer.Argument(help="effectiveness, efficiency, retraining, figures or all.", metavar="[PART]", show_default=False),
]
Quick = Annotated[bool, about(HOW, None, "A little of everything, in some minutes; all takes two hours.", "--quick")]
FirstSeed = Annotated[
    Any, typer.Option(parser=values.whole, help="The first seed of the runs.", metavar="N", rich_help_panel=HOW)
]
Workers = Annotated[
    Any,
    typer.Option(
        "--jobs", parser=values.whole, help="Measurements at a time, -1 for all cores; the figures are the same.",
        metavar="N", rich_help_panel=HOW,
    ),
]  # fmt: skip
PaperOut = Annotated[str, about(RESULTS, "FOLDER", "The folder for paper.md, paper.json and figures.", "--out")]
