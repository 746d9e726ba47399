"""`fairprobe domain`: a domain inferred from data, as a file to read, edit and pass as --domain."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fairprobe.cli.domains import Source
from fairprobe.cli.output import Target
from fairprobe.cli.words import counted, notes, say
from fairprobe.domain import Domain

COMMENT = """\
# What an input may be. Edit it, then pass it to a command as --domain FILE.
# Kinds: integer and real (low, high, step), category and ordinal (values).

"""


def run_domain(source: Source, out: str) -> int:
    """Infer and write; gives the exit code."""
    target = Target.of(out, (".toml",))
    assert target is not None
    with notes():
        domain, _ = source.load()
    target.write_text(COMMENT + _as_toml(domain))
    if not target.is_stdout:
        named = ", ".join(f"{name} ({domain[name].levels} values)" for name in domain.sensitive)
        size = f"{counted(len(domain.parameters), 'parameter')}, {counted(domain.size, 'input')}"
        say(f"{out}: {size}, sensitive: {named}")
        say(f"next: look at its bounds, then fairprobe search --model module:attribute --domain {out}")
    return 0


def _as_toml(domain: Domain) -> str:
    with tempfile.TemporaryDirectory(prefix="fairprobe-") as folder:
        path = Path(folder) / "domain.toml"
        domain.to_toml(path)
        return path.read_text(encoding="utf-8")
