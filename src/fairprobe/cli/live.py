"""Live displays on the standard error; nothing where it is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairprobe.cli.words import say
from fairprobe.progress import Progress, Status


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
def progress(title: str = "") -> Iterator[Progress]:
    """Gives what a call takes as its `progress`, and shows it.

    What is under way is shown on a terminal alone, as a bar where the part done is known; what is over is worth a line
    in any log.
    """
    if not is_on():
        yield lambda status: say(status.text, err=True) if status.is_over else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    console = Console(stderr=True, highlight=False)
    text = TextColumn("{task.fields[text]}", markup=False)
    columns: list[Any] = [SpinnerColumn("line"), BarColumn(bar_width=14), text, TimeElapsedColumn()]
    with Display(*columns, console=console, transient=True) as display:
        task = display.add_task("", total=None, text=f"{title}asking the model ...")

        def show(status: Status) -> None:
            if status.is_over:
                console.print(status.text, markup=False)
            else:
                total = None if status.fraction is None else 1.0
                display.update(task, total=total, completed=status.fraction, text=f"{title}{status.text}")

        yield show
