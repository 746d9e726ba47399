"""Live displays on the standard error; nothing where it is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairprobe.cli.words import say
from fairprobe.search.settings import Limits

if TYPE_CHECKING:
    from fairprobe.retrain import Round
    from fairprobe.search.job import Snapshot

Watch = Callable[["Snapshot", float], None]

Update = Callable[[float | None, str], None]
"""Takes the part that is done, None if that is not known, and what to write beside the bar."""


def is_on() -> bool:
    """Whether there is a terminal to show anything on."""
    return sys.stderr.isatty()


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Shows that something takes a while."""
    if not is_on():
        yield
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False).status(text, spinner="line"):
        yield


@contextmanager
def progress_bar(limits: Limits) -> Iterator[Watch | bool]:
    """Shows how far a search has got; gives what `search` takes as its `progress`."""
    if not is_on():
        yield False
        return
    with bar("asking the model ...") as update:

        def watch(snapshot: Snapshot, seconds: float) -> None:
            update(fraction_done(limits, snapshot, seconds), status(snapshot, seconds))

        yield watch


@contextmanager
def estimate_bar(population: str) -> Iterator[Update]:
    """Shows the share so far; gives what to call with the part done, if it is known, and the figures in words."""
    if not is_on():
        yield lambda *_: None
        return
    with bar(f"{population}: asking the model ...") as update:
        yield update


@contextmanager
def steps() -> Iterator[Callable[[str, Round | None], None]]:
    """Shows what is being done, on a terminal, and a line for every round that is over, anywhere.

    Gives what `retrain` takes as its `progress`: rounds take long, and what they came to is worth a line in any log.
    """
    if not is_on():
        yield lambda text, done: None if done is None else say(text, err=True)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    columns: list[Any] = [SpinnerColumn("line"), TimeElapsedColumn(), TextColumn("{task.fields[step]}", markup=False)]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, step="")

        def show(text: str, done: Round | None) -> None:
            if done is not None:
                console.print(text, markup=False)
            else:
                bar.update(task, step=text)

        yield show


@contextmanager
def bar(status: str) -> Iterator[Update]:
    """Shows how much is done, and some words."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns: list[Any] = [
        SpinnerColumn("line"),
        BarColumn(bar_width=14),
        TextColumn("{task.fields[status]}", markup=False),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True, highlight=False), transient=True) as shown:
        task = shown.add_task("", total=None, status=status)

        def update(done: float | None, status: str) -> None:
            shown.update(task, total=None if done is None else 1.0, completed=done, status=status)

        yield update


def status(snapshot: Snapshot, seconds: float) -> str:
    """The figures of a moment. Repeats are told apart at the end only, so until then the yield has a lower bound."""
    rate = snapshot.n_cases / seconds if seconds else 0.0
    bound = snapshot.n_cases / snapshot.n_judged if snapshot.n_judged else 0.0
    return f"{snapshot.n_cases:,} cases, yield >={bound:.1%}, {rate:,.0f} cases/s"


def fraction_done(limits: Limits, snapshot: Snapshot, seconds: float) -> float:
    """How much of the nearest limit is used up."""
    used = [
        (snapshot.n_cases, limits.max_cases),
        (snapshot.n_judged, limits.max_inputs),
        (snapshot.n_queries, limits.max_queries),
        (seconds, limits.max_seconds),
    ]
    return min(1.0, max((done / limit for done, limit in used if limit is not None), default=0.0))
