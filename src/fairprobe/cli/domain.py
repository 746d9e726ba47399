"""`fairprobe domain`: a domain inferred from data, as a file to read, edit and pass as --domain."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import replace
from pathlib import Path

from fairprobe.arguments import REQUIRED, arguments_of
from fairprobe.blocks import Code, Items
from fairprobe.cli import options as o
from fairprobe.cli.command import Request, domain_blocks
from fairprobe.cli.data import Source
from fairprobe.cli.destination import STDOUT, Destination
from fairprobe.cli.mine import Mined
from fairprobe.cli.options import Option
from fairprobe.cli.values import names
from fairprobe.cli.words import say_blocks
from fairprobe.domain.health import health_of_domain, warn_of_health
from fairprobe.domain.toml import write

OPTIONS = [
    Option(replace(arguments_of(Source)["data"], default=REQUIRED)),
    *o.COLUMNS,
    o.own(
        "mine",
        "Flag",
        "look for rules that the rows never break, for parameters that follow from another and for links, and write "
        "them with a comment each.",
    ),
    o.out("write it as .toml; an older file is overwritten; by default, or as -, it goes to the standard output."),
]

COMMENT = """\
# What an input may be. Edit it, then pass it to a command as --domain FILE.
# Kinds: integer and real (low, high, step), category and ordinal (values), derived (source, of, is).
# What must hold:      constraints = ["`capital-gain` == 0 or `capital-loss` == 0"]
# What changes along:  [[link]] with column, sensitive and role, shift or per
# [data] says what --label, --ignore and --missing are for the rows that it goes with.

"""


def run(request: Request) -> int:
    """Infer a domain from data, as a file to edit.

    It is TOML, and is passed to other commands as --domain FILE. It remembers --label, --ignore, --missing,
    constraints, links and what is hidden, so that these need not be said again.

    With --mine, rules that the rows keep are written too; those that name a sensitive parameter, and links, only as
    comments, for you to decide about.
    """
    target = Destination.of(request["out"] or STDOUT, (".toml", STDOUT), "--out")
    source = request.source
    domain, rows = source.load()
    mined = None
    if request["mine"]:
        assert rows is not None  # --data is needed for a domain to be inferred
        mined = Mined.of(domain, rows)
        domain = mined.domain
    warn_of_health(health_of_domain(domain))
    remembered = {"label": source.label, "ignore": names(source.ignore or ()), "missing": list(source.missing or ())}
    with tempfile.TemporaryDirectory(prefix="fairprobe-") as folder:
        path = Path(folder) / "domain.toml"
        write(path, domain.without_constraints() if mined else domain, remembered)
        text = path.read_text(encoding="utf-8")
    target.write_text(COMMENT + (mined.commented(text) if mined else text))
    if target.stream is None:
        found = [] if mined is None else mined.lines()
        again = (
            f"fairprobe search --model module:attribute --domain {target.name} --data {shlex.quote(request['data'])}"
        )
        parts = [Items(tuple(found))] if found else []
        title = f"{target.name} is written. Look at its bounds, then"
        say_blocks([*domain_blocks(domain), *parts, Code(again, title)])
    return 0
