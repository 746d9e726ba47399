"""The command `fairprobe domain`: infers a domain from data and writes it as a file to edit and pass as --domain."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairprobe.arguments import REQUIRED, Flag, WrittenFile, arguments_of
from fairprobe.blocks import Code, Items
from fairprobe.cli import options as o
from fairprobe.cli.command import Request, domain_blocks
from fairprobe.cli.data import Source, link_text, names
from fairprobe.cli.files import STDOUT, Destination
from fairprobe.cli.options import Option
from fairprobe.cli.words import note, say_blocks
from fairprobe.domain import Domain, Link, MinedRule
from fairprobe.domain.domain import MIN_EXPECTED
from fairprobe.domain.families import comparable
from fairprobe.domain.mining import rows_needed
from fairprobe.domain.toml import utf8_text_of

if TYPE_CHECKING:
    import pandas as pd

MOST_MEMBERS = 2_000_000
"""Largest number of family members checked to count rows without a twin; with more, rows are sampled evenly. Chosen."""


COMMENT = """\
# What an input may be. Edit it, then pass it to a command as --domain FILE.
# Kinds: integer and real (low, high, step), category and ordinal (values), derived (source, of, is).
# What must hold:      constraints = ["`capital-gain` == 0 or `capital-loss` == 0"]
# What changes along:  [[link]] with column, sensitive and role, shift or per
# [data] says what --label, --ignore and --missing are for the rows that it goes with.
"""


def run(request: Request, *, mine: Flag = False, out: WrittenFile | None = None) -> int:
    """Infer a domain from data, as a file to edit.

    The file is TOML, and is passed to other commands as --domain FILE. It stores --label, --ignore, --missing,
    constraints, links and hidden parameters, so that these need not be given again.

    With --mine, rules that the rows keep are written too. Comments at the head of the file say what they rest on. Rules
    that name a sensitive parameter, and links, are only proposed there, for you to add by --constraint and --link.

    Args:
        request: all options of the call.
        mine: look for rules that the rows never break, for parameters that follow from another and for links.
        out: write the domain as .toml; an older file is overwritten; by default, or as -, it goes to the standard
            output.
    """
    target = Destination.of(str(out or STDOUT), (".toml", STDOUT), "--out")
    source = request.source
    domain, rows = source.load()
    domain, lines = mined(domain, rows) if mine and rows is not None else (domain, [])
    remembered = {"label": source.label, "ignore": names(source.ignore or ()), "missing": list(source.missing or ())}
    comment = COMMENT + "".join(f"# {line}\n" for line in lines) + "\n"
    target.write_text(comment + utf8_text_of(domain, remembered))
    if target.stream is None:
        again = (
            f"fairprobe search --model module:attribute --domain {target.name} --data {shlex.quote(request['data'])}"
        )
        title = f"{target.name} is written. Look at its bounds, then"
        say_blocks([*domain_blocks(domain), *([Items(tuple(lines))] if lines else []), Code(again, title)])
    return 0


OPTIONS = [
    Option(replace(arguments_of(Source)["data"], default=REQUIRED)),
    *o.COLUMNS,
    *o.options_of(run, panel=o.RESULTS),
]


def mined(domain: Domain, rows: pd.DataFrame) -> tuple[Domain, list[str]]:
    """Return the domain with the rules and derived parameters that the rows keep, and a line of text on each finding.

    Rules that name a sensitive parameter, and links, are not used: the lines only propose them.
    """
    found, proposals = domain.mine_constraints(rows), domain.propose_links(rows)
    if not found and not proposals:
        note(
            f"nothing-mined: nothing was found in {len(rows):,} rows. A rule about two values, each of half of the "
            f"rows, needs {rows_needed(MIN_EXPECTED):,} rows"
        )
    aside = [rule for rule in found if rule.names & set(domain.sensitive)]
    derived = {rule: rule.derived for rule in found if rule.derived is not None and rule not in aside}
    rules = [rule for rule in found if rule not in aside and rule not in derived]
    ruled = domain.with_derived(derived.values()).with_constraints(rules)
    lines = [
        *(f"mined: {new.name} follows from {new.source}: {rule.evidence()}" for rule, new in derived.items()),
        *(f"mined: {rule.words()}" for rule in rules),
        *(f"set aside: {rule.words()}; it {_why_aside(rule, ruled, rows, proposals)}" for rule in aside),
        *(f"link proposed: {link_text(link)} ({why})" for link, why in zip(proposals, proposals.evidence, strict=True)),
    ]
    return ruled, [_on_one_line(line) for line in lines]


def _why_aside(rule: MinedRule, domain: Domain, rows: pd.DataFrame, proposals: Sequence[Link]) -> str:
    n_rows = min(len(rows), max(1, MOST_MEMBERS // len(domain.combinations)))
    some = rows.iloc[:: max(1, len(rows) // n_rows)]
    n_without_twin = _n_without_twin(domain.with_constraints([rule]), some) - _n_without_twin(domain, some)
    has_link = any({link.column, link.sensitive} <= rule.names for link in proposals)
    sensitive = " and ".join(name for name in domain.sensitive if name in rule.names)
    return (
        f"names the sensitive parameter {sensitive}, and would make {n_without_twin:,} of {len(some):,} rows not "
        f"comparable{'; see the link proposed in its place' if has_link else ''}"
    )


def _n_without_twin(domain: Domain, rows: pd.DataFrame) -> int:
    members = domain.families.of_frame(rows)
    return int((~comparable(members.present, len(rows), members.kinds)).sum())


def _on_one_line(text: str) -> str:
    """Return a text with a space in place of each line end or other unprintable character, for a TOML comment."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
