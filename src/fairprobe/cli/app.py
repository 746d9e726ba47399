"""The commands. What a command does is imported when it runs, so that `--help` is quick."""

from __future__ import annotations

import shlex
from typing import Any

import typer
from typer.core import TyperCommand

from fairprobe.cli import options as o
from fairprobe.cli import retrain_options as r
from fairprobe.cli import values
from fairprobe.cli.words import FLAGS

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
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


@app.callback(invoke_without_command=True)
def root(context: typer.Context, version: o.Version = False) -> int | None:
    """Find inputs that a model treats differently only because of a sensitive attribute.

    To see it at work: fairprobe demo
    """
    if context.invoked_subcommand is not None:
        return None
    typer.echo(context.get_help())
    return 2


@app.command(cls=_Command)
def demo(seed: o.DemoSeed = 0) -> int:
    """Search a decision tree fitted on the US census by all strategies. Takes some seconds."""
    from fairprobe.cli.demo import run_demo

    return run_demo(seed)


@app.command(
    cls=_Command,
    epilog="To try it without a model of your own: "
    "fairprobe search --model subject:mlp --domain fairprobe.datasets:census_domain",
)
def search(
    context: typer.Context,
    model: o.Model,
    data: o.Data = None,
    domain: o.Domain = None,
    label: o.Label = None,
    ignore: o.Ignore = None,
    sensitive: o.Sensitive = None,
    missing: o.Missing = None,
    start_from_data: o.StartFromData = False,
    strategy: o.Strategy = None,
    output: o.Output = None,
    threshold: o.Threshold = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    batch: o.Batch = None,
    walkers: o.Walkers = None,
    global_: o.Global = None,
    local: o.Local = None,
    delta_v: o.DeltaV = None,
    delta_pr: o.DeltaPr = None,
    shard_inputs: o.ShardInputs = None,
    diversify: o.Diversify = None,
    accelerate: o.Accelerate = None,
    max_cases: o.MaxCases = None,
    max_seconds: o.MaxSeconds = None,
    max_queries: o.MaxQueries = None,
    max_inputs: o.MaxInputs = None,
    max_barren: o.MaxBarren = None,
    out: o.Out = None,
    as_json: o.Json = False,
    dry_run: o.DryRun = False,
) -> int:
    """Search a model for discriminatory inputs.

    An input is discriminatory if the model's output changes when only its sensitive parameters change.
    """
    from fairprobe.cli.domains import Source
    from fairprobe.cli.search import Request, run_search

    request = Request(
        model=model,
        source=Source(data, domain, label, ignore or (), sensitive or (), missing or ()),
        keywords=_keywords(context),
        out=out,
        as_json=as_json,
        dry_run=dry_run,
        start_from_data=start_from_data,
        again=lambda changes: _command_line(context, changes),
    )
    return run_search(request)


@app.command(
    cls=_Command,
    epilog="To try it without a model of your own: "
    "fairprobe estimate --model subject:mlp --domain fairprobe.datasets:census_domain",
)
def estimate(
    context: typer.Context,
    model: o.Model,
    data: o.DataOfRows = None,
    domain: o.Domain = None,
    label: o.Label = None,
    ignore: o.Ignore = None,
    sensitive: o.Sensitive = None,
    missing: o.Missing = None,
    population: o.Population = None,
    method: o.Method = None,
    experiments: o.Experiments = None,
    samples: o.Samples = None,
    confidence: o.Confidence = None,
    width: o.Width = None,
    exact_limit: o.ExactLimit = None,
    by_parameter: o.ByParameter = False,
    output: o.Output = None,
    threshold: o.Threshold = None,
    seed: o.Seed = None,
    batch: o.Batch = None,
    max_share: o.MaxShare = None,
    gate: o.Gate = None,
    favourable: o.Favourable = None,
    plot: o.Plot = None,
    as_json: o.Json = False,
    dry_run: o.DryRun = False,
) -> int:
    """Estimate how common discriminatory inputs are, with an interval.

    An input is discriminatory if the model's output changes when only its sensitive parameters change. The shares of
    the rows given and of the whole domain stand side by side: they can be far apart.
    """
    from fairprobe.cli.domains import Source
    from fairprobe.cli.estimate import Request, run_estimate

    request = Request(
        model=model,
        source=Source(data, domain, label, ignore or (), sensitive or (), missing or ()),
        keywords=_keywords(context),
        populations=population or (),
        gate=gate,
        favourable=favourable,
        by_parameter=by_parameter,
        plot=plot,
        as_json=as_json,
        dry_run=dry_run,
        again=lambda changes: _command_line(context, changes),
    )
    return run_estimate(request)


