"""`fairprobe reproduce`: the paper's evaluation, with a line now and then for whoever waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fairprobe.cli import live
from fairprobe.cli.entry import INTERRUPTED
from fairprobe.cli.words import counted, say
from fairprobe.errors import SettingError
from fairprobe.reproduce import FULL, QUICK, Plan, reproduce
from fairprobe.reproduce.cells import Cell
from fairprobe.reproduce.run import Progress, planned

LINE_SECONDS = 15.0
"""Between two lines in a log."""


def run_reproduce(what: str, *, quick: bool, seed: int, n_jobs: int, out: str, dry_run: bool) -> int:
    """Make the evaluation again; gives the exit code."""
    if seed < 0:
        raise SettingError(f"--seed must be a whole number of at least 0, got {seed}")
    plan = replace(QUICK if quick else FULL, seed=seed)
    if dry_run:
        _tell(what, plan, out)
        return 0
    begun = time.monotonic()
    try:
        with _shown() as show:
            page = reproduce(what, plan=plan, out=out, n_jobs=n_jobs, progress=show)
    except KeyboardInterrupt:
        say(f"interrupted; what was measured is kept in {out}: the same command goes on from there", err=True)
        return INTERRUPTED
    say(f"written: {page} ({(time.monotonic() - begun) / 60:.1f} min)")
    return 0


def _tell(what: str, plan: Plan, out: str) -> None:
    missing, n_all = planned(what, plan, Path(out))
    say(f"would take {counted(len(missing), 'measurement')} of {n_all:,}; the others are in {out} already")
    say(f"{_HOURS[plan.name]} for everything on 2 cores, when nothing is there yet")


_HOURS = {"full": "about two hours", "quick": "some minutes"}


@contextmanager
def _shown() -> Iterator[Progress]:
    """A bar on a terminal; in a log a line now and then."""
    if live.is_on():
        with live.bar("measuring ...") as update:
            yield lambda done, n_all, cell: update(done / n_all if n_all else 1.0, _words(done, n_all, cell))
    else:
        yield _lines()


def _lines() -> Callable[[int, int, Cell | None], None]:
    begun = last = time.monotonic()

    def show(done: int, n_all: int, cell: Cell | None) -> None:
        nonlocal last
        now = time.monotonic()
        if cell is None or done == n_all or now - last >= LINE_SECONDS:
            last = now
            say(f"{(now - begun) / 60:6.1f} min  {_words(done, n_all, cell)}", err=True)

    return show


def _words(done: int, n_all: int, cell: Cell | None) -> str:
    return f"{done:,} of {counted(n_all, 'measurement')}{'' if cell is None else f', last: {cell}'}"
