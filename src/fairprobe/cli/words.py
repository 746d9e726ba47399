"""What people see: text, wrapped on a terminal, one line a message where it is none; displays while they wait."""

from __future__ import annotations

import shutil
import sys
import textwrap
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fairprobe.blocks import Block
from fairprobe.cli.flags import in_flags
from fairprobe.errors import HealthWarning
from fairprobe.progress import Progress, Status, visible
from fairprobe.report.terminal import written
from fairprobe.wording import counted

WIDTH = 80

Line = tuple[str, int]
"""A paragraph, and how far its lines after the first are indented."""


def say(text: str = "", indent: int = 0, *, err: bool = False) -> None:
    """Write a paragraph, cut into lines that fit a terminal; those after the first are indented."""
    stream, text = sys.stderr if err else sys.stdout, visible(text)
    if stream.isatty():
        width = min(shutil.get_terminal_size().columns, 2 * WIDTH)
        text = "\n".join(
            textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
            for line in text.split("\n")
        )
    stream.write(f"{text}\n")
    stream.flush()


def say_parts(parts: Iterable[Iterable[Line]]) -> None:
    """Write paragraphs in parts, with a blank line between these."""
    for place, part in enumerate(parts):
        if place:
            say()
        for text, indent in part:
            say(text, indent)


def say_blocks(blocks: Iterable[Block]) -> None:
    """Write blocks; sentences are cut into lines that fit a terminal."""
    width = min(shutil.get_terminal_size().columns, 2 * WIDTH) if sys.stdout.isatty() else None
    sys.stdout.write(f"{written(tuple(blocks), width)}\n")
    sys.stdout.flush()


def to_copy(title: str, command: str, *, err: bool = False) -> None:
    """Write a command on a line of its own, not wrapped, to be copied."""
    stream = sys.stderr if err else sys.stdout
    stream.write(visible(f"\n{title}:\n  {command}\n"))


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
    """A remark of the command line's own, said as those of the library are."""
    warnings.warn(message, HealthWarning, stacklevel=2)


# While people wait: on the standard error, if it is a terminal


def on_terminal() -> bool:
    """Whether the standard error is a terminal, to show what is under way on."""
    return sys.stderr.isatty()


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Shows that something takes a while."""
    if not on_terminal():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True, highlight=False).status(escape(visible(text)), spinner="line"):
        yield


@contextmanager
def progress(title: str = "") -> Iterator[Progress]:
    """Gives what a call takes as its `progress`, and shows it.

    What is under way is shown on a terminal alone, as a bar where the part done is known; what is over is worth a line
    in any log.
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
        task = display.add_task("", total=None, text=f"{title}asking the model ...")

        def show(status: Status) -> None:
            if status.is_over:
                console.print(status.text, markup=False)
            else:
                total = None if status.fraction is None else 1.0
                display.update(task, total=total, completed=status.fraction, text=f"{title}{status.text}")

        yield show


# Names and numbers


def sent_words(results: Iterable[Any]) -> str:
    """Beside the queries, the rows that were sent, where a service was asked that counts them."""
    sent = [result.sent for result in results if result.sent is not None]
    return f" ({counted(sum(sent), 'row')} sent)" if sent else ""


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """A table: lines of cells in columns, those named at the left, all others at the right.

    >>> aligned([["", "share"], ["domain", "5%"]])
    ['          share', '  domain     5%']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (f"{cell:{'<' if i in left else '>'}{widths[i]}}" for i, cell in enumerate(row))
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
