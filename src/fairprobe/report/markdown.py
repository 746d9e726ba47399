"""Turns blocks into Markdown in which every text appears unchanged, for reports and sections of model cards."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairprobe.blocks import Block, Code, Figure, Items, Remark, Section, Sentence, Table
from fairprobe.report.content import Content, part_of_why
from fairprobe.report.first_screen import first_screen
from fairprobe.report.sections import chapters, identity, limitations, shares_table
from fairprobe.report.value_names import named
from fairprobe.wording import DIRECTIONAL, closed, parted, percent, value

IN_CARD = ("Model", "Data", "Date", "Versions", "Digest of audit.json")
"""Names of the facts of `identity` that a model card repeats."""

LEFT_OUT = ("convergence", "attempts", "sign-off")
"""Names of the sections that the Markdown report leaves out and only the page has."""

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BREAKS = str.maketrans({"\n": "⏎", "\r": "⏎", "\t": "⇥"})
_MARKS = re.compile(r"[\\`*_\[\]|~#$@!{}]")
_LINKS = re.compile(r"(?i)(?<=http|xmpp)(?=:)|(?<=https)(?=:)|(?<=ftp)(?=:)|(?<=www)(?=\.)|(?<=mailto)(?=:)")
_START = re.compile(r"^(?=[-+=:])|(?<=^\d)(?=[.)]\s)|(?<=^\d\d)(?=[.)]\s)")
"""Pattern of the places at the start of a text where a backslash prevents a list or a heading's underline."""


def markdown(content: Content) -> str:
    """Return an audit's content as a report in Markdown.

    Args:
        content: the object in `audit.json`.
    """
    content = named(content)
    blocks = [*first_screen(content).blocks(), *chapters(content, but=LEFT_OUT)]
    return f"# {text(content['title'])}\n\n{written(blocks)}"


def model_card(content: Content) -> str:
    """Return an audit's content as the section of a model card on individual discrimination, in Markdown.

    Args:
        content: the object in `audit.json`.
    """
    content = named(content)
    limit, told = content["question"]["max_share"], identity(content)
    limit_words = "no limit was given" if limit is None else f"the limit is {percent(limit)}"
    names = " or ".join(map(value, content["question"]["sensitive"]))
    text = f"The share of a population whose answer changes with {names} and what is linked to it; {limit_words}."
    blocks = [*first_screen(content).blocks(), Sentence(text)]
    blocks += shares_table(content, [share for share in content["shares"] if share["is_main"]])
    directions = part_of_why(content, "directions").get("sentences")
    blocks += [Sentence(" ".join(directions), "Who is worse off")] if directions else []
    blocks += [Section("Limitations", tuple(limitations(content)))] if content["limitations"] else []
    blocks.append(Section("The audit", (Table.of_facts({name: told[name] for name in IN_CARD}),)))
    return written([Section("Individual discrimination", tuple(blocks))])


def written(blocks: Sequence[Block], depth: int = 2) -> str:
    """Return blocks as Markdown; headings of sections have `depth` number signs, and one more within a section."""
    parts = (_block(block, depth) for block in blocks)
    return "\n\n".join(part for part in parts if part) + "\n"


def text(of: object) -> str:
    r"""Return a text as Markdown that displays the text unchanged.

    >>> print(text("a|b <c> `d`"))
    a\|b &lt;c&gt; \`d\`
    """
    return _START.sub(r"\\", "".join(_part(*part) for part in parted(of)).strip())


def _part(part: str, is_value: bool) -> str:
    if is_value:
        told = _inert(part.replace("\r\n", "\n").translate(_BREAKS))
        return f"\u2068{told}\u2069" if DIRECTIONAL.search(told) else told
    return _inert(re.sub(r"\s*[\r\n\t]+\s*", " ", part))


def _inert(line: str) -> str:
    line = _MARKS.sub(lambda found: f"\\{found.group()}", line).translate(_ENTITIES)
    return _LINKS.sub(r"\\", line)


def _block(block: Block, depth: int) -> str:
    match block:
        case Sentence():
            return f"**{text(closed(block.title))}** {text(block.text)}" if block.title else text(block.text)
        case Items():
            return "\n".join(f"- {text(each)}" for each in block.texts)
        case Code():
            lines = "  \n".join(map(text, block.text.split("\n")))
            return f"**{text(block.title)}:** {lines}" if block.title else lines
        case Table():
            return _table(block)
        case Remark():
            return f"- **{text(block.check)}**: {text(block.message)}"
        case Section():
            return f"{'#' * depth} {text(block.title)}\n\n{written(block.blocks, depth + 1).rstrip()}"
        case Figure():
            return ""  # the sentences beside it say the same


def _table(table: Table) -> str:
    title = f"{text(table.title)}\n\n" if table.title else ""
    if not table.columns:
        return title + "\n".join(f"- {text(row[0])}: {', '.join(map(text, row[1:]))}" for row in table.rows)
    rule = ("---:" if name in table.numbers else "---" for name in table.columns)
    rows = [[text(name) for name in table.columns], rule, *([text(cell) for cell in row] for row in table.rows)]
    return title + "\n".join(f"| {' | '.join(row)} |" for row in rows)
