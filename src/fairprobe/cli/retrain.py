"""`fairprobe retrain`."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from fairprobe.checks import checked_seed
from fairprobe.cli import live, retrain_show
from fairprobe.cli.domains import Source
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.model_file import SUFFIXES, loading_line, write_model
from fairprobe.cli.output import Target
from fairprobe.cli.plan import print_plan
from fairprobe.cli.request import Again, with_defaults
from fairprobe.cli.retrain_data import Data, Inputs
from fairprobe.cli.retrain_plan import RetrainPlan
from fairprobe.cli.values import names
from fairprobe.cli.words import counted, in_flags, notes, say
from fairprobe.errors import HealthWarning, RunError, SettingError
from fairprobe.retrain import Retrained, retrain
from fairprobe.retrain.judging import N_REPORT, N_SELECT, How
from fairprobe.retrain.labels import NAMES
from fairprobe.retrain.settings import Settings
from fairprobe.search.registry import strategy_path


@dataclass(frozen=True)
class Request:
    """What the options ask for."""

    model: str
    source: Source
    keywords: dict[str, Any]
    """Arguments of `retrain` that were given; the library has the others' defaults."""
    held_out: str | None
    cases: str | None
    controls: bool
    favourable: str | None
    out: str | None
    plot: str | None
    as_json: bool
    dry_run: bool
    again: Again


@dataclass
class Written:
    """Which files there are, and what kept the others from being written."""

    out: str | None = None
    plot: str | None = None
    failure: RunError | None = None


def run_retrain(request: Request) -> int:
    """Retrain, show and write; gives the exit code."""
    out = Target.of(request.out, SUFFIXES, may_be_stdout=False)
    plot = Target.of(request.plot, (".svg",), "--plot", may_be_stdout=False)
    keywords, settings = _checked(request)
    inputs = Inputs(request.model, request.source, request.held_out, request.cases, keywords["labels"])
    # Whatever a model or its module prints must not end up among the results.
    with notes(), redirect_stdout(sys.stderr):
        data = inputs.load()
        keywords |= {"favourable": data.label(request.favourable), "cases": data.cases, "held_out": data.held_out}
        model = inputs.load_model(data.domain)
        if request.dry_run:
            files = {"cases": request.cases, "out": request.out, "plot": request.plot}
            plan = RetrainPlan.measure(request.model, model, data, settings, request.controls, keywords["seed"], files)
        else:
            result = _retrain(model, data, keywords)
            written = _write(result, out, plot, data, keywords["batch"])
    if request.dry_run:
        print_plan(plan, request.as_json)
        return 0
    return _finish(request, result, written)


def _checked(request: Request) -> tuple[dict[str, Any], Settings]:
    """All arguments of `retrain`; a wrong one is refused before anything is loaded."""
    keywords = {**with_defaults(retrain, request.keywords), "controls": request.controls}
    if "," in keywords["augment"]:
        keywords["augment"] = names([keywords["augment"]])
    if keywords["labels"] not in NAMES:
        raise SettingError(f"--labels must be one of {', '.join(NAMES)}; got {keywords['labels']!r}")
    if keywords["labels"] == "given" and request.cases is None:
        raise SettingError("--labels given needs --cases with a column of labels, got no --cases")
    strategy_path(keywords["strategy"])
    how = How(**{name: keywords[name] for name in How.__dataclass_fields__})
    settings = Settings(**{name: keywords[name] for name in Settings.__dataclass_fields__ if name != "how"}, how=how)
    return {**keywords, "seed": checked_seed(keywords["seed"])}, settings


def _retrain(model: Any, data: Data, keywords: dict[str, Any]) -> Retrained:
    # Both are told where the result is shown.
    for check in ("round-failed", "not-retrained"):
        warnings.filterwarnings("ignore", check, HealthWarning)
    with live.steps() as tell:
        return retrain(model, data.rows, data.labels, data.domain, **{**keywords, "progress": tell})


def _write(result: Retrained, out: Target | None, plot: Target | None, data: Data, batch: str | None) -> Written:
    """Write what there is; what fails is told after the result, so that nothing is lost."""
    written = Written()
    try:
        if plot is not None and result.rounds:
            plot.write_by(result.plot)
            written.plot = plot.name
        if out is not None and result.accepted:
            with live.spinner(f"writing {out.name}"):
                write_model(out, result.model, data.domain, data.rows, batch)
            written.out = out.name
    except RunError as failure:
        written.failure = failure
    return written


def _finish(request: Request, result: Retrained, written: Written) -> int:
    """Show, and say how it ended."""
    if request.as_json:
        sys.stdout.write(_as_json(request, result, written) + "\n")
    else:
        _print(request, result, written)
    if written.failure is not None:
        say(f"error: {in_flags(str(written.failure))}", err=True)
    if result.failure is not None:
        say(f"error: {in_flags(result.failure)}", err=True)
    if result.stop_reason == "interrupted":
        say(f"interrupted; kept: {_kept(result, written)}", err=True)
        return INTERRUPTED
    if result.failure is not None:
        say(f"kept: {_kept(result, written)}", err=True)
    return RunError.exit_code if written.failure is not None or result.failure is not None else 0


def _kept(result: Retrained, written: Written) -> str:
    if not result.rounds:
        return "nothing, as no round was over"
    done = counted(len(result.rounds), "round")
    if result.chosen is None:
        return f"{done}, none accepted"
    where = f", written to {written.out}" if written.out else ""
    return f"{done}, the model of round {result.chosen.number}{where}"


def _as_json(request: Request, result: Retrained, written: Written) -> str:
    failures = [failure for failure in (result.failure, written.failure) if failure is not None]
    content = {
        "model": request.model,
        **result.summary(),
        "out": written.out,
        "plot": written.plot,
        "interrupted": result.stop_reason == "interrupted",
        "error": "; ".join(in_flags(str(failure)) for failure in failures) or None,
    }
    return json.dumps(content, default=str)


def _print(request: Request, result: Retrained, written: Written) -> None:
    for part in retrain_show.parts(request.model, result):
        for line, indent in part:
            say(line, indent=" " * indent)
        say()
    say(retrain_show.cost_line(result))
    for line in _file_lines(request, result, written):
        say(line)
    # Not wrapped, to be copied.
    if written.out is not None:
        sys.stdout.write(f"\nTo load the model:\n  {loading_line(written.out)}\n")
    if not result.failure and result.stop_reason != "interrupted":
        # A clock that ended it may end it elsewhere the next time.
        same = "Much the same" if result.stop_reason == "max-seconds" else "The same"
        sys.stdout.write(f"\n{same} again:\n  {request.again(_what_to_change(result))}\n")


def _file_lines(request: Request, result: Retrained, written: Written) -> list[str]:
    lines = []
    if request.out is not None and not result.accepted:
        lines.append(f"Nothing is written to {request.out}, as no round was accepted.")
    if request.plot is not None and not result.rounds:
        lines.append(f"Nothing is drawn to {request.plot}, as there was no round.")
    if written.out is not None:
        lines.append(f"The model of round {result.chosen.number if result.chosen else ''} is in {written.out}.")
    if written.plot is not None:
        lines.append(f"Share against accuracy of the rounds is drawn in {written.plot}.")
    return lines


def _what_to_change(result: Retrained) -> dict[str, Any]:
    """The same seed; and where fewer inputs were judged as the model is slow, so many."""
    judged = {
        "select": (result.first.shares["domain"].n, N_SELECT),
        "report": (result.before["domain"].n, N_REPORT),
    }
    return {"seed": result.seed, **{option: n for option, (n, usual) in judged.items() if n != usual}}
