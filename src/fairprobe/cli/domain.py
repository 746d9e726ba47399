"""`fairprobe domain`: a domain inferred from data, as a file to read, edit and pass as --domain."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fairprobe.cli.command import Request, sensitive_words, size_words
from fairprobe.cli.destination import Destination
from fairprobe.cli.options import COLUMNS, TABLE, Option, option, out
from fairprobe.cli.words import notes, say

OPTIONS = [
    option("data", "FILE", f"Rows: {TABLE}", kind=str, default=Option.empty),
    *COLUMNS,
    out("Write it as .toml; overwrites. By default, or as -, it goes to the standard output."),
]

SUMMARY = "Infer a domain from data, as a file to edit."

COMMENT = """\
# What an input may be. Edit it, then pass it to a command as --domain FILE.
# Kinds: integer and real (low, high, step), category and ordinal (values).

"""


def run(request: Request) -> int:
    """Infer a domain from data, as a file to edit.

    It is TOML, and is passed to other commands as --domain FILE.
    """
    target = Destination.of(request["out"] or "-", (".toml",))
    assert target is not None
    with notes():
        domain, _ = request.source.load()
    with tempfile.TemporaryDirectory(prefix="fairprobe-") as folder:
        path = Path(folder) / "domain.toml"
        domain.to_toml(path)
        target.write_text(COMMENT + path.read_text(encoding="utf-8"))
    if not target.is_stdout:
        say(f"{target.name}: {size_words(domain)}, sensitive: {sensitive_words(domain)}")
        say(f"next: look at its bounds, then fairprobe search --model module:attribute --domain {target.name}")
    return 0