@app.command(
    cls=_Command,
    epilog="To try it without a model of your own: fairprobe retrain --model subject:decision-tree",
)
def retrain(
    context: typer.Context,
    model: r.Model,
    data: r.Data = None,
    label: r.Label = None,
    held_out: r.HeldOut = None,
    domain: o.Domain = None,
    ignore: o.Ignore = None,
    sensitive: o.Sensitive = None,
    missing: o.Missing = None,
    augment: r.Augment = None,
    labels: r.Labels = None,
    cases: r.Cases = None,
    strategy: r.Strategy = None,
    output: o.Output = None,
    threshold: o.Threshold = None,
    seed: o.Seed = None,
    batch: o.Batch = None,
    accept: r.Accept = None,
    max_accuracy_loss: r.MaxAccuracyLoss = None,
    prove_accuracy: r.ProveAccuracy = False,
    select: r.Select = None,
    report: r.Report = None,
    confidence: r.Confidence = None,
    no_controls: r.NoControls = False,
    max_rounds: r.MaxRounds = None,
    max_seconds: r.MaxSeconds = None,
    search_seconds: r.SearchSeconds = None,
    favourable: r.Favourable = None,
    out: r.Out = None,
    plot: r.Plot = None,
    as_json: o.Json = False,
    dry_run: o.DryRun = False,
) -> int:
    """Retrain a classifier until discriminatory inputs are rarer.

    Rounds add discriminatory inputs, or rows with their twins, to the training rows and fit a clone. It is accepted
    if a share is shown to be lower and accuracy is kept. The figures come from rows and inputs that neither fitting
    nor choosing has seen.
    """
    from fairprobe.cli.domains import Source
    from fairprobe.cli.retrain import Request, run_retrain

    request = Request(
        model=model,
        source=Source(data, domain, label, ignore or (), sensitive or (), missing or ()),
        keywords=_keywords(context),
        held_out=held_out,
        cases=cases,
        controls=not no_controls,
        favourable=favourable,
        out=out,
        plot=plot,
        as_json=as_json,
        dry_run=dry_run,
        again=lambda changes: _command_line(context, changes),
    )
    return run_retrain(request)


@app.command(cls=_Command)
def reproduce(
    what: o.Part = "all",
    quick: o.Quick = False,
    seed: o.FirstSeed = 0,
    jobs: o.Workers = -1,
    out: o.PaperOut = "fairprobe-paper",
    dry_run: o.DryRun = False,
) -> int:
    """Make the evaluation of the paper again.

    "Automated Directed Fairness Testing", ASE 2018: its six classifiers, its tables and figures, ours beside them. What
    was measured before is not measured again, so an interrupted run goes on where it stopped.
    """
    from fairprobe.cli.reproduce import run_reproduce

    return run_reproduce(what, quick=quick, seed=seed, n_jobs=jobs, out=out, dry_run=dry_run)


@app.command(cls=_Command)
def domain(
    data: o.Rows,
    sensitive: o.Sensitive = None,
    label: o.Label = None,
    ignore: o.Ignore = None,
    missing: o.Missing = None,
    out: o.DomainOut = "-",
) -> int:
    """Infer a domain from data, as a file to edit.

    It is TOML, and is passed to other commands as --domain FILE.
    """
    from fairprobe.cli.domains import Source
    from fairprobe.cli.infer import run_domain

    return run_domain(Source(data, None, label, ignore or (), sensitive or (), missing or ()), out)


def _keywords(context: typer.Context) -> dict[str, Any]:
    """The arguments of the library for the options that were given."""
    given = {parameter.opts[0]: context.params[str(parameter.name)] for parameter in context.command.params}
    return {
        keyword: None if given[flag] == values.NONE else given[flag]
        for keyword, flag in FLAGS.items()
        if given.get(flag) is not None
    }


def _command_line(context: typer.Context, changes: dict[str, Any]) -> str:
    """The command as it was given, with some options changed."""
    words = context.command_path.split()
    for parameter in context.command.params:
        name = str(parameter.name)
        value = changes.get(name, context.params.get(name))
        for single in value if isinstance(value, (list, tuple)) else [value]:
            is_flag = getattr(parameter, "is_flag", False)
            if is_flag and single:
                words.append(parameter.opts[0])
            elif isinstance(single, bool) and not is_flag:
                words += [parameter.opts[0], "yes" if single else "no"]
            elif single is not None and single is not False:
                words += [parameter.opts[0], str(single)]
    return shlex.join(words)
