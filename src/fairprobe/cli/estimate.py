"""`fairprobe estimate`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from fairprobe.checks import checked_seed
from fairprobe.cli import live, shares
from fairprobe.cli.domains import Source
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.estimate_plan import EstimatePlan
from fairprobe.cli.outcomes import Outcomes
from fairprobe.cli.output import Target
from fairprobe.cli.plan import print_plan
from fairprobe.cli.populations import Job, checked_gate, checked_populations, make_job
from fairprobe.cli.request import Again, load, with_defaults
from fairprobe.cli.shares import Estimated, SoFar
from fairprobe.cli.words import in_flags, notes, say
from fairprobe.errors import HealthWarning, RunError, SettingError
from fairprobe.estimate import Share, breakdown, estimate, verdict
from fairprobe.estimate.plot import convergence, has_history
from fairprobe.estimate.run import Options
from fairprobe.estimate.share import POPULATIONS
from fairprobe.oracle import checked_threshold

SUFFIXES = (".svg",)


@dataclass(frozen=True)
class Request:
    """What the options ask for."""

    model: str
    source: Source
    keywords: dict[str, Any]
    """Arguments of `estimate` that were given; the library has the others' defaults."""
    populations: Sequence[str]
    gate: str | None
    favourable: str | None
    by_parameter: bool
    plot: str | None
    as_json: bool
    dry_run: bool
    again: Again


def run_estimate(request: Request) -> int:
    """Estimate, show and draw; gives the exit code."""
    target = Target.of(request.plot, SUFFIXES, "--plot", may_be_stdout=False)
    populations = checked_populations(request.populations)
    keywords = _checked(request)
    gate = checked_gate(request.gate, keywords["max_share"])
    # Whatever a model or its module prints must not end up among the results.
    with notes(), redirect_stdout(sys.stderr):
        domain, rows = request.source.load()
        plot, by_parameter = target is not None, request.by_parameter
        job = make_job(domain, rows, populations, gate, keywords, by_parameter=by_parameter, plot=plot)
        if by_parameter and not job.by_parameter:
            _note(f"one-parameter: {domain.sensitive[0]} is the only sensitive parameter, so there is one share")
        model = load(request.model)
        outcomes = Outcomes.of(model, keywords["output"], request.favourable)
        if request.dry_run:
            plan = EstimatePlan.measure(request.model, model, job, request.plot)
        else:
            found = _estimate_all(model, job, outcomes)
            drawn = _draw(found, target)
    if request.dry_run:
        print_plan(plan, request.as_json)
        return 0
    return _finish(request, job, found, drawn)


def _checked(request: Request) -> dict[str, Any]:
    """All arguments of `estimate`; a wrong one is refused before anything is loaded."""
    keywords = with_defaults(estimate, request.keywords)
    Options(**{name: keywords[name] for name in Options.__dataclass_fields__})
    checked_threshold(keywords["threshold"], keywords["output"])
    if request.by_parameter and keywords["width"] is not None:
        raise SettingError("--by-parameter judges a fixed number of inputs, got --width as well: leave one of them out")
    return {**keywords, "seed": checked_seed(keywords["seed"])}


def _note(message: str) -> None:
    warnings.warn(message, HealthWarning, stacklevel=2)


def _estimate_all(model: Any, job: Job, outcomes: Outcomes) -> Estimated:
    """One population after the other; what is known when one fails or is interrupted is kept."""
    found = Estimated()
    try:
        for name in job.populations:
            found.unfinished = SoFar(name)
            sets = {key: outcomes.put_into(share) for key, share in _estimate(model, job, found.unfinished).items()}
            found.unfinished = None
            found.shares[name] = list(sets.values())[-1]  # that of all sensitive parameters together
            if job.by_parameter:
                found.breakdowns[name] = sets
        if job.gate is not None:
            found.verdict = verdict(found.shares, job.keywords["max_share"], gate=job.gate)
    except RunError as failure:
        found.failure = failure
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _estimate(model: Any, job: Job, so_far: SoFar) -> dict[str, Share]:
    """The shares of a population by set of sensitive parameters, all of them last."""
    name = so_far.population
    total = None if job.is_sequential(name) else job.n_inputs(name)
    with live.estimate_bar(name) as update:

        def watch(n: int, hits: int, low: float, high: float) -> None:
            so_far.update(n, hits, low, high)
            update(n / total if total else None, so_far.words())

        arguments = {**job.arguments(name), "progress": watch}
        if job.by_parameter:
            return breakdown(model, job.domain, job.population(name), **arguments)
        share = estimate(model, job.domain, job.population(name), **arguments)
    width = job.keywords["width"]
    if width is not None and share.width > width:
        _note(
            f"wide-interval: the interval of {POPULATIONS[name]} is wider than asked for, with no more inputs to judge"
        )
    return {"": share}


def _draw(found: Estimated, target: Target | None) -> str | None:
    """Draw what was sampled; says where."""
    if target is None or found.failure is not None or found.interrupted:
        return None
    sampled = [share for share in found.shares.values() if has_history(share)]
    if not sampled:
        _note("nothing-to-plot: no population was sampled in whole experiments, so nothing converges; no plot written")
        return None
    target.write_by(lambda part: convergence(sampled, part))
    return target.name


def _finish(request: Request, job: Job, found: Estimated, drawn: str | None) -> int:
    """Show, and say how it ended."""
    if found.failure is not None and not found.shares and not request.as_json:
        raise found.failure
    if request.as_json:
        sys.stdout.write(found.as_json(drawn) + "\n")
    elif found.shares:
        _print(request, job, found, drawn)
    if found.failure is not None:
        say(f"error: {in_flags(str(found.failure))}", err=True)
        say(f"kept: {found.kept()}", err=True)
        return found.failure.exit_code
    if found.interrupted:
        say(f"interrupted; kept: {found.kept()}", err=True)
        return INTERRUPTED
    return 0 if found.verdict is None else found.verdict.exit_code


def _print(request: Request, job: Job, found: Estimated, drawn: str | None) -> None:
    names, seed = " or ".join(job.domain.sensitive), job.keywords["seed"]
    say(f"How often {request.model} changes its output with {names} alone:")
    for part in shares.parts(found, request.favourable):
        say()
        for line in part:
            say(line, indent="    ")
    say()
    say(shares.cost_line(list(found.shares.values()), seed))
    if drawn is not None:
        say(f"The convergence plot is in {drawn}.")
    if not (found.interrupted or found.failure):
        # Not wrapped, to be copied.
        sys.stdout.write(f"\nThe same again:\n  {request.again({'seed': seed})}\n")
