"""Words of the command line: flags in place of arguments, text for a terminal or a log, and progress displays."""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fairprobe.arguments import Argument
from fairprobe.blocks import Block, Sentence
from fairprobe.errors import HealthWarning
from fairprobe.progress import Progress, Status
from fairprobe.report.terminal import written
from fairprobe.wording import for_terminal

WIDTH = 80
"""Half of the largest width of wrapped text, in characters; chosen."""

NONE = "none"
"""Text that stands for None on the command line: no limit, or a random seed."""

ARGUMENTS: set[str] = set()
"""Names of all arguments that have a command-line option; creating an `Option` adds its names."""

_OTHER_FLAGS = {"n_select": "--select-inputs", "n_report": "--report-inputs", "start_from": "--from"}

_MENTIONED = re.compile(r"\b(\w+)=(?:'(\w+)'|\{'(.+?)': \[\.\.\.\]\})|\b(\w+_\w+)\b")
"""Pattern of an argument with its value in a message, as in output='label', or of a name with underscores."""


def flag(argument: str) -> str:
    """Return the command-line flag of the option that sets an argument of the library.

    >>> flag("max_cases"), flag("n_jobs"), flag("n_report")
    ('--max-cases', '--jobs', '--report-inputs')
    """
    return _OTHER_FLAGS.get(argument) or f"--{argument.removeprefix('n_').replace('_', '-')}"


def in_flags(said: object) -> str:
    """Return a message or an error of the library as text, with flags in place of names of arguments.

    >>> ARGUMENTS.update(["output", "max_cases"])
    >>> in_flags("raise max_cases, or use output='label'; age_group stays")
    'raise --max-cases, or use --output label; age_group stays'
    """
    text, argument = str(said), getattr(said, "argument", None)
    if argument in ARGUMENTS:
        text = flag(argument) + text.removeprefix(argument)

    def replaced(match: re.Match[str]) -> str:
        name, value, parameter, alone = match.groups()
        if (name or alone) not in ARGUMENTS:
            return match[0]
        return flag(alone) if alone else f"{flag(name)} {value or f'{parameter}=VALUE,VALUE'}"

    return _MENTIONED.sub(replaced, text)


def help_of(argument: Argument) -> str:
    """Return the help of an argument's option: the first sentence of its description, its form, and its default.

    >>> help_of(Argument("linked", "bool | None", None, "True compares linked twins, `pay` aside; None both. More."))
    '--linked compares linked twins, pay aside; neither both.'
    """
    kind, default, own = argument.kind, argument.default, flag(argument.name)
    assert kind is not None
    words = {"True": own, "False": f"--no-{own[2:]}", "None": NONE if kind.metavar else "neither"}
    told = ""
    if default is True:
        told = "Default: yes."
    elif isinstance(default, str):
        told = f"Default: {default}."
    elif isinstance(default, int | float) and default is not False:
        told = f"Default: {default:,.12g}."
    sentence = reworded(argument.sentence, words, lambda name: flag(name) if name in ARGUMENTS else name)
    return " ".join(part for part in (sentence, kind.form, told) if part)


def reworded(sentence: str, words: Mapping[str, str], called: Callable[[str], str]) -> str:
    """Return a sentence of a docstring for readers who do not write Python.

    `words` replaces True, False and None; the function `called` replaces names of arguments. Examples are left out.

    >>> reworded("None for all of `n_jobs`: ``{1: 2}``", {"None": "nothing"}, flag)
    'nothing for all of --jobs.'
    """
    text = re.sub(r":? ``[^`]*``,?", "", sentence)
    text = re.sub(r"\b(True|False|None)\b", lambda match: words[match[0]], text)
    text = re.sub(r"`(\w+)`", lambda match: called(match[1]), text)
    text = re.sub(r'"([^"\s]+)"', r"\1", re.sub(r"`([\w.:]+)`", r"\1", text))
    return text if text.endswith(".") else f"{text.rstrip(',:;')}."


# What people read


def say_blocks(blocks: Iterable[Block], *, err: bool = False) -> None:
    """Write blocks to the standard output, or with `err` to the standard error; a terminal gets wrapped sentences."""
    shown, stream = tuple(blocks), sys.stderr if err else sys.stdout
    if not shown:
        return
    width = min(shutil.get_terminal_size().columns, 2 * WIDTH) if stream.isatty() else None
    stream.write(f"{written(shown, width)}\n")
    stream.flush()


def say(text: str, *, err: bool = False) -> None:
    """Write a sentence to the standard output, or with `err` to the standard error."""
    say_blocks([Sentence(text)], err=err)


@contextmanager
def notes() -> Iterator[None]:
    """Context in which each distinct warning is written once, as a line on the standard error."""
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
    """Issue a message of the command line as a HealthWarning, as the library does for its own remarks."""
    warnings.warn(message, HealthWarning, stacklevel=2)


# While people wait: on the standard error, if it is a terminal


def on_terminal() -> bool:
    """Return True if the standard error is a terminal, on which progress can be shown."""
    return sys.stderr.isatty()


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Context in which a terminal shows a spinner with a text; without a terminal, nothing is shown."""
    with progress() as show:
        show(Status(text))
        yield


@contextmanager
def progress(title: str = "") -> Iterator[Progress]:
    """Yield a callable for the argument `progress` of a library function, which shows each status that it receives.

    A terminal shows the status, with a bar if the completed fraction is known. Without a terminal, only a status that
    is a result is written, as a line on the standard error. `title` stands before a status of unfinished work.
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
        task = display.add_task("", total=None, text=for_terminal(f"{title}asking the model ..."))

        def show(status: Status) -> None:
            if status.is_over:
                console.print(status.text, markup=False)
            else:
                total = None if status.fraction is None else 1.0
                display.update(task, total=total, completed=status.fraction, text=f"{title}{status.text}")

        yield show
