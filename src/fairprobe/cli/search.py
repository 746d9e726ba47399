"""`fairprobe search`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from fairprobe.cli import live, show
from fairprobe.cli.domains import Source
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.output import Target
from fairprobe.cli.plan import Plan, pilot, print_plan
from fairprobe.cli.request import Again, load, with_defaults
from fairprobe.cli.words import counted, in_flags, notes, say
from fairprobe.domain import Domain
from fairprobe.errors import RunError, SettingError
from fairprobe.oracle import checked_threshold
from fairprobe.search import Found, StopReason, search
from fairprobe.search.registry import strategy_path
from fairprobe.search.settings import Limits, Settings

SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class Request:
    """What the options ask for."""

    model: str
    source: Source
    keywords: dict[str, Any]
    """Arguments of `search` that were given; the library has the others' defaults."""
    out: str | None
    as_json: bool
    dry_run: bool
    start_from_data: bool
    again: Again


def run_search(request: Request) -> int:
    """Search, show and write what was found; gives the exit code."""
    target = Target.of(request.out, SUFFIXES)
    if request.as_json and target is not None and target.is_stdout:
        raise SettingError("--json and --out - both write to the standard output, got both: give --out a file")
    keywords = with_defaults(search, request.keywords)
    settings, limits = _checked(keywords)
    # Whatever a model or its module prints must not end up among the results.
    with notes(), redirect_stdout(sys.stderr):
        domain, rows = request.source.load()
        if request.start_from_data:
            if rows is None:
                raise SettingError("--start-from-data needs --data, got none")
            keywords["start"] = rows
        model = load(request.model)
        if request.dry_run:
            seen = pilot(model, domain, settings, keywords)
            plan = Plan(request.model, domain, settings, limits, keywords, seen, request.out)
        else:
            found, failure = _search(model, domain, limits, keywords)
    if request.dry_run:
        print_plan(plan, request.as_json)
        return 0
    return _finish(request, target, found, failure)


def _checked(keywords: dict[str, Any]) -> tuple[Settings, Limits]:
    """Settings and limits; a wrong one is refused before anything is loaded."""
    strategy_path(keywords["strategy"])
    checked_threshold(keywords["threshold"], keywords["output"])
    settings = Settings(**{name: keywords[name] for name in Settings.__dataclass_fields__})
    return settings, Limits(**{name: keywords[name] for name in Limits.__dataclass_fields__})


def _search(
    model: Any, domain: Domain, limits: Limits, keywords: dict[str, Any]
) -> tuple[Found | None, RunError | None]:
    """What was found, and what went wrong."""
    try:
        with live.progress_bar(limits) as watch:
            return search(model, domain, **{**keywords, "progress": watch}), None
    except RunError as failure:
        return failure.found, failure


def _finish(request: Request, target: Target | None, found: Found | None, failure: RunError | None) -> int:
    """Write, show, and say how it ended."""
    if found is None:
        assert failure is not None
        raise failure
    interrupted = found.stop_reason is StopReason.INTERRUPTED
    written = _write(found, target, always=failure is None and not interrupted)
    if request.as_json:
        error = None if failure is None else in_flags(str(failure))
        sys.stdout.write(show.as_json(found, written, error) + "\n")
    elif found.n_cases or failure is None:
        _print_summary(request, found, written, err=target is not None and target.is_stdout)
    if failure is not None:
        say(f"error: {in_flags(str(failure))}", err=True)
        say(f"kept: {_kept(found, written)}", err=True)
        return failure.exit_code
    if interrupted:
        say(f"interrupted; kept: {_kept(found, written)}", err=True)
        return INTERRUPTED
    return 0


def _write(found: Found, target: Target | None, *, always: bool) -> str | None:
    """Write the cases; a run that was cut short and found none leaves an older file alone."""
    if target is None or not (found.n_cases or always):
        return None
    target.write_frame(found.to_frame())
    return target.name


def _kept(found: Found, written: str | None) -> str:
    if not found.n_cases:
        return "nothing, as no case was found before"
    where = {None: "--out FILE would write them", "-": "on the standard output"}
    return f"{counted(found.n_cases, 'case')}, {where.get(written, f'written to {written}')}"


def _print_summary(request: Request, found: Found, written: str | None, *, err: bool) -> None:
    for line in show.summary_lines(found, None if written == "-" else written):
        say(line, err=err, indent=" " * 12)
    if written is None:
        for line in show.case_lines(found):
            say(line, err=err, indent=" " * 5)
    # Several processes that are interrupted leave several shards half done, which no limit can repeat.
    is_exact = found.stop_reason is not StopReason.INTERRUPTED or request.keywords.get("n_jobs", 1) == 1
    command = request.again(_what_to_change(found))
    stream = sys.stderr if err else sys.stdout
    stream.write(f"\n{'The same' if is_exact else 'Much the same'} again:\n  {command}\n")  # not wrapped, to be copied


def _what_to_change(found: Found) -> dict[str, Any]:
    """The same seed; and where a clock or a person ended the search, the number of inputs that it came to."""
    changes: dict[str, Any] = {"seed": found.seed}
    if found.stop_reason in (StopReason.MAX_SECONDS, StopReason.INTERRUPTED) and found.n_judged:
        changes |= {"max_seconds": None, "max_inputs": found.n_judged}
    return changes
