"""What people see: text, wrapped on a terminal, one line a message where it is none; displays while they wait."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fairprobe.blocks import Block, Sentence
from fairprobe.cli.flags import in_flags
from fairprobe.errors import HealthWarning
from fairprobe.progress import Progress, Status, visible
from fairprobe.report.terminal import written

WIDTH = 80
"""Columns of a terminal that are used at most, times two; chosen."""


def say_blocks(blocks: Iterable[Block], *, err: bool = False) -> None:
    """Write blocks; on a terminal, sentences are cut into lines that fit."""
    shown, stream = tuple(blocks), sys.stderr if err else sys.stdout
    if not shown:
        return
    width = min(shutil.get_terminal_size().columns, 2 * WIDTH) if stream.isatty() else None
    stream.write(f"{written(shown, width)}\n")
    stream.flush()


def say(text: str, *, err: bool = False) -> None:
    """Write a sentence."""
    say_blocks([Sentence(text)], err=err)


@contextmanager
def notes() -> Iterator[None]:
    """Warnings inside become lines on the standard error, each once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        kind = "note" if issubclass(category, HealthWarning) else f"warning: {category.__name__}"
        text = f"{kind}: {in_flags(message)}"
        if text not in said:
            said.add(text)
            say(text, err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", HealthWarning)
        warnings.showwarning = show
        yield


def note(message: str) -> None:
    """Show a remark of the command line in the form of the library's remarks."""
    warnings.warn(message, HealthWarning, stacklevel=2)


# While people wait: on the standard error, if it is a terminal


def on_terminal() -> bool:
    """Whether the standard error is a terminal, on which progress can be shown."""
    return sys.stderr.isatty()


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Shows that something takes a while."""
    with progress() as show:
        show(Status(text))
        yield


@contextmanager
def progress(title: str = "") -> Iterator[Progress]:
    """Gives what a call takes as its `progress`, and shows it.

    A status is shown on a terminal only, as a bar where the part done is known. A result is a line in any log.
    """
    if not on_terminal():
        yield lambda status: say(status.text, err=True) if status.is_over else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    console = Console(stderr=True, highlight=False)
    text = TextColumn("{task.fields[text]}", markup=False)
    columns: list[Any] = [SpinnerColumn("line"), BarColumn(bar_width=14), text, TimeElapsedColumn()]
    with Display(*columns, console=console, transient=True) as display:
        task = display.add_task("", total=None, text=visible(f"{title}asking the model ..."))

        def show(status: Status) -> None:
            if status.is_over:
                console.print(status.text, markup=False)
            else:
                total = None if status.fraction is None else 1.0
                display.update(task, total=total, completed=status.fraction, text=f"{title}{status.text}")

        yield show
