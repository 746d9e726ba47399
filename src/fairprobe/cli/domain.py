"""The command `fairprobe domain`: infers a domain from data and writes it as a file to edit and pass as --domain."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import tomli_w

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
from fairprobe.domain.toml import link_table, utf8_text_of

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

    With --mine, rules that the rows keep are written too. Rules that name a sensitive parameter, and links, are written
    only as comments, for you to decide about.

    Args:
        request: all options of the call.
        mine: look for rules that the rows never break, for parameters that follow from another and for links, and
            write each of them with a comment.
        out: write the domain as .toml; an older file is overwritten; by default, or as -, it goes to the standard
            output.
    """
    target = Destination.of(str(out or STDOUT), (".toml", STDOUT), "--out")
    source = request.source
    domain, rows = source.load()
    mined = Mined(domain, rows) if mine and rows is not None else None
    domain = domain if mined is None else mined.domain
    remembered = {"label": source.label, "ignore": names(source.ignore or ()), "missing": list(source.missing or ())}
    text = utf8_text_of(domain if mined is None else domain.without_constraints(), remembered)
    target.write_text(COMMENT + (text if mined is None else mined.commented(text)))
    if target.stream is None:
        found = [] if mined is None else [Items(tuple(mined.lines()))]
        again = (
            f"fairprobe search --model module:attribute --domain {target.name} --data {shlex.quote(request['data'])}"
        )
        title = f"{target.name} is written. Look at its bounds, then"
        say_blocks([*domain_blocks(domain), *found, Code(again, title)])
    return 0


OPTIONS = [
    Option(replace(arguments_of(Source)["data"], default=REQUIRED)),
    *o.COLUMNS,
    *o.options_of(run, panel=o.RESULTS),
]


# Rules and links that rows tell, as parts of a domain file with a comment each


class Mined:
    """Rules, derived parameters and proposed links that were found in the rows from which a domain was inferred."""

    def __init__(self, domain: Domain, rows: pd.DataFrame) -> None:
        found, proposals = domain.mine_constraints(rows), domain.propose_links(rows)
        if not found and not proposals:
            note(
                f"nothing-mined: nothing was found in {len(rows):,} rows. A rule about two values, each of half of the "
                f"rows, needs {rows_needed(MIN_EXPECTED):,} rows"
            )
        aside = [rule for rule in found if rule.names & set(domain.sensitive)]
        self.given = domain.constraints
        """Constraints that the options gave."""
        self.derived = {rule: rule.derived for rule in found if rule.derived is not None and rule not in aside}
        self.rules = [rule for rule in found if rule not in aside and rule not in self.derived]
        self.domain = ruled = domain.with_derived(self.derived.values()).with_constraints(self.rules)
        """The domain with the derived parameters and the rules."""
        self.aside = {rule: _why_aside(rule, ruled, rows, proposals) for rule in aside}
        """Found rules that are not used because they name sensitive parameters, each with words on the reason."""
        self.links = list(zip(proposals, proposals.evidence, strict=True))
        """Proposed links, each with words on the evidence for it."""

    def commented(self, text: str) -> str:
        """Return the TOML text of a domain file with the constraints, the found rules and proposed links added.

        `text` is the TOML text of the domain without constraints.
        """
        head, mark, tables = text.partition("\n[")
        text = "\n".join([head.rstrip("\n"), *self._constraint_lines(), *self._link_lines()]) + f"\n{mark}{tables}"
        for rule, derived in self.derived.items():
            table = f"[[parameter]]\nname = {_quoted(derived.name)}\n"
            text = text.replace(table, f"# Mined: follows from another. {rule.evidence()}.\n{table}", 1)
        return text

    def _constraint_lines(self) -> Iterator[str]:
        yield "constraints = ["
        for given in self.given:
            yield f"    {_quoted(given.text)},"  # type: ignore[union-attr]  # options have no other constraints
        for rule in self.rules:
            yield f"    # Mined: {rule.evidence()}."
            yield f"    {_quoted(rule.text)},"
        for rule, why in self.aside.items():
            yield f"    # Mined, but not used, as it {_on_one_line(why)}. {rule.evidence()}."
            yield f"    # {_quoted(rule.text)},"
        yield "]"

    def _link_lines(self) -> Iterator[str]:
        for link, why in self.links:
            yield ""
            yield "# Proposed, but not used: what changes along with a sensitive value. Take the # away if it is right."
            yield f"# {_on_one_line(why)}."
            for line in tomli_w.dumps({"link": [link_table(link)]}).splitlines():
                yield f"# {line}".rstrip()

    def lines(self) -> list[str]:
        """Return one line of text for each rule, derived parameter and link that was found."""
        lines = [
            *(f"mined: {new.name} follows from {new.source}: {rule.evidence()}" for rule, new in self.derived.items()),
            *(f"mined: {rule.words()}" for rule in self.rules),
            *(f"set aside: {rule.words()}; it {why}" for rule, why in self.aside.items()),
            *(f"link proposed: {link_text(link)} ({why})" for link, why in self.links),
        ]
        return [_on_one_line(line) for line in lines]


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


def _quoted(text: str) -> str:
    """Return a text as a TOML string on one line."""
    return tomli_w.dumps({"text": text}).removeprefix("text = ").rstrip("\n")


def _on_one_line(text: str) -> str:
    """Return a text with a space in place of each line end or other unprintable character, for a TOML comment."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
