"""Plain text for people: wrapped on a terminal, one line a message where it is none, numbers easy to read."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fairprobe.domain.domain import magnitude as of_any_size
from fairprobe.errors import HealthWarning

WIDTH = 80
MOST_LISTED = 30

FLAGS = {
    "strategy": "--strategy",
    "output": "--output",
    "threshold": "--threshold",
    "seed": "--seed",
    "n_jobs": "--jobs",
    "batch": "--batch",
    "n_walkers": "--walkers",
    "n_global": "--global",
    "n_local": "--local",
    "delta_v": "--delta-v",
    "delta_pr": "--delta-pr",
    "shard_inputs": "--shard-inputs",
    "diversify": "--diversify",
    "accelerate": "--accelerate",
    "max_cases": "--max-cases",
    "max_seconds": "--max-seconds",
    "max_queries": "--max-queries",
    "max_inputs": "--max-inputs",
    "max_barren": "--max-barren",
    "n_experiments": "--experiments",
    "n_samples": "--samples",
    "confidence": "--confidence",
    "method": "--method",
    "exact_limit": "--exact-limit",
    "width": "--width",
    "max_share": "--max-share",
    "augment": "--augment",
    "labels": "--labels",
    "accept": "--accept",
    "max_accuracy_loss": "--max-accuracy-loss",
    "prove_accuracy": "--prove-accuracy",
    "max_rounds": "--max-rounds",
    "search_seconds": "--search-seconds",
    "n_select": "--select",
    "n_report": "--report",
}
"""The arguments of `search`, `estimate` and `retrain`, and the options that set them."""

_NAMES = [name for name in FLAGS if "_" in name]
_WORDS = [name for name in FLAGS if "_" not in name]  # of plain English too, so only where a message begins with it

_TRANSLATIONS = [
    (re.compile(rf"\b({'|'.join(_NAMES)})\b"), lambda match: FLAGS[match[1]]),
    (re.compile(rf"^({'|'.join(_WORDS)})(?= must )"), lambda match: FLAGS[match[1]]),
    (re.compile(r"^cases(?= must )"), lambda match: "--cases"),
    (re.compile(r"\b(output|labels)='(\w+)'"), lambda match: f"--{match[1]} {match[2]}"),
    (re.compile(r"^the trainer must give a model, got"), lambda match: "the model must fit the rows, got"),
    (re.compile(r"give trainer=,"), lambda match: "fairprobe.retrain in Python takes a trainer,"),
    (re.compile(r"sensitive=\{'(.+?)': \[\.\.\.\]\}"), lambda match: f"--sensitive {match[1]}=VALUE,VALUE"),
    (re.compile(r"leave it out(?: of the inputs)?$"), lambda match: "leave it out by --label or --ignore"),
]


def in_flags(message: str) -> str:
    """A message of the library in the words of the command line.

    >>> in_flags("max_cases must be a whole number of at least 1, got 0")
    '--max-cases must be a whole number of at least 1, got 0'
    >>> in_flags("output='score' needs numbers, got 'high': use output='label'")
    "--output score needs numbers, got 'high': use --output label"
    """
    for pattern, flags in _TRANSLATIONS:
        message = pattern.sub(flags, message)
    return message


def say(text: str = "", *, err: bool = False, indent: str = "") -> None:
    """Write a paragraph; lines after the first are indented."""
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{wrapped(text, indent, stream)}\n")
    stream.flush()


def wrapped(text: str, indent: str, stream: Any) -> str:
    """The text, cut into lines that fit the terminal; as it is where there is none."""
    if not stream.isatty():
        return text
    width = min(shutil.get_terminal_size().columns, 2 * WIDTH)
    lines = [
        textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


@contextmanager
def notes() -> Iterator[None]:
    """Warnings inside become lines on the standard error, each once."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        kind = "note" if issubclass(category, HealthWarning) else f"warning: {category.__name__}"
        text = f"{kind}: {in_flags(str(message))}"
        if text not in said:
            said.add(text)
            say(text, err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", HealthWarning)
        warnings.showwarning = show
        yield


def listed(names: Iterable[object]) -> str:
    """Names with commas between them; of many, the first ones."""
    texts = [str(name) for name in names]
    return ", ".join(texts) if len(texts) <= MOST_LISTED else f"{', '.join(texts[:MOST_LISTED])}, ... ({len(texts):,})"


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "case"), counted(2500, "case"), counted(2, "query")
    ('1 case', '2,500 cases', '2 queries')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{magnitude(n)} {noun if n == 1 else plural}"


def magnitude(n: int) -> str:
    """A number, exact while it can be read.

    >>> magnitude(2_000_000), magnitude(25 * 10**12)
    ('2,000,000', '2.5e+13')
    """
    return of_any_size(n, exact_below=10**12)


def duration(seconds: float) -> str:
    """A time, as precise as a guess may be.

    >>> duration(0.2), duration(42), duration(600), duration(10_000), duration(300_000)
    ('under a second', 'about 42 s', 'about 10 min', 'about 2.8 h', 'about 3.5 days')
    """
    if seconds < 1:
        return "under a second"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    if seconds < 6000:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"about {seconds / 86400:.1f} days"
