"""`fairprobe domain --mine`: what rows tell, as parts of a domain file with a comment each, for a person to edit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairprobe.cli.command import constraint_words, rule_lines
from fairprobe.cli.link_option import link_text
from fairprobe.cli.words import note
from fairprobe.domain import Domain, Link, MinedRule
from fairprobe.domain.domain import MIN_EXPECTED
from fairprobe.domain.families import comparable
from fairprobe.domain.mining import rows_needed
from fairprobe.domain.toml import link_table
from fairprobe.wording import counted

if TYPE_CHECKING:
    import pandas as pd

MOST_MEMBERS = 2_000_000
"""Of more members, the rows that have no twin are counted among fewer rows."""


@dataclass(frozen=True)
class Aside:
    """A rule that names sensitive parameters, and what would come of it."""

    rule: MinedRule
    sensitive: tuple[str, ...]
    n_without_twin: int
    """Rows that it would make not comparable ..."""
    n_rows: int
    """... of so many."""
    links: tuple[Link, ...]
    """What is proposed in its place."""

    def words(self) -> str:
        """Why it is not used."""
        instead = "; see the link proposed in its place" if self.links else ""
        return (
            f"names the sensitive parameter {' and '.join(self.sensitive)}, and would make {self.n_without_twin:,} of "
            f"{self.n_rows:,} rows not comparable{instead}"
        )


@dataclass(frozen=True)
class Mined:
    """What was found."""

    domain: Domain
    """With what is used of it."""
    given: tuple[str, ...]
    """The constraints that the options said."""
    rules: tuple[MinedRule, ...]
    derived: tuple[MinedRule, ...]
    aside: tuple[Aside, ...]
    links: tuple[tuple[Link, str], ...]
    """Proposed, each with what it rests on."""
    n_rows: int

    @classmethod
    def of(cls, domain: Domain, rows: pd.DataFrame) -> Mined:
        """What rows tell of a domain inferred from them."""
        found, proposals = domain.mine_constraints(rows), domain.propose_links(rows)
        if not found and not proposals:
            note(f"nothing-mined: nothing was found in {counted(len(rows), 'row')}{_too_few(len(rows))}")
        aside = [rule for rule in found if rule.names & set(domain.sensitive)]
        derived = [rule for rule in found if rule.derived is not None and rule not in aside]
        rules = [rule for rule in found if rule not in aside and rule not in derived]
        ruled = domain.with_derived(rule.derived for rule in derived if rule.derived).with_constraints(rules)
        return cls(
            ruled,
            tuple(map(constraint_words, domain.constraints)),
            tuple(rules),
            tuple(derived),
            tuple(_aside(rule, ruled, rows, proposals) for rule in aside),
            tuple(zip(proposals, proposals.evidence, strict=True)),
            len(rows),
        )

    # As a file

    def commented(self, text: str) -> str:
        """The domain's file, which holds no constraints yet, with the rules and the proposals in it."""
        head, mark, tables = text.partition("\n[")
        text = "\n".join([head.rstrip("\n"), *self._constraint_lines(), *self._link_lines()]) + f"\n{mark}{tables}"
        for rule in self.derived:
            table = f"[[parameter]]\nname = {_quoted(rule.derived.name)}\n"  # type: ignore[union-attr]  # it has one
            text = text.replace(table, f"# Mined: follows from another. {_sentence(rule)}\n{table}", 1)
        return text

    def _constraint_lines(self) -> Iterator[str]:
        if not (self.given or self.rules or self.aside):
            return
        yield "constraints = ["
        for text in self.given:
            yield f"    {_quoted(text)},"
        for rule in self.rules:
            yield f"    # Mined: {_sentence(rule)}"
            yield f"    {_quoted(rule.text)},"
        for each in self.aside:
            yield f"    # Mined, but not used, as it {_on_one_line(each.words())}."
            yield f"    # {_sentence(each.rule)}"
            yield f"    # {_quoted(each.rule.text)},"
        yield "]"

    def _link_lines(self) -> Iterator[str]:
        import tomli_w

        for link, why in self.links:
            yield ""
            yield "# Proposed, but not used: what changes along with a sensitive value. Take the # away if it is right."
            yield f"# {_on_one_line(why)}."
            for line in tomli_w.dumps({"link": [link_table(link)]}).splitlines():
                yield f"# {line}".rstrip()

    # For people

    def lines(self) -> list[str]:
        """What was found, a line each."""
        counts = [
            f"{counted(len(self.derived), 'parameter')} to derive from another",
            counted(len(self.rules), "constraint"),
            f"{counted(len(self.aside), 'rule')} set aside",
            f"{counted(len(self.links), 'link')} proposed",
        ]
        lines = [
            *(f"constraint: {text}" for text in self.given),
            *rule_lines(self.domain.without_constraints()),
            f"mined from {counted(self.n_rows, 'row')}: {', '.join(counts)}",
            *(f"derived: {_follows(rule)}" for rule in self.derived),
            *(f"constraint: {rule.words()}" for rule in self.rules),
            *(f"set aside: {each.rule.words()}; it {each.words()}" for each in self.aside),
            *(f"link proposed: {link_text(link)} ({why})" for link, why in self.links),
        ]
        return [_on_one_line(line) for line in lines]


def _too_few(n_rows: int) -> str:
    """Why nothing could be found, where there are too few rows."""
    needed = rows_needed(MIN_EXPECTED)
    if n_rows >= needed:
        return f": no rule that {MIN_EXPECTED:.0f} rows at least would break by chance, and no link"
    return f": {needed:,} are needed to tell that two values, each of half of the rows, do not go together"


def _aside(rule: MinedRule, domain: Domain, rows: pd.DataFrame, proposals: Sequence[Link]) -> Aside:
    n_rows = min(len(rows), max(1, MOST_MEMBERS // len(domain.combinations)))
    some = rows.iloc[:: max(1, len(rows) // n_rows)]
    n_without_twin = _n_without_twin(domain.with_constraints([rule]), some) - _n_without_twin(domain, some)
    links = tuple(link for link in proposals if {link.column, link.sensitive} <= rule.names)
    sensitive = tuple(name for name in domain.sensitive if name in rule.names)
    return Aside(rule, sensitive, n_without_twin, len(some), links)


def _n_without_twin(domain: Domain, rows: pd.DataFrame) -> int:
    members = domain.families.of_frame(rows)
    return int((~comparable(members.present, len(rows), members.kinds)).sum())


def _follows(rule: MinedRule) -> str:
    assert rule.derived is not None
    return f"{rule.derived.name} follows from {rule.derived.source}: {rule.evidence()}"


def _sentence(rule: MinedRule) -> str:
    return f"{rule.evidence()}."


def _quoted(text: str) -> str:
    """A text as TOML has it, on one line."""
    import tomli_w

    return tomli_w.dumps({"text": text}).removeprefix("text = ").rstrip("\n")


def _on_one_line(text: str) -> str:
    """Without what would end a line or may not stand in a comment."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
