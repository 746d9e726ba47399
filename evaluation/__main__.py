"""`scripts/reproduce`: the evaluation made again, with a line now and then for whoever waits."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.ledger import Cell, Ledger
from evaluation.plan import FULL, QUICK
from evaluation.run import ALL, FILE, PARTS, Progress, reproduce, wanted_cells
from fairprobe.errors import FairprobeError

INTERRUPTED = 130
LINE_SECONDS = 15.0
"""Between two lines of progress."""

HOURS = {"full": "about four hours", "quick": "some minutes"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    plan = replace(QUICK if options.quick else FULL, seed=options.seed)
    begun = time.monotonic()
    try:
        if options.dry_run:
            wanted, ledger = wanted_cells(options.part, plan), Ledger(options.out / FILE)
            n_missing = sum(cell not in ledger for cell in wanted)
            print(f"would take {n_missing:,} measurements of {len(wanted):,}; the others are in {options.out} already")
            print(f"{HOURS[plan.name]} for everything on 2 cores, when nothing is there yet")
            return 0
        pages = reproduce(options.part, plan=plan, out=options.out, n_jobs=options.jobs, progress=_lines())
    except KeyboardInterrupt:
        kept = f"what was measured is kept in {options.out}: the same command goes on from there"
        print(f"interrupted; {kept}", file=sys.stderr)
        return INTERRUPTED
    except FairprobeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    minutes = (time.monotonic() - begun) / 60
    print(f"written: {', '.join(map(str, pages))} ({minutes:.1f} min)")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/reproduce",
        description="Make the evaluation of the paper again, and hold all strategies against each other. What was "
        "measured before is not measured again, so an interrupted run goes on where it stopped.",
    )
    parser.add_argument("part", nargs="?", default=ALL, metavar="PART", help=f"{', '.join(PARTS)} or {ALL}")
    parser.add_argument("--quick", action="store_true", help="a little of everything, in some minutes")
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="the first seed of the runs")
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=-1,
        metavar="N",
        help="measurements at a time, -1 for all cores; figures are the same",
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("reproduced"), metavar="FOLDER",
        help="the folder for pages, figures and measurements",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="tell what would be measured")
    return parser


def _seed(text: str) -> int:
    number = _whole(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {number}")
    return number


def _jobs(text: str) -> int:
    number = _whole(text)
    if number < 1 and number != -1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, or -1 for all cores, got {number}")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def _lines() -> Progress:
    begun = last = time.monotonic()

    def show(done: int, n_all: int, cell: Cell | None) -> None:
        nonlocal last
        now = time.monotonic()
        if cell is None or done == n_all or now - last >= LINE_SECONDS:
            last = now
            words = "" if cell is None else f", last: {cell}"
            print(f"{(now - begun) / 60:6.1f} min  {done:,} of {n_all:,} measurements{words}", file=sys.stderr)

    return show


if __name__ == "__main__":
    sys.exit(main())
