"""A section for a model card, in Markdown: half a page with the verdict, the shares and the limitations."""

from __future__ import annotations

from fairprobe.blocks import Block, Section, Sentence, Table
from fairprobe.report.content import Content, part_of_why
from fairprobe.report.findings import shares_table
from fairprobe.report.markdown import written
from fairprobe.report.method import identity, limitations
from fairprobe.report.sections import head
from fairprobe.wording import percent, value

SHOWN = ("Model", "Data", "Date", "Versions", "Digest of audit.json")


def model_card(content: Content) -> str:
    """An audit's content as the section of a model card on individual discrimination.

    Args:
        content: what is in `audit.json`.
    """
    limit = content["question"]["max_share"]
    limit_words = "no limit was given" if limit is None else f"the limit is {percent(limit)}"
    names = " or ".join(map(value, content["question"]["sensitive"]))
    text = f"The share of a population whose answer changes with {names} and what is linked to it; {limit_words}."
    blocks: list[Block] = [*head(content), Sentence(text)]
    blocks += shares_table(content, [share for share in content["shares"] if share["is_main"]])
    directions = (part_of_why(content, "directions") or {}).get("sentences", [])
    blocks += [Sentence(" ".join(directions), "Who is worse off")] if directions else []
    if content["limitations"]:
        blocks.append(Section("Limitations", tuple(limitations(content))))
    told = identity(content)
    blocks.append(Section("The audit", (Table.of_facts({name: told[name] for name in SHOWN}),)))
    return written([Section("Individual discrimination", tuple(blocks))])
